"""Fitted models in formats that other programs run: ONNX graphs, SQL, and indexes for vector search."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TypeAlias, cast

import array_api_compat.numpy as numpy_functions
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from zskl import _files as files
from zskl import methods
from zskl._arrays import NumPyArray, to_numpy
from zskl._validation import check_option, list_values, to_plain
from zskl.adapters import ADAPTERS
from zskl.estimators import _inputs
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.estimators.search_vectors import SearchMap
from zskl.scorer import Scorer
from zskl.version import __version__

__all__ = ["describe", "to_index", "to_onnx", "to_sql"]

OPSET, IR_VERSION = 17, 8  # of 2022
LIMIT = (2 << 30) - (1 << 20)  # bytes of arrays in a file: protobuf's 2 GiB, less room for the rest
NEVER = ("sse", *ADAPTERS)  # kinds whose scores no graph of these operators computes
METADATA = "zskl"  # the property that holds what `describe` says, as JSON
KINDS = ("usearch", "faiss")
COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "Not")  # their results are booleans
DTYPES = {"bool": np.bool_, "float32": np.float32, "float64": np.float64, "int64": np.int64, "finfo": np.finfo}
ELEMENTWISE = {
    **{"abs": "Abs", "cos": "Cos", "exp": "Exp", "log": "Log", "sign": "Sign", "sin": "Sin", "sqrt": "Sqrt"},
    **{"tanh": "Tanh", "maximum": "Max", "minimum": "Min", "pow": "Pow", "matmul": "MatMul"},
}
REDUCTIONS = {"sum": "ReduceSum", "max": "ReduceMax", "mean": "ReduceMean", "min": "ReduceMin"}


# ONNX


def to_onnx(model: ZeroShotClassifier, path: str | os.PathLike[str], *, signatures: bool = True) -> None:
    """Write a fitted model as an ONNX file, whole or not at all.

    The graph has the inputs `features` (n, d) and `signatures` (c, p), both raw, as the model takes them. Its output
    `scores` (n, c) is what `compatibility` says: raw, larger is better, one column for each row of `signatures`. All
    are float32. If you leave `signatures` out, the graph uses the model's own table.

    Parameters
    ----------
    model : ZeroShotClassifier
        The fitted model.
    path : str or path-like
        The file to write.
    signatures : bool, default=True
        Whether signatures are an input of the graph. With False the classes are the model's own, once and for all. What
        depends on them alone is computed now, and a class with several signatures scores the best of them.

    Raises
    ------
    ValueError
        If the model cannot be written as a graph, or if the package onnx is not installed.

    Examples
    --------
    >>> import tempfile, zskl
    >>> data = zskl.datasets.make_synthetic()
    >>> model = zskl.baselines.ESZSL().fit(*data.samples("trainval"), data.signatures)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zskl.export.to_onnx(model, f"{folder}/model.onnx")
    """
    if not isinstance(model, ZeroShotClassifier):
        raise ValueError(f"model is a {type(model).__name__}: expected a fitted estimator of zskl, without a pipeline")
    check_is_fitted(model)
    _inputs.refuse_sparse_signatures(model.signature_table_, "an ONNX file")
    files.check_target(path)
    try:
        onnx = import_module("onnx")
    except ImportError as error:
        raise ValueError(
            f"ONNX files need the package {error.name or 'onnx'}, which is not installed: pip install 'zskl[onnx]'"
        ) from error
    tape = Tape()
    with np.errstate(over="raise"):
        try:
            scores = _trace_scores(model, tape, signatures)
            table = model.signature_table_.matrix.astype(np.float32) if signatures else None
        except FloatingPointError:
            raise ValueError(
                "the model has numbers beyond the range of float32, which the graph computes in: rescale features and "
                "signatures, and fit again"
            ) from None
    files.write_atomically(path, _pack_model(onnx, model, tape, scores, table))


def describe(model: ZeroShotClassifier, signatures: bool = True) -> dict[str, Any]:
    """Say what an ONNX file holds beside the graph: enough to do what `predict` and `predict_proba` do.

    Parameters
    ----------
    model : ZeroShotClassifier
        The fitted model.
    signatures : bool, default=True
        Whether signatures are an input of the graph, as for `to_onnx`.

    Returns
    -------
    dict
        Ready for JSON. Among others, `labels` are the classes of the columns of scores for the model's own table.
        `seen` are the classes that the model was trained on. `calibration` is the constant to subtract from the
        scores of seen classes if both kinds compete. `temperatures` are what you divide scores by before a softmax, for
        "seen", "unseen" or "mixed" candidates, or None. `decisions` are the thresholds of sets, of rows of no class and
        of answers of a given risk, or None; `hierarchy` are parents of classes.

    Examples
    --------
    >>> import zskl
    >>> data = zskl.datasets.make_synthetic(n_seen=4, n_unseen=2)
    >>> model = zskl.baselines.ESZSL().fit(*data.samples("trainval"), data.signatures)
    >>> about = zskl.export.describe(model)
    >>> about["method"], about["feature_scaling"], len(about["labels"]), len(about["seen"])
    ('eszsl', 'l2-center-l2', 6, 4)
    """
    is_kernel = isinstance(model, ZeroShotKernelClassifier)
    return {
        "version": __version__,
        "method": model.kind,
        "kernel": {"name": model.kernel_.name, **model.kernel_.parameters()} if is_kernel else None,
        "incoherence": bool(model.incoherence_) if is_kernel else None,
        "labels": (model.signature_table_.labels if signatures else model.candidates_).tolist(),
        "seen": model.seen_classes_.tolist(),
        "attribute_names": None if model.attribute_names_ is None else list(model.attribute_names_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "feature_scaling": model.feature_scaling_.name,
        "signature_scaling": model.signature_scaling_.name,
        "calibration": float(model.calibration_),
        "temperatures": model.temperatures_,
        "decisions": None if model.decisions_ is None else model.decisions_._to_json(),
        "hierarchy": None if model.hierarchy_ is None else model.hierarchy_._to_json(),
    }


def _depends_on_names(model: ZeroShotClassifier) -> bool:
    """Whether scores depend on the names of classes, so that signatures alone do not say enough."""
    own = type(model)
    names = own._candidate_scorer is not ZeroShotClassifier._candidate_scorer
    return names and own._nameless_scorer is ZeroShotClassifier._nameless_scorer


def _trace_scores(model: ZeroShotClassifier, tape: Tape, signatures: bool) -> Symbol:
    if signatures and any(_depends_on_names(one) for one in [model, *getattr(model, "members_", [])]):
        raise ValueError(
            f"a model of the method {model.kind!r} cannot be exported with signatures as an input, because it tells "
            "seen classes by their names: fix the classes, with signatures=False (--fixed)"
        )
    X: Any = Symbol(tape, "features", np.float32, (Dimension("features"), int(model.n_features_in_)))
    try:
        scaled = model.feature_scaling_.apply(X)
        if signatures:
            columns = model.signature_table_.matrix.shape[1]
            Y: Any = Symbol(tape, "signatures", np.float32, (Dimension("signatures"), columns))
            answer = model._nameless_scorer(Y)
        else:
            answer = model._candidate_scorer(model._question(scaled, model.signature_table_))
        return cast(Symbol, answer(scaled)).astype(np.float32)
    except (TypeError, AttributeError) as error:
        if isinstance(model, ZeroShotKernelClassifier):
            subject = f"a model with the kernel {model.kernel_.name!r}"
            advice = "write the kernel with operators and functions such as zskl.kernels.namespace(t).exp"
        else:
            subject = f"a model of the method {model.kind!r}"
            advice = f"kinds that can are {', '.join(kind for kind in methods.ESTIMATORS if kind not in NEVER)}"
        raise ValueError(f"{subject} cannot be exported as an ONNX graph ({error}): {advice}") from error


def _pack_model(
    onnx: ModuleType, model: ZeroShotClassifier, tape: Tape, scores: Symbol, table: NumPyArray | None
) -> bytes:
    """The file's content, checked; `table` is the default of the input `signatures`, if there is one."""
    arrays = {**tape.constants, **({} if table is None else {"signatures": table})}
    size = sum(array.nbytes for array in arrays.values())
    if size > LIMIT:
        raise ValueError(
            f"the arrays of the model take {size / 2**30:.2f} GiB, and an ONNX file holds {LIMIT / 2**30:.2f} GiB at "
            "most: train on fewer features or attributes, or deploy the model file itself"
        )
    inputs: dict[str, tuple[int | str, ...]] = {"features": ("n", int(model.n_features_in_))}
    columns: int | str = len(model.candidates_)
    if table is not None:
        inputs["signatures"], columns = ("c", table.shape[1]), "c"
    file = assemble_model(onnx, tape, arrays, inputs, {scores.name: ("scores", ("n", columns))})
    described = json.dumps(describe(model, table is not None), ensure_ascii=False, allow_nan=False)
    onnx.helper.set_model_props(file, {METADATA: described})
    onnx.checker.check_model(file, full_check=True)
    return bytes(file.SerializeToString())


