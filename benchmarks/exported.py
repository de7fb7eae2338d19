"""Every method exported to ONNX and run by onnxruntime on the CPU: how far apart are its scores and ours?

Run: python benchmarks/exported.py [DATASET [ROOT [FEATURES]]] [--ndonnx]

With --ndonnx (pip install ndonnx) the same formulas are also traced by ndonnx, another way from array code to a graph,
and the table compares the two files: nodes, `If` nodes, opset, size, and milliseconds for 1 and for 1000 rows. Methods
are then trained for one epoch only, because the graph does not depend on it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from zskl import datasets, export, methods
from zskl.baselines import _linear_models, conse, sae
from zskl.estimators.base import ZeroShotClassifier
from zskl.export import NEVER

ROWS = 1, 1000
REPEATS = 300, 60  # of each number of rows; the fastest counts, because other work on the machine only adds time


def main(name: str = "digits", root: str | None = None, features: str | None = None, ndonnx: bool = False) -> None:
    data = datasets.load(name, root=root, features=features) if root else datasets.load(name)
    tests = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    X = np.asarray(data.X[tests], dtype=np.float32)
    print(f"{data.name}, {len(X)} test rows, {len(data.signatures)} classes\n")
    if ndonnx:
        compare_tracers(data, X)
    else:
        compare_scores(data, X)


def fitted(data: datasets.Dataset, **settings: Any) -> Iterator[tuple[str, ZeroShotClassifier]]:
    """Every method that can be exported, trained."""
    for method in methods.METHODS:
        estimator = methods.build(method, {"random_state": 0})
        if not estimator._applies(data.X.shape[1], data.signatures.shape[1]):
            print(f"({method} is left out: features and signatures of {data.name} are not of one space)")
        elif estimator.kind not in NEVER:
            known = estimator.get_params()
            estimator.set_params(**{key: value for key, value in settings.items() if key in known})
            yield method, estimator.fit(*data.samples("trainval"), data.signatures)


def compare_scores(data: datasets.Dataset, X: np.ndarray) -> None:
    print("| method | largest score | to ours in float32 | to ours in float64 | ours, float32 to float64 |")
    print("|---|---:|---:|---:|---:|")
    for method, model in fitted(data):
        single, double = model.compatibility(X), model.compatibility(X.astype(np.float64))
        (scores,) = session(ours(model)).run(None, {"features": X})
        apart = [np.abs(a - b).max() for a, b in ((scores, single), (scores, double), (single, double))]
        print(f"| {method} | {np.abs(double).max():.3g} | {' | '.join(f'{a:.1e}' for a in apart)} |")


def compare_tracers(data: datasets.Dataset, X: np.ndarray) -> None:
    columns = "nodes", "`If`", "opset", "kB", "1 row, ms", "1000 rows, ms", "off by"
    print(f"| {data.name}, ours / ndonnx | " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for method, model in fitted(data, epochs=1):
        if model.kind == "class-means":
            print(f"({method} is left out: the largest entries of a column are a function of our symbols only)")
            continue
        expected = model.compatibility(X)
        found = [measured(content, model, X, expected) for content in (ours(model), by_ndonnx(model))]
        print(f"| {method} | " + " | ".join(" / ".join(pair) for pair in zip(*found, strict=True)) + " |")


def measured(content: bytes, model: ZeroShotClassifier, X: np.ndarray, expected: np.ndarray) -> list[str]:
    """What the columns of `compare_tracers` show of one file."""
    file, run = onnx.load_from_string(content), session(content)
    table = model.signature_table_.matrix.astype(np.float32)
    given = {"signatures": table} if "signatures" in {one.name for one in run.get_inputs()} else {}
    times = []
    for rows, repeats in zip(ROWS, REPEATS, strict=True):
        some = np.resize(X, (rows, X.shape[1]))
        laps = []
        for _ in range(repeats):
            start = time.perf_counter()
            run.run(None, {"features": some, **given})
            laps.append(time.perf_counter() - start)
        times.append(f"{1e3 * min(laps):.2f}")
    (scores,) = run.run(None, {"features": X, **given})
    inside = list(nodes(file.graph))
    counts = [len(inside), sum(node.op_type == "If" for node in inside), file.opset_import[0].version]
    off = np.abs(scores - expected).max() / np.abs(expected).max()
    return [*map(str, counts), f"{len(content) / 1e3:.0f}", *times, f"{off:.0e}"]


def nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes of a graph, those of its branches included."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes(attribute.g)


def session(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def ours(model: ZeroShotClassifier) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export.to_onnx(model, path, signatures=model.kind != "cmt-star")
        return path.read_bytes()


def by_ndonnx(model: ZeroShotClassifier) -> bytes:
    import ndonnx

    def unit(rows: Any) -> Any:  # ndonnx loses the number of columns of a product, which blocks of rows depend on
        return _linear_models.scale_to_unit_length.__self__._apply_steps(rows)

    ndonnx.Array.clip = lambda self, min=None, max=None: ndonnx.clip(self, min, max)  # NumPy and PyTorch have it
    conse.scale_to_unit_length, sae.scale_to_unit_length, before = unit, unit, _linear_models.scale_to_unit_length
    try:
        X = ndonnx.argument(shape=("n", int(model.n_features_in_)), dtype=ndonnx.float32)
        scaled, inputs = model.feature_scaling_.apply(X), {"features": X}
        if model.kind == "cmt-star":
            answer = model._candidate_scorer(model._question(scaled, model.signature_table_))
        else:
            shape = "c", int(model.signature_table_.matrix.shape[1])
            inputs["signatures"] = ndonnx.argument(shape=shape, dtype=ndonnx.float32)
            answer = model._scorer(model.signature_scaling_.apply(inputs["signatures"]))
        content: bytes = ndonnx.build(inputs, {"scores": answer(scaled).astype(ndonnx.float32)}).SerializeToString()
        return content
    finally:
        conse.scale_to_unit_length = sae.scale_to_unit_length = before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", nargs="?", default="digits")
    parser.add_argument("root", nargs="?")
    parser.add_argument("features", nargs="?")
    parser.add_argument("--ndonnx", action="store_true")
    chosen = parser.parse_args()
    main(chosen.dataset, chosen.root, chosen.features, chosen.ndonnx)
