"""SVG as text. Every string is escaped here; colours are classes that the page's style sheet fills in."""

from __future__ import annotations

import html
import re

WIDTH = 400  # units of every drawing: about the pixels of a phone
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # what neither HTML nor XML can hold


def readable(text: object) -> str:
    """The text without characters that a page cannot hold."""
    return _UNFIT.sub("\ufffd", str(text))


def escape(text: object) -> str:
    """Fit for text and for attributes."""
    return html.escape(readable(text), quote=True)


def element(name: str, *inside: str, **attributes: object) -> str:
    """An element around markup. `class_` and `stroke_width` name the attributes class and stroke-width."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>"


def label(text: object, x: float, y: float, anchor: str = "start", kind: str = "", limit: int = 0) -> str:
    """Words at a point; longer than `limit` they are cut there and stand in full in a tooltip."""
    whole = readable(text)
    cut = limit and len(whole) > limit
    shown = escape(whole[: limit - 1] + "…" if cut else whole)
    inside = (element("title", escape(whole)), shown) if cut else (shown,)
    return element("text", *inside, x=x, y=y, text_anchor=anchor, **({"class_": kind} if kind else {}))


def drawing(height: float, title: str, description: str, *inside: str) -> str:
    """A figure with its text alternative."""
    return element(
        "svg",
        element("title", escape(title)),
        element("desc", escape(description)),
        *inside,
        viewBox=f"0 0 {WIDTH} {_short(height)}",
        role="img",
        aria_label=f"{title}. {description}",
    )


def _short(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
