"""Records → one self-contained HTML page. Never trains."""

from zskl.report.html_file import write
from zskl.report.page import page

__all__ = ["page", "write"]
