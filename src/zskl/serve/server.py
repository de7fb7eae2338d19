"""Limits on the head of a request, and on the time until an answer is read. uvicorn itself reads lines and headers of
any length, at any pace, from anyone, and keeps an answer for ever."""

from __future__ import annotations

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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn, Protocol

import httptools
import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits
from uvicorn import Config, Server

from zskl import datasets, methods, selection
from zskl.datasets import Dataset
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve import app, gallery, requests, store, vocabulary
from zskl.serve.app import GuardMiddleware, SyncMiddleware, is_loopback, page_origin
from zskl.serve.classes import name_classes_by_text
from zskl.serve.gallery import LoadedRows
from zskl.serve.limits import Limits
from zskl.serve.schemas import Example
from zskl.serve.service import Service
from zskl.serve.store import ClassStore

__all__ = ["Address", "run_service"]


# Connections ----------------------------------------------------------------------------------------------------------

MAX_HEAD_BYTES = (
    64 << 10
)  # bytes of a request's first line and headers, or of what stands between and after parts of its body
HEAD_SECONDS = 30.0  # for a first line and headers to arrive
READ_SECONDS = 60.0  # seconds that an answer may wait for its client to read on
READ_SECONDS_PER_CHUNK = (
    0.25  # more of them for each 256 kB that were read: so a large answer takes long, but not for ever
)
HEAD_TOO_LONG = f"The head of the request is larger than {MAX_HEAD_BYTES} bytes.".encode()
HEAD_TOO_LONG_RESPONSE = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
    b"connection: close\r\n\r\n%s" % (len(HEAD_TOO_LONG), HEAD_TOO_LONG)
)


def limit_protocol(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """The same HTTP protocol, with connections that end if the head of a request is too long or too slow, or
    if nobody reads the answer.

    All bytes go on to `protocol`. A second parser beside it only says where heads and parts of bodies end.
    """

    class Connection(asyncio.Protocol):
        def __init__(self, **arguments: Any) -> None:
            self._protocol = protocol(**arguments)
            self._parser = httptools.HttpRequestParser(self)
            self._read = 0  # bytes since the last thing that was understood
            self._clock: asyncio.TimerHandle | None = None
            self._unread: asyncio.TimerHandle | None = None
            self._patience = READ_SECONDS

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self._transport = transport
            self._protocol.connection_made(transport)
            self._start()

        def data_received(self, data: bytes) -> None:
            if self._read > MAX_HEAD_BYTES:
                self._transport.write(HEAD_TOO_LONG_RESPONSE)
                self._transport.close()
                return
            self._read += len(data)
            with suppress(httptools.HttpParserError):  # the other parser finds the same fault, and answers
                self._parser.feed_data(data)
            self._protocol.data_received(data)

        def eof_received(self) -> bool | None:
            return self._protocol.eof_received()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            self._read_on()
            self._protocol.connection_lost(exc)

        def pause_writing(self) -> None:
            if self._unread is None:
                self._unread = asyncio.get_running_loop().call_later(self._patience, self._transport.abort)
            self._protocol.pause_writing()

        def resume_writing(self) -> None:
            self._read_on()
            self._protocol.resume_writing()

        def _read_on(self) -> None:
            if self._unread is not None:
                self._patience = (
                    max(0.0, self._unread.when() - asyncio.get_running_loop().time()) + READ_SECONDS_PER_CHUNK
                )
                self._unread.cancel()
                self._unread = None

        # What the parser calls.

        def on_message_begin(self) -> None:
            self._read = 0
            self._patience = READ_SECONDS
            self._start()

        def on_headers_complete(self) -> None:
            self._read = 0
            self._stop()

        def on_body(self, body: bytes) -> None:
            self._read = 0

        def _start(self) -> None:
            if self._clock is None:
                self._clock = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._transport.close)

        def _stop(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

    return Connection


# Shared socket --------------------------------------------------------------------------------------------------------
# A server that shares its socket with other workers, evenly. uvicorn's own takes all connections that wait: one worker
# would get all that come at the same moment, and keep them.

RETRY_SECONDS = 1.0  # seconds until the next try, if there are too many open files
YIELD_SECONDS = 0.002  # seconds that a worker with more connections than another one leaves the next one to it

log = logging.getLogger("zskl.serve")


class ConnectionCounts:
    """How many connections each worker has, seen by all processes that were forked after this was made."""

    def __init__(self, workers: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, 8 * workers)).cast("Q")

    def has_more(self, place: int, count: int) -> bool:
        """Whether a worker with so many has more than another one. Its number is noted."""
        self._counts[place] = count
        return count > min(self._counts)


