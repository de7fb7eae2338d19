"""How far each step of the way from a CSV file to predictions raises the memory of a process; run by test_memory.py,
or by hand in an empty folder: python tests/peak_memory.py writes a CSV file of 200 000 × 64 there and measures.

Each step runs in a process forked after the imports, once on a small file, so that whatever is loaded late is there,
and then on the large one. Printed as JSON: step → growth of the peak resident set in bytes.
"""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np

from zskl import datasets
from zskl.cli import app

ROWS, WIDTH, CLASSES, ATTRIBUTES = 200_000, 64, 50, 20


def write_files(place):
    """A large file of features with string labels, the first rows of it, and a table of classes."""
    draw = np.random.default_rng(0)
    header = ",".join([*(f"f{k}" for k in range(WIDTH)), "label"]) + "\n"
    values, labels = draw.standard_normal((4000, WIDTH)).tolist(), draw.integers(CLASSES, size=4000).tolist()
    lines = "".join(
        ",".join([*map("{:.6g}".format, row), f"class {label:03}"]) + "\n"
        for row, label in zip(values, labels, strict=True)
    )
    (place / "small.csv").write_text(header + lines)
    with (place / "large.csv").open("w") as file:
        file.write(header)
        file.writelines([lines] * (ROWS // 4000))
    names = ",".join(["class", *(f"t{k}" for k in range(ATTRIBUTES))])
    table = (f"class {k:03}," + ",".join(map(str, draw.random(ATTRIBUTES).tolist())) for k in range(CLASSES))
    (place / "traits.csv").write_text("\n".join([names, *table]) + "\n")


def make(size):
    app(
        [
            "data",
            "make",
            f"{size}-data",
            "--features",
            f"{size}.csv",
            "--labels",
            "label",
            "--signatures",
            "traits.csv",
        ],
        standalone_mode=False,
    )


def fit(size):
    settings = ["--set", "batch_size=1000", "--set", "epochs=1"]
    app(["fit", f"{size}-data", "-o", f"{size}.zskl", *settings], standalone_mode=False)


def predict(size):
    app(
        ["predict", f"{size}.zskl", f"{size}.csv", "-o", f"{size}-predictions.csv", "--top", "2"], standalone_mode=False
    )


def planted(size):
    """What the test must catch: all blocks kept, then joined."""
    np.concatenate([block.X for block in datasets.tables.open_features(f"{size}.csv", "label").blocks()])


def resident(kind):
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(rf"{kind}:\s+(\d+)", status.read())[1])


def growth(step):
    """In a child: bytes by which the step on the large file raises the peak."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        sys.stdout = sys.stderr
        step("small")
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")  # forget the peak so far
        before = resident("VmRSS")
        step("large")
        os.write(write, json.dumps(resident("VmHWM") - before).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        found = json.loads(answer.read())
    os.waitpid(child, 0)
    return found


if __name__ == "__main__":
    write_files(Path())
    sys.stdout.write(json.dumps({step.__name__: growth(step) for step in (make, fit, predict, planted)}))
