"""Attributes that belong together, by their names: `has_bill_shape::dagger` and `has_bill_shape::hooked`."""

from __future__ import annotations

from collections.abc import Sequence

SEPARATORS = ("::", ":", "_")


def attribute_groups(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The columns of each group. A group is what stands before a separator; without groups, each attribute is one.

    A separator counts if it gives more than one group and at least one of several attributes. Of names with several
    such separators, the last is tried before the first.

    >>> attribute_groups(["wing_red", "wing_blue", "size"])
    {'wing': (0, 1), 'size': (2,)}
    """
    for separator in SEPARATORS:
        for parted in (str.rpartition, str.partition):
            found = _grouped([parted(name, separator)[0] if separator in name else name for name in names])
            if 1 < len(found) < len(names):
                return found
    return _grouped(names)


def _grouped(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for column, name in enumerate(names):
        found[name] = (*found.get(name, ()), column)
    return found
