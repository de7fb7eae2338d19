"""The namespace of symbols: functions under the names of the array API. On NumPy arrays alone they are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import array_api_compat.numpy as of_numbers
import numpy as np

from zskl.export.symbols.symbol import Symbol, broadcast, elementwise, named

PLAIN = {"bool": np.bool_, "float32": np.float32, "float64": np.float64, "int64": np.int64, "finfo": np.finfo}
ELEMENTWISE = {
    **{"abs": "Abs", "cos": "Cos", "exp": "Exp", "log": "Log", "sign": "Sign", "sin": "Sin", "sqrt": "Sqrt"},
    **{"tanh": "Tanh", "maximum": "Max", "minimum": "Min", "pow": "Pow", "matmul": "MatMul"},
}
REDUCTIONS = {"sum": "ReduceSum", "max": "ReduceMax", "mean": "ReduceMean", "min": "ReduceMin"}


def _log1p(x: Symbol) -> Symbol:
    """log(1 + x) to the last digits also where x is small: with u = 1 + x as rounded, log(u) · x / (u − 1)."""
    u = 1 + x
    return _where(u == 1, x, elementwise("Log", u) * (x / (u - 1)))


def _where(condition: Symbol, a: Any, b: Any) -> Symbol:
    tape = next(x.tape for x in (condition, a, b) if isinstance(x, Symbol))
    arrays = [x for x in (a, b) if isinstance(x, Symbol | np.ndarray | np.generic)]
    dtype = np.result_type(*[x.dtype for x in arrays], *[x for x in (a, b) if not hasattr(x, "dtype")])
    test = condition.name if isinstance(condition, Symbol) else tape.constant(condition)
    shape = broadcast(*[x.shape if isinstance(x, Symbol) else np.shape(x) for x in (condition, a, b)])
    return Symbol(tape, tape.write("Where", test, named(tape, a, dtype), named(tape, b, dtype)), dtype, shape)


def _reduce(operator: str, x: Symbol, *, axis: int, keepdims: bool = False) -> Symbol:
    axis %= len(x.shape)
    shape = (*x.shape[:axis], *((1,) if keepdims else ()), *x.shape[axis + 1 :])
    if operator == "ReduceSum":  # the first to take its axes as an input
        return x.written(operator, x.tape.constant(np.array([axis])), shape=shape, keepdims=int(keepdims))
    return x.written(operator, shape=shape, axes=[axis], keepdims=int(keepdims))


def _full_like(x: Symbol, value: float) -> Symbol:
    shape = x.tape.write("Shape", x.name)
    return Symbol(x.tape, x.tape.write("Expand", named(x.tape, value, x.dtype), shape), x.dtype, x.shape)


def _sort(x: Symbol, *, axis: int) -> Symbol:
    """Sort in rising order, along an axis of known length."""
    size = x.tape.constant(np.array([int(x.shape[axis])]))
    name = x.tape.write("TopK", x.name, size, outputs=2, axis=axis, largest=0, sorted=1)
    return Symbol(x.tape, name, x.dtype, x.shape)


def _largest(x: Symbol, count: int) -> Symbol:
    """The largest entries of each column, see `zskl.arrays.largest`."""
    name = x.tape.write("TopK", x.name, x.tape.constant(np.array([count])), outputs=2, axis=0, largest=1, sorted=0)
    return Symbol(x.tape, name, x.dtype, (count, *x.shape[1:]))


def _take(x: Symbol, indices: np.ndarray[Any, Any], *, axis: int) -> Symbol:
    return x[(slice(None),) * (axis % len(x.shape)) + (indices,)]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "asarray": lambda x: x,
    "astype": Symbol.astype,
    "clip": Symbol.clip,
    "largest": _largest,
    "log1p": _log1p,
    "ones_like": lambda x: _full_like(x, 1),
    "sort": _sort,
    "take": _take,
    "where": _where,
    "zeros_like": lambda x: _full_like(x, 0),
}


class SymbolFunctions:
    """What `__array_namespace__` of a symbol gives: functions and types under the names of the array API."""

    __name__ = "zskl.export"  # array_api_compat asks every namespace for it

    def __getattr__(self, name: str) -> Any:
        """The function or type of that name. A function checks whether one of its arguments is a symbol."""
        if name in PLAIN:
            return PLAIN[name]
        if name in FUNCTIONS:
            own = FUNCTIONS[name]
        elif name in ELEMENTWISE:
            own = partial(elementwise, ELEMENTWISE[name])
        elif name in REDUCTIONS:
            own = partial(_reduce, REDUCTIONS[name])
        else:
            raise AttributeError(f"it uses the function {name}")

        def function(*values: Any, **how: Any) -> Any:
            symbolic = any(isinstance(value, Symbol) for value in values)
            return own(*values, **how) if symbolic else getattr(of_numbers, name)(*values, **how)

        return function


SYMBOL_FUNCTIONS = SymbolFunctions()
