"""A pytest plugin (-p without_numba): numba cannot be imported, as where the extra 'fast' is not installed."""

import sys

sys.modules["numba"] = None  # type: ignore[assignment]