class SharedServer(uvicorn.Server):
    """A server that takes one connection at a time, and leaves the next one to a worker that has fewer. If that one is
    too busy, it takes it after all."""

    def __init__(self, config: uvicorn.Config, counts: ConnectionCounts, place: int) -> None:
        super().__init__(config)
        self._counts, self._place = counts, place
        self._coming: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        assert sockets is not None
        self._socket, self._loop = sockets[0], asyncio.get_running_loop()
        self._socket.setblocking(False)
        self._socket.listen(self.config.backlog)
        self._loop.add_reader(self._socket.fileno(), self._look)
        await super().startup([])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop.remove_reader(self._socket.fileno())
        if self._timer is not None:
            self._timer.cancel()
        await super().shutdown(sockets)

    def _look(self) -> None:
        """A connection waits."""
        if self._counts.has_more(self._place, len(self.server_state.connections) + len(self._coming)):
            self._rest(YIELD_SECONDS)
        else:
            self._take()

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._timer = self._loop.call_later(seconds, self._look_again)

    def _look_again(self) -> None:
        self._loop.add_reader(self._socket.fileno(), self._look)
        self._take()

    def _take(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another worker was faster; or it is gone
            return
        except OSError as error:
            log.error("cannot take a connection: %s", error)
            self._rest(RETRY_SECONDS)
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    def _protocol(self) -> asyncio.Protocol:
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol


# Server ---------------------------------------------------------------------------------------------------------------
# From a service to a socket: which addresses need a token, and how the service ends.

SHUTDOWN_SECONDS = 10  # seconds that running requests get when the service is stopped
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # the last is Windows' own
LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
POLL_SECONDS = 0.05  # seconds between two looks at whether the server has started or was told to stop


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
            page_origin(self.public)


class Stoppable(Protocol):
    """What a signal stops: a server, or all workers."""

    should_exit: bool
    force_exit: bool


def bind_socket(address: Address) -> socket.socket:
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


def run_server(
    service: Service,
    listening: socket.socket,
    address: Address,
    ready: Callable[[str], object],
    should_stop: Callable[[], bool] = lambda: False,
    make_server: Callable[[uvicorn.Config], uvicorn.Server] | None = None,
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP, or until it is `over`. `ready` gets the address once requests are
    answered. `make_server` makes a server that shares the socket with others."""
    host = address.host
    at = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    names = {host, "localhost", "127.0.0.1", "::1"}
    logging.basicConfig(format=LOG_FORMAT)
    newest = SyncMiddleware(app.build_app(service), service.classes)
    guarded = GuardMiddleware(newest, address.token, names, service.limits, address.public)
    server = (make_server or uvicorn.Server)(configure_server(guarded))
    with stop_on_signals(server):
        serve_until_stopped(server, listening, lambda: ready(at), should_stop, service.classes.maintain)


def configure_server(app: ASGIApp, keep_alive: int = 30) -> uvicorn.Config:
    """How uvicorn serves an application."""
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_keep_alive=keep_alive,
    )
    config.load()
    config.http_protocol_class = limit_protocol(config.http_protocol_class)
    return config


def serve_until_stopped(
    server: uvicorn.Server,
    listening: socket.socket,
    ready: Callable[[], object],
    should_stop: Callable[[], bool] = lambda: False,
    maintain: Callable[[], object] = lambda: None,
) -> None:
    """Run a server in a thread until it ends: there it leaves signals alone. `maintain` is called again and again
    meanwhile. Once it was told to stop and has had its time, the process ends: nobody can stop a thread that computes,
    and Python would wait for it."""
    with ThreadPoolExecutor(1, "server") as pool:
        running = pool.submit(_run_single_threaded, server, listening)
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
            _wait_or_exit(running)


def _run_single_threaded(server: uvicorn.Server, listening: socket.socket) -> None:
    with threadpool_limits(1):  # requests share the cores; a request with many threads would only make the others wait
        server.run(sockets=[listening])


def _wait_or_exit(running: Future[None]) -> None:
    try:
        running.result(SHUTDOWN_SECONDS + 2)
    except TimeoutError:
        os._exit(0)  # changes of classes are on the disk before they are acknowledged


@contextmanager
def stop_on_signals(server: Stoppable) -> Iterator[None]:
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


# Workers --------------------------------------------------------------------------------------------------------------
# Several processes that answer at one address, and the one that looks after them.
#
# It forks them, starts another when one dies, and ends them all. It runs no thread and computes nothing, so that a
# copy of it is as good as new; and a worker ends by itself when its parent is gone.

MAX_CRASHES, CRASH_SECONDS = 5, 60.0  # workers that may die in so many seconds; with one more, the service ends
EXTRA_SECONDS = 5.0  # more seconds than a worker needs to end
ShouldStop = Callable[[], bool]
Announce = Callable[[Sequence[str]], object]
Work = Callable[
    [int, Announce, ShouldStop], None
]  # in a place, serves until it is over; tells what to say once it answers


def check_workers(count: int, device: str | None) -> None:
    """Refuse workers where they cannot be."""
    if count > 1 and (not hasattr(os, "fork") or sys.platform == "darwin"):  # Apple's libraries do not bear a fork
        raise ValueError(
            f"--workers is {count}: on this system a service is one process, because a running process cannot be "
            "copied safely; leave out --workers"
        )
    if count > 1 and device not in (None, "cpu"):
        raise ValueError(f"--workers is {count} with --device {device}: one process uses a GPU; leave out one of them")


@dataclass
class StopSignal:
    """What signals have said: stop, and stop at once."""

    should_exit: bool = False
    force_exit: bool = False


class Worker:
    """A process in one of the places. `said` is what it has to say once it answers, `error` why it cannot."""

    def __init__(self, place: int, work: Work) -> None:
        reading, writing = os.pipe()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both processes would write what is left
        held = signal.pthread_sigmask(signal.SIG_BLOCK, _stop_signals())  # until the copy has handlers of its own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: those of OpenBLAS end before a fork
            self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run_worker(place, work, writing, parent, held)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        os.close(writing)
        os.set_blocking(reading, False)
        self._pipe, self._buffer = reading, b""
        self.ready_lines: list[str] | None = None
        self.error: str | None = None

    def read_messages(self) -> None:
        """Take up what it has written."""
        with suppress(BlockingIOError):
            while part := os.read(self._pipe, 1 << 16):
                self._buffer += part
        whole, _, self._buffer = self._buffer.rpartition(b"\n")
        for line in whole.splitlines():
            told = json.loads(line)
            self.ready_lines, self.error = told.get("said", self.ready_lines), told.get("error", self.error)

    def exit_reason(self) -> str | None:
        """How it ended; None while it lives."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        self.read_messages()
        os.close(self._pipe)
        code = os.waitstatus_to_exitcode(status)
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class CrashCounter:
    """When workers died lately."""

    def __init__(self, most: int = MAX_CRASHES, seconds: float = CRASH_SECONDS) -> None:
        self._most, self._seconds = most, seconds
        self._times: deque[float] = deque()

    def add(self, now: float) -> bool:
        """Whether this one is one too many."""
        self._times.append(now)
        while self._times[0] < now - self._seconds:
            self._times.popleft()
        return len(self._times) > self._most


def run_workers(
    count: int, work: Work, say: Callable[[str], object], maintain: Callable[[], object], close: Callable[[], object]
) -> None:
    """Have so many processes do the work until a signal ends them. What they have to say is said once all answer.
    `maintain` is called again and again meanwhile; `close` closes what this process holds of the address."""
    logging.basicConfig(format=LOG_FORMAT)
    told = StopSignal()
    crew: list[Worker] = []
    with stop_on_signals(told):
        try:
            for place in range(count):
                crew.append(Worker(place, work))
            _wait_until_ready(crew, told)
            if not told.should_exit:
                for line in [
                    *(crew[0].ready_lines or ()),
                    f"worker processes: {', '.join(str(one.pid) for one in crew)}",
                ]:
                    say(line)
            crashes = CrashCounter()
            while not told.should_exit:
                _replace_crashed(crew, crashes, work)
                maintain()
                time.sleep(POLL_SECONDS)
        finally:
            close()
            _stop_workers(crew, told)


def _wait_until_ready(crew: list[Worker], told: StopSignal) -> None:
    """Until all answer, or are told to stop. If one cannot start, none does."""
    while not told.should_exit:
        for one in crew:
            one.read_messages()
            how = one.exit_reason()
            if how is not None:
                crew.remove(one)
                raise ChildProcessError(one.error or f"a worker process ended while it started ({how})")
        if all(one.ready_lines is not None for one in crew):
            return
        time.sleep(POLL_SECONDS)


def _replace_crashed(crew: list[Worker], crashes: CrashCounter, work: Work) -> None:
    """Start another worker for each that has died. If they die again and again, that does not help."""
    for place, one in enumerate(list(crew)):
        one.read_messages()
        how = one.exit_reason()
        if how is None:
            continue
        why = f"{how}: {one.error}" if one.error else how
        del crew[place]  # nobody may wait for it again, or send it a signal: its number may be another process's
        if crashes.add(time.monotonic()):
            raise ChildProcessError(
                f"worker processes ended {MAX_CRASHES + 1} times in {CRASH_SECONDS:g} seconds, the last one by {why}; the service "
                "has stopped: look for what they have logged"
            )
        crew.insert(place, Worker(place, work))
        log.warning("worker process %d ended (%s); %d takes its place", one.pid, why, crew[place].pid)


def _stop_workers(crew: list[Worker], told: StopSignal) -> None:
    """Stop all, and wait: running requests get their time."""
    for one in crew:
        one.send_signal(signal.SIGTERM)
    forced, last = False, time.monotonic() + SHUTDOWN_SECONDS + EXTRA_SECONDS
    while crew:
        crew[:] = [one for one in crew if one.exit_reason() is None]
        if told.force_exit and not forced:
            forced = True
            for one in crew:
                one.send_signal(signal.SIGINT)
                one.send_signal(signal.SIGINT)
        if time.monotonic() > last:
            for one in crew:
                one.send_signal(signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _stop_signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]


def _run_worker(place: int, work: Work, writing: int, parent: int, held: set[signal.Signals] | set[int]) -> NoReturn:
    """The life of a worker, which never returns: nothing that its parent has begun is its own to end."""

    def tell(**what: object) -> None:
        with suppress(OSError):
            os.write(writing, json.dumps(what).encode() + b"\n")

    code = 1
    try:
        for number in _stop_signals():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        with threadpool_limits(1):
            work(place, lambda said: tell(said=list(said)), lambda: os.getppid() != parent)
        code = 0
    except (ValueError, ArithmeticError, OSError, MemoryError) as error:  # what a user can mend
        tell(error=str(error) or type(error).__name__)
        code = 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


# Demo -----------------------------------------------------------------------------------------------------------------
# A model and data that need no file: letters with marks, described by their base letter and their mark.

METHOD = "class-means"
NAME = "letters"
SAID_TWICE = "case: upper"  # o and O are different letters already: on the page it would contradict the chosen letter
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


@dataclass(frozen=True)
class Demo:
    """What is served, and the descriptions that the page begins with."""

    model: ZeroShotClassifier
    data: Dataset
    examples: list[Example]


def build_demo() -> Demo:
    """A calibrated model of letters, 50 of them unseen, with the default settings of its method."""
    data = datasets.load(NAME)
    data = replace(data, signatures=data.signatures.drop(columns=SAID_TWICE))
    X, y = data.samples("trainval")
    model = methods.build(METHOD).fit(X, y, data.signatures)
    selection.calibrate(model, X, y, data.signatures, selection.folds(data)[:1])  # one fold: it starts sooner
    return Demo(model, data, DEMO_EXAMPLES)


# Start ----------------------------------------------------------------------------------------------------------------
# From what the command line names to a running service.


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
) -> None:
    """Serve a model loaded from `path`, or the letters if there is none, until it is stopped.

    Added classes are kept in the file `kept`, by default beside the model; of the letters only if you name a
    file. `names` are the names of the rows of the data, `images` the folder of their pictures.
    `backbone` is the network that concurrency photos into features. `count` processes answer.
    """
    check_workers(count, getattr(model, "device", None))
    title = "letters" if path is None else path.name
    if path is not None:
        kept = kept or path.with_name(f"{path.name}.classes.jsonl")

    def serve(
        opened: Callable[[], ClassStore | None],
        tell: Announce,
        should_stop: ShouldStop = lambda: False,
        make_server: Callable[[Config], Server] | None = None,
    ) -> None:
        """In this process, until it is over."""
        shown, loaded, examples = model, data, list[Example]()
        if shown is None:
            letters = build_demo()
            shown, loaded, examples = letters.model, letters.data, letters.examples
        rows = None
        if loaded is not None:
            rows = LoadedRows(loaded, name_classes_by_text(shown), gallery.load_pictures(loaded, images, names), names)
        notes: list[str] = []  # said once the service is ready
        network = requests.load_photo_encoder(backbone, loaded, shown, notes.append)
        service = Service(
            shown, title, Limits(), opened(), rows, examples, network, vocabulary.load_sentences(loaded, shown)
        )

        def ready(at: str) -> None:
            lines = [f"zskl serves {title} at {at}", *notes]
            if address.public is not None and address.token is None:
                lines.append(
                    f"whoever reaches {address.public} can use it and add classes: give a token, or let the proxy ask"
                )
            if rows is not None and path is not None:
                lines.append(f"rows of {rows.data.name}: {len(rows.X)}, with pictures: {int(rows.pictured.sum())}")
            if kept is not None:
                lines.append(f"added classes are kept in {kept}; there now: {len(service.snapshot.added)}")
            tell(lines)

        run_server(service, listening, address, ready, should_stop, make_server)

    with ExitStack() as stack:
        listening = stack.enter_context(bind_socket(address))  # a taken port is noticed before anything is trained
        if count == 1:
            serve(
                lambda: None if kept is None else stack.enter_context(store.open_class_file(kept)),
                lambda lines: [say(line) for line in lines],
            )
            return
        place = kept or Path(stack.enter_context(TemporaryDirectory(prefix="zskl-"))) / "classes.jsonl"
        file, counts = stack.enter_context(store.open_shared_class_file(place)), ConnectionCounts(count)

        def work(place: int, tell: Announce, should_stop: ShouldStop) -> None:
            serve(file.open_in_worker, tell, should_stop, lambda config: SharedServer(config, counts, place))

        run_workers(count, work, say, file.maintain, listening.close)
