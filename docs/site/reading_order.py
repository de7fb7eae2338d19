"""The order of the examples in the gallery: what a newcomer reads first comes first."""

from __future__ import annotations

ORDER = (
    "letters",
    "own_table",
    "birds",
    "sentences",
    "texts",
    "few_examples",
    "unlabelled_rows",
    "explain_calibrate",
    "pipeline",
)


class ReadingOrder:
    """Called with the name of a file; smaller comes first. A script that is not listed comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> int:
        stem = name.removeprefix("plot_").removesuffix(".py")
        return ORDER.index(stem) if stem in ORDER else len(ORDER)
