"""Records → one self-contained HTML page. Never trains."""

from zskl.report.page import page, write

__all__ = ["page", "write"]
