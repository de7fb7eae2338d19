"""Photos over HTTP: how often the service names the bird in the 150 photographs of species that it was never trained
on, against the stored features of the same photographs, and how long a photo takes.

    ZSKL_DATA=... python benchmarks/served_photos.py [MODEL]

Without a model file, class means are fitted with their default settings and calibrated on validation classes.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np

from zskl import datasets, metrics

FEATURES = "efficientnet_lite2"
PART = "test_unseen"


def main() -> None:
    root = Path(os.environ["ZSKL_DATA"])
    data = datasets.load("CUB", root=root, features=FEATURES)
    with (root / "cub-images" / "rows.csv").open() as file:
        mine = [one for one in csv.DictReader(file) if one["part"] == PART]
    photos = [(root / "cub-images" / one["file"], int(one["row"])) for one in mine]
    truth = data.y[[row for _, row in photos]]
    new = data.unseen_classes.tolist()
    with tempfile.TemporaryDirectory() as place:
        model = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(place, "cub.zskl")
        if len(sys.argv) == 1:
            _zskl("fit", "cub", "--root", root, "--features", FEATURES, "--no-tune", "--calibrate", "-o", model)
        of = ("--data", "cub", "--root", root, "--features", FEATURES, "--classes", Path(place, "c"))
        with served(model, *of) as at:
            print(f"{len(photos)} photographs of {len(set(truth.tolist()))} new classes; accuracy in per cent\n")
            print(f"{'candidates':<24}{'photos':>8}{'stored features':>17}{'seconds: median':>17}{'95th':>7}")
            asking = {f"the {len(new)} new classes": new, f"all {len(data.class_names)} classes": None}
            for words, candidates in asking.items():
                answers, seconds = zip(*(asked(at, path, candidates) for path, _ in photos), strict=True)
                stored = _posted(
                    f"{at}/predict",
                    json.dumps({"data_rows": [row for _, row in photos], "top": 1, "candidates": candidates}).encode(),
                    "application/json",
                )
                told = [one["class"] for one in stored["predictions"]]
                right = [100 * metrics.mean_per_class_accuracy(truth, np.array(each)) for each in (answers, told)]
                times = np.quantile(seconds, [0.5, 0.95])
                print(f"{words:<24}{right[0]:>8.1f}{right[1]:>17.1f}{times[0]:>17.3f}{times[1]:>7.3f}")


def asked(at: str, photo: Path, candidates: list[str] | None) -> tuple[str, float]:
    """The class that the service names, and how many seconds that took."""
    query = "&".join(["top=1", *(f"candidates={quote(name)}" for name in candidates or [])])
    body, began = photo.read_bytes(), time.perf_counter()
    found = _posted(f"{at}/predict?{query}", body, "image/jpeg")
    return found["predictions"][0]["class"], time.perf_counter() - began


@contextmanager
def served(*arguments: object) -> Iterator[str]:
    """The address of a service in a process of its own."""
    command = [sys.executable, "-m", "zskl", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            print(line, end="")
            found = re.search(r"^zskl serves .* at (http://\S+)", line)
            if found:
                yield found[1]
                return
        raise SystemExit("the service did not start")
    finally:
        process.terminate()
        process.wait()


def _posted(address: str, body: bytes, kind: str) -> dict:  # type: ignore[type-arg]
    with urlopen(Request(address, body, {"Content-Type": kind})) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


def _zskl(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "zskl", *map(str, arguments)], check=True)


if __name__ == "__main__":
    main()
