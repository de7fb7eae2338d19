"""A fitted model on a features file of any length: rows in blocks, the best classes of each row out."""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.arrays import to_numpy
from zskl.datasets import tables
from zskl.estimators import inputs
from zskl.estimators.candidates import softmax
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.panel import Panel, best_first
from zskl.estimators.ranking import UNKNOWN, check_unknown
from zskl.files import replacing
from zskl.signatures import table as signature_tables
from zskl.signatures.table import SignatureTable, label_kind
from zskl.sparse_rows import stacked

PathLike = str | os.PathLike[str]
Labels: TypeAlias = NDArray[Any]  # names of classes, strings or integers
Scores: TypeAlias = NDArray[np.floating[Any]]


class Predictor:
    """A fitted model, and what you ask it about each row of a features file.

    The answer is class and score, or class and probability, of the `top` best candidates. With `reject`, the best class
    of a row is "unknown" where its probability is below that value.

    Candidates are the classes of the model. A `signatures` file replaces them by its own classes, which need not have
    been trained on; `with_known` keeps both. `candidates` names those of them to choose from.
    """

    def __init__(
        self,
        model: ZeroShotClassifier,
        *,
        signatures: PathLike | None = None,
        with_known: bool = False,
        candidates: Sequence[str] | None = None,
        top: int = 5,
        probabilities: bool = False,
        reject: float | None = None,
    ) -> None:
        if top < 1:
            raise ValueError(f"top is {top}: expected at least 1")
        likely = probabilities or reject is not None
        if likely and model.temperatures_ is None:
            raise ValueError(
                "the probabilities of this model are not calibrated: expected a calibrated model; fit it with "
                "zskl fit --calibrate, or by selection.tune"
            )
        if reject is not None and not 0 <= reject <= 1:
            raise ValueError(f"reject is {reject}: expected a probability between 0 and 1")
        table = candidate_table(model, signatures, with_known)
        self.model, self.probabilities, self.reject = model, probabilities, reject
        self.panel = Panel(model, table, None if candidates is None else typed(model, candidates), calibrated=True)
        self.width = min(top, len(self.panel.labels))
        if reject is not None:
            check_unknown(self.panel.labels)
        self.temperature = model.temperatures_[self.panel.situation] if likely and model.temperatures_ else None

    def lines(self, features: PathLike) -> Iterator[list[object]]:
        """The lines of a table, column names first: the id or number of each row of the file, then the answer."""
        done, value = 0, "probability" if self.probabilities else "score"
        for block in opened(self.model, features).blocks():
            labels, values = self._best(rows_of(self.model, block))
            lines = _lines(block, labels, values, done)  # a refusal comes before them
            if not done:
                further = [name for k in range(2, self.width + 1) for name in (f"class_{k}", f"{value}_{k}")]
                yield ["row" if block.ids is None else "id", "class", value, *further]
            yield from lines
            done += len(block.X)

    def _best(self, X: NDArray[Any] | pd.DataFrame) -> tuple[Labels, Scores]:
        """Labels and values (n, width) of rows from a file, scored in blocks because there may be many classes."""
        found = [self._best_of(to_numpy(scores)) for _, scores in self.panel.blocks(inputs.sliceable(self.model, X))]
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[return-value]

    def _best_of(self, scores: Scores) -> tuple[Labels, Scores]:
        order, values = best_first(scores, self.width)
        labels = self.panel.labels[order]
        if self.temperature is not None:
            likely = np.take_along_axis(to_numpy(softmax(scores / self.temperature)), order, axis=1)
            values = likely if self.probabilities else values
            if self.reject is not None:
                labels = labels.astype(object)
                labels[likely[:, 0] < self.reject, 0] = UNKNOWN
        return labels, values


def write(path: PathLike, lines: Iterator[list[object]]) -> int:
    """Write the lines of a `Predictor` as CSV, whole or not at all, and count the rows."""
    count = -1
    with replacing(path) as file:
        writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
        for line in lines:
            writer.writerow(line)
            count += 1
    return count


def opened(
    model: ZeroShotClassifier, path: PathLike, labels: str | None = None, rows: int | None = None
) -> tables.FeatureFile:
    """A features file; columns are matched by name where model and file have names, else by their number.

    `labels` is its column of labels, if you want them, and `rows` the number of rows, if you know it.
    """
    names, prepared = getattr(model, "feature_names_in_", None), getattr(model, "preparation_", None)
    columns = None if names is None else list(names)
    if prepared is not None:  # the dataset had holes or words
        source = tables.open_prepared(path, tables.Preparation.from_text(prepared), labels, rows)
    else:
        source = tables.open_features(path, labels, columns, rows, int(model.n_features_in_))
    if source.width != model.n_features_in_:
        raise ValueError(
            f"{path} has {source.width} feature columns, and the model does not know their names: expected just the "
            f"{model.n_features_in_} that it was fitted on, in the same order"
        )
    return source


def rows_of(model: ZeroShotClassifier, block: tables.Block) -> NDArray[Any] | pd.DataFrame:
    """The features of a block, under the names that the model knows them by."""
    names = getattr(model, "feature_names_in_", None)
    return block.X if names is None else pd.DataFrame(block.X, columns=names, copy=False)


def _lines(block: tables.Block, labels: Labels, scores: Scores, done: int) -> list[list[object]]:
    rows = block.ids or range(done, done + len(block.X))
    return [
        [row, *(cell for label, value in zip(classes, values, strict=True) for cell in (label, f"{value:.6g}"))]
        for row, classes, values in zip(rows, labels.tolist(), scores.tolist(), strict=True)
    ]


def candidate_table(model: ZeroShotClassifier, path: PathLike | None, with_known: bool) -> SignatureTable:
    """The classes of the model, or those of a file, or (`with_known`) both."""
    known = model.signature_table_
    if path is None:
        return known
    frame = tables.read_signatures(path, known=model.attribute_names_)
    frame.index = pd.Index(typed(model, frame.index.tolist()), name=frame.index.name)
    try:
        new = signature_tables.read(frame, names=model.attribute_names_, known=known.classes.tolist())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not with_known:
        return new
    mine, theirs = label_kind(known.labels, "the model"), label_kind(new.labels, str(path))
    if mine != theirs:
        raise ValueError(
            f"{path} names classes by {theirs}s: expected {mine}s, as in the model; rename them to rank both together"
        )
    described = set(new.classes.tolist())
    kept = known.select([label for label in known.classes.tolist() if label not in described])
    labels = np.concatenate([kept.labels.astype(object), new.labels.astype(object)])
    return SignatureTable(
        labels if mine == "string" else labels.astype(np.int64), stacked(kept.matrix, new.matrix), new.names
    )


def typed(model: ZeroShotClassifier, names: Sequence[str]) -> Labels:
    """Names from a file or the command line as labels of the model.

    They become integers if the labels of the model are integers and all these names are whole numbers.
    """
    if label_kind(model.classes_, "the model") == "integer":
        return tables.typed(names)
    return np.array(names, dtype=object)
