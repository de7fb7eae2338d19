"""Every method exported to ONNX and run by onnxruntime on the CPU: how far apart are its scores and ours?

Run: python benchmarks/exported.py [DATASET [ROOT [FEATURES]]]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

from zskl import datasets, export, methods


def main(name: str = "digits", root: str | None = None, features: str | None = None) -> None:
    data = datasets.load(name, root=root, features=features) if root else datasets.load(name)
    rows = data.parts["trainval"]
    tests = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    X = np.asarray(data.X[tests], dtype=np.float32)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    print(f"{data.name}, {len(X)} test rows, {len(data.signatures)} classes\n")
    print("| method | largest score | to ours in float32 | to ours in float64 | ours, float32 to float64 |")
    print("|---|---:|---:|---:|---:|")
    for method in methods.METHODS:
        kind = methods.find(method).estimator.kind
        if kind in export.NEVER:
            continue
        model = methods.build(method, {"random_state": 0}).fit(data.X[rows], data.y[rows], data.signatures)
        single, double = model.compatibility(X), model.compatibility(X.astype(np.float64))
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "model.onnx")
            export.to_onnx(model, file, signatures=kind != "cmt-star")
            session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        (scores,) = session.run(None, {"features": X})
        apart = [np.abs(a - b).max() for a, b in ((scores, single), (scores, double), (single, double))]
        print(f"| {method} | {np.abs(double).max():.3g} | {' | '.join(f'{a:.1e}' for a in apart)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
