"""The wide searches of `grids.py` for the baselines trained by descent: a first setting, and one change at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Grid = Mapping[str, Sequence[Any]]
EPOCHS = (3, 5, 10, 20, 40, 80, 160)
OTHER_FEATURES = {"feature_scaling": ("l2-center-l2", "standardize-l2", "sqrt-standardize-l2", "l2")}
OTHER_SIGNATURES = {"signature_scaling": ("l2", "sqrt-center-l2", "standardize-l2")}


def around(first: Grid, *changes: Grid) -> list[Grid]:
    first = {"feature_scaling": ("sqrt-center-l2", "center-l2"), "epochs": EPOCHS, **first}
    return [first, *({**first, **change} for change in (OTHER_FEATURES, OTHER_SIGNATURES, *changes))]


DESCENT: dict[str, list[Grid]] = {
    "ale": around(
        {"learning_rate": (0.1,)},
        {"learning_rate": (0.03, 0.3, 1.0)},
        {"learning_rate": (0.4,), "batch_size": (256,)},
        {"weight_decay": (1e-4, 1e-3), "signature_scaling": ("center-l2", "sqrt-center-l2")},
    ),
    "devise": around(
        {"learning_rate": (0.03,)},
        {"learning_rate": (0.003, 0.01, 0.1)},
        {"learning_rate": (0.12,), "batch_size": (256,)},
        {"weight_decay": (1e-3, 3e-3), "signature_scaling": ("center-l2", "sqrt-center-l2")},
    ),
    "sje": around(
        {"learning_rate": (0.3,)},
        {"learning_rate": (0.1, 1.0, 3.0)},
        {"learning_rate": (1.2,), "batch_size": (256,)},
        {"weight_decay": (1e-4, 1e-3)},
    ),
    "latem": around(
        {"learning_rate": (0.3,), "n_maps": (1,)},
        {"learning_rate": (0.1, 1.0)},
        {"learning_rate": (0.1, 0.3), "n_maps": (2, 4)},
    ),
    "cmt": around(
        {"learning_rate": (0.3,), "hidden": (256,)},
        {"learning_rate": (0.1, 1.0, 3.0)},
        {"learning_rate": (0.3, 1.0), "hidden": (64, 128, 512)},
    ),
    "cmt-star": around(
        {"learning_rate": (1.0,), "epochs": EPOCHS[:5], "feature_scaling": ("sqrt-center-l2", "l2-center-l2")},
        {"learning_rate": (0.3,)},
        {"hidden": (256,), "signature_scaling": ("center-l2", "sqrt-center-l2")},
        {"C": (1.0, 100.0)},
    ),
}
