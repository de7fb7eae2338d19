"""Get the xlsa17 package: download, unpack, and record the checksum of every file beside it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zskl.datasets.xlsa17.download import Report, check_address, download, forget
from zskl.datasets.xlsa17.locations import SPLITS, cache_folder
from zskl.datasets.xlsa17.unpack import unpack
from zskl.files import leftovers, write_atomically
from zskl.parameters import listed

PACKAGES = {
    "xlsa17": ("https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip",),
}  # the authors' own address; copies elsewhere hold other versions of the splits: --url names them


def fetch(
    name: str = "xlsa17",
    *,
    urls: Iterable[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    progress: Report | None = None,
) -> Path:
    """The folder of the unpacked package, root/NAME; by default the root is the user's cache, where `load` looks.

    A package that is there is checked against the SHA-256 sums recorded when it was unpacked (root/NAME.sha256, as
    sha256sum writes them) and not fetched again. Otherwise the addresses are tried in order, until one gives a zip file
    with benchmarks in it. progress(done, total) is told the bytes so far and, where known, in all.
    """
    key = name.lower()
    if key not in PACKAGES:
        raise ValueError(f"no package is called {name!r}; the known ones are: {', '.join(PACKAGES)}")
    addresses = list(urls) if urls is not None else list(PACKAGES[key])
    if not addresses:
        raise ValueError("urls is empty; give at least one address, or leave it out for the authors' own")
    for url in addresses:
        check_address(url)
    place = Path(root).expanduser() if root is not None else cache_folder()
    place.mkdir(parents=True, exist_ok=True)
    folder, sums = place / key, place / f"{key}.sha256"
    with _alone(place / f".{key}.lock"):
        if folder.exists():
            _verify(folder, sums)
            return folder
        for leftover in leftovers(place, key):
            shutil.rmtree(leftover, ignore_errors=True)
        faults: list[ConnectionError | ValueError] = []
        for url in addresses:
            archive = place / f"{key}.zip.part"
            try:
                download(url, archive, progress)  # what a broken connection leaves is continued next time
                written = unpack(archive, folder, accept=_check_content)
            except ConnectionError as error:
                faults.append(error)
                continue
            except ValueError as error:
                forget(archive)
                faults.append(ValueError(f"{url}: {error}"))
                continue
            forget(archive)
            lines = [f"# {url}"] + [f"{digest}  {key}/{path}" for path, digest in written.items()]
            write_atomically(sums, ("\n".join(lines) + "\n").encode())
            return folder
    found = "; ".join(map(str, faults))
    raise type(faults[-1])(f"could not fetch {key}: {found}. Give another address with urls= (--url)")


def _check_content(paths: list[str]) -> None:
    if not any(path.rpartition("/")[2] == SPLITS for path in paths):
        raise ValueError(f"the zip file holds no {SPLITS}, so it is not this package")


def _verify(folder: Path, sums: Path) -> None:
    """What was unpacked must be as it was then; a folder without a record was put there by hand and is left alone."""
    if not sums.is_file():
        return
    lines = sums.read_text(encoding="utf-8").splitlines()
    recorded = [line.split("  ", 1) for line in lines if line and not line.startswith("#")]
    changed = [path for digest, path in recorded if _digest(folder.parent / path) != digest]
    if changed:
        raise ValueError(
            f"{folder} is not as it was fetched: {listed(changed)} changed or vanished since {sums.name} was written; "
            f"delete the folder to fetch it again, or delete {sums} if you changed it on purpose"
        )


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time, where the system has file locks: a second one waits, then finds the package."""
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        yield
        return
    with path.open("w") as file:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