def assemble_model(
    onnx: ModuleType,
    tape: Tape,
    arrays: Mapping[str, NumPyArray],
    inputs: Mapping[str, tuple[int | str, ...]],
    outputs: Mapping[str, tuple[str, tuple[int | str, ...]]],
) -> Any:
    """A model in memory. `inputs` are the shapes of float32 inputs by name. `outputs` are the name and shape of each
    output by its name on the tape. A letter in a shape stands for any number."""
    helper = onnx.helper

    def values(shapes: Mapping[str, tuple[int | str, ...]]) -> list[Any]:
        return [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    nodes = [helper.make_node(node.operator, node.inputs, node.outputs, **node.attributes) for node in tape.nodes]
    nodes += [helper.make_node("Identity", [found], [name]) for found, (name, _) in outputs.items()]
    constants = [onnx.numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in arrays.items()]
    return helper.make_model(
        helper.make_graph(nodes, "zskl", values(inputs), values(dict(outputs.values())), constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="zskl",
        producer_version=__version__,
    )


# SQL

SQL = """\
-- Class means as SQL for DuckDB 1.3 and later, written by zskl {version}. Load it once, then ask of any table with a
-- column id and a column vector of {columns} numbers, as zskl.Scorer.vectors writes them:
--     SELECT * FROM zskl_score('rows');
CREATE OR REPLACE TABLE zskl_classes (place INTEGER, class {kind}, temperature DOUBLE, vector FLOAT[{columns}]);
INSERT INTO zskl_classes VALUES
{classes};
CREATE OR REPLACE MACRO zskl_score(rows) AS TABLE
WITH scores AS (
  SELECT id, place, max(array_inner_product(r.vector::FLOAT[{columns}], c.vector)) AS score
  FROM query_table(rows) r, zskl_classes c GROUP BY id, place
), best AS (
  SELECT id, max(score) AS score, min_by(place, (-score, place)) AS place, list(score) AS scores
  FROM scores GROUP BY id
), named AS (
  SELECT id, class, score, scores,
    1 / list_sum(list_transform(scores, lambda s: exp((s - score) / temperature))) AS probability
  FROM best JOIN (SELECT DISTINCT place, class, temperature FROM zskl_classes) USING (place)
)
SELECT id, class, score, probability, coalesce({unknown}, false) AS unknown FROM named;
"""


def to_sql(model: Scorer | ClassMeansClassifier | str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Write class means as SQL for DuckDB: a table of class vectors, and a macro that answers as `predict` does.

    The macro `zskl_score('rows')` takes the name of a table with a column `id` and a column `vector`, which
    `Scorer.vectors` or `zskl.engines.score_file(..., vectors=True)` writes. It gives id, class, score, probability and
    `unknown`. The last number of a row's vector is 1, that of a class's vector what crowding and calibration take off,
    so the order of inner products is that of the scores.

    Parameters
    ----------
    model : Scorer, ClassMeansClassifier or path-like
        A scorer, a fitted model, or the file of either.
    path : str or path-like
        The file to write.

    Examples
    --------
    >>> import tempfile, zskl
    >>> data = zskl.datasets.make_synthetic()
    >>> model = zskl.ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zskl.export.to_sql(model, f"{folder}/classes.sql")
    """
    scorer = model if isinstance(model, Scorer) else Scorer(model)
    files.check_target(path)
    labels, vectors = scorer.class_vectors()
    names = labels.tolist()
    places = {label: place for place, label in enumerate(scorer.classes_.tolist())}
    sharpness: Any = scorer.temperatures_

    def literal(value: Any) -> str:
        return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)

    lines = [
        f"({places[name]}, {literal(name)}, {'NULL' if sharpness is None else sharpness[places[name]]}, "
        f"[{','.join(map('%.9g'.__mod__, vector))}])"
        for name, vector in zip(names, vectors.tolist(), strict=True)
    ]
    asked = [] if scorer.min_probability is None else [f"probability < {float(scorer.min_probability)!r}"]
    decider: Any = scorer.decider_
    if decider is not None and np.isfinite(decider.least):
        lead = f" + {decider.decisions.lead!r} * (score - list_sort(scores, 'DESC')[2])" * (len(places) > 1)
        asked.append(f"score{lead} < {float(decider.least)!r}")
    text = SQL.format(
        version=__version__,
        columns=vectors.shape[1],
        kind="BIGINT" if isinstance(names[0], int) else "VARCHAR",
        classes=",\n".join(lines),
        unknown=" OR ".join(asked) or "NULL",
    )
    files.write_atomically(path, text.encode())


# Search index


def to_index(
    model: ZeroShotClassifier,
    path: str | os.PathLike[str],
    kind: str = "usearch",
    *,
    X: Any = None,
    names: Sequence[Any] | None = None,
) -> None:
    """Write the class vectors, or the vectors of rows, of `model.ranking_map` as a search index.

    Ask an index of classes with `model.ranking_map().samples(rows)`: the best classes of each row come first. Ask an
    index of rows with `model.ranking_map().classes(signatures)`, for a kernel model `model.ranking_map(rows=True)`: the
    best rows of each class come first. Add a 0 at the end of each query: the index has one more column, which makes its
    vectors equally long. Beside the index, at `path` with ".json" added, are the names of its vectors.

    Parameters
    ----------
    model : ZeroShotKernelClassifier or ClassMeansClassifier
        The fitted model.
    path : str or path-like
        The index file to write.
    kind : {"usearch", "faiss"}, default="usearch"
        The library that reads it. For usearch a graph (HNSW), which does not look at every vector; for faiss all
        vectors, searched one by one (`IndexFlatIP`).
    X : array-like of shape (n_samples, n_features), default=None
        Rows to search. None writes the classes of the model.
    names : sequence, default=None
        The name of each row of `X`. None numbers them from 0.

    Raises
    ------
    ValueError
        If the model has no such vectors, or the library is not installed.

    Examples
    --------
    >>> import json, pathlib, tempfile, zskl
    >>> data = zskl.datasets.make_synthetic()
    >>> model = zskl.ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zskl.export.to_index(model, f"{folder}/classes.usearch")
    ...     len(json.loads(pathlib.Path(folder, "classes.usearch.json").read_text())["names"])
    25
    """
    maps = search_maps_of(model, rows=X is not None)
    if X is None:
        if names is not None:
            raise ValueError("names were given without X: they are names of rows; leave them out, or pass the rows")
        write_index(path, kind, maps.classes(), maps.labels(), "classes")
    else:
        vectors = to_numpy(maps.samples(X))
        write_index(path, kind, vectors, range(len(vectors)) if names is None else names, "rows")


def search_maps_of(model: ZeroShotClassifier, rows: bool) -> SearchMap:
    """The maps of a model whose inner products order its classes, and with `rows` the rows of a class too."""
    if isinstance(model, ZeroShotKernelClassifier):
        return model.ranking_map(rows=rows)
    if isinstance(model, ClassMeansClassifier):
        return model.ranking_map()
    if not isinstance(model, ZeroShotClassifier):
        raise ValueError(f"model is a {type(model).__name__}: expected a fitted estimator of zskl, without a pipeline")
    check_is_fitted(model)
    raise ValueError(
        f"a model of the method {model.kind!r} has no vectors to search: expected class means or a kernel model; rank "
        "with compatibility or top_k instead"
    )


def write_index(
    path: str | os.PathLike[str], kind: str, vectors: NDArray[Any], names: Sequence[Any] | NDArray[Any], what: str
) -> None:
    """Write vectors (n, m) of `what`, classes or rows, and beside them names, whose checksum fits no other index."""
    check_option("kind", kind, KINDS)
    beside = Path(f"{os.fspath(path)}.json")
    for target in (path, beside):
        files.check_target(target)
    listing = [to_plain(name) for name in names]
    if len(listing) != len(vectors):
        raise ValueError(f"names has {len(listing)} entries for {len(vectors)} rows: expected a name for each row")
    with np.errstate(over="ignore"):
        ready = np.ascontiguousarray(vectors, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(ready).all(axis=1))
    if len(bad):
        raise ValueError(
            f"vectors of {what} exceed the range of float32, the first {list_values([listing[bad[0]]])}: rescale "
            "features and signatures, and fit again"
        )
    # A graph searched by inner products misses much where lengths differ: one more column, √(M² − ‖v‖²), makes all
    # vectors as long as the longest, M. A query gets a 0 there, and its products stay.
    squares = (ready.astype(np.float64) ** 2).sum(axis=1)
    ready = np.column_stack([ready, np.sqrt(squares.max() - squares).astype(np.float32)])
    content = _pack_index(kind, ready)
    described = {
        "version": __version__,
        "index": kind,
        "vectors": what,
        "metric": "inner product",
        "columns": ready.shape[1],
        "query": "a vector of ranking_map, and a 0 at its end",
        "sha256": hashlib.sha256(content).hexdigest(),
        "names": listing,
    }
    files.write_atomically(path, content)
    files.write_atomically(beside, f"{json.dumps(described, ensure_ascii=False)}\n".encode())


def _pack_index(kind: str, vectors: NDArray[np.float32]) -> bytes:
    try:
        library = import_module("usearch.index" if kind == "usearch" else kind)
    except ImportError as error:
        raise ValueError(
            f"an index for {kind} needs the package {error.name or kind}, which is not installed: pip install "
            f"'zskl[{kind}]'"
        ) from error
    if kind == "faiss":
        index = library.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        return bytes(library.serialize_index(index).tobytes())
    index = library.Index(ndim=vectors.shape[1], metric="ip", dtype="f32")
    index.add(np.arange(len(vectors), dtype=np.uint64), vectors)
    return bytes(index.save())


# Symbols: the formulas of a model run on arrays without numbers, and a tape records the operators


@dataclass(frozen=True)
class Node:
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass
class Tape:
    """Nodes in order. A node uses inputs of the graph, constants, and outputs of nodes before it."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NumPyArray] = field(default_factory=dict)

    def constant(self, value: Any) -> str:
        """The name of a constant. The same array is stored once."""
        array = np.asarray(value)
        for name, known in self.constants.items():
            if known is array:
                return name
        name = f"constant_{len(self.constants)}"
        self.constants[name] = array
        return name

    def write(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Append a node, and return the name of its first output."""
        names = tuple(f"{operator}_{len(self.nodes)}" + "_more" * place for place in range(outputs))
        self.nodes.append(Node(operator, inputs, names, attributes))
        return names[0]


@dataclass(frozen=True)
class Dimension:
    """A number of rows that is not known before the graph runs."""

    name: str

    def _refuse_size(self, *_: object) -> NoReturn:
        raise TypeError(f"it depends on the number of rows of {self.name}")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __index__ = __neg__ = _refuse_size
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_size
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse_size


Shape: TypeAlias = tuple[int | Dimension, ...]


def _operator(name: str, swapped: bool = False) -> Callable[..., Symbol]:
    return lambda *operands: elementwise(name, *operands[:: -1 if swapped else 1])


class Symbol:
    """An array whose values a graph will compute. Its type is known, and its shape except for numbers of rows."""

    __array_ufunc__ = None  # so that NumPy leaves operators between its arrays and symbols to us
    __hash__ = None  # type: ignore[assignment]
    __iter__ = None

    def __init__(self, tape: Tape, name: str, dtype: Any, shape: Shape) -> None:
        self.tape, self.name, self.dtype, self.shape = tape, name, np.dtype(dtype), shape

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return SYMBOL_FUNCTIONS

    def _refuse_value(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("it looks at the values themselves")

    __array__ = __bool__ = __float__ = __int__ = __index__ = _refuse_value

    __add__ = __radd__ = _operator("Add")
    __mul__ = __rmul__ = _operator("Mul")
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", swapped=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", swapped=True)
    __pow__, __rpow__ = _operator("Pow"), _operator("Pow", swapped=True)
    __matmul__, __rmatmul__ = _operator("MatMul"), _operator("MatMul", swapped=True)
    __lt__, __le__ = _operator("Less"), _operator("LessOrEqual")
    __gt__, __ge__ = _operator("Greater"), _operator("GreaterOrEqual")
    __neg__, __abs__ = _operator("Neg"), _operator("Abs")
    __eq__ = _operator("Equal")  # type: ignore[assignment]

    def __ne__(self, other: Any) -> Any:
        return elementwise("Not", self == other)

    def apply(self, operator: str, *further: str, shape: Shape, dtype: Any = None, **attributes: Any) -> Symbol:
        """One operator on this array. The type stays the same unless you name one."""
        name = self.tape.write(operator, self.name, *further, **attributes)
        return Symbol(self.tape, name, self.dtype if dtype is None else dtype, shape)

    def astype(self, dtype: Any, copy: bool = False) -> Symbol:
        number = {"float32": 1, "int64": 7, "float64": 11}.get(np.dtype(dtype).name)  # the numbers of types in ONNX
        if number is None:
            raise TypeError(f"it needs the type {np.dtype(dtype)}")
        return self if self.dtype == dtype else self.apply("Cast", shape=self.shape, dtype=dtype, to=number)

    def clip(self, min: Any = None, max: Any = None) -> Symbol:
        above = self if min is None else elementwise("Max", self, min)
        return above if max is None else elementwise("Min", above, max)

    @property
    def T(self) -> Symbol:
        if len(self.shape) != 2:
            raise TypeError(f"it transposes an array of {len(self.shape)} dimensions")
        return self.apply("Transpose", shape=self.shape[::-1], perm=[1, 0])

    mT = T

    def __getitem__(self, key: Any) -> Symbol:
        """New axes, a whole axis, a range of an axis of known length, or columns by number."""
        keys = list(key) if isinstance(key, tuple) else [key]
        missing = [slice(None)] * (len(self.shape) - sum(one is not None and one is not Ellipsis for one in keys))
        dots = next((place for place, one in enumerate(keys) if one is Ellipsis), len(keys))
        result = self
        for axis, one in enumerate(keys[:dots] + missing + keys[dots + 1 :]):
            result = _take_index(result, axis, one)
        return result


def _take_index(x: Symbol, axis: int, key: Any) -> Symbol:
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if key is None:
        return x.apply("Unsqueeze", x.tape.constant(np.array([axis])), shape=(*before, 1, *x.shape[axis:]))
    if isinstance(key, slice) and key == slice(None):
        return x
    if isinstance(key, slice) and key.step in (None, 1):
        start, stop, _ = key.indices(x.shape[axis])
        ends = [x.tape.constant(np.array([value])) for value in (start, stop, axis)]
        return x.apply("Slice", *ends, shape=(*before, max(0, stop - start), *after))
    if isinstance(key, np.ndarray) and key.ndim == 1 and key.dtype.kind in "iu":
        numbers = x.tape.constant(key.astype(np.int64))
        return x.apply("Gather", numbers, shape=(*before, len(key), *after), axis=axis)
    raise TypeError(f"it is indexed by {key!r}")


def elementwise(operator: str, *operands: Any) -> Symbol:
    """One operator on operands of one type: numbers take the type of the arrays, and arrays the wider type."""
    numbers = [x for x in operands if isinstance(x, bool | int | float) and not isinstance(x, np.generic)]
    arrays = [x for x in operands if isinstance(x, Symbol | np.ndarray | np.generic)]
    if len(numbers) + len(arrays) < len(operands):
        kinds = [f"the number of rows of {x.name}" if isinstance(x, Dimension) else type(x).__name__ for x in operands]
        raise TypeError(f"it combines {' and '.join(kinds)}")
    tape = next(x.tape for x in arrays if isinstance(x, Symbol))
    dtype = np.result_type(*[x.dtype for x in arrays], *numbers)
    names = [operand_name(tape, x, dtype) for x in operands]
    shapes: list[Shape] = [x.shape if isinstance(x, Symbol) else np.shape(x) for x in operands]
    shape = _product_shape(*shapes) if operator == "MatMul" else broadcast_shapes(*shapes)
    return Symbol(tape, tape.write(operator, *names), np.bool_ if operator in COMPARISONS else dtype, shape)


def operand_name(tape: Tape, x: Any, dtype: Any) -> str:
    """The name of a symbol, or of a constant with that value, in the given type."""
    if isinstance(x, Symbol):
        return (x if x.dtype == dtype else x.astype(dtype)).name
    return tape.constant(np.asarray(x).astype(dtype, copy=False))


def broadcast_shapes(*shapes: Shape) -> Shape:
    width = max(len(shape) for shape in shapes)
    result: list[int | Dimension] = []
    for sizes in zip(*[(1,) * (width - len(shape)) + shape for shape in shapes], strict=True):
        other = [size for size in sizes if size != 1] or [1]
        if any(size != other[0] for size in other):
            raise TypeError(f"it combines arrays of shapes {' and '.join(map(str, shapes))}")
        result.append(other[0])
    return tuple(result)


def _product_shape(a: Shape, b: Shape) -> Shape:
    if len(a) != 2 or len(b) != 2 or a[1] != b[0]:
        raise TypeError(f"it multiplies arrays of shapes {a} and {b}")
    return a[0], b[1]


def _log1p(x: Symbol) -> Symbol:
    """log(1 + x) to the last digits also where x is small: with u = 1 + x as rounded, log(u) · x / (u − 1)."""
    u = 1 + x
    return _where(u == 1, x, elementwise("Log", u) * (x / (u - 1)))


def _where(condition: Symbol, a: Any, b: Any) -> Symbol:
    tape = next(x.tape for x in (condition, a, b) if isinstance(x, Symbol))
    arrays = [x for x in (a, b) if isinstance(x, Symbol | np.ndarray | np.generic)]
    dtype = np.result_type(*[x.dtype for x in arrays], *[x for x in (a, b) if not hasattr(x, "dtype")])
    test = condition.name if isinstance(condition, Symbol) else tape.constant(condition)
    shape = broadcast_shapes(*[x.shape if isinstance(x, Symbol) else np.shape(x) for x in (condition, a, b)])
    name = tape.write("Where", test, operand_name(tape, a, dtype), operand_name(tape, b, dtype))
    return Symbol(tape, name, dtype, shape)


def _reduce(operator: str, x: Symbol, *, axis: int, keepdims: bool = False) -> Symbol:
    axis %= len(x.shape)
    shape = (*x.shape[:axis], *((1,) if keepdims else ()), *x.shape[axis + 1 :])
    if operator == "ReduceSum":  # the first to take its axes as an input
        return x.apply(operator, x.tape.constant(np.array([axis])), shape=shape, keepdims=int(keepdims))
    return x.apply(operator, shape=shape, axes=[axis], keepdims=int(keepdims))


def _concat(parts: Sequence[Symbol], *, axis: int) -> Symbol:
    first = parts[0]
    axis %= len(first.shape)
    length = sum(int(part.shape[axis]) for part in parts)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    return first.apply("Concat", *(part.name for part in parts[1:]), shape=shape, axis=axis)


def _full_like(x: Symbol, value: float) -> Symbol:
    shape = x.tape.write("Shape", x.name)
    return Symbol(x.tape, x.tape.write("Expand", operand_name(x.tape, value, x.dtype), shape), x.dtype, x.shape)


def _sort(x: Symbol, *, axis: int) -> Symbol:
    """Sort in rising order, along an axis of known length."""
    size = x.tape.constant(np.array([int(x.shape[axis])]))
    name = x.tape.write("TopK", x.name, size, outputs=2, axis=axis, largest=0, sorted=1)
    return Symbol(x.tape, name, x.dtype, x.shape)


def _largest(x: Symbol, count: int) -> Symbol:
    """The largest entries of each column, see `largest_entries`."""
    name = x.tape.write("TopK", x.name, x.tape.constant(np.array([count])), outputs=2, axis=0, largest=1, sorted=0)
    return Symbol(x.tape, name, x.dtype, (count, *x.shape[1:]))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: partial(elementwise, operator) for name, operator in ELEMENTWISE.items()},
    **{name: partial(_reduce, operator) for name, operator in REDUCTIONS.items()},
    "asarray": lambda x: x,
    "astype": Symbol.astype,
    "clip": Symbol.clip,
    "concat": _concat,
    "largest": _largest,
    "log1p": _log1p,
    "ones_like": lambda x: _full_like(x, 1),
    "sort": _sort,
    "take": lambda x, indices, *, axis: x[(slice(None),) * (axis % len(x.shape)) + (indices,)],
    "where": _where,
    "zeros_like": lambda x: _full_like(x, 0),
}


class SymbolFunctions:
    """What `__array_namespace__` of a symbol gives: functions and types under the names of the array API."""

    __name__ = "zskl.export"  # array_api_compat asks every namespace for it

    def __getattr__(self, name: str) -> Any:
        if name in DTYPES:
            return DTYPES[name]
        if name not in FUNCTIONS:
            raise AttributeError(f"it uses the function {name}")

        def function(*values: Any, **how: Any) -> Any:
            listed = [one for value in values for one in (value if isinstance(value, list | tuple) else [value])]
            symbolic = any(isinstance(one, Symbol) for one in listed)
            return (FUNCTIONS[name] if symbolic else getattr(numpy_functions, name))(*values, **how)

        return function


SYMBOL_FUNCTIONS = SymbolFunctions()
