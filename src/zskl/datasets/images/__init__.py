"""Pictures → features: find the files, decode them, and embed them with a backbone."""

from zskl.datasets.images.embed import Embedded, embed

__all__ = ["Embedded", "embed"]
