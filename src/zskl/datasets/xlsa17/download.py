"""Download one file over http or https. A broken connection is resumed, an incomplete file is refused."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import TypeAlias

from zskl.files import write_atomically
from zskl.version import __version__

TRIES = 5  # connections in a row without new bytes
PAUSE = 1.0  # seconds before the second try, doubled each time
SILENCE = 60.0  # seconds without a byte after which a connection counts as broken
BLOCK = 1 << 20
Progress: TypeAlias = Callable[[int, int | None], object]  # bytes so far, and in all where known


@dataclass(frozen=True)
class _Announced:
    """What the server said about the file: a part of another version must not be continued."""

    url: str
    total: int | None = None
    mark: str | None = None  # ETag, else Last-Modified


def check_address(url: str) -> None:
    """Refuse an address that is not http or https, such as file: and ftp:."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(f"{url!r} is not an http or https address: expected https://…")


def download(url: str, part: Path, progress: Progress | None = None) -> None:
    """Fetch `url` into `part`, which is complete when this returns.

    What an earlier call left there of the same address is continued. A .json file beside it keeps what the server said,
    until `forget`. A ConnectionError says what the server did wrong.
    """
    check_address(url)
    note = _note(part)
    failures, best = 0, _size(part)
    while True:
        fault = _attempt(url, part, note, progress)
        if fault is None:
            break
        failures, best = (0 if _size(part) > best else failures + 1), max(best, _size(part))
        if failures >= TRIES:
            raise ConnectionError(f"{url}: {fault}, {TRIES} times in a row")
        time.sleep(PAUSE * 2 ** max(0, failures - 1))


def forget(part: Path) -> None:
    """Remove what was downloaded, and the .json file beside it."""
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _attempt(url: str, part: Path, note: Path, progress: Progress | None) -> str | None:
    """Make one connection. Returns None if the file is complete, else what went wrong but may work next time."""
    known = _recall(note)
    have = _size(part) if known is not None and known.url == url else 0
    headers = {"User-Agent": f"zskl/{__version__}", "Accept-Encoding": "identity"}
    if have and known is not None:
        headers["Range"] = f"bytes={have}-"
        if known.mark:
            headers["If-Range"] = known.mark
    try:
        with _opener().open(urllib.request.Request(url, headers=headers), timeout=SILENCE) as answer:
            resumed = answer.status == 206
            start, total = _extent(answer, resumed)
            if resumed and (start != have or (known and known.total not in (None, total))):
                part.unlink()
                return "it continued at another position, or with another file"
            mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
            mark = None if (mark or "").startswith("W/") else mark
            write_atomically(note, json.dumps(asdict(_Announced(url, total, mark))).encode())
            _receive(answer, part, have if resumed else 0, total, progress)
    except urllib.error.HTTPError as error:
        return _refused(url, error, part, have, known)
    except (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
        return f"the connection failed ({getattr(error, 'reason', None) or error or type(error).__name__})"
    got = _size(part)
    return None if total is None or got == total else f"it sent {got} of the {total} bytes it announced"


def _receive(answer: HTTPResponse, part: Path, start: int, total: int | None, progress: Progress | None) -> None:
    with part.open("ab" if start else "wb") as file:
        done = start
        if progress is not None:
            progress(done, total)
        while block := answer.read(BLOCK):
            file.write(block)
            done += len(block)
            if progress is not None:
                progress(done, total)


def _extent(answer: HTTPResponse, resumed: bool) -> tuple[int, int | None]:
    """The position where the body starts, and the length of the whole file."""
    if resumed:
        span, _, whole = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        first = span.partition("-")[0]
        return int(first) if first.isdigit() else -1, int(whole) if whole.isdigit() else None
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _refused(url: str, error: urllib.error.HTTPError, part: Path, have: int, known: _Announced | None) -> str | None:
    with error:
        if error.code == 416 and have:  # there is no more: we have all of it, or it is another file
            if known is not None and known.total == have:
                return None
            part.unlink()
            return "it has no more of the file than we have"
        answer = f"the server answered {error.code} {error.reason}"
        if error.code < 500 and error.code not in (408, 429):
            raise ConnectionError(f"{url}: {answer}")
        return answer


def _opener() -> urllib.request.OpenerDirector:
    """An opener without handlers for file:, ftp: and data:, where a redirection could lead."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _recall(note: Path) -> _Announced | None:
    try:
        return _Announced(**json.loads(note.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
