"""Class means where the data is: NumPy and one file, so that every engine can load it and answers as `predict` does.

Of a fitted model a scorer keeps the scaling, the whitening matrix, a vector per class and a few constants:

    score(x, c) = x̂·u_c − a·r_c − calibration of seen classes,   x̂ = unit(Vᵀ(scale(x) − center))

Model files hold the vectors [u_c, −a·r_c] as `predict` computes them for rows in float32, and what float64 adds to
them. So nothing of the fit is repeated here, and the classes are those of `predict` but for ties.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from zskl._arrays import NumPyArray
from zskl._validation import list_values
from zskl.decisions import Decider, Decisions
from zskl.estimators import model_file
from zskl.estimators._blocks import Blocks
from zskl.scaling import float_type, to_float_type

if TYPE_CHECKING:
    from zskl.estimators.class_means import ClassMeansClassifier

__all__ = ["Scorer"]

KIND = "scorer"  # what a scorer's own file calls it
BLOCK_BYTES = 8 << 20  # of features and scores at once: what stays near the processor
HEADER = (
    *("classes", "seen_classes", "signature_labels", "feature_names", "n_features", "calibration", "temperatures"),
    *("scaling", "scaling_blocks", "scaling_reasons", "decisions"),
)
ARRAYS = ("feature_scaling_", "learned.center_", "learned.whitening_", model_file.VECTORS)
ANSWERS = ("class", "score", "probability", "unknown")
Found: TypeAlias = dict[str, NumPyArray]


class Scorer:
    """A fitted class-means model as every engine can run it: rows → class, score, probability and `unknown`.

    It imports NumPy and reads the model file; scikit-learn, pandas and PyTorch are not imported. So a worker of Ray,
    Spark or DuckDB has it in a fraction of a second. Call it with a batch of rows:

    - an Arrow record batch or table, or a data frame that gives itself as Arrow (pandas, polars): a table comes back
      that has the four answers in place of the features, and all other columns as they were;
    - an Arrow array of vectors: an array of structs;
    - a NumPy array or lists (n, d): a mapping of the four answers.

    Parameters
    ----------
    model : path-like, ClassMeansClassifier or Scorer
        A model file, a file that `save` wrote, or a fitted model. A file of an earlier version, or of very many
        classes, holds no class vectors: they are computed once, with scikit-learn.
    features : str or list of str, default=None
        The column of vectors, or the columns of numbers, of tables. None takes those that the model knows by name, else
        the only column of vectors, else all columns of numbers if there are as many as the model has features.
    signatures : data frame, mapping or array, default=None
        Descriptions of other classes to choose from; None takes the classes of the model. It needs scikit-learn, but
        a file that `save` writes then does not.
    candidates : list of class names, default=None
        Which of these classes to choose from; None takes all of them.
    reject : float, default=None
        Say `unknown` as `predict` does: this is the share of rows of known classes that you accept to be called so.
    min_probability : float, default=None
        Say `unknown` of a row whose best probability is below this number, as `predict` does.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        What it chooses from.
    temperatures_ : ndarray of shape (n_classes,), or None
        What scores of a row that the class answers are divided by before the softmax; None without probabilities.

    See Also
    --------
    zskl.export.to_sql : The same in SQL.

    Examples
    --------
    >>> import os, tempfile, zskl
    >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
    >>> path = os.path.join(tempfile.mkdtemp(), "insects.zskl")
    >>> zskl.ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table).save(path)
    >>> found = zskl.Scorer(path)([[0, 1], [1, 1]])
    >>> found["class"].tolist(), found["unknown"].tolist()
    (['ant', 'bee'], [False, False])
    """

    def __init__(
        self,
        model: "str | os.PathLike[str] | ClassMeansClassifier | Scorer",
        *,
        features: str | Sequence[str] | None = None,
        signatures: Any = None,
        candidates: Sequence[Any] | None = None,
        reject: float | None = None,
        min_probability: float | None = None,
    ) -> None:
        header, arrays = _read_parts(model, signatures)
        self._header = {name: header[name] for name in HEADER if name in header}
        self._header["learned"] = {"blocks_": header["learned"]["blocks_"]}
        self._arrays = {name: array for name, array in arrays.items() if name.startswith(ARRAYS)}
        self.n_features: int = int(header["n_features"])
        self.features = features
        self._scaling = model_file.read_scaling(header, arrays, "feature_scaling", self.n_features)
        self._blocks = Blocks.from_json(header["learned"]["blocks_"])
        labels = model_file.labels_from_json(header["signature_labels"])
        seen = set(model_file.labels_from_json(header["seen_classes"], empty=True).tolist())
        self.classes_: NumPyArray = model_file.labels_from_json(header["classes"])
        if candidates is not None:
            known, wanted = set(self.classes_.tolist()), list(dict.fromkeys(candidates))
            if new := [label for label in wanted if label not in known]:
                raise ValueError(f"candidates has {list_values(new)}: expected some of {list_values(self.classes_)}")
            self.classes_ = np.array(wanted, dtype=self.classes_.dtype)
        self._check_arrays(len(labels))
        # The rows of each class side by side, so that the best of them is one call.
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        owners = np.array([places.get(label, -1) for label in labels.tolist()])
        self._order = np.argsort(owners, kind="stable")[np.count_nonzero(owners < 0) :]
        self._owners = owners[self._order]
        several = len(self._order) > len(places)
        self._starts = np.searchsorted(self._owners, np.arange(len(places))) if several else None
        self._seen = np.array([label in seen for label in self.classes_.tolist()])
        mixed = self._seen.any() and not self._seen.all()
        self._constant = float(header["calibration"]) if mixed else 0.0
        self.temperatures_ = _choose_temperatures(header["temperatures"], self._seen)
        if min_probability is not None and self.temperatures_ is None:
            advice = "calibrate it, and save it again"
            raise ValueError(f"min_probability was given, and this model has no probabilities: {advice}")
        if min_probability is not None and not 0 <= min_probability <= 1:
            raise ValueError(f"min_probability is {min_probability!r}: expected a probability between 0 and 1")
        self.min_probability = min_probability
        stored, self.decider_ = header.get("decisions"), None
        if reject is not None:
            decisions = None if stored is None else Decisions._from_json(stored)
            model = SimpleNamespace(decisions_=decisions, temperatures_=header["temperatures"], hierarchy_=None)
            model._calibration_advice = "calibrate it, and save it again"
            self.decider_ = Decider(model, self.classes_, self._seen, reject=reject)
        self._prepared: dict[Any, tuple[NumPyArray, ...]] = {}

    def __repr__(self) -> str:
        return f"Scorer({len(self.classes_)} classes, {self.n_features} features)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_prepared": {}}  # engines send it around

    def __call__(self, batch: Any) -> Any:
        """Answer for each row of a batch.

        Parameters
        ----------
        batch : Arrow data, data frame or array
            The rows; see above.

        Returns
        -------
        Arrow table, record batch or struct array, or mapping
            Columns `class`, `score`, `probability` (NaN or null if the model is not calibrated) and `unknown`, and what
            the batch had beside its features.
        """
        return self._map(batch, self._answer)

    def vectors(self, batch: Any) -> Any:
        """Map rows to vectors whose inner products with `class_vectors` are scores: for SQL and vector databases.

        Parameters
        ----------
        batch : Arrow data, data frame or array
            The rows, as for a call.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1), or what the batch was
            Whitened rows of unit length and a 1, as float32; in a table as the column `vector`.
        """
        found = self._map(batch, lambda X: {"vector": self._map_rows(X)})
        return found["vector"] if _is_array(batch) else found

    def class_vectors(self) -> tuple[NumPyArray, NumPyArray]:
        """Give the vectors of classes, calibration included: the largest inner product with that of a row is its class.

        Returns
        -------
        labels : ndarray of shape (n_vectors,)
            The class of each vector; a class with several descriptions has several.
        vectors : ndarray of shape (n_vectors, n_features + 1)
            Directions, and what is subtracted for crowding and calibration, as float32.
        """
        _, _, vectors = self._prepare(np.dtype(np.float32))
        constant = (self._constant * self._seen[self._owners]).astype(np.float32)
        shifted = np.concatenate([vectors[:, :-1], vectors[:, -1:] - constant[:, None]], axis=1)
        return self.classes_[self._owners], shifted

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what the scorer needs to one small file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Where to write it; `Scorer(path)` reads it.
        """
        vectors = {name: array[self._order] for name, array in self._arrays.items() if name.startswith(ARRAYS[-1])}
        labels = {"classes": self.classes_, "signature_labels": self.classes_[self._owners]}
        chosen = {name: model_file.labels_to_json(found) for name, found in labels.items()}
        model_file.write_model(path, {"estimator": KIND, **self._header, **chosen}, {**self._arrays, **vectors})

    def _check_arrays(self, rows: int) -> None:
        d, arrays = self.n_features, [self._arrays.get(name) for name in (*ARRAYS[1:], model_file.REST)]
        shapes = [array.shape if array is not None and np.isfinite(array).all() else () for array in arrays]
        if shapes[0] != (d,) or shapes[1][:1] != (d,) or shapes[2:] != [(rows, d + 1)] * 2:
            raise ValueError(f"arrays of shapes {shapes} are no scorer: copy the file again, or save the model again")

    def _prepare(self, dtype: Any) -> tuple[NumPyArray, ...]:
        """Center, whitening matrix and class vectors for rows of a type."""
        if dtype not in self._prepared:
            center, whitening, vectors, rest = (self._arrays[name] for name in (*ARRAYS[1:], model_file.REST))
            exact = vectors if dtype == np.float32 else vectors.astype(dtype) + rest
            self._prepared[dtype] = center.astype(dtype), whitening.astype(dtype), exact[self._order]
        return self._prepared[dtype]

    def _directions(self, X: NumPyArray, start: int) -> NumPyArray:
        """x̂ of a block of rows; `start` is the number of its first row, for messages."""
        X = np.asarray(to_float_type(X))
        if not np.isfinite(X.sum()) and not (finite := np.isfinite(X)).all():
            row, column = np.argwhere(~finite)[0].tolist()
            raise ValueError(
                f"row {start + row}, column {column} of the batch is {X[row, column]}: expected finite numbers"
            )
        center, whitening, _ = self._prepare(X.dtype)
        return np.asarray(self._blocks.to_unit_length(self._blocks.whiten(self._scaling.apply(X) - center, whitening)))

    def _split(self, X: NumPyArray, width: int) -> list[slice]:
        height = max(1, BLOCK_BYTES // (4 * width))
        return [slice(start, start + height) for start in range(0, len(X), height)]

    def _answer(self, X: NumPyArray) -> Found:
        """The answers, classes as their numbers."""
        codes, value = np.empty(len(X), np.intp), np.empty((2, len(X)), float_type(X))
        value[1], unknown = np.nan, np.zeros(len(X), bool)
        for rows in self._split(X, 2 * X.shape[1] + len(self._order)):
            hat = self._directions(X[rows], rows.start)
            vectors = self._prepare(hat.dtype)[2]
            scores = hat @ vectors[:, :-1].T + vectors[:, -1]
            if self._starts is not None:
                scores = np.maximum.reduceat(scores, self._starts, axis=1)
            if self._constant:
                scores -= (self._constant * self._seen).astype(scores.dtype)
            best = codes[rows] = scores.argmax(axis=1)
            top = value[0, rows] = np.take_along_axis(scores, best[:, None], axis=1)[:, 0]
            if self.decider_ is not None:
                unknown[rows] = self.decider_.unknown(scores)
            if self.temperatures_ is not None:
                # In place, as there may be many classes; in the order of `predict_proba`, which gives equal bits.
                scores /= (T := self.temperatures_.astype(scores.dtype)[best])[:, None]
                scores -= (top / T)[:, None]
                value[1, rows] = 1 / np.exp(scores, out=scores).sum(axis=1)
        if self.min_probability is not None:
            unknown |= value[1] < self.min_probability
        return dict(zip(ANSWERS, (codes, *value, unknown), strict=True))

    def _map_rows(self, X: NumPyArray) -> NumPyArray:
        found = np.ones((len(X), self.n_features + 1), np.float32)
        for rows in self._split(X, 3 * X.shape[1]):
            found[rows, :-1] = self._directions(X[rows], rows.start)
        return found

    # Batches: where their features are, and how answers take the place of these

    def _check(self, X: NumPyArray) -> NumPyArray:
        if X.ndim == 1 and not len(X):
            X = X.reshape(0, self.n_features)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the batch has shape {X.shape}: expected (rows, {self.n_features}), the model's features")
        return X

    def _map(self, batch: Any, function: Callable[[NumPyArray], Found]) -> Any:
        if _is_array(batch):
            found = function(self._check(np.asarray(batch)))
            return {name: self.classes_[one] if name == ANSWERS[0] else one for name, one in found.items()}
        import pyarrow as pa

        if not hasattr(batch, "__arrow_c_stream__") and not hasattr(batch, "__arrow_c_array__"):
            raise ValueError(
                f"the batch is a {type(batch).__name__}: expected Arrow data, a data frame or an array; in Ray Data "
                "ask for batches of the format pyarrow"
            )
        if isinstance(batch, pa.Array | pa.ChunkedArray):
            return self._as_batch(pa, function(self._read_arrow(pa, [batch]))).to_struct_array()
        table = batch if isinstance(batch, pa.RecordBatch | pa.Table) else pa.table(batch)
        chosen = self._choose(
            {field.name: _is_list(pa, field.type) for field in table.schema if _holds_numbers(pa, field)}
        )
        found = self._as_batch(pa, function(self._read_arrow(pa, [table.column(name) for name in chosen])))
        kept = table.drop_columns(chosen)
        for name in found.schema.names:
            kept = kept.append_column(name, found.column(name))
        return kept

    def _choose(self, columns: Mapping[str, bool]) -> list[str]:
        """The columns of features; `columns` says of each whether it holds vectors."""
        if self.features is not None:
            wanted = [self.features] if isinstance(self.features, str) else list(self.features)
        else:
            vectors, known = [name for name, nested in columns.items() if nested], self._header["feature_names"]
            wanted = list(known) if known and not set(known) - set(columns) else vectors
            if not wanted and len(columns) == self.n_features:
                wanted = list(columns)
            if not wanted or (len(wanted) > 1 and wanted == vectors):
                raise ValueError(
                    f"the batch has the columns {list_values(list(columns))}: expected one of vectors, or "
                    f"{self.n_features} of numbers; name them by features="
                )
        if lacking := [name for name in wanted if name not in columns]:
            raise ValueError(f"features names {list_values(lacking)}: expected columns of {list_values(list(columns))}")
        return wanted

    def _read_arrow(self, pa: Any, columns: list[Any]) -> NumPyArray:
        """(n, d) of one column of vectors or of columns of numbers; without a copy where Arrow holds them together."""
        if holes := [k for k, column in enumerate(columns) if column.null_count]:
            raise ValueError(
                f"column {holes[0]} of features has {columns[holes[0]].null_count} nulls: expected numbers"
            )
        if not _is_list(pa, columns[0].type):
            return self._check(np.column_stack([column.to_numpy() for column in columns]))
        column = columns[0].combine_chunks() if isinstance(columns[0], pa.ChunkedArray) else columns[0]
        column = getattr(column, "storage", column)  # Ray's tensors lie in an extension
        if isinstance(column, pa.ChunkedArray):  # of more than 2³¹ values, or none at all
            return np.concatenate([self._read_arrow(pa, [one]) for one in column.chunks])
        n, values = len(column), column.flatten()
        lengths = np.diff(column.offsets) if hasattr(column, "offsets") else np.full(n, column.type.list_size)
        if values.null_count or (lengths != self.n_features).any():
            found = "nulls" if values.null_count else f"a vector of {lengths[lengths != self.n_features][0]} numbers"
            raise ValueError(f"the column of features holds {found}: expected vectors of {self.n_features} numbers")
        return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(n, self.n_features)

    def _as_batch(self, pa: Any, found: Found) -> Any:
        """Answers as a record batch: NaN in place of a probability becomes null, vectors a list of fixed length."""
        columns = {}
        for name, values in found.items():
            if values.ndim == 2:
                columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
            elif name == ANSWERS[0]:
                columns[name] = pa.array(self.classes_.tolist()).take(pa.array(values))
            else:
                columns[name] = pa.array(values, from_pandas=True)
        return pa.record_batch(columns)


def _read_parts(model: Any, signatures: Any) -> tuple[dict[str, Any], dict[str, NumPyArray]]:
    """Header and arrays of a file or of a fitted model, with the vectors of classes."""
    if isinstance(model, Scorer):
        return model._header, model._arrays
    path = model if isinstance(model, str | os.PathLike) else None
    if path is not None:
        header, arrays = model_file.read_model(path, ARRAYS)
        if "model" in header or header.get("estimator") not in (KIND, "class-means"):
            what = "a pipeline" if "steps" in header else f"a model of the kind {header.get('estimator')!r}"
            raise ValueError(
                f"{path} holds {what}: expected class means; apply it by `zskl predict`, or load it in Python"
            )
        if model_file.REST in arrays and signatures is None:
            return header, arrays
        if header["estimator"] == KIND:
            raise ValueError(f"signatures were given, and {path} is a scorer's file: expected the file of its model")
        from zskl import methods  # which imports scikit-learn

        model = methods.load(path)
    if getattr(model, "kind", None) != "class-means":
        raise ValueError(f"model is a {type(model).__name__}: expected a fitted ClassMeansClassifier, or its file")
    return model._pack_for_scorer(signatures)


def _choose_temperatures(stored: Mapping[str, float] | None, seen: NumPyArray) -> NumPyArray | None:
    """(c,) T of the rows that each class answers; None if nobody has fitted any."""
    if stored is None:
        return None
    if seen.all() or not seen.any():
        return np.full(len(seen), stored["seen" if seen.all() else "unseen"])
    return np.where(seen, *(stored.get(name, stored["mixed"]) for name in ("mixed_seen", "mixed_unseen")))


def _is_array(batch: Any) -> bool:
    return isinstance(batch, np.ndarray | list | tuple)


def _is_list(pa: Any, kind: Any) -> bool:
    kind = getattr(kind, "storage_type", kind)
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _holds_numbers(pa: Any, field: Any) -> bool:
    kind = getattr(field.type, "storage_type", field.type)
    kind = kind.value_type if _is_list(pa, kind) else kind
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
