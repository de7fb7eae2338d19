"""The figures of an example: displays of zskl, which never touch pyplot, and what matplotlib itself has drawn."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

from zskl.plots import _style
from zskl.plots._base import Display


def _get_sg_image_scraper() -> Any:
    """Where sphinx-gallery looks for the scraper of a module that it knows by name."""
    return scraper


def scraper(block: Any, variables: dict[str, Any], settings: dict[str, Any], **options: Any) -> str:
    """Save what the block has drawn, and return the text that shows it."""
    seen = variables.setdefault("shown", set())
    text: str = matplotlib_scraper(block, variables, settings, **options)
    values = variables["example_globals"].values()
    for display in [one for one in values if isinstance(one, Display) and hasattr(one, "figure_")]:
        if id(display.figure_) in seen:
            continue
        seen.add(id(display.figure_))
        path = next(variables["image_path_iterator"])
        with open(path, "wb") as file:
            file.write(_style.to_png(display.figure_))
        text += figure_rst([path], settings["src_dir"], display.description)
    return text
