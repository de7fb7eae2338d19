"""Formulas as graphs: an array library whose arrays hold no numbers, and whose functions write down ONNX operators.

What is written for arrays, by operators and `zskl.arrays.namespace`, also runs on a `Symbol` and leaves operators of
opset 17 on its `Tape`. NumPy arrays and numbers beside it become constants; functions of these alone are NumPy's,
worked out at once. What depends on a value, or on a number of rows, raises TypeError: nothing is guessed.
"""

from zskl.symbols.symbol import Dimension, Symbol
from zskl.symbols.tape import Node, Tape

__all__ = ["Dimension", "Node", "Symbol", "Tape"]
