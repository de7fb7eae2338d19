"""Fitted models in formats that other programs run."""

from zskl.export.index import to_index
from zskl.export.onnx import describe, to_onnx

__all__ = ["describe", "to_index", "to_onnx"]
