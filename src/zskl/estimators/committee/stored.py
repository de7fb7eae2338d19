"""A committee in a model file: members' headers lie in the committee's, their arrays carry a prefix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zskl.arrays import NumPyArray
from zskl.estimators.committee.composition import DROP, Pair
from zskl.estimators.estimator import ZeroShotClassifier

Known = Mapping[str, type[ZeroShotClassifier]]


def prefix(place: int) -> str:
    return f"members.{place}."


def settings_of(pairs: list[Pair]) -> list[dict[str, Any]]:
    """Members that are not fitted, as JSON."""
    return [
        {"name": name, "estimator": DROP}
        if isinstance(member, str)
        else {
            "name": name,
            "estimator": member.kind,
            "parameters": {key: member._stored(key, value) for key, value in member.get_params(deep=False).items()},
        }
        for name, member in pairs
    ]


def from_settings(stored: list[dict[str, Any]] | None, known: Known) -> list[Pair] | None:
    """Twin of `settings_of`."""
    return None if stored is None else [(str(one["name"]), _made(one, known)) for one in stored]


def _made(one: dict[str, Any], known: Known) -> ZeroShotClassifier | str:
    if one["estimator"] == DROP:
        return DROP
    kind = _kind(one, known)
    given = {key: kind._unstored(key, value) for key, value in one["parameters"].items()}
    return kind(**{**given, "device": None})


def packed(names: list[str], members: list[ZeroShotClassifier]) -> tuple[list[dict[str, Any]], dict[str, NumPyArray]]:
    """Headers and arrays of fitted members."""
    headers: list[dict[str, Any]] = []
    arrays: dict[str, NumPyArray] = {}
    for place, (name, member) in enumerate(zip(names, members, strict=True)):
        header, mine = member._packed()
        headers.append({"name": name, **header})
        arrays |= {prefix(place) + key: array for key, array in mine.items()}
    return headers, arrays


def unpacked(
    headers: list[dict[str, Any]], arrays: dict[str, NumPyArray], known: Known
) -> tuple[list[str], list[ZeroShotClassifier]]:
    """Twin of `packed`. The device of a model file is whoever loads it to say."""
    names, members = [], []
    for place, header in enumerate(headers):
        start = prefix(place)
        mine = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
        names.append(str(header["name"]))
        members.append(_kind(header, known)._restore(header, mine).set_params(device=None))
    return names, members


def check(names: list[str], members: list[ZeroShotClassifier], model: Any) -> None:
    """Refuse members that cannot be those of one committee."""
    count = len(members)
    if not count or len(set(names)) < count or len(model.weights_) != count or len(model.member_temperatures_) != count:
        raise ValueError(f"{count} members with {len(model.weights_)} weights")
    if (model.weights_ < 0).any() or not model.weights_.any() or (model.member_temperatures_ <= 0).any():
        raise ValueError(f"weights {model.weights_.tolist()}, temperatures {model.member_temperatures_.tolist()}")
    p = model.signature_table_.matrix.shape[1]
    for name, member in zip(names, members, strict=True):
        alike = member.n_features_in_ == model.n_features_in_ and member.signature_table_.matrix.shape[1] == p
        if not alike or not np.array_equal(member.classes_, model.classes_):
            raise ValueError(f"the member {name!r} has other features, attributes or classes than the committee")


def _kind(header: dict[str, Any], known: Known) -> type[ZeroShotClassifier]:
    kind = str(header["estimator"])
    if kind not in known or kind == "committee":
        raise ValueError(f"a member of the kind {kind!r}, which this zskl does not know as one")
    return known[kind]
