"""A fitted model as an ONNX graph, scaling included: features (n, d) and signatures (c, p) → scores (n, c).

The formulas are those that `compatibility` computes with, run on symbols (`zskl.symbols`), in float32.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl import files, methods
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.symbols import Dimension, Symbol, Tape
from zskl.version import __version__

OPSET, IR_VERSION = 17, 8  # of 2022
LIMIT = (2 << 30) - (1 << 20)  # bytes of arrays in a file: protobuf's 2 GiB, less room for the rest
NEVER = ("sse",)  # kinds whose scores no graph of these operators computes
METADATA = "zskl"  # the property that holds what `describe` says, as JSON


def to_onnx(model: ZeroShotClassifier, path: str | os.PathLike[str], *, signatures: bool = True) -> None:
    """Write a fitted model as an ONNX file, whole or not at all.

    Inputs, float32: `features` (n, d) and `signatures` (c, p), both raw, as the model takes them; `signatures` may be
    left out and is then the model's own table. Output `scores` (n, c), float32, what `compatibility` says: raw, larger
    is better, one column for each row of `signatures`.

    With `signatures=False` there is one input, and the classes are the model's own, once and for all: what they alone
    decide is worked out now, and a class with several signatures scores the best of them.
    """
    if not isinstance(model, ZeroShotClassifier):
        raise ValueError(f"model is a {type(model).__name__}: expected a fitted estimator of zskl, without a pipeline")
    check_is_fitted(model)
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
                "signatures, and fit anew"
            ) from None
    files.write_atomically(path, _packed(onnx, model, tape, scores, table))


def describe(model: ZeroShotClassifier, signatures: bool = True) -> dict[str, Any]:
    """What a file says of a fitted model beside the graph: enough to do what `predict` and `predict_proba` do.

    labels       the class of each column of scores, for the model's own table
    seen         the classes that it was trained on, from whose scores `calibration` is taken where both kinds compete
    temperatures by which scores are divided before softmax: of "seen", "unseen" or "mixed" candidates; or None
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


def _onnx() -> Any:
    try:
        import onnx

        return onnx
    except ImportError as error:
        raise ValueError(
            f"ONNX files need the package {error.name or 'onnx'}, which is not installed: pip install 'zskl[onnx]'"
        ) from error


def _traced(model: ZeroShotClassifier, tape: Tape, signatures: bool) -> Symbol:
    """Scores, as operators on the tape."""
    p = model.signature_table_.matrix.shape[1]
    if signatures and type(model)._answerer is not ZeroShotClassifier._answerer:
        raise ValueError(
            f"a model of the method {model.kind!r} cannot be exported with signatures as an input, as it tells seen "
            "classes by their names: fix the classes, by signatures=False or --fixed"
        )
    X: Any = Symbol(tape, "features", np.float32, (Dimension("features"), int(model.n_features_in_)))
    try:
        scaled = model.feature_scaling_.apply(X)
        if signatures:
            Y: Any = Symbol(tape, "signatures", np.float32, (Dimension("signatures"), p))
            answer = model._scorer(model.signature_scaling_.apply(Y))
        else:
            answer = model._answerer(model._question(scaled, model.signature_table_))
        scores: Any = answer(scaled)
        symbol: Symbol = scores.astype(np.float32)
        return symbol
    except (TypeError, AttributeError) as error:
        if isinstance(model, ZeroShotKernelClassifier):
            subject = f"a model with the kernel {model.kernel_.name!r}"
            advice = "write the kernel by operators and functions such as zskl.arrays.namespace(t).exp"
        else:
            subject = f"a model of the method {model.kind!r}"
            advice = f"kinds that can are {', '.join(kind for kind in methods.ESTIMATORS if kind not in NEVER)}"
        raise ValueError(f"{subject} cannot be exported as an ONNX graph ({error}): {advice}") from error


def _packed(
    onnx: Any, model: ZeroShotClassifier, tape: Tape, scores: Symbol, table: np.ndarray[Any, Any] | None
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
    onnx: Any,
    tape: Tape,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    inputs: Mapping[str, tuple[int | str, ...]],
    outputs: Mapping[str, tuple[str, tuple[int | str, ...]]],
) -> Any:
    """A model in memory: shapes of its float32 inputs by their names; name and shape of each output by its name on the
    tape. A letter in a shape is any number."""
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
