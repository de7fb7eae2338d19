"""A fitted model on a features file of any length: rows in blocks, the best classes of each row out."""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from zskl.arrays import to_numpy
from zskl.datasets import tables
from zskl.estimators import inputs
from zskl.estimators.candidates import softmax
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.ranking import UNKNOWN, Panel, best_first
from zskl.files import replacing
from zskl.signatures import table as signature_tables
from zskl.signatures.table import SignatureTable, label_kind

PathLike = str | os.PathLike[str]


class Predictor:
    """A fitted model and what it is asked of features files: class and score of the `top` best candidates of each row,
    or class and probability. With `reject`, a row whose best probability is below it has "unknown" as its best class.

    Candidates are the classes of the model, or those of a `signatures` file, which need not have been trained on
    (`with_known`: both), or those of them named in `candidates`.
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
                "the probabilities of this model are not calibrated: fit it with zskl fit --calibrate, or by "
                "selection.tune"
            )
        if reject is not None and not 0 <= reject <= 1:
            raise ValueError(f"reject is {reject}: expected a probability between 0 and 1")
        table = candidate_table(model, signatures, with_known)
        self.model, self.probabilities, self.reject = model, probabilities, reject
        self.panel = Panel(model, table, None if candidates is None else typed(model, candidates), calibrated=True)
        self.width = min(top, len(self.panel.labels))
        self.temperature = model.temperatures_[self.panel.situation] if likely and model.temperatures_ else None

    def lines(self, features: PathLike) -> Iterator[list[Any]]:
        """The lines of a table, its column names first: of each row of the file its id or number, then the answer."""
        done, value = 0, "probability" if self.probabilities else "score"
        for block in opened(self.model, features).blocks():
            labels, values = self._best(rows_of(self.model, block))
            lines = _lines(block, labels, values, done)  # a refusal comes before them
            if not done:
                further = [name for k in range(2, self.width + 1) for name in (f"class_{k}", f"{value}_{k}")]
                yield ["row" if block.ids is None else "id", "class", value, *further]
            yield from lines
            done += len(block.X)

    def _best(self, X: Any) -> tuple[Any, Any]:
        """Labels and values (n, width) of rows from a file, scored in blocks, for there may be many classes."""
        found = [self._best_of(to_numpy(scores)) for _, scores in self.panel.blocks(inputs.sliceable(self.model, X))]
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[return-value]

    def _best_of(self, scores: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        order, values = best_first(scores, self.width)
        labels = self.panel.labels[order]
        if self.temperature is not None:
            likely = np.take_along_axis(to_numpy(softmax(scores / self.temperature)), order, axis=1)
            values = likely if self.probabilities else values
            if self.reject is not None:
                labels = labels.astype(object)
                labels[likely[:, 0] < self.reject, 0] = UNKNOWN
        return labels, values


def predict_file(
    model: ZeroShotClassifier,
    features: PathLike,
    *,
    signatures: PathLike | None = None,
    with_known: bool = False,
    candidates: Sequence[str] | None = None,
    top: int = 5,
    probabilities: bool = False,
    reject: float | None = None,
) -> Iterator[list[Any]]:
    """The lines of a `Predictor` for one file."""
    return Predictor(
        model,
        signatures=signatures,
        with_known=with_known,
        candidates=candidates,
        top=top,
        probabilities=probabilities,
        reject=reject,
    ).lines(features)


def write(path: PathLike, lines: Iterator[list[Any]]) -> int:
    """Write the lines of a `Predictor` as CSV, whole or not at all, and count the rows."""
    count = -1
    with replacing(path) as file:
        writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
        for line in lines:
            writer.writerow(line)
            count += 1
    return count


def opened(model: ZeroShotClassifier, path: PathLike) -> tables.Source:
    """A features file; columns are matched by name where model and file have names, else by their number."""
    names = getattr(model, "feature_names_in_", None)
    source = tables.open_features(path, columns=None if names is None else list(names), width=int(model.n_features_in_))
    if source.width != model.n_features_in_:
        raise ValueError(
            f"{path} has {source.width} feature columns, the model takes {model.n_features_in_} and does not know "
            "their names: give just these, in the order of fit"
        )
    return source


def rows_of(model: ZeroShotClassifier, block: tables.Block) -> Any:
    """The features of a block, under the names that the model knows them by."""
    names = getattr(model, "feature_names_in_", None)
    return block.X if names is None else pd.DataFrame(block.X, columns=names, copy=False)


def _lines(block: tables.Block, labels: Any, scores: Any, done: int) -> list[list[Any]]:
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
    frame = tables.read_signatures(path)
    frame.index = pd.Index(typed(model, frame.index.tolist()), name=frame.index.name)
    try:
        new = signature_tables.read(frame, names=model.attribute_names_)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not with_known:
        return new
    mine, theirs = label_kind(known.labels, "the model"), label_kind(new.labels, str(path))
    if mine != theirs:
        raise ValueError(f"{path} names classes by {theirs}s, the model by {mine}s: they cannot be ranked together")
    described = set(new.classes.tolist())
    kept = known.select([label for label in known.classes.tolist() if label not in described])
    labels = np.concatenate([kept.labels.astype(object), new.labels.astype(object)])
    return SignatureTable(
        labels if mine == "string" else labels.astype(np.int64), np.vstack([kept.matrix, new.matrix]), new.names
    )


def typed(model: ZeroShotClassifier, names: Sequence[str]) -> np.ndarray[Any, Any]:
    """Names out of a file or the command line as the model's labels: integers where the model's are and all of
    these are whole numbers."""
    if label_kind(model.classes_, "the model") == "integer":
        return tables.typed(names)
    return np.array(names, dtype=object)
