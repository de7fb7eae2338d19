"""The smallest dataset, and its fields to change one at a time."""

import numpy as np
import pandas as pd

from zskl.datasets import Dataset


def fields():
    """Classes ant, bee (seen) and cat (unseen), two rows each and three for cat."""
    return {
        "name": "toy",
        "X": np.arange(14, dtype=np.float32).reshape(7, 2),
        "y": np.array(["ant", "ant", "bee", "bee", "cat", "cat", "cat"]),
        "signatures": pd.DataFrame(
            [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], index=["cat", "ant", "bee"], columns=["legs", "fur"]
        ),
        "parts": {"trainval": [0, 2], "test_seen": [1, 3], "test_unseen": [4, 5]},
    }


def changed(**change):
    return Dataset(**(fields() | change))


def with_part(**parts):
    return {"parts": fields()["parts"] | parts}


def table(**change):
    frame = fields()["signatures"]
    return {
        "signatures": pd.DataFrame(**({"data": frame.values, "index": frame.index, "columns": frame.columns} | change))
    }
