"""Whether an installed zskl works, from an empty folder: python -I smoke.py [FOLDER], where FOLDER must not be used.

It needs nothing but zskl and what that declares.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
from importlib import metadata, resources
from pathlib import Path

import zskl
from zskl import ZeroShotKernelClassifier, datasets, protocols
from zskl.paper.tables import read_published

DATA = (
    "py.typed",
    "paper/published.json",
    "report/page.css",
    "report/page.html",
    "report/page.js",
    "serve/page/index.html",
)


def started(*arguments: str) -> subprocess.Popen[str]:
    """The command `zskl` of this environment."""
    program = Path(sysconfig.get_path("scripts"), "zskl")
    return subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(command: subprocess.Popen[str]) -> str:
    """What it said, when it has ended well."""
    words, faults = command.communicate()
    assert command.returncode == 0, faults
    return words


def main() -> None:
    start = time.perf_counter()
    away = [Path(folder).resolve() for folder in sys.argv[1:]]
    for place in (*map(Path, sys.path), Path(zskl.__file__)):
        assert not any(folder in place.resolve().parents or folder == place for folder in away), place
    for name in DATA:
        assert resources.files("zskl").joinpath(name).is_file(), name
    assert read_published()
    assert not any(Path().iterdir()), "start this in an empty folder"
    running = started("run", "digits", "--method", "gaussian", "--set", "epochs=1", "--out", "runs")

    data = datasets.load("digits")
    rows = data.parts["trainval"]
    model = ZeroShotKernelClassifier(epochs=2, random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    accuracy = protocols.zsl(model, data).accuracy
    assert accuracy > 0.5, accuracy  # chance is 1/3
    model.save("digits.zskl")
    assert zskl.load("digits.zskl").predict(data.X[:5]).tolist() == model.predict(data.X[:5]).tolist()

    assert said(started("--version")) == f"zskl {metadata.version('zskl')}\n"
    assert "where guessing gives" in said(running)
    said(started("report", "runs", "-o", "report.html"))
    page = Path("report.html").read_text("utf-8")
    assert "<style>" in page
    assert "gaussian" in page
    sys.stdout.write(f"zskl {zskl.__version__} works by itself ({time.perf_counter() - start:.0f} s)\n")


if __name__ == "__main__":
    main()
