"""Get the xlsa17 package: download it, unpack it, and record the checksum of every file."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from zskl.datasets.xlsa17.download import Progress, check_address, download, forget
from zskl.datasets.xlsa17.locations import SPLITS
from zskl.datasets.xlsa17.unpack import unpack
from zskl.files import cache_folder, leftovers, wait_for_lock, write_atomically
from zskl.parameters import listed

PACKAGES = {
    "xlsa17": ("https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip",),
}  # the authors' address; copies elsewhere have other versions of the splits: name them with --url


def fetch(
    name: str = "xlsa17",
    *,
    urls: Iterable[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Get the package and return its folder, root/NAME. The default root is the user's cache, where `load` looks.

    A package that is already there is not fetched again, but checked against the SHA-256 sums recorded when it was
    unpacked (root/NAME.sha256, in the format of sha256sum). Otherwise the addresses are tried in order, until one gives
    a zip file with benchmarks in it. progress(done, total) gets the bytes so far and, where known, in all.
    """
    key = name.lower()
    if key not in PACKAGES:
        raise ValueError(f"no package is called {name!r}: expected one of {', '.join(PACKAGES)}")
    addresses = list(urls) if urls is not None else list(PACKAGES[key])
    if not addresses:
        raise ValueError("urls is empty: give at least one address, or leave it out for the authors' own")
    for url in addresses:
        check_address(url)
    parent = Path(root).expanduser() if root is not None else cache_folder()
    parent.mkdir(parents=True, exist_ok=True)
    folder, sums = parent / key, parent / f"{key}.sha256"
    with _one_at_a_time(parent / f".{key}.lock"):
        if folder.exists():
            _verify(folder, sums)
            return folder
        for leftover in leftovers(parent, key):
            shutil.rmtree(leftover, ignore_errors=True)
        faults: list[ConnectionError | ValueError] = []
        for url in addresses:
            archive = parent / f"{key}.zip.part"
            try:
                download(url, archive, progress)  # after a broken connection, the next call continues
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
        raise ValueError(f"the zip file contains no {SPLITS}, so it is not this package")


def _verify(folder: Path, sums: Path) -> None:
    """Refuse files that changed since they were unpacked. A folder without a record, put there by hand, passes."""
    if not sums.is_file():
        return
    lines = sums.read_text(encoding="utf-8").splitlines()
    recorded = [line.split("  ", 1) for line in lines if line and not line.startswith("#")]
    changed = [path for digest, path in recorded if _digest(folder.parent / path) != digest]
    if changed:
        raise ValueError(
            f"{folder} is not as it was fetched: {listed(changed)} changed or disappeared since {sums.name} was "
            f"written; delete the folder to fetch it again, or delete {sums} if you changed it on purpose"
        )


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Let one process in at a time, if the file system has locks. A second one waits, then finds the package."""
    with path.open("wb") as file:
        wait_for_lock(file.fileno())
        yield
