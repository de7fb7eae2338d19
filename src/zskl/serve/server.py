"""From a model file to a running server: its address and socket, its worker processes, and how it starts and stops."""

import asyncio
import json
import logging
import mmap
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn

import httptools
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from zskl import datasets, methods, selection
from zskl.datasets import Dataset
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve import app, gallery, requests, vocabulary
from zskl.serve.app import GuardMiddleware, SyncMiddleware, is_loopback, page_origin
from zskl.serve.classes import name_classes_by_text
from zskl.serve.limits import Limits, RateLimit, Refusal
from zskl.serve.monitoring import FOLDER, Metrics, configure_logs, forget_process
from zskl.serve.schemas import Example
from zskl.serve.service import Service
from zskl.serve.store import ClassStore, beside_model

__all__ = ["Address", "run_service"]

SHUTDOWN_SECONDS = 10  # that running requests get when the service is stopped
EXTRA_SECONDS = 5.0  # more than a worker needs to end after that
POLL_SECONDS = 0.05  # between two checks whether the server has started or should stop
STOP_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]  # the last is Windows' own
RELOAD_SECONDS = 300.0  # that other workers get to load the model again
log = logging.getLogger("zskl.serve")


@dataclass(frozen=True)
class Address:
    """Where a service listens, and to whom; port 0 is any free port. Without a `token` only this machine may reach it;
    with `read_token` somebody may ask and change nothing. `public` is the address under which a proxy offers it to
    others, `rate` how many requests a minute it takes from one address."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    public: str | None = None
    read_token: str | None = None
    rate: int | None = None

    def __post_init__(self) -> None:
        token, host = self.token, self.host
        for one in (token, self.read_token):
            if one is not None and (not one or not one.isascii() or not one.isprintable() or " " in one):
                raise ValueError(
                    "the token is empty or has blanks or letters that are not ASCII: expected printable text"
                )
        if self.read_token is not None and self.read_token == (token or self.read_token):
            raise ValueError("--read-token needs --token, another one: whoever has only the first may change nothing")
        if token is None and not is_loopback(host):
            raise ValueError(
                f"--host {host} can be reached from other machines: give a token by --token or ZSKL_TOKEN, which every "
                "request must then send, or stay with 127.0.0.1"
            )
        if self.public is not None:
            page_origin(self.public)


# Connections

MAX_HEAD_BYTES = 64 << 10  # of a request's first line and headers, or between and after parts of its body
HEAD_SECONDS = 30.0  # for a first line and headers to arrive
READ_SECONDS = 60.0  # that an answer may wait for its client to read on
READ_SECONDS_PER_CHUNK = 0.25  # more for each 256 kB that were read: so a large answer takes long, but not for ever
HEAD_TOO_LONG = f"The head of the request is larger than {MAX_HEAD_BYTES} bytes."
NO_PROXY = "This service is not a proxy: it does not answer CONNECT."


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's connection. It ends if a head is too long or too slow, or nobody reads the answer. Offers to change to
    another protocol (`Upgrade: h2c`, which many clients send with every request) are passed over."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unparsed = 0  # bytes since the last thing that was understood
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._read_seconds = READ_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        if self._unparsed > MAX_HEAD_BYTES:
            self.send_400_response(HEAD_TOO_LONG)
            return
        self._unparsed += len(data)
        self._unset_keepalive_if_required()
        parts = [memoryview(data)]  # the last one comes first
        while parts:
            part = parts.pop()
            try:
                self.parser.feed_data(part)
                continue
            except httptools.HttpParserUpgrade as offer:  # the parser takes what follows for another protocol
                parts.append(part[offer.args[0] :])
            except httptools.HttpParserError:
                log.warning("a request was not HTTP")
                self.send_400_response("Invalid HTTP request received.")
                return
            if self.parser.get_method() == b"CONNECT":
                self.send_400_response(NO_PROXY)
                return
            # the same head without the offer, which the parser of a closing connection would not read any more; uvicorn
            # itself would lose the body
            lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
            self.parser = httptools.HttpRequestParser(self)
            with suppress(AttributeError):  # httptools before 0.6.3
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
            parts.append(memoryview(b"\r\n".join([*lines, b"", b""])))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(self._read_seconds, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stop_read_timer()
        super().resume_writing()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            left = max(0.0, self._read_timer.when() - self.loop.time())
            self._read_seconds = left + READ_SECONDS_PER_CHUNK
            self._read_timer.cancel()
            self._read_timer = None

    # called by the parser

    def on_message_begin(self) -> None:
        self._unparsed = 0
        self._read_seconds = READ_SECONDS
        self._start_head_timer()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        self._stop_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def _should_upgrade(self) -> bool:
        return True  # uvicorn leaves a head with an offer alone; `data_received` reads it again

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


# A socket shared by workers

RETRY_SECONDS = 1.0  # until the next try, if there are too many open files
YIELD_SECONDS = 0.002  # that a worker with more connections than another one leaves the next one to it


class ConnectionCounts:
    """How many connections each worker has, seen by all processes that were forked after this was made."""

    def __init__(self, workers: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, 8 * workers)).cast("Q")

    def has_more(self, place: int, count: int) -> bool:
        """Whether a worker with so many connections has more than another one. Its number is noted."""
        self._counts[place] = count
        return count > min(self._counts)


class SharedServer(uvicorn.Server):
    """A server that takes one connection at a time, and leaves the next one to a worker that has fewer."""

    def __init__(self, config: uvicorn.Config, counts: ConnectionCounts, place: int) -> None:
        super().__init__(config)
        self._counts, self._place = counts, place
        self._accepting: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        assert sockets is not None
        # uvicorn itself would take all connections that wait, and one worker would keep them
        self._socket, self._loop = sockets[0], asyncio.get_running_loop()
        self._socket.setblocking(False)
        self._socket.listen(self.config.backlog)
        self._loop.add_reader(self._socket.fileno(), self._on_connection)
        await super().startup([])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop.remove_reader(self._socket.fileno())
        if self._timer is not None:
            self._timer.cancel()
        await super().shutdown(sockets)

    def _on_connection(self) -> None:
        if self._counts.has_more(self._place, len(self.server_state.connections) + len(self._accepting)):
            self._pause(YIELD_SECONDS)
        else:
            self._accept()

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._timer = self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        self._loop.add_reader(self._socket.fileno(), self._on_connection)
        self._accept()

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another worker was faster; or it is gone
            return
        except OSError as error:
            log.error("cannot take a connection: %s", error)
            self._pause(RETRY_SECONDS)
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        make: Any = self.config.http_protocol_class
        make = partial(make, config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        task = self._loop.create_task(self._loop.connect_accepted_socket(make, connection))
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)


def bind_socket(address: Address) -> socket.socket:
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


def configure_server(app: ASGIApp, keep_alive: int = 30) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_keep_alive=keep_alive,
    )
    config.load()
    return config


def serve_until_stopped(
    server: uvicorn.Server,
    listening: socket.socket,
    ready: Callable[[], object],
    should_stop: Callable[[], bool] = lambda: False,
    maintain: Callable[[], object] = lambda: None,
) -> None:
    """Run a server until it ends. `maintain` is called again and again meanwhile."""

    def run() -> None:
        with threadpool_limits(1):  # requests share the cores: one with many threads would make the others wait
            server.run(sockets=[listening])

    # in a thread, where uvicorn leaves signals alone
    with ThreadPoolExecutor(1, "server") as pool:
        running = pool.submit(run)
        try:
            while not (server.started or running.done()):
                time.sleep(POLL_SECONDS)
            if server.started:
                ready()
            while not (server.should_exit or running.done() or should_stop()):
                maintain()
                time.sleep(POLL_SECONDS)
        finally:
            server.should_exit = True
            try:
                running.result(SHUTDOWN_SECONDS + 2)
            except TimeoutError:
                # nobody can stop a thread that computes; acknowledged changes are on the disk
                os._exit(0)


@dataclass
class StopSignal:
    should_exit: bool = False
    force_exit: bool = False


@contextmanager
def stop_on_signals(server: uvicorn.Server | StopSignal) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP stop the server; a second Ctrl-C does not wait for running requests."""
    if threading.current_thread() is not threading.main_thread():  # Python handles signals only there
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        if server.should_exit and number == signal.SIGINT:
            server.force_exit = True
        server.should_exit = True

    # SIGHUP stays ignored under nohup: then closing the terminal does not stop the service
    before = {
        number: signal.signal(number, stop)
        for number in STOP_SIGNALS
        if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


# A model that is loaded again


class ReloadState:
    """Which load of the model file is wanted, and which one each worker answers with, below zero if that failed. All
    processes see it that were forked after this was made."""

    def __init__(self, workers: int = 1) -> None:
        self.numbers = memoryview(mmap.mmap(-1, 8 * (workers + 1))).cast("q")


class ReloadableApp:
    """The application, until one with the model as its file is now takes its place. Requests end where they began."""

    def __init__(
        self, build: Callable[[bool], tuple[Service, ASGIApp]], state: ReloadState | None = None, place: int = 0
    ) -> None:
        self._build, self._place, self._lock = build, place + 1, threading.Lock()
        self._numbers = (state or ReloadState()).numbers
        self.service, self._app = build(False)
        self._numbers[self._place] = 0
        self.follow()  # the model in this process may be older than what the others answer with

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def follow(self) -> None:
        """Load the model again if another worker did."""
        number = self._numbers[0]
        if number > abs(self._numbers[self._place]):
            with self._lock:
                try:
                    self._load()
                    self._numbers[self._place] = number
                except Refusal:
                    self._numbers[self._place] = -number

    def reload(self) -> float:
        """Load the model again, here and in the other workers → the seconds until all answer with it."""
        began = time.monotonic()
        with self._lock:
            self._load()
            number = self._numbers[0] + 1
            self._numbers[self._place] = number
            self._numbers[0] = number
        while any(abs(one) < number for one in self._numbers[1:]):
            if time.monotonic() - began > RELOAD_SECONDS:
                raise Refusal(503, "not all workers have loaded the model yet: look into the log, then try again")
            time.sleep(POLL_SECONDS)
        if any(one < 0 for one in self._numbers[1:]):
            raise Refusal(503, "not all workers could load the model: the log says why; try again")
        return time.monotonic() - began

    def _load(self) -> None:
        try:
            self.service, self._app = self._build(True)
        except (ValueError, OSError, Refusal) as error:
            log.error("the model cannot be loaded again: %s", error)
            why = "the model file cannot be loaded, so the old model goes on: the log says why; then try again"
            raise Refusal(409, why) from None
        log.warning("the model was loaded again")


# Several worker processes

MAX_CRASHES, CRASH_SECONDS = 5, 60.0  # workers that may die in so many seconds; with one more, the service ends
ShouldStop = Callable[[], bool]
Announce = Callable[[Sequence[str]], object]
Work = Callable[[int, Announce, ShouldStop], None]  # serves in a place; announces what to say once it answers


def check_workers(count: int, device: str | None) -> None:
    if count > 1 and (not hasattr(os, "fork") or sys.platform == "darwin"):  # fork is unsafe on macOS
        raise ValueError(
            f"--workers is {count}: on this system a service is one process, because a running process cannot be "
            "copied safely; leave out --workers"
        )
    if count > 1 and device not in (None, "cpu"):
        raise ValueError(f"--workers is {count} with --device {device}: one process uses a GPU; leave out one of them")


class Worker:
    """A process in one of the places. `lines` is what it has to say once it answers, `error` why it cannot."""

    def __init__(self, place: int, work: Work) -> None:
        reading, writing = os.pipe()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both processes would write what is left
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # until the copy has handlers of its own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: those of OpenBLAS end before a fork
            self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run_worker(place, work, writing, parent, masked)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        os.close(writing)
        os.set_blocking(reading, False)
        self._pipe, self._buffer = reading, b""
        self.lines: list[str] | None = None
        self.error: str | None = None

    def read_messages(self) -> None:
        with suppress(BlockingIOError):
            while part := os.read(self._pipe, 1 << 16):
                self._buffer += part
        whole, _, self._buffer = self._buffer.rpartition(b"\n")
        for line in whole.splitlines():
            message = json.loads(line)
            self.lines, self.error = message.get("lines", self.lines), message.get("error", self.error)

    def exit_reason(self) -> str | None:
        """How it ended; None while it lives."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        # in this order: what it wrote last is not missed
        self.read_messages()
        if not pid:
            return None
        os.close(self._pipe)
        code = os.waitstatus_to_exitcode(status)
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class CrashCounter:
    def __init__(self, most: int = MAX_CRASHES, seconds: float = CRASH_SECONDS) -> None:
        self._most, self._seconds = most, seconds
        self._times: deque[float] = deque()

    def add(self, now: float) -> bool:
        """Whether this crash is one too many."""
        self._times.append(now)
        while self._times[0] < now - self._seconds:
            self._times.popleft()
        return len(self._times) > self._most


def run_workers(count: int, work: Work, say: Callable[[str], object], close: Callable[[], object]) -> None:
    """Fork so many processes that do the work, replace those that die, and end them all on a signal."""
    stop = StopSignal()
    # this process runs no thread and computes nothing, so that a copy of it is as good as new
    crew: list[Worker] = []
    with stop_on_signals(stop):
        try:
            for place in range(count):
                crew.append(Worker(place, work))
            _wait_until_ready(crew, stop)
            if not stop.should_exit:
                for line in [*(crew[0].lines or ()), f"worker processes: {', '.join(str(one.pid) for one in crew)}"]:
                    say(line)
            crashes = CrashCounter()
            while not stop.should_exit:
                _replace_crashed_workers(crew, crashes, work)
                time.sleep(POLL_SECONDS)
        finally:
            close()
            _stop_workers(crew, stop)


def _wait_until_ready(crew: list[Worker], stop: StopSignal) -> None:
    """Until all answer, or should stop. If one cannot start, none does."""
    while not stop.should_exit:
        for one in crew:
            how = one.exit_reason()
            if how is not None:
                crew.remove(one)
                raise ChildProcessError(one.error or f"a worker process ended while it started ({how})")
        if all(one.lines is not None for one in crew):
            return
        time.sleep(POLL_SECONDS)


def _replace_crashed_workers(crew: list[Worker], crashes: CrashCounter, work: Work) -> None:
    """Start another worker for each that has died. If they die again and again, that does not help."""
    for place, one in enumerate(list(crew)):
        how = one.exit_reason()
        if how is None:
            continue
        forget_process(one.pid)
        why = f"{how}: {one.error}" if one.error else how
        del crew[place]  # nobody may wait for it again, or send it a signal: its number may be another process's
        if crashes.add(time.monotonic()):
            raise ChildProcessError(
                f"worker processes ended {MAX_CRASHES + 1} times in {CRASH_SECONDS:g} seconds, the last one by {why}; "
                "the service has stopped: look for what they have logged"
            )
        crew.insert(place, Worker(place, work))
        log.warning("worker process %d ended (%s); %d takes its place", one.pid, why, crew[place].pid)


def _stop_workers(crew: list[Worker], stop: StopSignal) -> None:
    for one in crew:
        one.send_signal(signal.SIGTERM)
    forced, last = False, time.monotonic() + SHUTDOWN_SECONDS + EXTRA_SECONDS
    while crew:
        crew[:] = [one for one in crew if one.exit_reason() is None]
        if stop.force_exit and not forced:
            forced = True
            for one in crew:
                one.send_signal(signal.SIGINT)
                one.send_signal(signal.SIGINT)
        if time.monotonic() > last:
            for one in crew:
                one.send_signal(signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _run_worker(place: int, work: Work, writing: int, parent: int, masked: set[signal.Signals] | set[int]) -> NoReturn:
    """The life of a worker, which stops when its parent is gone. It never returns into what its parent has begun."""

    def send(**message: object) -> None:
        with suppress(OSError):
            os.write(writing, json.dumps(message).encode() + b"\n")

    code = 1
    try:
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        with threadpool_limits(1):
            work(place, lambda lines: send(lines=list(lines)), lambda: os.getppid() != parent)
        code = 0
    except (ValueError, ArithmeticError, OSError, MemoryError) as error:  # what a user can mend
        send(error=str(error) or type(error).__name__)
        code = 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


DEMO_EXAMPLES: list[Example] = [
    {
        "title": "a with ring above",
        "sentence": None,
        "attributes": {"letter: a": 1, "mark: ring above": 1},
        "words": "This describes å. The letter is new to the model, which was trained without a single picture of it. "
        "The model knows a, and the ring from other letters; from that it finds the pictures below. Choose another "
        "letter or mark and watch them change.",
    },
    {
        "title": "q with ring above",
        "sentence": None,
        "attributes": {"letter: q": 1, "mark: ring above": 1},
        "words": "No language writes this letter, so there is no picture of it, and you see what comes nearest. Save "
        "it as a class, at the end of this page: then the model considers it too, whenever it classifies a picture.",
    },
    {
        "title": "l with caron",
        "sentence": None,
        "attributes": {"letter: l": 1, "mark: caron": 1},
        "words": "A hard one: ľ. On most letters a caron is a small v above the letter, but fonts draw it beside the "
        "l, like an apostrophe. The description does not say so. Look at how few of the first pictures are right.",
    },
]


def build_demo() -> tuple[ZeroShotClassifier, Dataset]:
    """A calibrated model of letters, 50 of them unseen, with the default settings of its method; and the letters."""
    data = datasets.load("letters")
    # o and O are different letters already: on the page the case would contradict the chosen letter
    data = replace(data, signatures=data.signatures.drop(columns="case: upper"))
    X, y = data.samples("trainval")
    model = methods.build("class-means").fit(X, y, data.signatures)
    selection.calibrate(model, X, y, data.signatures, selection.folds(data)[:1])  # one fold: it starts sooner
    return model, data


def run_service(
    model: ZeroShotClassifier | None,
    path: Path | None,
    kept: Path | None,
    data: Dataset | None,
    names: Sequence[str] | None,
    images: Path | None,
    backbone: str | None,
    address: Address,
    say: Callable[[str], object],
    count: int = 1,
    device: str | None = None,
    json_logs: bool = False,
    access_log: bool = False,
) -> None:
    """Serve a model loaded from `path` to a `device`, or the letters if there is none, until it is stopped.

    Added classes are kept in the database `kept`, by default beside the model; of the letters only if you name a
    file. `names` are the names of the rows of the data, `images` the folder of their pictures.
    `backbone` is the network that turns photos into features. `count` processes answer.
    """
    configure_logs(json_logs, access_log)
    check_workers(count, getattr(model, "device", None))
    title = "letters" if path is None else path.name
    if path is not None:
        kept = kept or beside_model(path)
    lasting = kept is not None

    hosts = {address.host, "localhost", "127.0.0.1", "::1"}
    rate = None if address.rate is None else RateLimit(address.rate)
    state = ReloadState(count)

    def serve(
        announce: Announce,
        should_stop: ShouldStop = lambda: False,
        make_server: Callable[[uvicorn.Config], uvicorn.Server] = uvicorn.Server,
        place: int = 0,
    ) -> None:
        kept_classes, metrics = ClassStore(kept), Metrics()
        notes: list[str] = []  # said once the service is ready
        pictures = None if data is None else gallery.load_pictures(data, images, names)

        def build(again: bool) -> tuple[Service, ASGIApp]:
            """The application; `again` if the model is to be loaded from its file."""
            served, loaded, rows, shown = model, data, None, pictures
            if path is None or served is None:
                served, loaded = build_demo()
                shown = gallery.load_pictures(loaded, images, names)
            elif again:
                served = methods.load(path, device)
            if loaded is not None:
                rows = gallery.LoadedRows(loaded, name_classes_by_text(served), shown, names)
            photos = requests.load_photo_encoder(backbone, loaded, served, notes.append)
            sentences = vocabulary.load_sentences(loaded, served)
            examples = DEMO_EXAMPLES if model is None else ()
            texts = requests.load_text_reader(served, notes.append)
            service = Service(served, title, Limits(), kept_classes, rows, examples, photos, sentences, texts)
            built = app.build_app(service, metrics, None if path is None else lambda: current.reload())
            return service, SyncMiddleware(built, service.classes)

        current = ReloadableApp(build, state, place)

        def ready() -> None:
            rows = current.service._rows
            host = f"[{address.host}]" if ":" in address.host else address.host
            lines = [f"zskl serves {title} at http://{host}:{listening.getsockname()[1]}", *notes]
            if address.public is not None and address.token is None:
                lines.append(
                    f"whoever reaches {address.public} can use it and add classes: give a token, or let the proxy ask"
                )
            if rows is not None and path is not None:
                lines.append(f"rows of {rows.data.name}: {len(rows.X)}, with pictures: {int(rows.pictured.sum())}")
            if lasting:
                added = len(current.service.snapshot.added)
                lines.append(f"added classes are kept in {kept_classes.path}; there now: {added}")
            announce(lines)

        guarded = GuardMiddleware(
            current, address.token, hosts, Limits(), address.public, address.read_token, rate, metrics
        )
        server = make_server(configure_server(guarded))
        with kept_classes, stop_on_signals(server):
            serve_until_stopped(server, listening, ready, should_stop, current.follow)

    with ExitStack() as stack:
        listening = stack.enter_context(bind_socket(address))  # a taken port is noticed before anything is trained
        if count == 1:
            serve(lambda lines: [say(line) for line in lines])
            return
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="zskl-")))
        os.environ[FOLDER] = str(folder)
        kept = kept or folder / "classes.db"
        ClassStore(kept).close()  # an old file is taken over once, before there are several processes
        counts = ConnectionCounts(count)

        def work(place: int, announce: Announce, should_stop: ShouldStop) -> None:
            serve(announce, should_stop, lambda config: SharedServer(config, counts, place), place)

        run_workers(count, work, say, listening.close)
