"""An array without numbers: operators between it and arrays, and its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from zskl.export.symbols.tape import Tape

TRUTHS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Not")  # operators whose results are booleans


@dataclass(frozen=True)
class Dimension:
    """A number of rows that is not known before the graph runs."""

    name: str

    def _unknown(self, *_: object) -> NoReturn:
        raise TypeError(f"it depends on the number of rows of {self.name}")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __index__ = __neg__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unknown
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _unknown


Shape: TypeAlias = tuple[int | Dimension, ...]


def _operator(name: str, swapped: bool = False) -> Callable[..., Symbol]:
    return lambda *operands: elementwise(name, *operands[:: -1 if swapped else 1])


class Symbol:
    """An array whose values a graph will compute. Its type is known, and its shape except for numbers of rows."""

    __array_ufunc__ = None  # so that NumPy leaves operators between its arrays and symbols to us
    __hash__ = None  # type: ignore[assignment]
    __iter__ = None

    def __init__(self, tape: Tape, name: str, dtype: Any, shape: Shape) -> None:
        self.tape, self.name, self.dtype, self.shape = tape, name, np.dtype(dtype), shape

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        from zskl.export.symbols.functions import SYMBOL_FUNCTIONS  # which imports this file

        return SYMBOL_FUNCTIONS

    def _no_number(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("it looks at the values themselves")

    __array__ = __bool__ = __float__ = __int__ = __index__ = _no_number

    __add__ = __radd__ = _operator("Add")
    __mul__ = __rmul__ = _operator("Mul")
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", swapped=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", swapped=True)
    __pow__, __rpow__ = _operator("Pow"), _operator("Pow", swapped=True)
    __matmul__, __rmatmul__ = _operator("MatMul"), _operator("MatMul", swapped=True)
    __lt__, __le__ = _operator("Less"), _operator("LessOrEqual")
    __gt__, __ge__ = _operator("Greater"), _operator("GreaterOrEqual")
    __neg__, __abs__ = _operator("Neg"), _operator("Abs")

    def __eq__(self, other: Any) -> Any:
        return elementwise("Equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return elementwise("Not", self == other)

    def written(self, operator: str, *further: str, shape: Shape, dtype: Any = None, **attributes: Any) -> Symbol:
        """One operator on this array. The type stays the same unless you name one."""
        name = self.tape.write(operator, self.name, *further, **attributes)
        return Symbol(self.tape, name, self.dtype if dtype is None else dtype, shape)

    def astype(self, dtype: Any, copy: bool = False) -> Symbol:
        number = {"float32": 1, "int64": 7, "float64": 11}.get(np.dtype(dtype).name)  # the numbers of types in ONNX
        if number is None:
            raise TypeError(f"it needs the type {np.dtype(dtype)}")
        return self if self.dtype == dtype else self.written("Cast", shape=self.shape, dtype=dtype, to=number)

    def clip(self, min: Any = None, max: Any = None) -> Symbol:
        above = self if min is None else elementwise("Max", self, min)
        return above if max is None else elementwise("Min", above, max)

    @property
    def T(self) -> Symbol:
        if len(self.shape) != 2:
            raise TypeError(f"it transposes an array of {len(self.shape)} dimensions")
        return self.written("Transpose", shape=self.shape[::-1], perm=[1, 0])

    mT = T

    def __getitem__(self, key: Any) -> Symbol:
        """New axes, a whole axis, a range of an axis of known length, or columns by number."""
        keys = list(key) if isinstance(key, tuple) else [key]
        missing = [slice(None)] * (len(self.shape) - sum(one is not None and one is not Ellipsis for one in keys))
        dots = next((place for place, one in enumerate(keys) if one is Ellipsis), len(keys))
        result = self
        for axis, one in enumerate(keys[:dots] + missing + keys[dots + 1 :]):
            result = _indexed(result, axis, one)
        return result


def _indexed(x: Symbol, axis: int, key: Any) -> Symbol:
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if key is None:
        return x.written("Unsqueeze", x.tape.constant(np.array([axis])), shape=(*before, 1, *x.shape[axis:]))
    if isinstance(key, slice) and key == slice(None):
        return x
    if isinstance(key, slice) and key.step in (None, 1):
        start, stop, _ = key.indices(x.shape[axis])
        ends = [x.tape.constant(np.array([value])) for value in (start, stop, axis)]
        return x.written("Slice", *ends, shape=(*before, max(0, stop - start), *after))
    if isinstance(key, np.ndarray) and key.ndim == 1 and key.dtype.kind in "iu":
        numbers = x.tape.constant(key.astype(np.int64))
        return x.written("Gather", numbers, shape=(*before, len(key), *after), axis=axis)
    raise TypeError(f"it is indexed by {key!r}")


def elementwise(operator: str, *operands: Any) -> Symbol:
    """One operator on operands of one type: numbers take the type of the arrays, and arrays the wider type."""
    numbers = [x for x in operands if isinstance(x, bool | int | float) and not isinstance(x, np.generic)]
    arrays = [x for x in operands if isinstance(x, Symbol | np.ndarray | np.generic)]
    if len(numbers) + len(arrays) < len(operands):
        raise TypeError(f"it combines {' and '.join(_kind(x) for x in operands)}")
    tape = next(x.tape for x in arrays if isinstance(x, Symbol))
    dtype = np.result_type(*[x.dtype for x in arrays], *numbers)
    names = [named(tape, x, dtype) for x in operands]
    shapes: list[Shape] = [x.shape if isinstance(x, Symbol) else np.shape(x) for x in operands]
    shape = _product(*shapes) if operator == "MatMul" else broadcast(*shapes)
    return Symbol(tape, tape.write(operator, *names), np.bool_ if operator in TRUTHS else dtype, shape)


def _kind(x: Any) -> str:
    return f"the number of rows of {x.name}" if isinstance(x, Dimension) else type(x).__name__


def named(tape: Tape, x: Any, dtype: Any) -> str:
    """The name of a symbol, or of a constant with that value, in the given type."""
    if isinstance(x, Symbol):
        return (x if x.dtype == dtype else x.astype(dtype)).name
    return tape.constant(np.asarray(x).astype(dtype, copy=False))


def broadcast(*shapes: Shape) -> Shape:
    width = max(len(shape) for shape in shapes)
    result: list[int | Dimension] = []
    for sizes in zip(*[(1,) * (width - len(shape)) + shape for shape in shapes], strict=True):
        other = [size for size in sizes if size != 1] or [1]
        if any(size != other[0] for size in other):
            raise TypeError(f"it combines arrays of shapes {' and '.join(map(str, shapes))}")
        result.append(other[0])
    return tuple(result)


def _product(a: Shape, b: Shape) -> Shape:
    if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
        raise TypeError(f"it multiplies arrays of shapes {a} and {b}")
    return a[0], b[1]
