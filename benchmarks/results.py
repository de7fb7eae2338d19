"""docs/results.md from records: every method side by side, what validation chose, and how long it took.

Run: zskl run CUB AWA1 --tune --calibrate --out runs --method … (all of them), then
     python benchmarks/results.py runs   keeps the records, less curves and single classes, beside this file, and
     python benchmarks/results.py        makes the page anew from what is kept
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from zskl import compare, formats, methods, records

KEPT = Path(__file__).parent / "results" / "side_by_side.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "results.md"
FEATURES = {
    "efficientnet_lite2": "of an EfficientNet-Lite2 trained on ImageNet (1280 dimensions)",
    "handcrafted_pca512": "hand-crafted (bags of local descriptors and histograms), reduced to 512 dimensions",
    "res101": "of a ResNet-101 trained on ImageNet (2048 dimensions), those of the published tables",
}

INTRODUCTION = """# Side by side

Made by `python benchmarks/results.py` from the records of

```text
zskl run CUB AWA1 --tune --calibrate --out runs --method NAME …      # every method of zskl methods
```

Default grids, settings and calibration constants chosen on three class-disjoint validation folds; mean per-class top-1
accuracy in per cent. Zero-shot, unseen, seen, H and area are of the setting with the best zero-shot accuracy on
validation classes, calibrated H is of the one with the best calibrated H there. Seconds are for search, fits and
calibration: on `cuda`, one H200, or on one core of two, the other one busy with another method. See
[selection](selection.md) and [the methods](baselines.md).
"""
CHOSEN = ("method", "seed", "setting by zero-shot accuracy", "there", "setting by calibrated H", "there")
TIMES = (
    "method",
    "seeds",
    "settings",
    "search (s)",
    "fits of what was chosen, and of it on the folds for calibration (s)",
    "device",
)


def head(names: tuple[str, ...]) -> str:
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, help="run folders or .jsonl files; none: what is kept")
    chosen = parser.parse_args()
    if chosen.runs:
        found = compare.collect(chosen.runs)
        order = {name: place for place, name in enumerate(methods.METHODS)}
        found.sort(key=lambda record: (record["dataset"] != "CUB", record["dataset"], order[record["method"]]))
        KEPT.parent.mkdir(exist_ok=True)
        records.write(KEPT, map(slim, found))
    page = write_page(records.read(KEPT))
    PAGE.write_text(page, encoding="utf-8")
    Console().print(f"wrote {PAGE}", soft_wrap=True)


def slim(record: dict[str, Any]) -> dict[str, Any]:
    """Without the curve and the accuracies of single classes."""
    dropped = ("curve", "per_class", "left_out", "coverage")
    return {
        name: {key: one for key, one in value.items() if key not in dropped} if isinstance(value, dict) else value
        for name, value in record.items()
        if name != "curve"
    }


def write_page(found: list[dict[str, Any]]) -> str:
    parts = [INTRODUCTION]
    for name in dict.fromkeys(record["dataset"] for record in found):
        mine = [record for record in found if record["dataset"] == name]
        features = mine[0]["features"]
        parts += [
            f"## {name}\n",
            f"Features `{features}`: {FEATURES.get(features, 'see the data')}. "
            + (
                ""
                if features == "res101"
                else "Not those of published tables: figures cannot be compared with these.\n"
            ),
            formats.markdown(side_by_side(mine)),
            f"### What validation chose on {name}\n",
            head(CHOSEN),
            *(_chosen(record) for record in mine if record["seed"] == 0),
            "",
            f"### Times on {name}\n",
            head(TIMES),
            *(_times(method, mine) for method in dict.fromkeys(record["method"] for record in mine)),
            "",
        ]
    return "\n".join(parts)


def side_by_side(found: list[dict[str, Any]]) -> compare.Comparison:
    """The comparison; no method is called the fastest, for they ran on different devices."""
    table = compare.compare(found)
    rows = []
    for row in table.rows:
        seconds = replace(row.figures[compare.SECONDS], best=False)
        rows.append(replace(row, figures={**row.figures, compare.SECONDS: seconds}))
    return replace(table, rows=tuple(rows))


def _chosen(record: dict[str, Any]) -> str:
    cells = [record["method"], str(record["seed"])]
    for scoring in ("zsl", "gzsl"):
        choice = record["tune"]["choices"][scoring]
        cells += [", ".join(f"{k} {v}" for k, v in choice["setting"].items()), f"{100 * choice['score']:.1f}"]
    return f"| {' | '.join(cells)} |"


def _times(method: str, found: list[dict[str, Any]]) -> str:
    mine = [record for record in found if record["method"] == method]
    search, fit = (sum(record["seconds"][stage] for record in mine) / len(mine) for stage in ("search", "fit"))
    device = mine[0]["config"].get("device") or "one core"
    return f"| {method} | {len(mine)} | {mine[0]['tune']['settings']} | {search:.1f} | {fit:.1f} | {device} |"


if __name__ == "__main__":
    main()
