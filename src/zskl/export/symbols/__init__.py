"""Formulas as graphs: an array library whose arrays hold no numbers, and whose functions write down ONNX operators.

Code that is written for arrays, with operators and `zskl.arrays.namespace`, also runs on a `Symbol`. It leaves
operators of opset 17 on the symbol's `Tape`. NumPy arrays and numbers become constants. A function of constants alone
is NumPy's, and is computed at once. Code that depends on a value, or on a number of rows, raises TypeError.

The package ndonnx does the same. docs/export.md compares the two, and says why this one stays.
"""

from zskl.export.symbols.symbol import Dimension, Symbol
from zskl.export.symbols.tape import Node, Tape

__all__ = ["Dimension", "Node", "Symbol", "Tape"]
