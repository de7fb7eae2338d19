"""Pipelines that end in an estimator of zskl: what a model can do, on rows as its transformers take them. A file holds
the model, and of each transformer, one of a closed list, parameters and what it learned: numbers in arrays, all else as
JSON. Nothing in a file names code."""

import copy
import functools
import importlib
import logging
import math
import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.pipeline import make_pipeline as make_plain_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from zskl._arrays import NumPyArray
from zskl.estimators import model_file
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier

__all__ = ["ZeroShotPipeline", "make_pipeline"]

log = logging.getLogger(__name__)

KIND = "pipeline"  # in a model file
_LAST, _STEPS = "model.", "steps."  # what names of arrays begin with
_HOMES = {  # transformers that a file can hold, by the module of scikit-learn that has them
    "compose": ("ColumnTransformer",),
    "decomposition": ("PCA", "TruncatedSVD"),
    "feature_extraction": ("DictVectorizer",),
    "feature_extraction.text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "feature_selection": ("VarianceThreshold",),
    "impute": ("MissingIndicator", "SimpleImputer"),
    "pipeline": ("FeatureUnion", "Pipeline"),
    "preprocessing": (
        "Binarizer",
        "FunctionTransformer",  # only the one that `ColumnTransformer` makes of "passthrough", without a function
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
}
TRANSFORMERS = {name: f"sklearn.{home}" for home, names in _HOMES.items() for name in names}
_NOT_KEPT = ("memory", "_metadata_request")  # where this process caches fits; what it asks of a fit
_FUNCTIONS = ("func", "inverse_func")
_COLLECTIONS: dict[str, Any] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> "ZeroShotPipeline":
    """Put transformers before a model: a pipeline of scikit-learn that can also be taught, explained and saved.

    Parameters
    ----------
    *steps : estimators
        Transformers, then an estimator of zskl. Each step gets its lower-case class name.
    memory : str or object with the joblib.Memory interface, default=None
        Where fitted transformers are cached.
    verbose : bool, default=False
        Whether to print how long each step of a fit takes.

    Returns
    -------
    ZeroShotPipeline
        The pipeline, not fitted yet.

    See Also
    --------
    sklearn.pipeline.make_pipeline : The same for other estimators.

    Examples
    --------
    >>> import zskl
    >>> from sklearn.preprocessing import StandardScaler
    >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
    >>> model = zskl.make_pipeline(StandardScaler(), zskl.ClassMeansClassifier())
    >>> model = model.fit([[0, 1], [1, 1]], ["ant", "bee"], signatures=table)
    >>> model.predict([[1, 1]], candidates=["ant", "bee"]).tolist()
    ['bee']
    """
    return ZeroShotPipeline(make_plain_pipeline(*steps).steps, memory=memory, verbose=verbose)


def _delegate(name: str) -> Any:
    """An attribute of the last step, where it has it."""

    def read(self: "ZeroShotPipeline") -> Any:
        return getattr(self.steps[-1][1], name)

    return property(read, doc=f"`{name}` of the last step.")


def _answer_rows(name: str, home: type = ZeroShotClassifier) -> Any:
    """A method of the last step for rows as the first step takes them; `home` describes it. A new model is put last."""

    @functools.wraps(getattr(home, name))
    def answer(self: "ZeroShotPipeline", X: Any = None, *values: Any, **options: Any) -> Any:
        rows = None if X is None else self._transform_rows(X)
        found = getattr(self.steps[-1][1], name)(rows, *values, **options)
        return self._with_last(found) if isinstance(found, ZeroShotClassifier) else found

    answer.__doc__ = (answer.__doc__ or "").replace(f"{home.__name__}\n", "ZeroShotPipeline\n")
    # An error of getattr says what is missing.
    return available_if(lambda self: callable(getattr(self.steps[-1][1], name)))(answer)


class ZeroShotPipeline(Pipeline):  # type: ignore[misc]
    """A pipeline of scikit-learn that ends in an estimator of zskl.

    Rows go through the transformers, then to the last step. This one can do what every pipeline can. It also answers
    `top_k`, `compatibility`, `explain` and `label_next`, learns by `add_examples` and `adapt` where its last step does,
    and `save` writes it to one file.

    Parameters
    ----------
    steps : list of (str, estimator) pairs
        Transformers by name, then an estimator of zskl.
    transform_input : list of str, default=None
        As in scikit-learn: metadata that the transformers transform, too.
    memory : str or object with the joblib.Memory interface, default=None
        Where fitted transformers are cached. A file does not keep it.
    verbose : bool, default=False
        Whether to print how long each step of a fit takes.

    See Also
    --------
    make_pipeline : Names the steps for you.

    Examples
    --------
    >>> import zskl
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> texts = ["the cat purrs", "a kitten purrs and naps", "the dog barks", "a puppy barks and digs"]
    >>> about = {"cat": "purrs, naps, hunts mice", "dog": "barks, digs", "owl": "hunts mice by night, can fly"}
    >>> words = TfidfVectorizer().fit([*texts, *about.values()])
    >>> table = dict(zip(about, words.transform(about.values())))
    >>> model = zskl.ZeroShotPipeline([("words", words), ("means", zskl.ClassMeansClassifier())])
    >>> model = model.fit(texts, ["cat", "cat", "dog", "dog"], signatures=table)
    >>> taught = model.add_examples(["an owl hoots", "the owl hoots by night"], ["owl", "owl"])
    >>> str(taught.predict(["who hoots"])[0])
    'owl'
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "texts.zskl")
    >>> model.save(path)
    >>> [name for name, _ in zskl.load(path).steps]
    ['words', 'means']
    """

    candidates_ = _delegate("candidates_")
    seen_classes_ = _delegate("seen_classes_")
    attribute_names_ = _delegate("attribute_names_")
    calibration_ = _delegate("calibration_")
    temperatures_ = _delegate("temperatures_")
    decisions_ = _delegate("decisions_")
    practice_ = _delegate("practice_")
    adaptation_ = _delegate("adaptation_")

    def __getitem__(self, ind: Any) -> Any:
        """A step, or several: those without a model at their end are a pipeline of scikit-learn."""
        if isinstance(ind, slice):
            steps = self.steps[ind]
            if not steps or not isinstance(steps[-1][1], ZeroShotClassifier):
                return Pipeline(self.steps, memory=self.memory, verbose=self.verbose)[ind]
        return super().__getitem__(ind)

    def fit(self, X: Any, y: Any = None, signatures: Any = None, **params: Any) -> Self:
        """Fit the transformers, each on what the one before it makes of the rows, then the model.

        Parameters
        ----------
        X : iterable
            Training rows, as the first step takes them.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class, for the last step alone: transformers do not change it.
        **params : dict
            What scikit-learn hands to steps, such as `classmeansclassifier__sample_weight`.

        Returns
        -------
        self
            The fitted pipeline.
        """
        name, last = self.steps[-1]
        if not isinstance(last, ZeroShotClassifier):
            raise ValueError(
                f"the last step of the pipeline is a {type(last).__name__}: expected an estimator of zskl, such as "
                "ClassMeansClassifier(); use scikit-learn's Pipeline for others"
            )
        if signatures is not None:
            if f"{name}__signatures" in params:
                raise ValueError(f"signatures are given twice, also as {name}__signatures: expected one of the two")
            routed = sklearn.get_config()["enable_metadata_routing"]
            params["signatures" if routed else f"{name}__signatures"] = signatures
        super().fit(X, y, **params)
        return self

    def _transform_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        for _, step in self.steps[:-1]:
            X = X if step is None or isinstance(step, str) else step.transform(X)
        return X

    def _with_last(self, model: ZeroShotClassifier) -> Self:
        """A pipeline with another last step; the fitted transformers, which nothing changes, are shared."""
        new = copy.copy(self)
        new.steps = [*self.steps[:-1], (self.steps[-1][0], model)]
        return new

    compatibility = _answer_rows("compatibility")
    predict_set = _answer_rows("predict_set")
    top_k = _answer_rows("top_k")
    explain = _answer_rows("explain")
    label_next = _answer_rows("label_next")
    add_examples = _answer_rows("add_examples", ClassMeansClassifier)
    remove_examples = _answer_rows("remove_examples", ClassMeansClassifier)
    adapt = _answer_rows("adapt", ClassMeansClassifier)
    nearest_classes = _delegate("nearest_classes")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted pipeline to one file, whole or not at all.

        The file is in the safetensors format with a JSON header. It holds numbers and names, never code. So only
        transformers of a closed list can be in it; docs/scikit-learn.md names them.

        Parameters
        ----------
        path : str or path-like
            Where to write it. A file that is there is replaced.

        See Also
        --------
        zskl.load : Reads the file.
        """
        check_is_fitted(self)
        (name, last), steps = self.steps[-1], self.steps[:-1]
        header, found = last._pack()
        arrays = {f"{_LAST}{key}": array for key, array in found.items()}
        writer = _StepWriter(arrays)
        header = {
            "estimator": KIND,
            "scikit_learn": sklearn.__version__,
            "steps": [[str(one), writer.encode_step(step, str(one))] for one, step in steps],
            "last": str(name),
            "model": header,
            "verbose": bool(self.verbose),
        }
        model_file.write_model(path, header, arrays)


def restore_pipeline(
    header: Mapping[str, Any], arrays: Mapping[str, NumPyArray], model: ZeroShotClassifier
) -> ZeroShotPipeline:
    """The pipeline that `save` wrote; `model` is the last step, restored."""
    reader = _StepReader(arrays)
    steps = [(str(name), reader.decode(step)) for name, step in header["steps"]]
    if not all(isinstance(step, str) or hasattr(step, "transform") for _, step in steps):
        raise ValueError("one of its steps does not transform rows")
    if header["scikit_learn"] != sklearn.__version__:
        log.info("saved with scikit-learn %s, read with %s", header["scikit_learn"], sklearn.__version__)
    return ZeroShotPipeline([*steps, (str(header["last"]), model)], verbose=bool(header["verbose"]))


class _StepWriter:
    """Transformers as JSON; numbers go to `arrays`, under names that say where they belong. What JSON has stands for
    itself, all else is a mapping with one key, its type."""

    def __init__(self, arrays: dict[str, NumPyArray]) -> None:
        self._arrays = arrays
        self._step = ""

    def encode_step(self, step: Any, name: str) -> Any:
        self._step = name
        return step if step is None or step == "passthrough" else self._encode(step, f"{_STEPS}{name}")

    def _encode(self, value: Any, place: str) -> Any:
        if value is None or isinstance(value, bool | str | np.bool_):
            return bool(value) if isinstance(value, np.bool_) else value
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, np.floating):  # of another precision, which may matter
            return self._encode(np.asarray(value), place) | {"scalar": True}
        if isinstance(value, np.ndarray):
            return self._encode_array(value, place)
        for kind in _COLLECTIONS.values():
            if type(value) is kind:
                parts = sorted(value) if kind in (set, frozenset) else value
                return {kind.__name__: [self._encode(one, f"{place}.{k}") for k, one in enumerate(parts)]}
        if isinstance(value, dict):
            pairs = enumerate(value.items())
            return {"dict": [[self._encode(key, place), self._encode(one, f"{place}.{k}")] for k, (key, one) in pairs]}
        if isinstance(value, slice):
            return {"slice": [self._encode(one, place) for one in (value.start, value.stop, value.step)]}
        if isinstance(value, type | np.dtype):
            try:
                return {"dtype" if isinstance(value, np.dtype) else "type": str(np.dtype(value).name)}
            except TypeError:
                raise self._refusal(f"holds the type {getattr(value, '__name__', value)}") from None
        if value is pd.NA:
            return {"missing": "NA"}
        if hasattr(value, "get_params"):
            return self._encode_estimator(value, place)
        raise self._refusal(f"holds {str(value)[:60]!r}, a {type(value).__name__}")

    def _encode_array(self, array: NumPyArray, place: str) -> dict[str, Any]:
        if array.dtype.kind in "biuf" and array.dtype != np.longdouble:
            # Products of arrays in another order are rounded in another way.
            turned = bool(array.flags.f_contiguous and not array.flags.c_contiguous)
            self._arrays[place] = array.T if turned else array
            return {"array": place, **({"transposed": True} if turned else {})}
        if array.dtype.kind not in "OU":
            raise self._refusal(f"holds an array of {array.dtype}")
        values = [self._encode(one, place) for one in array.ravel().tolist()]
        dtype = "object" if array.dtype.kind == "O" else array.dtype.str
        return {"labels": values, "dtype": dtype, "shape": array.shape}

    def _encode_estimator(self, step: Any, place: str) -> dict[str, Any]:
        kind = type(step).__name__
        home = TRANSFORMERS.get(kind)
        # Exactly this class: a subclass may compute something else.
        if home is None or getattr(importlib.import_module(home), kind) is not type(step):
            raise self._refusal(f"{'is' if place.count('.') == 1 else 'holds'} a {type(step).__name__}")
        if kind == "FunctionTransformer" and any(getattr(step, name) is not None for name in _FUNCTIONS):
            raise self._refusal("is a FunctionTransformer, whose function would be code")
        names = step.get_params(deep=False)
        values = {name: value for name, value in vars(step).items() if name not in _NOT_KEPT}
        if "random_state" in values and not isinstance(values["random_state"], int | np.integer):
            values["random_state"] = None
        return {
            "transformer": kind,
            "parameters": {k: self._encode(v, f"{place}.{k}") for k, v in values.items() if k in names},
            "learned": {k: self._encode(v, f"{place}.{k}") for k, v in values.items() if k not in names},
        }

    def _refusal(self, found: str) -> ValueError:
        return ValueError(
            f"the step {self._step!r} {found}, and a model file holds no code: expected transformers such as "
            f"StandardScaler, PCA or TfidfVectorizer (docs/scikit-learn.md lists them) with settings that are "
            f"numbers and words; transform rows before the pipeline, and save the model alone, by pipeline[-1].save"
        )


class _StepReader:
    """What `_StepWriter` wrote, back to transformers."""

    def __init__(self, arrays: Mapping[str, NumPyArray]) -> None:
        self._arrays = arrays

    def decode(self, stored: Any) -> Any:
        if not isinstance(stored, dict):
            if stored is None or isinstance(stored, bool | int | float | str):
                return stored
            raise ValueError(f"a step holds {str(stored)[:60]}")
        if "transformer" in stored:
            return self._decode_estimator(stored)
        kind = next(iter(stored), "")
        value: Any = stored.get(kind)
        if kind == "float":
            return float(value)
        if kind == "array":
            if not str(value).startswith(_STEPS) or value not in self._arrays:
                raise ValueError(f"the array {value} is missing")
            array = self._arrays[value].T if stored.get("transposed") else self._arrays[value]
            return array[()] if stored.get("scalar") else array
        if kind == "labels":
            values: NumPyArray = np.empty(len(value), dtype=np.dtype(object))
            values[:] = [self.decode(one) for one in value]
            return values.reshape(stored["shape"]).astype(stored["dtype"])
        if kind in _COLLECTIONS:
            return _COLLECTIONS[kind](map(self.decode, value))
        if kind == "slice":
            return slice(*map(self.decode, value))
        if kind == "dict":
            return {self.decode(key): self.decode(one) for key, one in value}
        if kind in ("dtype", "type"):
            dtype = np.dtype(str(value))
            return dtype if kind == "dtype" else dtype.type
        if kind == "missing":
            return pd.NA
        raise ValueError(f"a step holds a value of the kind {kind!r}")

    def _decode_estimator(self, stored: Mapping[str, Any]) -> Any:
        kind = str(stored["transformer"])
        if kind not in TRANSFORMERS:
            raise ValueError(f"a step is of the kind {kind!r}, which is not one that a file can hold")
        made = getattr(importlib.import_module(TRANSFORMERS[kind]), kind)
        step = made(**{name: self.decode(value) for name, value in stored["parameters"].items()})
        for name, value in stored["learned"].items():
            # What a class defines is its code; files hold what a fit adds.
            if not name.isidentifier() or hasattr(made, name):
                raise ValueError(f"a step of the kind {kind!r} has learned {name!r}, which is not a learned value")
            setattr(step, name, self.decode(value))
        if kind == "FunctionTransformer" and any(getattr(step, name) is not None for name in _FUNCTIONS):
            raise ValueError("a step has a function")
        return step
