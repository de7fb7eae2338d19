"""Links out of `docs/` that work on GitHub, led to what the site has in their place."""

from __future__ import annotations

import re
from typing import Any

PLACES = (
    (r"\]\(\.\./README\.md", "](/index.md"),
    (r"\]\(\.\./(CHANGELOG|CONTRIBUTING)\.md", r"](/reference/\1.md"),
    (r"\]\(\.\./examples/(\w+)\.py", r"](/examples/\1.rst"),
    (r"\]\(\.\./examples/?\)", "](/examples/index.rst)"),
)


def replaced(app: Any, page: str, source: list[str]) -> None:
    """Sphinx calls this with the text of each page."""
    for written, meant in PLACES:
        source[0] = re.sub(written, meant, source[0])
