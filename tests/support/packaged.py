"""`make package`: whether dist/ holds what it should, and whether the wheel works where there is nothing but it.

The wheel goes into an environment of its own, as pip would fill it: with the packages that zskl declares and those that
they declare, no others, and not this repository. They are links to the packages installed here, since to copy them
again would take a minute and prove no more.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src"
MADE = {"PKG-INFO", "setup.cfg"}  # by setuptools, for every source package
BESIDE = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "SECURITY.md", "pyproject.toml"}


def code() -> dict[str, bytes]:
    """All files of the package in the repository."""
    found = (path for path in SOURCE.rglob("zskl/**/*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(SOURCE).as_posix(): path.read_bytes() for path in found}


def check_wheel(wheel: Path) -> None:
    """It holds every file of the package, unchanged, and beside them only what describes it."""
    with zipfile.ZipFile(wheel) as file:
        found = {name: file.read(name) for name in file.namelist() if ".dist-info/" not in name}
        notes = {name.partition(".dist-info/")[2] for name in file.namelist()} - {""}
    assert found == code(), sorted(found.keys() ^ code().keys()) or "a file of the wheel differs from the repository"
    assert notes == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt"}, notes


def check_source(archive: Path) -> None:
    """It holds the code, the licence and what a reader needs first: no tests, documentation or results."""
    with tarfile.open(archive) as file:
        names = {one.name.partition("/")[2] for one in file if one.isfile()}
    names = {name for name in names if ".egg-info/" not in name}
    expected = {f"src/{name}" for name in code()} | BESIDE | MADE
    assert names == expected, sorted(names ^ expected)


def needed(name: str, extra: str = "") -> set[str]:
    """The packages that this one declares, and those that they declare, down to the last."""
    found, waiting = set(), [(name, extra)]
    while waiting:
        name, extra = waiting.pop()
        for text in metadata.requires(name) or ():
            one = Requirement(text)
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                wanted = {(plain(one.name), asked) for asked in one.extras | {""}}
                waiting += wanted - found
                found |= wanted
    return {one for one, _ in found}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def environment(place: Path, wheel: Path) -> Path:
    """The interpreter of a new environment with the wheel and what it needs."""
    run(sys.executable, "-m", "venv", "--without-pip", place)
    names = {"base": str(place), "platbase": str(place)}
    python = Path(sysconfig.get_path("scripts", "venv", names)) / Path(sys.executable).name
    packages = Path(sysconfig.get_path("purelib", "venv", names))
    for name in sorted(needed("zskl")):
        one = metadata.distribution(name)
        for top in sorted({file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}):
            if not (packages / top).exists():
                (packages / top).symlink_to(one.locate_file(top))
    install = ("install", "--quiet", "--no-index", "--no-deps", "--no-compile")
    run(sys.executable, "-m", "pip", "--python", python, *install, wheel)
    return python


def run(*command: str | Path, folder: Path | None = None) -> None:
    subprocess.run([str(one) for one in command], cwd=folder, check=True)


def main(folder: Path) -> None:
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    check_wheel(wheel)
    check_source(archive)
    with tempfile.TemporaryDirectory() as place:
        python = environment(Path(place, "environment"), wheel.resolve())
        empty = Path(place, "empty")
        empty.mkdir()
        run(python, "-I", Path(__file__).with_name("smoke.py"), REPOSITORY, folder=empty)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
