"""Where a benchmark is on this machine, and how to get it: download the xlsa17 package, unpack it, record checksums,
all in a hidden folder beside the target, which appears when it is complete. A download that breaks off begins again."""

import os
import shutil
import urllib.parse
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from zskl._files import cache_folder, file_digest, find_leftovers, replace_folder, wait_for_lock, write_atomically
from zskl._validation import list_values

INSIDE = ("", "data", "xlsa17", "xlsa17/data")  # where the dataset folders may be inside a root
SPLITS = "att_splits.mat"
SILENCE = 60.0  # seconds without a byte after which a connection counts as broken
BLOCK = 1 << 20
Progress: TypeAlias = Callable[[int, int | None], object]  # bytes so far, and in all where known
# The authors' address. Copies elsewhere have other versions of the splits: name them with --url.
PACKAGES = {"xlsa17": ("https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip",)}


Roots: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]  # one folder of benchmarks, or several


def benchmark_folders(name: str, root: Roots | None = None) -> list[Path]:
    """The folder with att_splits.mat in each root that has one, at least one; by default $ZSKL_DATA and the cache."""
    given: Roots | None = os.environ.get("ZSKL_DATA") if root is None else root
    several = [given] if isinstance(given, str | os.PathLike) else list(given or ())
    roots = [Path(one).expanduser() for one in several if os.fspath(one)]
    roots += [cache_folder()] if root is None else []
    found = []
    for one in roots:
        folders = (_find_fetched_child(one / inside, name) for inside in INSIDE)
        there = next((folder for folder in folders if folder is not None and (folder / SPLITS).is_file()), None)
        if there is not None:
            found.append(there)
    if found:
        return found
    looked = "; ".join(f"{one} ({'is there' if one.is_dir() else 'no such folder'})" for one in roots)
    raise FileNotFoundError(
        f"no {name}/{SPLITS} found. Looked in {looked}: itself, and data/, xlsa17/ and xlsa17/data/ inside. "
        "Give root= (--root) or set ZSKL_DATA to the folder of the xlsa17 package; get it with: zskl data fetch xlsa17"
    )


def check_fetched(path: Path) -> None:
    """Refuse a file of the fetched package whose SHA-256 differs from the recorded one. Other files pass."""
    path = path.resolve()
    for parent in path.parents:
        sums = parent / "xlsa17.sha256"
        if not sums.is_file():
            continue
        if _list_changed(sums, path.relative_to(parent).as_posix()):
            raise ValueError(
                f"{path} is not as it was fetched: its checksum differs from the one in {sums}; delete the folder "
                "and fetch it again, or delete that record if you changed the file on purpose"
            )
        return


def _find_fetched_child(folder: Path, name: str) -> Path | None:
    if (folder / name).is_dir():
        return folder / name
    try:
        children = sorted(folder.iterdir())
    except OSError:
        return None
    return next((child for child in children if child.name.lower() == name.lower() and child.is_dir()), None)


