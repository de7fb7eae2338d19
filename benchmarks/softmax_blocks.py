"""The softmax kernel on two networks: side by side, or one projection for each network whose scores are added.

Run: python benchmarks/softmax_blocks.py --root FOLDER … [--signatures att] [--device cuda]; needs the data (CUB).

Class means, the kernel on both networks' columns, and the kernel on each network's are searched by themselves on the
validation folds, as a committee's members are. Then every mixture is judged on the folds, from the scores of the best
settings: the kernel side by side, the kernel by blocks, class means, and class means with either. What is best there is
fitted on all training rows and scored on the test rows once. Prints a line of JSON for each mixture; figures on folds
are those of each fold. `more_evidence.py measure` runs it too, as the method softmax-blocks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import datasets, methods, selection
from zskl._arrays import to_numpy
from zskl.datasets import Dataset
from zskl.metrics import row_margins
from zskl.selection import composite_search
from zskl.selection.class_folds import prepare_fold_data
from zskl.selection.composite_search import MemberSetting
from zskl.selection.grid_search import SearchOptions, plan_search
from zskl.selection.search_results import judge_settings

MIXTURES = {
    "class means": ("means",),
    "softmax, side by side": ("softmax",),
    "softmax, by blocks": ("first", "second"),
    "class means and softmax, side by side": ("means", "softmax"),
    "class means and softmax, by blocks": ("means", "first", "second"),
}


def measure(data: Dataset, device: str | None = None) -> dict[str, Any]:
    """The figures of every mixture on folds and on the test rows, by name."""
    assert data.blocks is not None
    blocks = list(data.blocks.values())
    everything = range(data.X.shape[1])
    columns = {"means": everything, "softmax": everything, "first": blocks[0], "second": blocks[1]}
    members = {name: search_member(data, name == "means", columns[name], device) for name in columns}
    tests: dict[str, NDArray[Any]] = {}

    def test_scores(name: str, setting: Mapping[str, Any]) -> NDArray[Any]:
        key = f"{name} {sorted(setting.items())}"
        if key not in tests:
            tests[key] = score_test_rows(data, name == "means", setting, columns[name], device)
        return tests[key]

    def judge(names: Sequence[str]) -> dict[str, Any]:
        chosen = [members[name][0] for name in names]
        settings, margins = [], {}
        folds = members["means"][1]
        for some in product(*chosen):
            for shares in composite_search._list_shares(list(names)) if len(names) > 1 else [{names[0]: 1.0}]:
                for fold in range(len(folds)):
                    margins[len(settings), fold] = row_margins(
                        add_scores(names, some, shares, [one.scored[fold][0] for one in some]),
                        *some[0].scored[fold][1:],
                    )
                settings.append({"members": some, "shares": shares})
        search = judge_settings(settings, folds, margins)
        found: dict[str, Any] = {}
        for scoring in ("zsl", "gzsl"):
            choice = search.pick(scoring)
            some, shares = choice.setting["members"], choice.setting["shares"]
            scores = [test_scores(name, one.setting) for name, one in zip(names, some, strict=True)]
            result = row_margins(add_scores(names, some, shares, scores), *test_codes(data))
            seen, unseen = result.at(choice.calibration)
            tested = result.zsl if scoring == "zsl" else 2 * seen * unseen / (seen + unseen)
            found[scoring] = {"folds": choice.fold_scores, "test": tested, "shares": shares}
        return found

    return {"seconds of members": {name: one[2] for name, one in members.items()}} | {
        title: judge(names) for title, names in MIXTURES.items()
    }


def make_model(data: Dataset, means: bool, device: str | None) -> Any:
    model = methods.build("class-means" if means else "gaussian-softmax", {"random_state": 0, "device": device})
    methods.set_blocks(model, data.blocks if means else None, data.signature_blocks if means else None)
    return model


def search_member(
    data: Dataset, means: bool, columns: range, device: str | None
) -> tuple[list[MemberSetting], Any, float]:
    """The settings that go on, with their scores on the folds; the folds; seconds of processor time."""
    began = time.process_time()
    rows = data.parts["trainval"]
    model = make_model(data, means, None if means else device)
    X = np.ascontiguousarray(data.X[rows][:, columns.start : columns.stop])
    shared = prepare_fold_data(model, X, data.y[rows], data.signatures, selection.folds(data))
    grid = methods.MEMBER_MEANS if means else methods.GAUSSIAN_SOFTMAX
    bounds = methods.MEMBER_MEANS_BOUNDS if means else methods.find("gaussian-softmax").bounds
    grids = methods.add_table_weights(grid, model)
    bounds = {name: ends for name, ends in bounds.items() if any(name in part for part in grids)}
    planned = plan_search(shared, grids, bounds, halving=None)
    found = composite_search._member_candidates(planned, "one", {"one": len(planned.tasks)}, SearchOptions())[0]
    return found, tuple(shared.folds), round(time.process_time() - began, 1)


def add_scores(
    names: Sequence[str], some: Sequence[MemberSetting], shares: Mapping[str, float], scores: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    pairs = zip(names, some, scores, strict=True)
    return np.asarray(sum(shares[name] / one.temperature * found for name, one, found in pairs))


def score_test_rows(
    data: Dataset, means: bool, setting: Mapping[str, Any], columns: range, device: str | None
) -> NDArray[Any]:
    """(n, C) of all classes in their order, of the test rows of seen classes, then of unseen ones."""
    rows, part = data.parts["trainval"], slice(columns.start, columns.stop)
    model = clone(make_model(data, means, None if means else device)).set_params(**setting)
    model.fit(data.X[rows][:, part], data.y[rows], data.signatures)
    return to_numpy(model.compatibility(data.X[test_rows(data)][:, part]))


def test_rows(data: Dataset) -> NDArray[np.int64]:
    return np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])


def test_codes(data: Dataset) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    classes = np.unique(data.signatures.index.to_numpy())
    return np.searchsorted(classes, data.y[test_rows(data)]), np.isin(classes, data.y[data.parts["trainval"]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, action="append", required=True)
    parser.add_argument("--features", default="efficientnet_lite2+resnet50")
    parser.add_argument("--signatures", default="att")
    parser.add_argument("--device")
    chosen = parser.parse_args()
    data = datasets.load("CUB", chosen.root, chosen.features, signatures=chosen.signatures)
    for title, found in measure(data, chosen.device).items():
        print(json.dumps({title: found}), flush=True)


if __name__ == "__main__":
    main()
