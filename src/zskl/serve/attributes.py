"""The attributes of a model as a person sees them: names, groups, ranges; and descriptions by name → vectors.

A group is exclusive if every class has at most one of its attributes, as every letter has one base letter: then to say
that one applies is to say that the others do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import did_you_mean, listed
from zskl.serve.meanings import Meanings
from zskl.serve.phrases import GENERIC, Phrases
from zskl.serve.refusal import Refusal, shown
from zskl.serve.schemas.model import Attribute
from zskl.serve.schemas.words import UnderstoodWords

SEPARATORS = ("::", ":", "/")  # between the group and the rest of an attribute's name, tried in this order
FAR = 1000.0  # times the largest value of the model's table: beyond that a description is a mistake, or an attack


class Vocabulary:
    """The p attributes of a fitted model.

    `names` (p,), "attribute 0" and so on where the model has none; `mean` (p,) over the descriptions of seen classes,
    which stands for whatever a description leaves out; `low` and `high` (p,) over all classes of the model; `exclusive`
    (p,) whether the attribute belongs to an exclusive group.
    """

    def __init__(self, model: ZeroShotClassifier) -> None:
        matrix = model.signature_table_.matrix
        self.names = model.attribute_names_ or tuple(f"attribute {m}" for m in range(matrix.shape[1]))
        self.mean = model.signature_table_.select(model.classes_).matrix.mean(axis=0)
        self.low, self.high = matrix.min(axis=0), matrix.max(axis=0)
        self.binary = ((matrix == 0) | (matrix == 1)).all(axis=0)
        self._parts = [_divided(name) for name in self.names]
        self._groups = _grouped(self._parts)
        self.exclusive = np.zeros(len(self.names), dtype=bool)
        for places in self._groups.values():
            alone = self.binary[places].all() and (matrix[:, places].sum(axis=1) <= 1).all()
            self.exclusive[places] = alone
        self._place = {name: m for m, name in enumerate(self.names)}
        self._phrases = Phrases(
            [
                part if part[0] in self._groups else (None, _spaced(name))
                for part, name in zip(self._parts, self.names, strict=True)
            ]
        )
        self._meanings = Meanings(self._phrases.known)
        self._furthest = FAR * max(float(np.abs(matrix).max()), 1.0)

    def vector(self, given: Mapping[str, float]) -> tuple[NDArray[np.float64], list[str]]:
        """A description (p,), and the names of the attributes that it leaves to the mean of the seen classes.

        If it gives 1 to one of an exclusive group, the others of the group are 0, unless it gives these too.
        """
        unknown = [name for name in given if name not in self._place]
        if unknown:
            near = did_you_mean(unknown[0], self.names)
            raise Refusal(
                422,
                f"the model has no attribute {shown(unknown[0])}{near}"
                f"{f' and {len(unknown) - 1} more' if len(unknown) > 1 else ''}: it has "
                f"{listed(self.names)}, see GET /model",
            )
        values, left = self.mean.copy(), dict.fromkeys(self.names)
        for name, value in given.items():
            if not abs(value) <= self._furthest:
                raise Refusal(
                    422,
                    f"attribute {shown(name)} is {value:g}: expected a number between {-self._furthest:g} and "
                    f"{self._furthest:g}; in the model it goes from {self.low[self._place[name]]:g} to "
                    f"{self.high[self._place[name]]:g}",
                )
            values[self._place[name]] = value
            del left[name]
        ones = [self._place[name] for name, value in given.items() if value == 1]
        for group in {self._parts[place][0] for place in ones if self.exclusive[place]}:
            for other in self._groups[group]:
                if self.names[other] in left:
                    values[other] = 0
                    del left[self.names[other]]
        if not values.any():
            raise Refusal(422, "every attribute of this description is 0: give at least one that is not")
        return values, list(left)

    def telling(self, values: NDArray[np.float64], given: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(p,) what is given of a description (p,), without what follows: beside the 1 of an exclusive group its 0s."""
        found = given.copy()
        for places in self._groups.values():
            if self.exclusive[places].all() and (values[places] == 1).any():
                found[places] &= values[places] == 1
        return found

    def understood(self, text: str) -> UnderstoodWords:
        """The attributes that a description in words names: as high as any class has them, or as low if denied. Words
        that name none are compared by their meaning, where the sentence encoder is on this machine."""
        read = self._phrases.read(text)
        similar = self._meanings.nearest(read.unknown)
        if similar:
            read = self._phrases.read(text, similar)
        return {
            "attributes": [
                {
                    "attribute": self.names[one.place],
                    "value": float((self.low if one.denied else self.high)[one.place]),
                    "words": one.words,
                    "guessed": one.guessed,
                }
                for one in read.found
            ],
            "unknown": read.unknown,
        }

    def named(self, text: str) -> list[int]:
        """The places of the attributes that a text names, by names and synonyms alone."""
        return [one.place for one in self._phrases.read(text).found]

    def phrase(self, place: int) -> str:
        """An attribute as people say it: "yellow crown" of has_crown_color::yellow."""
        group, label = self._parts[place]
        if group not in self._groups:
            return _spaced(self.names[place])
        part = " ".join(word for word in (group or "").split() if word not in GENERIC)
        return f"{label.partition('(')[0].strip()} {part}".strip()

    def as_json(self) -> list[Attribute]:
        """Each attribute: its name, the group and the rest of the name as people read it, its range and mean."""
        return [
            {
                "name": name,
                "label": label if group in self._groups else _spaced(name),
                "group": group if group in self._groups else None,
                "low": float(self.low[m]),
                "high": float(self.high[m]),
                "mean": float(self.mean[m]),
                "binary": bool(self.binary[m]),
                "exclusive": bool(self.exclusive[m]),
            }
            for m, (name, (group, label)) in enumerate(zip(self.names, self._parts, strict=True))
        ]


def _grouped(parts: list[tuple[str | None, str]]) -> dict[str | None, list[int]]:
    """Group → places of its attributes, for groups of more than one."""
    found: dict[str | None, list[int]] = {}
    for place, (group, _) in enumerate(parts):
        found.setdefault(group, []).append(place)
    return {group: places for group, places in found.items() if group is not None and len(places) > 1}


def _divided(name: str) -> tuple[str | None, str]:
    """
    >>> _divided("has_bill_shape::curved_(up_or_down)")
    ('bill shape', 'curved (up or down)')
    """
    for separator in SEPARATORS:
        group, found, rest = name.partition(separator)
        if found and group.strip() and rest.strip():
            return _spaced(group.removeprefix("has_")), _spaced(rest)
    return None, _spaced(name)


def _spaced(name: str) -> str:
    return name.replace("_", " ").strip() or name