def fetch(
    name: str = "xlsa17",
    *,
    urls: Iterable[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """root/NAME, by default in the user's cache: checked by its SHA-256 sums, or got from the first good address."""
    key = name.lower()
    if key not in PACKAGES:
        raise ValueError(f"no package is called {name!r}: expected one of {', '.join(PACKAGES)}")
    addresses = list(urls) if urls is not None else list(PACKAGES[key])
    if not addresses:
        raise ValueError("urls is empty: give at least one address, or leave it out for the authors' own")
    for url in addresses:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:  # such as file: and ftp:
            raise ValueError(f"{url!r} is not an http or https address: expected https://…")
    parent = Path(root).expanduser() if root is not None else cache_folder()
    parent.mkdir(parents=True, exist_ok=True)
    folder, sums = parent / key, parent / f"{key}.sha256"
    with (parent / f".{key}.lock").open("wb") as lock:
        # One process at a time, if the file system has locks. A second one waits, then finds the package.
        wait_for_lock(lock.fileno())
        if folder.exists():
            # A folder without a record, put there by hand, passes.
            changed = _list_changed(sums) if sums.is_file() else []
            if changed:
                raise ValueError(
                    f"{folder} is not as it was fetched: {list_values(changed)} changed or disappeared since "
                    f"{sums.name} was written; delete the folder to fetch it again, or delete {sums} if you changed it "
                    "on purpose"
                )
            return folder
        for leftover in find_leftovers(parent, key):
            shutil.rmtree(leftover, ignore_errors=True)
        faults: list[ConnectionError | ValueError] = []
        for url in addresses:
            try:
                with replace_folder(folder) as work:
                    _download(url, work / "package.zip", progress)
                    _unpack_fetched_archive(work / "package.zip", key)
                    paths = sorted(path.relative_to(work) for path in work.rglob("*") if path.is_file())
                    lines = [f"# {url}"] + [f"{_digest(work / path)}  {key}/{path.as_posix()}" for path in paths]
            except (ConnectionError, ValueError) as error:
                kind = ConnectionError if isinstance(error, ConnectionError) else ValueError
                faults.append(kind(f"{url}: {error}"))
                continue
            write_atomically(sums, ("\n".join(lines) + "\n").encode())
            return folder
    found = "; ".join(map(str, faults))
    raise type(faults[-1])(f"could not fetch {key}: {found}. Give another address with urls= (--url)")


def _download(url: str, archive: Path, progress: Progress | None) -> None:
    import pooch
    import requests  # what pooch downloads with

    bar = _Bar(progress) if progress is not None else False
    try:
        # Not pooch.retrieve, which prints, and whose temporary file would stay behind if this process is killed.
        pooch.HTTPDownloader(progressbar=bar, chunk_size=BLOCK, timeout=SILENCE)(url, archive, None)
    except requests.HTTPError as error:
        raise ConnectionError(f"the server answered {error.response.status_code} {error.response.reason}") from None
    except requests.exceptions.ChunkedEncodingError:
        raise ConnectionError("the connection broke off before the file was complete; try again") from None
    except requests.RequestException as error:
        cause = error.args[0] if error.args else error
        reason = str(getattr(cause, "reason", cause)).rpartition(": ")[2]  # after the names of urllib3's objects
        raise ConnectionError(f"the connection failed ({reason})") from None


class _Bar:
    """What pooch takes for a progress bar. It tells `progress`, and counts every block as a full one."""

    total = 0  # pooch sets it, to 0 if the server does not say

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0

    def update(self, n: int) -> None:
        self._done = min(self._done + n, self.total or self._done + n)
        self._progress(self._done, self.total or None)

    def reset(self) -> None:
        """Called at the end, before it is told the total once more: nothing to do."""

    def close(self) -> None:
        """The display belongs to the caller."""


def _unpack_fetched_archive(archive: Path, name: str) -> None:
    """Unpack into the archive's folder and remove the archive. A top folder called `name` is not repeated."""
    folder = archive.parent
    try:
        with zipfile.ZipFile(archive) as file:
            if not any(path.rpartition("/")[2] == SPLITS for path in file.namelist()):
                raise ValueError(f"the zip file contains no {SPLITS}, so it is not this package")
            # Paths that lead outside end inside, and links become plain files.
            file.extractall(folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        cause = "it is truncated or damaged, or not a zip file at all"
        raise ValueError(f"this is not a whole zip file ({error}): {cause}") from None
    archive.unlink()
    shutil.rmtree(folder / "__MACOSX", ignore_errors=True)
    top = folder / name
    if list(folder.iterdir()) == [top]:
        for path in list(top.iterdir()):
            path.rename(folder / path.name)
        top.rmdir()


def _list_changed(sums: Path, only: str | None = None) -> list[str]:
    """The files in a record of checksums that are not as they were unpacked; or whether `only` this one is not."""
    lines = sums.read_text(encoding="utf-8").splitlines()
    recorded = [line.split("  ", 1) for line in lines if line and not line.startswith("#")]
    return [path for digest, path in recorded if only in (None, path) and _digest(sums.parent / path) != digest]


def _digest(path: Path) -> str:
    return file_digest(path) if path.is_file() else ""
