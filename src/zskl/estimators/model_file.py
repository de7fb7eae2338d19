"""Model files: a fitted estimator ↔ one safetensors file with a JSON header and named arrays. Never pickle.

An estimator lists in `LEARNED` what its method scores with. An array has its shape, in the letters d (features), p
(attributes), C (seen classes), "*" (anything) and "?" (anything, or nothing); "p|C" is one of two. None stands for what
its `_to_json` turns into JSON. Of sparse rows the file holds parts, such as "signatures.values", the header the shape.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from zskl import scaling as scalings
from zskl._arrays import PARTS, NumPyArray, SparseRows, is_sparse_rows
from zskl._files import write_atomically
from zskl.estimators._blocks import Blocks, BlockScaling

if TYPE_CHECKING:
    from zskl.estimators.base import ZeroShotClassifier

Estimator = TypeVar("Estimator", bound="ZeroShotClassifier")
FORMAT = "zskl-model"
VERSION = 3  # 1 knows no class means and no committee; up to 2, seen classes come first among the candidates
_KEY = "zskl"
SCALED = {"feature_scaling": "d", "signature_scaling": "p"}
ENCODED = "encoded_examples"
MAY_BE_SPARSE = ("signatures", "learned.kept_rows_")
VECTORS, REST = "class_vectors", "class_vectors.rest"  # what a `zskl.Scorer` needs of class means, beside the whitening


def pack_model(model: "ZeroShotClassifier") -> tuple[dict[str, Any], dict[str, NumPyArray]]:
    # Here and below imported late, as a scorer, which reads the same files, does without pandas.
    from zskl.signatures.table import PREPARED

    arrays = {f"learned.{name}": getattr(model, name) for name, shape in model.LEARNED.items() if shape}
    arrays["signatures"] = model.signature_table_.matrix
    for name in SCALED:
        scaling = getattr(model, f"{name}_")
        parts = scaling.parts if isinstance(scaling, BlockScaling) else [scaling]
        for number, part in enumerate(parts):
            prefix = _scaling_prefix(name, number)
            fitted = {
                prefix: part.mean,
                f"{prefix}deviation": part.deviation,
                f"{prefix}units": part.units,
                f"{prefix}sizes": part.sizes,
            }
            arrays |= {key: array for key, array in fitted.items() if array is not None}
    sparse = {name: array for name, array in arrays.items() if is_sparse_rows(array)}
    for name, rows in sparse.items():
        arrays |= {f"{name}.{part}": array for part, array in rows.parts().items()}
        del arrays[name]
    header = {
        "estimator": model.kind,
        "parameters": {name: model._to_json(name, value) for name, value in model.get_params(deep=False).items()},
        "learned": {name: model._to_json(name, getattr(model, name)) for name, s in model.LEARNED.items() if not s},
        "scaling": {name: getattr(model, f"{name}_").steps for name in SCALED},
        "classes": labels_to_json(model.classes_),
        "seen_classes": labels_to_json(model.seen_classes_),
        "signature_labels": labels_to_json(model.signature_table_.labels),
        "attribute_names": model.attribute_names_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "n_features": int(model.n_features_in_),
        "calibration": float(model.calibration_),
        "temperatures": model.temperatures_,
        **({} if model.described_ else {"described": False}),
        **({"sparse": {name: rows.shape for name, rows in sparse.items()}} if sparse else {}),
    }
    blocks = {name: getattr(model, f"{name}_") for name in SCALED}
    blocks = {name: one for name, one in blocks.items() if isinstance(one, BlockScaling)}
    if blocks:  # files of a single block are as those of earlier versions
        header["scaling_blocks"] = {
            name: [{"steps": part.steps, "reason": part.reason} for part in one.parts] for name, one in blocks.items()
        }
    reasons = {name: getattr(model, f"{name}_").reason for name in SCALED}
    if any(reasons.values()):
        header["scaling_reasons"] = reasons
    for name in ("preparation", "backbone", "encoder"):
        if getattr(model, f"{name}_", None) is not None:
            header[name] = getattr(model, f"{name}_")
    for name, value in (("decisions", model.decisions_), ("hierarchy", model.hierarchy_)):
        if value is not None:
            header[name] = value._to_json()
    if model.signature_table_.preparation is not None:
        header[PREPARED] = model.signature_table_.preparation.text()
    if "encoder" in header:
        arrays[ENCODED] = np.asarray(model.encoded_examples_)
    return header, arrays


def unpack_model(model: Estimator, header: dict[str, Any], arrays: dict[str, NumPyArray]) -> Estimator:
    """Set on an unfitted estimator what `pack_model` took from the fitted one; refuse what does not fit together."""
    from zskl.decisions import Decisions, Hierarchy
    from zskl.signatures.cells import Preparation
    from zskl.signatures.table import PREPARED, SignatureTable

    arrays = {
        **arrays,
        **{name: _read_sparse_model_array(arrays, name, shape) for name, shape in header.get("sparse", {}).items()},
    }
    labels = labels_from_json(header["signature_labels"])
    old = "seen_classes" not in header  # a file of 0.1 or 0.2
    classes = labels_from_json(header["candidates" if old else "classes"])
    seen = labels_from_json(header["classes" if old else "seen_classes"], empty=model.SEES_NONE)
    sizes = {"d": int(header["n_features"]), "C": len(seen), "rows": len(labels), "1": 1}
    if sizes["d"] < 1:
        raise ValueError(f"a model of {sizes['d']} features")
    matrix = _read_model_array(arrays, "signatures", ("rows", "*"), sizes)
    sizes["p"] = matrix.shape[1]
    names = None if header["attribute_names"] is None else tuple(header["attribute_names"])
    if names is not None and len(names) != sizes["p"]:
        raise ValueError(f"{len(names)} attribute names for {sizes['p']} attributes")
    prepared = Preparation.from_text(header[PREPARED]) if PREPARED in header else None
    if prepared is not None and prepared.features != names:
        raise ValueError("what words of the class table became does not fit its columns")
    table = SignatureTable(labels, matrix, names, prepared)
    if old:
        if (
            seen.tolist() != sorted(set(table.classes[: len(seen)].tolist()))
            or classes.tolist() != table.classes.tolist()
        ):
            raise ValueError("the classes and candidates are not those of the signature table, in its order")
        classes = np.unique(classes)
        table = table.select(classes)
    fitted: dict[str, Any] = {
        "classes_": classes,
        "seen_classes_": seen,
        "attribute_names_": names,
        "signature_table_": table,
        "n_features_in_": sizes["d"],
        "calibration_": float(header["calibration"]),
        "temperatures_": _read_temperatures(header["temperatures"]),
        "described_": header.get("described") is not False,
    }
    if "decisions" in header:
        fitted["decisions_"] = Decisions._from_json(header["decisions"])
    if "hierarchy" in header:
        fitted["hierarchy_"] = Hierarchy._from_json(header["hierarchy"])
    described, known = table.classes.tolist(), set(seen.tolist())
    fits = len(seen) >= 2 or (not len(seen) and model.SEES_NONE)
    ordered = classes.tolist() == sorted(set(described)) == described and seen.tolist() == sorted(known)
    if not fits or not ordered or not known <= set(described):
        raise ValueError("the classes are not those of the signature table, sorted")
    for name, letter in SCALED.items():
        fitted[f"{name}_"] = read_scaling(header, arrays, name, sizes[letter])
    if header["feature_names"]:
        if len(header["feature_names"]) != sizes["d"]:
            raise ValueError(f"{len(header['feature_names'])} feature names for {sizes['d']} features")
        fitted["feature_names_in_"] = np.array(header["feature_names"], dtype=object)
    for name in ("preparation", "backbone"):  # whoever reads tables or photos for the model knows what they say
        text = header.get(name)
        if text is not None and not isinstance(text, str):
            raise ValueError(f"a {name} of type {type(text).__name__}")
        if text is not None:
            fitted[f"{name}_"] = text
    if header.get("encoder") is not None:  # of a model whose rows are texts or pictures
        fitted["encoder_"] = dict(header["encoder"])
        fitted["encoded_examples_"] = _read_model_array(arrays, ENCODED, ("?", "d"), sizes)
    for name, shape in model.LEARNED.items():
        if shape:
            fitted[name] = _read_model_array(arrays, f"learned.{name}", shape, sizes)
        else:
            fitted[name] = model._from_json(name, header["learned"][name])
    model.__dict__.update(fitted)
    return model


def _scaling_prefix(name: str, number: int) -> str:
    """How the arrays of a scaling are called; the first block has the names of earlier versions."""
    return f"{name}_" if number == 0 else f"{name}_{number}_"


def read_scaling(
    header: Mapping[str, Any], arrays: dict[str, NumPyArray], name: str, size: int
) -> scalings.Scaling | BlockScaling:
    """The scaling of features or of signatures, of so many columns."""
    stored = header.get("scaling_blocks", {}).get(name)
    if stored is None:
        reason = str(header.get("scaling_reasons", {}).get(name, ""))  # files of 0.2 have none
        return _read_scaling(arrays, name, 0, header["scaling"][name], reason, size)
    blocks = Blocks.from_json(header["learned"]["blocks_" if SCALED[name] == "d" else "tables_"])
    widths = [part.stop - part.start for part in blocks.columns]
    if len(widths) != len(stored) or sum(widths) != size or min(widths) < 1:
        raise ValueError(f"blocks of {widths} columns for {size} in {len(stored)} scalings")
    parts = [
        _read_scaling(arrays, name, number, part["steps"], str(part["reason"]), width)
        for number, (part, width) in enumerate(zip(stored, widths, strict=True))
    ]
    return BlockScaling(blocks, tuple(parts))


def _read_scaling(
    arrays: dict[str, NumPyArray], name: str, number: int, stored: Any, reason: str, width: int
) -> scalings.Scaling:
    steps, prefix = scalings.parse_scaling("-".join(stored) or "none", name), _scaling_prefix(name, number)

    def read(kept: str, needed: bool) -> NumPyArray | None:
        return _read_model_array(arrays, f"{prefix}{kept}", ("n",), {"n": width}) if needed else None

    return scalings.Scaling(
        steps,
        read("", bool(set(steps) & set(scalings.FITTED))),
        read("deviation", "standardize" in steps),
        read("units", "log" in steps),
        read("sizes", "unit" in steps),
        reason,
    )


def _read_temperatures(stored: Any) -> dict[str, float] | None:
    if stored is None:
        return None
    found = {name: float(stored[name]) for name in ("seen", "unseen", "mixed")}
    found |= {name: float(stored[name]) for name in ("mixed_seen", "mixed_unseen") if name in stored}
    if not all(0 < value < math.inf for value in found.values()):
        raise ValueError(f"temperatures of {stored}")
    return found


def _read_model_array(
    arrays: dict[str, NumPyArray], name: str, shape: tuple[str, ...], sizes: dict[str, int]
) -> NumPyArray:
    if name not in arrays:
        raise ValueError(f"the array {name} is missing")
    array = arrays[name]
    expected = [[sizes.get(letter, -1) for letter in letters.split("|")] for letters in shape]
    fits = len(array.shape) == len(shape) and all(n in e or -1 in e for e, n in zip(expected, array.shape, strict=True))
    none = any(sizes.get(letter) == 0 for letter in shape)  # no seen class
    if not fits or (array.size == 0 and "?" not in shape and not none):
        raise ValueError(f"the array {name} has shape {array.shape}, expected ({', '.join(shape)}) = {expected}")
    for letter, n in zip(shape, array.shape, strict=True):
        if letter.isalpha():  # one that is new stands for the number that is here
            sizes.setdefault(letter, n)
    if not is_sparse_rows(array) and (array.dtype.kind != "f" or not np.isfinite(array).all()):
        raise ValueError(f"the array {name} of type {array.dtype} is not made of finite floating-point numbers")
    return array


def _read_sparse_model_array(arrays: dict[str, NumPyArray], name: str, shape: Any) -> Any:
    parts = {part: arrays[f"{name}.{part}"] for part in PARTS if f"{name}.{part}" in arrays}
    if name not in MAY_BE_SPARSE or len(parts) < len(PARTS) or len(shape) != 2 or min(map(int, shape)) < 0:
        raise ValueError(f"the sparse array {name} is not whole")
    return SparseRows.from_parts(parts, (int(shape[0]), int(shape[1])))


def labels_to_json(labels: NumPyArray) -> dict[str, Any]:
    return {"dtype": "object" if labels.dtype.kind == "O" else labels.dtype.str, "values": labels.tolist()}


def labels_from_json(stored: dict[str, Any], empty: bool = False) -> NumPyArray:
    labels = np.array(stored["values"], dtype=stored["dtype"])
    if labels.ndim != 1 or (len(labels) == 0 and not empty):
        raise ValueError(f"a list of labels has shape {labels.shape}")
    return labels


def write_model(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NumPyArray]) -> None:
    """Write the file whole or not at all: a failure leaves what was there."""
    header = {"format": FORMAT, "version": VERSION, **header}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False)
    packed = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_atomically(path, save(packed, metadata={_KEY: text}))


def read_model(
    path: str | os.PathLike[str], names: tuple[str, ...] = ("",)
) -> tuple[dict[str, Any], dict[str, NumPyArray]]:
    """Header, and arrays whose names begin so; refuse a file that is truncated, not a model, or of a newer format."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}: check the path, or save a model there first")
    damaged = "it may be truncated or of another kind; copy it again, or save the model again"
    try:
        file: Any = safe_open(path, framework="numpy")
    except SafetensorError as error:
        raise ValueError(f"{path} is not a readable zskl model file ({error}): {damaged}") from None
    with file:
        header = _parse_model_header(path, (file.metadata() or {}).get(_KEY))
        try:
            wanted = [name for name in file.keys() if name.startswith(names)]  # noqa: SIM118 (not a mapping)
            arrays = {name: file.get_tensor(name) for name in wanted}
        except (SafetensorError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path} holds an array that a zskl model cannot have ({error}): {damaged}") from None
    return header, arrays


def _parse_model_header(path: Path, text: str | None) -> dict[str, Any]:
    try:
        header = json.loads(text) if text is not None else None
    except ValueError as error:
        raise ValueError(f"{path} has a header that is not JSON ({error}): save the model again") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file, but not one that zskl wrote: expected a {FORMAT} header")
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise ValueError(
            f"{path} has model format version {header.get('version')!r}, this zskl reads up to {VERSION}: upgrade zskl"
        )
    return header
