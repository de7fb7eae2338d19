"""The frozen record of one dataset. It is checked when it is made, so you can rely on what it holds."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets import dataset_checks
from zskl.datasets.dataset_checks import frozen
from zskl.mapped_rows import picked
from zskl.parameters import did_you_mean, listed
from zskl.shown.table import Shown, some

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, labels, class signatures and the parts that the rows fall into.

    A class is *seen* if it has rows in the part trainval. Every other class of the table is *unseen*. All is checked
    when a dataset is made, and arrays are read-only.

    Parameters
    ----------
    name : str
        What the dataset is called; errors name it.
    X : array of shape (n, d)
        The features, kept as float32. A float32 memory map stays one.
    y : array of shape (n,)
        The class of each row, all strings or all integers: the same values as in `signatures.index`.
    signatures : DataFrame
        The class table: its index gives the class, its columns are attributes. Several rows of one class are several
        descriptions of it.
    parts : mapping of str to array
        Name → row numbers: trainval, test_seen and test_unseen, which share no row. Any further part, such as
        fold1_train, is inside trainval.
    source : str, default=""
        The file or the function that the data came from; errors name it.
    features : str, default=""
        Which features X holds, for a dataset that comes with several, such as "res101".
    feature_names : tuple of str, default=None
        The names of the d columns of X, if they have names.
    backbone : str, default=None
        The network that made the features from pictures, such as "efficientnet-lite2", if it is known.
    checked : bool, default=False
        X is float32 and known to be finite, so it is not read to check it.

    Attributes
    ----------
    class_names : array of shape (C,)
        The classes of the table, in the order in which they first appear.
    attribute_names : list of str
        The p column names of the table.
    codes : array of shape (n,)
        The labels as positions in `class_names`.
    seen_classes, unseen_classes : array
        The two kinds of classes, in the order of `class_names`.
    fingerprint : str
        SHA-256 of labels, parts and signatures, not of X. It is the same in every process.
    features_digest : str
        SHA-256 of the shape of X and of up to 64 of its rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from zskl import Dataset
    >>> table = pd.DataFrame({"legs": [2, 4, 6], "fur": [0, 1, 0]}, index=["owl", "cat", "ant"])
    >>> parts = {"trainval": [0, 2], "test_seen": [1], "test_unseen": [3]}
    >>> data = Dataset("animals", [[1], [2], [8], [9]], ["owl", "owl", "cat", "ant"], table, parts)
    >>> data
    Dataset('animals', 4 rows × 1 features, 2 seen and 1 unseen classes, 2 attributes)
    >>> data.unseen_classes.tolist()
    ['ant']
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.generic]
    signatures: pd.DataFrame
    parts: Mapping[str, NDArray[np.int64]]
    source: str = ""
    features: str = ""
    feature_names: tuple[str, ...] | None = None
    backbone: str | None = None
    checked: InitVar[bool] = False

    @classmethod
    def from_frames(
        cls,
        features: Any,
        labels: Any,
        signatures: Any,
        *,
        unseen: Sequence[str | int] | int | float = 0.25,
        seed: int = 0,
        name: str = "frames",
    ) -> Dataset:
        """Make a dataset of data frames in memory, divided into parts as `zskl data make` divides files.

        Parameters
        ----------
        features : data frame or array of shape (n, d)
            A row per sample, from pandas, polars or another library that narwhals knows. A column "id" names the rows
            and is no feature.
        labels : str, Series or array of shape (n,)
            The class of each row: a column of `features`, or the labels themselves. A pandas Series with the index of
            `features` in another order is matched by it.
        signatures : data frame or mapping
            The class table: one row, or several, per class. The column "class" (or the one called as `labels`) names
            the class, or the index of a pandas frame does.
        unseen : list of labels, int or float, default=0.25
            The classes without training rows: their names, how many to draw, or the fraction to draw. A class without
            rows is always unseen.
        seed : int, default=0
            Seed of all draws: unseen classes, test rows and folds.
        name : str, default="frames"
            What the dataset is called.

        Returns
        -------
        Dataset
            The dataset. A fifth of the rows of each seen class is test_seen. Of six seen classes or more, there are
            three validation folds.

        Raises
        ------
        ValueError
            If a frame is not as expected; the message names the column and says what to do.

        See Also
        --------
        zskl.datasets.make : The same from files.

        Examples
        --------
        >>> import pandas as pd
        >>> from zskl import Dataset
        >>> birds = pd.DataFrame({"wing": [20, 21, 5, 6, 90], "species": ["owl", "owl", "wren", "wren", "swan"]})
        >>> traits = pd.DataFrame({"class": ["owl", "wren", "swan"], "size": [2, 1, 3], "nocturnal": [1, 0, 0]})
        >>> data = Dataset.from_frames(birds, "species", traits, unseen=["swan"])
        >>> data
        Dataset('frames', 5 rows × 1 features, 2 seen and 1 unseen classes, 2 attributes)
        >>> data.parts["test_unseen"].tolist()
        [4]
        """
        from zskl.datasets import frames  # it makes a `Dataset`

        return frames.dataset(features, labels, signatures, unseen, seed, name)

    def __post_init__(self, checked: bool) -> None:
        keep, where = object.__setattr__, self._where
        keep(self, "X", dataset_checks.features(where, self.X, checked))
        if self.feature_names is not None and len(self.feature_names) != self.X.shape[1]:
            raise self._error(f"X has {self.X.shape[1]} columns and feature_names {len(self.feature_names)} names")
        keep(self, "y", dataset_checks.labels(where, "y", self.y))
        if len(self.y) != len(self.X):
            raise self._error(f"X has {len(self.X)} rows and y {len(self.y)} labels; give one label per row")
        keep(self, "signatures", dataset_checks.signatures(where, self.signatures))
        dataset_checks.check_described(where, self.y, self.codes, self.class_names)
        keep(self, "parts", dataset_checks.parts(where, self.parts, len(self.X)))
        tested = {part: self.class_names[np.unique(self.codes[rows])] for part, rows in self.parts.items()}
        dataset_checks.check_class_split(where, tested, self.seen_classes, self.unseen_classes)
        log.info("%r", self)

    def __repr__(self) -> str:
        n, d = self.X.shape
        classes = f"{len(self.seen_classes)} seen and {len(self.unseen_classes)} unseen classes"
        attributes = f"{len(self.attribute_names)} attributes"
        return f"Dataset({self.name!r}, {n} rows × {d} features, {classes}, {attributes})"

    def _repr_html_(self) -> str:
        n, d = self.X.shape
        rows = [
            ("rows × features", f"{n} × {d}"),
            (f"{len(self.seen_classes)} seen classes", some(self.seen_classes.tolist())),
            (f"{len(self.unseen_classes)} unseen classes", some(self.unseen_classes.tolist())),
            (f"{len(self.attribute_names)} attributes", some(self.attribute_names)),
            *((f"part {part}", f"{len(places)} rows") for part, places in self.parts.items()),
        ]
        features = f", features {self.features}" if self.features else ""
        return Shown(f"Dataset {self.name}{features}", ("", ""), rows).html()

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not pickle
        fields = (self.name, self.X, self.y, self.signatures, dict(self.parts), self.source, self.features)
        return type(self), (*fields, self.feature_names, self.backbone, True)  # X was checked when this record was made

    def samples(self, part: str) -> tuple[NDArray[np.float32] | pd.DataFrame, NDArray[np.generic]]:
        """Give X and y of a part, ready for `fit`.

        Parameters
        ----------
        part : str
            The name of a part, such as "trainval".

        Returns
        -------
        X : array or DataFrame of shape (rows, d)
            The features of these rows; a data frame if the columns have names.
        y : array of shape (rows,)
            Their classes.

        Examples
        --------
        >>> from zskl import datasets
        >>> X, y = datasets.load("digits").samples("trainval")
        >>> X.shape, y.shape
        ((1002, 64), (1002,))
        """
        if part not in self.parts:
            raise self._error(f"no part {part!r}{did_you_mean(part, self.parts)}: expected one of {listed(self.parts)}")
        rows = self.parts[part]
        X, y = picked(self.X, rows), self.y[rows]
        return (X, y) if self.feature_names is None else (pd.DataFrame(X, columns=self.feature_names, copy=False), y)

    @cached_property
    def class_names(self) -> NDArray[np.generic]:
        """(C,) the classes of the table in the order in which they first appear."""
        return frozen(np.asarray(list(dict.fromkeys(self.signatures.index.tolist()))))

    @cached_property
    def attribute_names(self) -> list[str]:
        """The p column names of the table."""
        return [str(column) for column in self.signatures.columns]

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """(n,) the labels as positions in `class_names`."""
        found = pd.Index(self.class_names).get_indexer(pd.Index(self.y))
        return frozen(np.asarray(found, dtype=np.int64))

    @cached_property
    def seen_classes(self) -> NDArray[np.generic]:
        """The classes with trainval rows, in the order of `class_names`."""
        return frozen(self.class_names[self._is_seen])

    @cached_property
    def unseen_classes(self) -> NDArray[np.generic]:
        """All other classes of the table, with or without rows, in the order of `class_names`."""
        return frozen(self.class_names[~self._is_seen])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of labels, parts and the named signatures, not of X: the same in every process."""
        table, parts = self.signatures, sorted(self.parts.items())
        names = [self.y.tolist(), table.index.tolist(), self.attribute_names, [[k, len(v)] for k, v in parts]]
        digest = hashlib.sha256(json.dumps(names).encode())
        digest.update((table.to_numpy(dtype="<f8") + 0.0).tobytes())  # + 0.0: minus zero is zero
        for _, rows in parts:
            digest.update(rows.astype("<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def features_digest(self) -> str:
        """SHA-256 in hex of the shape of X and of up to 64 rows spread over it.

        It tells new features from old ones without reading all of a mapped file.
        """
        rows = np.unique(np.linspace(0, len(self.X) - 1, 64).astype(np.int64))
        digest = hashlib.sha256(json.dumps(list(self.X.shape)).encode())
        digest.update(np.ascontiguousarray(self.X[rows], dtype="<f4").tobytes())
        return digest.hexdigest()

    @cached_property
    def _is_seen(self) -> NDArray[np.bool_]:
        return np.bincount(self.codes[self.parts["trainval"]], minlength=len(self.class_names)) > 0

    @property
    def _where(self) -> str:
        return f"dataset {self.name!r}{f' ({self.source})' if self.source else ''}"

    def _error(self, sentence: str) -> ValueError:
        return ValueError(f"{self._where}: {sentence}")
