"""Predictions of one row that wait at the same time are made together, by one product of matrices. Nobody waits for
others to come: what has arrived by the next turn of the event loop is a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from zskl.serve import predictions
from zskl.serve.bodies import Features
from zskl.serve.class_book import Book
from zskl.serve.limits import QUICK
from zskl.serve.schemas.predictions import PredictionOptions, Predictions

FEW = 10_000  # so many classes are listed on the spot


@dataclass(frozen=True, eq=False)
class Waiting:
    """A row (1, d) with the options of its request, and where its answer goes. `most` such rows are scored at once."""

    row: Features
    options: PredictionOptions
    most: int
    answer: asyncio.Future[Predictions]


Group: TypeAlias = list[Waiting]


class Batches:
    """The rows that wait, in groups with the same options. `book` gives the classes at the moment of scoring."""

    def __init__(self, book: Callable[[], Book]) -> None:
        self._book = book
        self._groups: dict[Hashable, Group] = {}

    async def predicted(self, row: Features, options: PredictionOptions, listed: int, cost: int) -> Predictions:
        """The answer for a checked row (1, d), which lists so many classes and takes so many multiplications."""
        loop = asyncio.get_running_loop()
        most = max(1, min(QUICK // max(cost, 1), FEW // max(listed, 1)))
        one = Waiting(row, options, most, loop.create_future())
        if not self._groups:
            loop.call_soon(self._score)
        self._groups.setdefault(_key(options), []).append(one)
        return await one.answer

    def _score(self) -> None:
        """Score the group that has waited longest, or as much of it as is done on the spot. The rest has its turn after
        other requests had theirs."""
        key = next(iter(self._groups))
        group = self._groups.pop(key)
        some, rest = group[: group[0].most], group[group[0].most :]
        if rest:
            self._groups[key] = rest
        if self._groups:
            asyncio.get_running_loop().call_soon(self._score)
        some = [one for one in some if not one.answer.done()]  # without those that were cancelled
        if some:
            answer(self._book(), some)


def answer(book: Book, group: Sequence[Waiting]) -> None:
    """Answer requests with the same options. If they fail together each is tried alone: a row that cannot be scored is
    refused, and no other."""
    try:
        found = predictions.predict(book, np.concatenate([one.row for one in group]), group[0].options)
        answers = predictions.apart(found)
    except Exception as error:
        if len(group) > 1:
            for one in group:
                answer(book, [one])
        elif not group[0].answer.done():
            group[0].answer.set_exception(error)
        return
    for one, its in zip(group, answers, strict=True):
        if not one.answer.done():
            one.answer.set_result(its)


def _key(options: PredictionOptions) -> Hashable:
    """Equal for equal options."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in options.__dict__.values())
