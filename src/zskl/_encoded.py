"""What the classifiers of texts and of pictures share: rows are encoded as numbers, and class means learn from these. A
file holds the model inside and the name of the encoder, never its weights."""

import copy
import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from zskl import selection
from zskl._arrays import NumPyArray, to_dense, to_numpy
from zskl._validation import check_count, check_flag, list_values, suggest, to_plain
from zskl.estimators._class_means_fit import LEAST_AGREEING
from zskl.estimators.base import Labels, ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.selection.class_folds import TooFewRows
from zskl.signatures.sentences import choose_examples
from zskl.signatures.table import to_labels

log = logging.getLogger(__name__)

KEPT = 1000  # examples that a model keeps, to name the nearest ones of a row
AUTO = "auto"


def _delegate(name: str, what: str) -> Any:
    """An attribute of the model inside."""

    def read(self: "EncodedClassifier") -> Any:
        check_is_fitted(self)
        return getattr(self.model_, name)

    return property(read, doc=what)


class EncodedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose rows are encoded first. Subclasses write the methods of the next section."""

    kind: ClassVar[str]  # what a model file calls its rows
    kept_parameters: ClassVar[tuple[str, ...]]  # what the constructor gets of the record in a file
    shared: ClassVar[bool]  # whether rows and descriptions come from one encoder, so that they can be compared
    encoder: Any
    template: Any
    calibrate: bool | str
    keep_examples: int
    kept_names_: list[str]
    kept_classes_: list[Any]
    kept_rows_: NumPyArray
    model_: Any  # ClassMeansClassifier, or, from `zskl fit`, another estimator

    classes_ = _delegate("classes_", "All classes, sorted: what `predict` chooses from, and the columns.")
    seen_classes_ = _delegate("seen_classes_", "The classes with training rows, sorted.")
    candidates_ = _delegate("candidates_", "The same as `classes_`.")
    calibration_ = _delegate("calibration_", "What is subtracted from the scores of seen classes.")
    temperatures_ = _delegate("temperatures_", "What turns scores into probabilities; None before calibration.")
    decisions_ = _delegate("decisions_", "Thresholds of sets and of `reject` and `risk`; None before calibration.")
    prior_ = _delegate("prior_", "What is expected of a class before training.")
    adaptation_ = _delegate("adaptation_", "What unlabelled rows have changed.")

    # What a subclass writes

    def _check_rows(self, X: Any) -> list[Any]:
        """The rows as a list; refuse what is not one."""
        raise NotImplementedError

    def _encode(self, rows: list[Any]) -> NDArray[np.float32]:
        """(n, d) numbers of rows that have been checked."""
        raise NotImplementedError

    def _read_descriptions(self, given: Any) -> pd.DataFrame | None:
        """A table with a row of numbers for each description; its index has the classes."""
        raise NotImplementedError

    def _describe_rows(self, rows: list[Any]) -> list[str]:
        """What a reader of an explanation knows the rows by."""
        raise NotImplementedError

    def _explain(
        self, rows: list[Any], encoded: Any, top: int, table: Any, candidates: Any, label: Any, against: Any
    ) -> list[Any]:
        """An explanation of each row."""
        raise NotImplementedError

    def _remember_encoder(self) -> None:
        """Keep after a fit what tells this encoder from another one."""
        raise NotImplementedError

    def _record(self) -> dict[str, Any]:
        """What else a model file says about the encoder, as JSON."""
        raise NotImplementedError

    def _check_encoder(self) -> None:
        """Refuse another encoder than the one the model was fitted with, as soon as the model is loaded."""

    # What all share

    def _fit(self, X: Any, y: Any, descriptions: Any) -> Self:
        """See `fit` of the subclasses. If it fails, the classifier stays as it was."""
        before = dict(vars(self))
        try:
            self.__dict__.pop("model_", None)  # the encoder may be another
            rows, table, labels, encoded = self._prepare(X, y, descriptions)
            model, self.fit_ = self._fit_model(encoded, labels, table)
            model._calibration_advice = self._advise_calibration()
            self.model_ = model
            self.kept_names_, self.kept_classes_, self.kept_rows_ = [], [], np.empty((0, encoded.shape[1]), np.float16)
            self._keep_examples(rows, labels, encoded)
            self._remember_encoder()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        log.info("%s: %s", type(self).__name__, self.fit_)
        return self

    def _prepare(self, X: Any, y: Any, descriptions: Any) -> tuple[list[Any], Any, NumPyArray, NDArray[np.float32]]:
        if self.calibrate != AUTO and not isinstance(self.calibrate, bool):
            raise ValueError(f"calibrate is {self.calibrate!r}: expected True, False or 'auto'")
        if self.keep_examples != 0:
            check_count("keep_examples", self.keep_examples)
        rows = self._check_rows(X)
        labels = self._check_labels(y, len(rows))
        if descriptions is None and not len(rows):
            raise ValueError("there are no rows and no descriptions: expected rows, descriptions of classes, or both")
        if descriptions is None and labels.dtype.kind not in "iu":
            descriptions = list(dict.fromkeys(labels.tolist()))
        table = None if descriptions is None else self._read_descriptions(descriptions)
        if table is not None:
            known = table.index.unique().tolist()
            missing = [one for one in dict.fromkeys(labels.tolist()) if one not in set(known)]
            if missing:
                raise ValueError(
                    f"descriptions lack {list_values(missing)}{suggest(missing[0], [str(one) for one in known])}, "
                    f"which y names: describe each class of y; those described are {list_values(known)}"
                )
        if len(rows):
            encoded = self._encode(rows)
        elif not self.shared or table is None:
            raise ValueError(f"there are no {self.kind} to learn from: expected some, of two classes at least")
        else:
            encoded = np.empty((0, table.shape[1]), np.float32)
        return rows, table, labels, encoded

    def _check_labels(self, y: Any, n: int) -> NumPyArray:
        if y is None:
            raise ValueError(f"y is None: expected the class of each of the {n} {self.kind}")
        labels = to_labels(y, "y")
        if len(labels) != n:
            raise ValueError(f"there are {n} {self.kind} and {len(labels)} labels in y: expected as many of both")
        return labels

    def _fit_model(self, encoded: NDArray[np.float32], labels: NumPyArray, table: Any) -> tuple[Any, str]:
        """The model, and in words how it came about."""
        seen = list(dict.fromkeys(labels.tolist()))
        if not seen:
            model = ClassMeansClassifier().fit(encoded[:0], [], table)
            return model, f"{len(table.index.unique())} classes from descriptions alone: zero-shot, by cosine"
        if len(seen) == 1:
            if not self.shared or table is None or table.index.nunique() < 2:
                raise ValueError(
                    f"y holds one class only, {to_plain(seen[0])!r}: expected {self.kind} of at least two classes"
                    + (", or descriptions of others" if self.shared else "")
                )
            model = ClassMeansClassifier().fit(encoded[:0], [], table).add_examples(encoded, labels)
            return model, "descriptions, and examples of one class: not calibrated, since that needs more classes"
        # Fewer classes cannot show that rows and descriptions agree. Here we know that one encoder made both.
        few = self.shared and table is not None and len(seen) <= LEAST_AGREEING
        model = ClassMeansClassifier(prior="cosine" if few else AUTO, blocks=self._blocks()).fit(encoded, labels, table)
        told = f"{len(labels)} {self.kind} of {len(seen)} classes"
        if table is not None:
            told += f", prior {model.prior_!r}"
        if self.calibrate is False:
            return model, f"{told}, not calibrated"
        try:
            if table is None or min(Counter(labels.tolist()).values()) < 2:
                raise TooFewRows("it needs descriptions, and two rows of each class")
            selection.calibrate(model, encoded, labels, table)
        except TooFewRows as error:
            if self.calibrate is True:
                raise
            return model, f"{told}, not calibrated: {error}"
        return model, f"{told}, calibrated on held-out classes"

    @classmethod
    def _advise_calibration(cls) -> str:
        return f"`fit` sees to it where it gets four classes, each with a description and two {cls.kind}"

    def _blocks(self) -> Mapping[str, int] | None:
        """Network → how many features are its own, where several encode a row."""
        return None

    def _keep_examples(self, rows: list[Any], labels: NumPyArray, encoded: NDArray[np.float32]) -> None:
        """Keep some rows of each class to show in explanations."""
        codes = np.unique(labels, return_inverse=True)[1]
        places = choose_examples(codes, self.keep_examples)
        self.kept_names_ = [*self.kept_names_, *self._describe_rows([rows[place] for place in places])]
        self.kept_classes_ = [*self.kept_classes_, *labels[places].tolist()]
        self.kept_rows_ = np.concatenate([self.kept_rows_, encoded[places].astype(np.float16)])

    def _check_some(self, X: Any) -> list[Any]:
        check_is_fitted(self)
        rows = self._check_rows(X)
        if not rows:
            raise ValueError(f"there are no {self.kind}: expected at least one")
        return rows

    def _read_rows(self, X: Any) -> NDArray[np.float32]:
        return self._encode(self._check_some(X))

    def _read_table(self, descriptions: Any) -> pd.DataFrame | None:
        return None if descriptions is None else self._read_descriptions(descriptions)

    def predict(
        self,
        X: Any,
        descriptions: Any = None,
        candidates: Labels | None = None,
        *,
        reject: float | None = None,
        risk: float | None = None,
        min_probability: float | None = None,
    ) -> NumPyArray:
        """Name the best class of each row.

        Parameters
        ----------
        X : list
            Rows, as for `fit`.
        descriptions : mapping, Series, DataFrame or list, default=None
            Descriptions of the classes to choose from, as for `fit`; None takes those of the model.
        candidates : list of class names, default=None
            Which of these classes to choose from; None takes all of them.
        reject : float, default=None
            Answer "unknown" for rows of none of the classes; the share of other rows that you accept to be called so.
        risk : float, default=None
            Answer "unknown" where more than this share of such answers would be wrong.
        min_probability : float, default=None
            Answer "unknown" for a row whose best probability is below this number.

        Returns
        -------
        ndarray of shape (n,)
            Class names.
        """
        encoded = self._read_rows(X)
        options = {"reject": reject, "risk": risk, "min_probability": min_probability}
        return self.model_.predict(encoded, self._read_table(descriptions), candidates, **options)

    def predict_set(
        self, X: Any, coverage: float = 0.9, descriptions: Any = None, candidates: Labels | None = None
    ) -> list[tuple[Any, ...]]:
        """Name the classes among which the true one is, with a frequency that you ask for.

        Parameters
        ----------
        X : list
            Rows, as for `fit`.
        coverage : float, default=0.9
            How often the set holds the true class.
        descriptions, candidates : as for `predict`
            Which classes to choose from.

        Returns
        -------
        list of tuple
            For each row the names of classes, best first.
        """
        encoded = self._read_rows(X)
        return self.model_.predict_set(encoded, coverage, self._read_table(descriptions), candidates)

    def predict_proba(self, X: Any, descriptions: Any = None, candidates: Labels | None = None) -> NumPyArray:
        """Give the probability of each class for each row.

        Parameters
        ----------
        X, descriptions, candidates : as for `predict`
            Rows, and which classes to choose from.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities, which sum to 1 in each row, in the order of `classes_`, or of the classes that you name.
        """
        encoded = self._read_rows(X)
        return to_numpy(self.model_.predict_proba(encoded, self._read_table(descriptions), candidates))

    def top_k(
        self,
        X: Any,
        k: int = 5,
        descriptions: Any = None,
        candidates: Labels | None = None,
        *,
        return_scores: bool = False,
    ) -> Any:
        """Name the k best classes of each row, best first.

        Parameters
        ----------
        X : list
            Rows, as for `fit`.
        k : int, default=5
            How many classes to name.
        descriptions, candidates : as for `predict`
            Which classes to choose from.
        return_scores : bool, default=False
            Whether to return the scores too.

        Returns
        -------
        ndarray of shape (n, k), or a pair of such arrays
            Class names; with `return_scores` also their scores.
        """
        encoded = self._read_rows(X)
        return self.model_.top_k(encoded, k, self._read_table(descriptions), candidates, return_scores=return_scores)

    def label_next(self, X: Any, n: int = 10, strategy: str = "margin", *, return_scores: bool = False) -> Any:
        """Name the unlabelled rows whose labels would help the model most.

        Parameters
        ----------
        X : list
            Rows whose classes nobody knows, as for `fit`.
        n : int, default=10
            How many rows to name.
        strategy : {"margin", "change"}, default="margin"
            What makes a row worth a label: see `ClassMeansClassifier.label_next`.
        return_scores : bool, default=False
            Whether to return what each row is worth, too.

        Returns
        -------
        ndarray of shape (n,), or a pair of such arrays
            Numbers of rows in X, in the order in which to ask.
        """
        return self.model_.label_next(self._read_rows(X), n, strategy, return_scores=return_scores)

    def add_examples(
        self, X: Any, y: Any, descriptions: Any = None, *, wrong: Any = False, new_classes: bool = False
    ) -> Self:
        """Give a new classifier that has also learned from labelled rows. This one stays as it is.

        Parameters
        ----------
        X : list
            The examples, as for `fit`.
        y : array-like of shape (n,)
            Their classes, which may be new.
        descriptions : mapping, Series, DataFrame or list, default=None
            Descriptions of new classes, as for `fit`. A new class without one is known by its examples alone.
        wrong : bool or array-like of shape (n,), default=False
            True for rows that are not of their class in y: they count against it.
        new_classes : bool, default=False
            A new name much like another one is refused with a question. True takes it as a new class.

        Returns
        -------
        classifier
            The new one.
        """
        check_flag("new_classes", new_classes)
        rows = self._check_some(X)
        labels = self._check_labels(y, len(rows))
        encoded = self._encode(rows)
        table = self._read_table(descriptions)
        new = copy.copy(self)
        new.model_ = self.model_.add_examples(encoded, labels, table, wrong=wrong, new_classes=new_classes)
        new.fit_ = f"{self.fit_}; taught {len(rows)} {self.kind}"
        chosen = np.flatnonzero(~np.broadcast_to(np.asarray(wrong, dtype=bool), len(rows)))
        new._keep_examples([rows[place] for place in chosen], labels[chosen], encoded[chosen])
        return new

    def adapt(
        self, X: Any, candidates: Labels | str | None = None, *, force: bool = False, balance: float | None = None
    ) -> Self:
        """Give a new classifier that has also learned from unlabelled rows. This one stays as it is.

        Parameters
        ----------
        X : list
            Rows whose classes nobody knows, as for `fit`.
        candidates : {"unseen", "all"}, list of class names or None, default=None
            The classes that the rows may be of. None and "unseen" stand for those without training rows.
        force : bool, default=False
            Whether to adapt even if nothing says that it helps.
        balance : float between 0 and 1, default=None
            How far to draw the masses of the classes together; 1 if each has about as many of the rows.

        Returns
        -------
        classifier
            The new one.

        Raises
        ------
        NoClearGain
            A ValueError: validation classes, or these rows, do not promise a gain.
        """
        new = copy.copy(self)
        new.model_ = self.model_.adapt(self._read_rows(X), candidates, force=force, balance=balance)
        new.fit_ = f"{self.fit_}; adapted to unlabelled {self.kind}"
        return new

    def explain(
        self,
        X: Any,
        top: int = 5,
        descriptions: Any = None,
        candidates: Labels | None = None,
        *,
        label: Any = None,
        against: Any = None,
    ) -> list[Any]:
        """Say what speaks for the class of each row and against another class, and how much.

        Parameters
        ----------
        X : list
            Rows, as for `fit`.
        top : int, default=5
            How many reasons an explanation shows.
        descriptions, candidates : as for `predict`
            Which classes to choose from.
        label, against : class name, default=None
            The class to explain, and the one to compare it with; None takes the answer, and the next best class.

        Returns
        -------
        list of TextExplanation or Explanation
            One for each row: print it, or read its parts. Words are left out of a text one by one, so it costs as much
            as that many texts; long ones are cut into 64 pieces. For pictures, see `nearest_examples` too.
        """
        rows, table = self._check_some(X), self._read_table(descriptions)
        return self._explain(rows, self._encode(rows), check_count("top", top), table, candidates, label, against)

    def nearest_examples(self, X: Any, n: int = 5) -> pd.DataFrame:
        """List the kept training rows that are most like each row.

        Parameters
        ----------
        X : list
            Rows, as for `fit`.
        n : int, default=5
            How many examples to list for each row.

        Returns
        -------
        DataFrame
            Columns row, rank, example, class and similarity: the cosine, as the model sees rows.
        """
        encoded, n = self._read_rows(X), check_count("n", n)
        lines = [
            (row, place, *one)
            for row, found in enumerate(self._find_nearest(encoded, n))
            for place, one in enumerate(found, start=1)
        ]
        return pd.DataFrame(lines, columns=["row", "rank", "example", "class", "similarity"])

    def _find_nearest(self, encoded: NDArray[np.float32], n: int) -> list[list[tuple[str, Any, float]]]:
        """For each row the nearest examples that were kept, with their classes and cosines as the model sees them."""
        if not len(self.kept_rows_):
            return [[] for _ in encoded]
        x, kept = (
            to_numpy(to_dense(self.model_._row_directions(self.model_._scale_rows(one))))
            for one in (encoded, self.kept_rows_.astype(np.float32))
        )
        found = []
        for cosines in x @ kept.T:
            order = np.argsort(-cosines, kind="stable")[:n]
            found.append([(self.kept_names_[k], self.kept_classes_[k], float(cosines[k])) for k in order])
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        told = vars(self).get("fit_")
        return str(super().__repr__(N_CHAR_MAX)) + (f"  # {told}" if told else "")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file, whole or not at all.

        The file holds numbers and names, never code. The encoder's weights are not in it, only its name and how to
        check it.

        Parameters
        ----------
        path : str or path-like
            Where to write it. A file that is there is replaced.

        See Also
        --------
        zskl.load : Reads the file.
        """
        check_is_fitted(self)
        self._to_model().save(path)

    def _to_model(self) -> ZeroShotClassifier:
        """The model inside, with all that makes this classifier again."""
        model: ZeroShotClassifier = copy.copy(self.model_)
        model.encoder_ = {
            **self._record(),
            "encoder": self.encoder if isinstance(self.encoder, str) else None,
            "template": self.template if self.template is None or isinstance(self.template, str) else [*self.template],
            "kind": self.kind,
            "calibrate": self.calibrate,
            "keep_examples": self.keep_examples,
            "fit": self.fit_,
            "examples": self.kept_names_,
            "example_classes": self.kept_classes_,
        }
        model.encoded_examples_ = self.kept_rows_
        return model

    @classmethod
    def _from_model(cls, model: ZeroShotClassifier) -> Self:
        """The classifier that `_to_model` took apart."""
        record = dict(model.encoder_ or {})
        made = cls(**{name: record[name] for name in cls.kept_parameters})
        model._calibration_advice = cls._advise_calibration()
        made.model_, made.fit_ = model, str(record["fit"])
        made.kept_names_, made.kept_classes_ = list(record["examples"]), list(record["example_classes"])
        made.kept_rows_ = model.encoded_examples_
        if len(made.kept_names_) != len(made.kept_rows_) or len(made.kept_names_) != len(made.kept_classes_):
            raise ValueError("the examples that it keeps are not whole")
        return made


def check_sequence(X: Any, what: str, example: str) -> list[Any]:
    """The rows as a list; one row alone, or a table, is refused."""
    if isinstance(X, pd.DataFrame):
        if X.shape[1] != 1:
            raise ValueError(f"X is a data frame with {X.shape[1]} columns: expected the one of the {what}, {example}")
        X = X.iloc[:, 0]
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise ValueError(f"X is {X!r:.60}: expected a list of {what}, {example}")
    return list(X)
