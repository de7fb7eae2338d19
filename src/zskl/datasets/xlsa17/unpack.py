"""Unpack a zip archive into a folder: all of it or nothing, and nothing outside the folder."""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from zskl.files import replacing_folder

BLOCK = 1 << 20


def unpack(archive: Path, folder: Path, accept: Callable[[list[str]], None] | None = None) -> dict[str, str]:
    """Unpack into the new `folder` and return the SHA-256 of each file by its path there.

    A top folder of the archive that has the folder's name is not repeated. `accept` gets the paths before anything is
    written, and refuses them by raising an error. ValueError for an archive that is damaged or reaches outside.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            members = _members(file, folder.name)
            if accept is not None:
                accept(list(members))
            _check_space(sum(member.file_size for member in members.values()), folder.parent)
            with replacing_folder(folder) as temporary:
                return {path: _extract(file, member, temporary / path) for path, member in members.items()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"this is not a whole zip file ({error}): it is truncated or damaged, or not a zip file at all"
        ) from None


def _members(file: zipfile.ZipFile, top: str) -> dict[str, zipfile.ZipInfo]:
    """Path inside the folder → file of the archive; the paths tell which folders to make."""
    found: dict[str, zipfile.ZipInfo] = {}
    for member in file.infolist():
        name = member.orig_filename.replace("\\", "/")
        steps = name.split("/")
        if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in steps or "\0" in name:
            raise ValueError(f"the zip file contains {name!r}, a path outside its folder; nothing was unpacked")
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise ValueError(f"the zip file contains {name!r}, a link or a device; nothing was unpacked")
        if name.endswith("/") or steps[0] == "__MACOSX":
            continue
        inside = steps[1:] if steps[0] == top else steps
        path = "/".join(step for step in inside if step not in ("", "."))
        if not path or path in found:
            raise ValueError(f"the zip file contains {name!r} without a name or twice; nothing was unpacked")
        found[path] = member
    return found


def _check_space(needed: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            f"the zip file unpacks to {needed / 1e9:.1f} GB, and {folder} has {free / 1e9:.1f} GB left; make room, "
            "or give another folder with root= (--root)"
        )


def _extract(file: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with file.open(member) as source, target.open("xb") as sink:
        while block := source.read(BLOCK):
            digest.update(block)
            sink.write(block)
    return digest.hexdigest()
