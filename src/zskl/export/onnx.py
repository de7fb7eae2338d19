"""A fitted model as an ONNX graph, scaling included: features (n, d) and signatures (c, p) → scores (n, c).

The formulas are those that `compatibility` computes with. They run on symbols (`zskl.export.symbols`), in float32.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl import files, methods
from zskl.estimators import sparse_inputs
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.export.symbols import Dimension, Symbol, Tape
from zskl.version import __version__

OPSET, IR_VERSION = 17, 8  # of 2022
LIMIT = (2 << 30) - (1 << 20)  # bytes of arrays in a file: protobuf's 2 GiB, less room for the rest
NEVER = ("sse",)  # kinds whose scores no graph of these operators computes
METADATA = "zskl"  # the property that holds what `describe` says, as JSON


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
    sparse_inputs.refuse_signatures(model.signature_table_, "an ONNX file")
    files.check_target(path)
    onnx = _onnx()
    tape = Tape()
    with np.errstate(over="raise"):
        try:
            scores = _traced(model, tape, signatures)
            table = model.signature_table_.matrix.astype(np.float32) if signatures else None
        except FloatingPointError:
            raise ValueError(
                "the model has numbers beyond the range of float32, which the graph computes in: rescale features and "
                "signatures, and fit again"
            ) from None
    files.write_atomically(path, _packed(onnx, model, tape, scores, table))


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
        "seen", "unseen" or "mixed" candidates, or None.

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
        "seen": model.classes_.tolist(),
        "attribute_names": None if model.attribute_names_ is None else list(model.attribute_names_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "feature_scaling": "-".join(model.feature_scaling_.steps) or "none",
        "signature_scaling": "-".join(model.signature_scaling_.steps) or "none",
        "calibration": float(model.calibration_),
        "temperatures": model.temperatures_,
    }


def _onnx() -> ModuleType:
    try:
        return import_module("onnx")
    except ImportError as error:
        raise ValueError(
            f"ONNX files need the package {error.name or 'onnx'}, which is not installed: pip install 'zskl[onnx]'"
        ) from error


def _by_name(model: ZeroShotClassifier) -> bool:
    """Whether scores depend on the names of classes, so that signatures alone do not say enough."""
    own = type(model)
    names = own._answerer is not ZeroShotClassifier._answerer
    return names and own._nameless_scorer is ZeroShotClassifier._nameless_scorer


def _traced(model: ZeroShotClassifier, tape: Tape, signatures: bool) -> Symbol:
    """Scores, as operators on the tape."""
    p = model.signature_table_.matrix.shape[1]
    if signatures and any(_by_name(one) for one in [model, *getattr(model, "members_", [])]):
        raise ValueError(
            f"a model of the method {model.kind!r} cannot be exported with signatures as an input, because it tells "
            "seen classes by their names: fix the classes, by signatures=False or --fixed"
        )
    X: Any = Symbol(tape, "features", np.float32, (Dimension("features"), int(model.n_features_in_)))
    try:
        scaled = model.feature_scaling_.apply(X)
        if signatures:
            Y: Any = Symbol(tape, "signatures", np.float32, (Dimension("signatures"), p))
            answer = model._nameless_scorer(Y)
        else:
            answer = model._answerer(model._question(scaled, model.signature_table_))
        scores: Any = answer(scaled)
        symbol: Symbol = scores.astype(np.float32)
        return symbol
    except (TypeError, AttributeError) as error:
        if isinstance(model, ZeroShotKernelClassifier):
            subject = f"a model with the kernel {model.kernel_.name!r}"
            advice = "write the kernel with operators and functions such as zskl.arrays.namespace(t).exp"
        else:
            subject = f"a model of the method {model.kind!r}"
            advice = f"kinds that can are {', '.join(kind for kind in methods.ESTIMATORS if kind not in NEVER)}"
        raise ValueError(f"{subject} cannot be exported as an ONNX graph ({error}): {advice}") from error


def _packed(
    onnx: ModuleType, model: ZeroShotClassifier, tape: Tape, scores: Symbol, table: np.ndarray[Any, Any] | None
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
    file = assembled(onnx, tape, arrays, inputs, {scores.name: ("scores", ("n", columns))})
    described = json.dumps(describe(model, table is not None), ensure_ascii=False, allow_nan=False)
    onnx.helper.set_model_props(file, {METADATA: described})
    onnx.checker.check_model(file, full_check=True)
    content: bytes = file.SerializeToString()
    return content


def assembled(
    onnx: ModuleType,
    tape: Tape,
    arrays: Mapping[str, np.ndarray[Any, Any]],
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
