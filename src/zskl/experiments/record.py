"""What one finished run left behind: its configuration, choices, results, times, seed, versions and data.

A record is one line of JSON in `records.jsonl`. The fields here are the fields there. Lines of zskl 0.1 have no
`version`; they are read too, and so are those of versions 2 and 3. A field that this version does not know is ignored,
and so lost when the record is written again. A line of a newer version is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zskl.experiments import record_table, typed_json
from zskl.experiments.answers import ClassRows
from zskl.experiments.record_parts import (
    Adapted,
    Course,
    Generalised,
    Probabilities,
    Seconds,
    Setting,
    Shares,
    Taught,
    Tuning,
    ZeroShot,
)

VERSION = 4  # since 3 there are `taught` and `adapted`, since 4 the answers of rows


@dataclass(frozen=True, kw_only=True)
class Record:
    """One finished run: a method with its settings, on one dataset, from one seed.

    Parameters
    ----------
    version : int, default=4
        The version of the format. A line of an earlier version is converted when it is read.
    key : str, default=""
        What the run is known by: a hash of all that decides its figures.
    dataset : str
        The name of the dataset, as `zskl run` takes it.
    features, fingerprint, features_digest : str, default=""
        Name of the feature file, and what tells versions of the data apart.
    method : str
        The name of the method.
    seed : int
        The seed that was asked for.
    random_state : int, optional
        The random state of the estimator, which follows from dataset, method and seed.
    config : mapping
        All parameters of the fitted estimator.
    settings : mapping
        The parameters that the user set.
    tune : Tuning
        What tuning tried and chose.
    zsl : ZeroShot
        The result of the zero-shot protocol.
    gzsl : Generalised
        The result of the generalised protocol without calibration.
    calibration : float, optional
        The constant that was chosen on the folds.
    gzsl_calibrated : Generalised, optional
        The result of the generalised protocol with that constant.
    taught : tuple of Taught, optional
        Results after examples of the unseen classes, for each number of them.
    adapted : tuple of Adapted, optional
        Results after adaptation to unlabelled test rows.
    probabilities : Probabilities
        How far probabilities can be trusted.
    incoherence : float, optional
        How far the columns of the projection W are from orthogonal.
    gram : tuple of tuples of float, optional
        Cosines between the first columns of W.
    gram_names : tuple of str, optional
        The attributes of these columns.
    attributes : mapping, optional
        For each unseen class the attributes that its test rows show most.
    convergence : Course, optional
        The objective during training.
    seconds : Seconds
        Wall times.
    rows : mapping
        Number of rows in each part of the dataset.
    class_rows : ClassRows, optional
        Number of test rows of each class, for the answers of the results.
    versions : mapping
        Versions of zskl, Python and packages.
    finished : str, default=""
        When the run ended, in UTC.

    Examples
    --------
    >>> from zskl.experiments.record import Record
    >>> line = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {}}
    >>> record = Record.from_json(line)
    >>> record.zsl.accuracy
    0.5
    >>> record.to_json()["version"]
    4
    """

    version: int = VERSION
    key: str = ""
    dataset: str
    features: str = ""
    fingerprint: str = ""
    features_digest: str = ""
    method: str
    seed: int
    random_state: int | None = None
    config: Setting = field(default_factory=dict)
    settings: Setting = field(default_factory=dict)
    tune: Tuning = field(default_factory=Tuning)
    zsl: ZeroShot
    gzsl: Generalised
    calibration: float | None = None
    gzsl_calibrated: Generalised | None = None
    taught: tuple[Taught, ...] | None = None
    adapted: tuple[Adapted, ...] | None = None
    probabilities: Probabilities = field(default_factory=Probabilities)
    incoherence: float | None = None
    gram: tuple[tuple[float, ...], ...] | None = None
    gram_names: tuple[str, ...] | None = None
    attributes: Shares | None = None
    convergence: Course | None = None
    seconds: Seconds = field(default_factory=Seconds)
    rows: Mapping[str, int] = field(default_factory=dict)
    class_rows: ClassRows | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    finished: str = ""

    @property
    def device(self) -> str:
        """Where the model was trained."""
        return str(self.config.get("device") or "cpu")

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in record_table.figures(self))
        return f"Record({self.dataset!r}, {self.method!r}, seed {self.seed}{f': {figures}' if figures else ''})"

    def __str__(self) -> str:
        return record_table.of_record(self).text()

    def _repr_html_(self) -> str:
        return record_table.of_record(self).html()

    def to_json(self) -> dict[str, Any]:
        """The record as an object for `json.dumps`; what was not measured has no entry.

        Returns
        -------
        dict
            The fields by name, as they stand in a line of `records.jsonl`.
        """
        found: dict[str, Any] = typed_json.to_json(self)
        return found

    @classmethod
    def from_json(cls, line: object) -> Record:
        """The record that `json.loads` read from a line.

        Parameters
        ----------
        line : mapping
            Written by this version or by an earlier one.

        Returns
        -------
        Record
            In the present version.

        Raises
        ------
        ValueError
            If the line is not a record, a field has the wrong type, or the line is of a newer version.
        """
        return typed_json.from_json(cls, current(line))


def current(line: object) -> Mapping[str, Any]:
    """The line in the present version.

    A line of zskl 0.1 has no `version`, one before version 3 nothing `taught` or `adapted`, and one before version 4 no
    answers of rows; all else is the same.
    """
    if not isinstance(line, Mapping):
        raise ValueError(f"found {str(line)[:40]!r}: expected an object with named fields, as zskl run writes")
    found = line.get("version", 1)
    if not isinstance(found, int) or not 1 <= found <= VERSION:
        raise ValueError(f"`version` is {found!r}: expected a number from 1 to {VERSION}; read it with a newer zskl")
    return {**line, "version": VERSION}
