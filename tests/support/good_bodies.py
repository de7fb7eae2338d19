"""Bodies that the service takes, for a model of the digits, and the media types of all bodies."""

import io

import numpy as np

JSON, NPY = "application/json", "application/x-npy"
WIDTH = 64  # features of the model these are sent to
ROW = [float(k % 17) for k in range(WIDTH)]
GOOD = {
    "/predict": {"rows": [ROW]},
    "/classes": {"name": "new", "attributes": {"top": 1.0}},
    "/classes/new": {"attributes": {"top": 1.0}},
    "/rank": {"attributes": {"top": 1.0}},
}


def npy_bytes(array, **options):
    """A .npy file."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()
