"""MiniLM in NumPy against sentence-transformers: processor time of the same texts, in one process, by turns.

The texts are the first sentences of docstrings of NumPy, SciPy, pandas and scikit-learn, of the lengths that people
send. Both read the same weights and get all texts at once, each on one thread. The first turn of each is not counted.
The ratio is of the medians of processor time: machines are seldom quiet.

Run: python benchmarks/encode_texts.py [--texts 300] [--turns 5]; it writes benchmarks/results/encode_texts.json and the
paragraph of docs/texts-and-pictures.md.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from machine import keep
from zskl._files import write_atomically
from zskl.signatures import sentences

MODULES = (
    "scipy.stats",
    "scipy.signal",
    "scipy.special",
    "pandas",
    "sklearn.metrics",
    "numpy.linalg",
    "scipy.optimize",
)
WANTED = 1.3
HERE = Path(__file__).parents[1]
PAGE = HERE / "docs" / "texts-and-pictures.md"
BEGIN, END = "<!-- begin: encoder -->\n", "<!-- end: encoder -->"


def collect_texts(most: int) -> list[str]:
    """First sentences of public names, each once, in an order that has nothing to do with their lengths."""
    found: dict[str, None] = {}
    for module in map(importlib.import_module, MODULES):
        for name in sorted(one for one in dir(module) if not one.startswith("_")):
            about = inspect.getdoc(getattr(module, name)) or ""
            first = " ".join(about.split("\n\n")[0].split())
            if len(first.split()) > 2:
                found[first] = None
    texts = list(found)
    return [texts[place] for place in np.random.default_rng(0).permutation(len(texts))[:most]]


def compare(texts: list[str], turns: int) -> dict[str, Any]:
    folder = sentences.find_weights()
    if folder is None:
        raise SystemExit(f"the weights are not installed: {sentences.INSTALL}")
    encoders = {"numpy": sentences.load_minilm(folder), "torch": sentences._load_transformer(str(folder), "cpu")}
    vectors = {name: np.asarray(encode(texts)) for name, encode in encoders.items()}  # the turn that is not counted
    spent: dict[str, list[float]] = {name: [] for name in encoders}
    for _ in range(turns):
        for name, encode in encoders.items():
            start = time.process_time()
            encode(texts)
            spent[name].append(time.process_time() - start)
    medians = {name: float(np.median(each)) for name, each in spent.items()}
    return {
        "texts": len(texts),
        "words": float(np.mean([len(text.split()) for text in texts])),
        "turns": turns,
        "seconds": medians,
        "ratio": medians["numpy"] / medians["torch"],
        "difference": float(np.abs(vectors["numpy"] - vectors["torch"]).max()),
    }


def paragraph(record: dict[str, Any]) -> str:
    """What the page says."""
    ours, theirs = (1000 * record["seconds"][name] / record["texts"] for name in ("numpy", "torch"))
    verdict = "" if record["ratio"] <= WANTED else f" (wanted: at most {WANTED}: **missed**)"
    size = f"{record['texts']} texts of {record['words']:.0f} words on average"
    return (
        f"`python benchmarks/encode_texts.py` encodes {size}, by turns and on one thread:\n"
        f"{ours:.1f} ms of processor time a text in NumPy, {theirs:.1f} ms by "
        f"sentence-transformers. The ratio is {record['ratio']:.2f}{verdict}. No\n"
        f"number of a vector differs by more than {record['difference']:.0e}.\n"
    )


def put_into_page(page: str, record: dict[str, Any]) -> str:
    part = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return part.sub(lambda _: BEGIN + paragraph(record) + END, page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    record = compare(collect_texts(asked.texts), asked.turns)
    keep("encode_texts", record)
    write_atomically(PAGE, put_into_page(PAGE.read_text("utf-8"), record).encode())
    print(paragraph(record))


if __name__ == "__main__":
    if os.environ.get("OMP_NUM_THREADS") != "1":  # NumPy reads it when it is imported
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    main()
