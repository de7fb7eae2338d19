"""From a service to a socket: which addresses need a token, and how the service ends."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits

from zskl.serve import app as application
from zskl.serve.connections import limited
from zskl.serve.guard import Guard, is_loopback, origin
from zskl.serve.newest import Newest
from zskl.serve.service import Service

WAIT = 10  # seconds that running requests get when the service is stopped
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # the last is Windows' own
LOGGED = "%(asctime)s %(levelname)s %(message)s"
TICK = 0.05  # seconds between two looks at whether the server has started or was told to stop


@dataclass(frozen=True)
class Address:
    """Where a service listens; port 0 is any free port. Without a `token` only this machine may reach it. `public` is
    the address under which a proxy offers it to others."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    public: str | None = None

    def __post_init__(self) -> None:
        token, host = self.token, self.host
        if token is not None and (not token or not token.isascii() or not token.isprintable() or " " in token):
            raise ValueError("the token is empty or has blanks or letters that are not ASCII: expected printable text")
        if token is None and not is_loopback(host):
            raise ValueError(
                f"--host {host} can be reached from other machines: give a token by --token or ZSKL_TOKEN, which every "
                "request must then send, or stay with 127.0.0.1"
            )
        if self.public is not None:
            origin(self.public)


class Stoppable(Protocol):
    """What a signal stops: a server, or all workers."""

    should_exit: bool
    force_exit: bool


def bound(address: Address) -> socket.socket:
    """A socket at the address."""
    host, port = address.host, address.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family)
    try:
        if os.name == "posix":  # Windows would let two services have one port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0][4])
    except OSError as error:
        found.close()
        reason = error.strerror or str(error)
        raise OSError(f"cannot serve at {host} port {port} ({reason}): choose another by --host and --port") from None
    return found


def run(
    service: Service,
    listening: socket.socket,
    address: Address,
    ready: Callable[[str], object],
    over: Callable[[], bool] = lambda: False,
    sharing: Callable[[uvicorn.Config], uvicorn.Server] | None = None,
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP, or until it is `over`. `ready` gets the address once requests are
    answered. `sharing` makes a server that shares the socket with others."""
    host = address.host
    at = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    names = {host, "localhost", "127.0.0.1", "::1"}
    logging.basicConfig(format=LOGGED)
    newest = Newest(application.build(service), service.classes)
    guarded = Guard(newest, address.token, names, service.limits, address.public)
    server = (sharing or uvicorn.Server)(configured(guarded))
    with stopped_by_signals(server):
        serve(server, listening, lambda: ready(at), over, service.classes.tend)


def configured(app: ASGIApp, keep_alive: int = 30) -> uvicorn.Config:
    """How uvicorn serves an application."""
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=WAIT,
        timeout_keep_alive=keep_alive,
    )
    config.load()
    config.http_protocol_class = limited(config.http_protocol_class)
    return config


def serve(
    server: uvicorn.Server,
    listening: socket.socket,
    ready: Callable[[], object],
    over: Callable[[], bool] = lambda: False,
    tend: Callable[[], object] = lambda: None,
) -> None:
    """Run a server in a thread until it ends: there it leaves signals alone. `tend` is called again and again
    meanwhile. Once it was told to stop and has had its time, the process ends: nobody can stop a thread that computes,
    and Python would wait for it."""
    with ThreadPoolExecutor(1, "server") as pool:
        running = pool.submit(_serve, server, listening)
        try:
            while not (server.started or running.done()):
                time.sleep(TICK)
            if server.started:
                ready()
            while not (server.should_exit or running.done() or over()):
                tend()
                time.sleep(TICK)
        finally:
            server.should_exit = True
            _wait(running)


def _serve(server: uvicorn.Server, listening: socket.socket) -> None:
    with threadpool_limits(1):  # requests share the cores; a request with many threads would only make the others wait
        server.run(sockets=[listening])


def _wait(running: Future[None]) -> None:
    try:
        running.result(WAIT + 2)
    except TimeoutError:
        os._exit(0)  # changes of classes are on the disk before they are acknowledged


@contextmanager
def stopped_by_signals(server: Stoppable) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP stop the server; a second Ctrl-C does not wait for running requests. If SIGHUP is
    ignored, as under nohup, it stays so: then closing the terminal does not stop the service."""
    if threading.current_thread() is not threading.main_thread():  # Python handles signals only there
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        if server.should_exit and number == signal.SIGINT:
            server.force_exit = True
        server.should_exit = True

    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    before = {
        number: signal.signal(number, stop)
        for number in numbers
        if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
