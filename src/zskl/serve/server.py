"""From a service to a socket: which addresses need a token, and how it ends."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from threadpoolctl import threadpool_limits

from zskl.serve import app as application
from zskl.serve.connections import Connection
from zskl.serve.guard import Guard, is_loopback
from zskl.serve.service import Service

WAIT = 10  # seconds for requests under way when the service is stopped


def check(host: str, token: str | None) -> None:
    """Refuse to be reachable from other machines without a token."""
    if token is not None and (not token or not token.isascii() or not token.isprintable() or " " in token):
        raise ValueError("the token is empty or has blanks or other letters than ASCII ones: expected printable text")
    if token is None and not is_loopback(host):
        raise ValueError(
            f"--host {host} can be reached from other machines: give a token by --token or ZSKL_TOKEN, which every "
            "request must then bring, or stay with 127.0.0.1"
        )


def bound(host: str, port: int) -> socket.socket:
    """A socket at the address; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0][4])
    except OSError as error:
        found.close()
        reason = error.strerror or str(error)
        raise OSError(f"cannot serve at {host} port {port} ({reason}): choose another by --host and --port") from None
    return found


def run(service: Service, host: str, port: int, token: str | None, ready: Callable[[str], object]) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; `ready` is handed the address once requests are answered."""
    check(host, token)
    listening = bound(host, port)
    with listening:
        at = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        names = {host, "localhost", "127.0.0.1", "::1"}
        guarded = Guard(application.build(service), token, names, service.limits)
        logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
        config = uvicorn.Config(
            guarded,
            http=Connection,
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=WAIT,
            timeout_keep_alive=30,
        )
        with threadpool_limits(1):  # requests share the cores; threads of one that wait for each other only burn them
            _Server(config, lambda: ready(at)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says when it is ready, and ends by itself after a signal, not by the signal."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A thread that computes cannot be stopped, and Python waits for it: the process then ends without."""
        super().handle_exit(sig, frame)
        last = threading.Timer(WAIT + 2, os._exit, [0])  # changes of classes are on the disk before they are told
        last.daemon = True
        last.start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals(), self._hang_up():
            yield
            self._captured_signals.clear()

    @contextmanager
    def _hang_up(self) -> Iterator[None]:
        """A terminal that closes ends the service as SIGTERM does, but not under nohup, which has it ignored."""
        number = getattr(signal, "SIGHUP", None)
        main = threading.current_thread() is threading.main_thread()
        if number is None or not main or signal.getsignal(number) is signal.SIG_IGN:
            yield
            return
        before = signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            signal.signal(number, before)
