"""Frozen dataclasses ↔ JSON, by the types of their fields.

What is missing or null becomes the default of its field. A value of another type is refused with its place and what was
expected. A field that a dataclass does not know is ignored.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Missing(ValueError):
    """A field that has no default is not there."""


def to_json(value: object) -> Any:
    """Dataclasses as objects, tuples as lists. A field is left out where it is None, or a part that holds nothing."""
    if is_dataclass(value) and not isinstance(value, type):
        found = {one.name: getattr(value, one.name) for one in fields(value)}
        return {one.name: to_json(found[one.name]) for one in fields(value) if not _absent(one, found[one.name])}
    if isinstance(value, Mapping):
        return {str(name): to_json(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(one) for one in value]
    return value


def from_json(kind: type[T], value: object, place: str = "") -> T:
    """A dataclass from what `json.loads` gave. `place` names the value in error messages."""
    if not isinstance(value, Mapping):
        raise ValueError(_refusal(place, value, "an object with named fields"))
    hints = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    found = {}
    for one in fields(kind):  # type: ignore[arg-type]  # every `kind` is a dataclass
        inside = f"{place}.{one.name}" if place else one.name
        given = value.get(one.name)
        if given is not None:
            found[one.name] = _read(hints[one.name], given, inside)
        elif _default(one) is MISSING:
            raise Missing(f"`{inside}` is missing: expected {_words(hints[one.name])}")
    return kind(**found)


def _read(hint: Any, value: object, place: str) -> Any:
    """One value of a type that a field may have; never null."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (kind,) = [one for one in inner if one is not types.NoneType]
        try:
            return _read(kind, value, place)
        except Missing:
            return None  # a part that may be absent lacks something it needs
    if hint is object:
        return value
    if is_dataclass(hint):
        return from_json(hint, value, place)  # type: ignore[arg-type]
    if hint is bool and isinstance(value, bool):
        return value
    if hint in (float, int, str):
        allowed = (int, float) if hint is float else hint
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise ValueError(_refusal(place, value, _words(hint)))
        return hint(value)
    if origin is Mapping and isinstance(value, Mapping):
        kind = inner[1]
        return {name: _nullable(kind, one, f"{place}.{name}") for name, one in value.items() if _kept(kind, one)}
    if origin is tuple and isinstance(value, list | tuple):
        kinds = (inner[0],) * len(value) if inner[-1] is Ellipsis else inner
        if len(kinds) == len(value):
            return tuple(
                _nullable(kind, one, f"{place}[{k}]") for k, (kind, one) in enumerate(zip(kinds, value, strict=True))
            )
    raise ValueError(_refusal(place, value, _words(hint)))


def _kept(kind: Any, value: object) -> bool:
    """A null entry of a mapping says no more than a missing one, except where any value may stand."""
    return value is not None or kind is object or types.NoneType in get_args(kind)


def _nullable(kind: Any, value: object, place: str) -> Any:
    if value is None and (kind is object or types.NoneType in get_args(kind)):
        return None
    if value is None:
        raise ValueError(_refusal(place, value, _words(kind)))
    return _read(kind, value, place)


def _absent(field: Field[Any], value: object) -> bool:
    return value is None or (is_dataclass(value) and value == _default(field))


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


@lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _refusal(place: str, value: object, expected: str) -> str:
    text = repr(value)
    return f"`{place or 'the line'}` is {text if len(text) < 60 else text[:57] + '...'}: expected {expected}"


def _words(hint: Any) -> str:
    """What a reader would call this type."""
    plain = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
    if hint in plain:
        return plain[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _words(next(one for one in inner if one is not types.NoneType))
    if origin is tuple:
        return "a list" if inner[-1] is Ellipsis else f"a list of {len(inner)} values"
    return "an object with named fields"
