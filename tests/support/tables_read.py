"""A small table of features, and all that is read from a file of any kind."""

import numpy as np

from zskl.datasets import tables

FEATURES = "id,length,label,mass\nr1,1.5,ant,2\nr2,-0.25,bee,1e3\nr3,0,ant,7\n"
MATRIX = np.array([[1.5, 2], [-0.25, 1000], [0, 7]], dtype=np.float32)


def all_rows(path, **how):
    """(matrix, names, ids, labels) of every block."""
    opened = tables.open_features(path, **how)
    blocks = list(opened.blocks())
    join = [[text for block in blocks for text in (getattr(block, kind) or [])] for kind in ("ids", "labels")]
    return np.concatenate([block.X for block in blocks]), opened.names, *join
