"""What a baseline starts from: the settings that all of them have, and a fit that serves many settings at once."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import clone

from zskl._arrays import Array
from zskl._validation import check_count, check_option, check_positive
from zskl.estimators._inputs import NO_WEIGHTS, Training, WeightArguments, refuse_weights
from zskl.estimators.base import Visit, ZeroShotClassifier
from zskl.training.rows import ScaledRows

C = TypeVar("C", bound="type[Baseline]")
SEEDED = "Seed of the start and of the batches. None takes another seed in every fit."
SEEDLESS = "Not used, because this method draws nothing. It is here so that all methods take the same settings."
SETTINGS = {  # name: type and description, in the order of constructors
    "margin": (
        "float",
        "Margin m > 0 of the loss. W scales with it, so it only matters against the start and the learning rate.",
    ),
    "batch_size": ("int", "Rows in a batch. A short last batch is left out."),
    "epochs": ("int", "Passes over the training rows."),
    "learning_rate": ("float", "Length of a step, the same in the whole run."),
    "momentum": ("float", "Share of the previous step that goes into the next one, in [0, 1)."),
    "weight_decay": ("float", "Weight λ ≥ 0 of a penalty λ/2 ‖W‖². 0 is the method as published."),
    "feature_scaling": (
        "str",
        'Scaling of the features, see `zskl.scaling`. Use "none" inside a pipeline that scales.',
    ),
    "signature_scaling": ("str", "Scaling of the signatures, see `zskl.scaling`."),
    "signature_mean": (
        '{"seen", "all"}',
        "Whether signatures are centred on the mean of the seen classes, or of all classes in the table.",
    ),
    "device": ("str or None", 'Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.'),
    "random_state": ("int, RandomState or None", SEEDED),
}
COUNTS = {
    *("T", "batch_size", "drop_every", "epochs", "hidden", "n_components", "n_maps", "prune_every"),
    *("k", "neighbours", "steps"),
}
POSITIVE = {
    *("C", "alpha", "beta", "gamma", "lam", "learning_rate", "margin", "prior_rows", "scale", "sigma", "tolerance"),
    "variance_lam",
}
LEARNED = {
    "classes_": ("ndarray", "All classes, sorted: the seen ones and the further classes of the table."),
    "seen_classes_": ("ndarray of shape (C,)", "The classes with training rows, sorted."),
    "candidates_": ("ndarray", "The same as `classes_`: the default candidates of `predict`."),
}
PROJECTION = "ndarray of shape (d, p)", "W, in float32."
EXAMPLE = """\
Examples
--------
>>> from zskl import baselines, datasets, protocols
>>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
>>> X, y = data.samples("trainval")
>>> model = baselines.{model}.fit(X, y, data.signatures)
>>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
True"""


@dataclass_transform(eq_default=False)
def baseline(cls: C) -> C:
    """Make the constructor from the settings that a class lists as fields, and add what many share to its docstring."""
    dataclass(repr=False, eq=False)(cls)
    signature = inspect.signature(cls.__init__)
    found = dict(signature.parameters)
    # A dataclass puts inherited fields first; readers look for the settings of the method itself.
    known = {**cls.FURTHER_SETTINGS, **SETTINGS}
    own = [name for name in ("self", *cls.__annotations__, *found) if name not in known]
    order = sorted(found, key=lambda name: (found[name].kind, [*own, *known].index(name)))
    parameters = [found[name] for name in order]
    cls.__init__.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    cls.__doc__ = _complete_docstring(cls, order)
    return cls


def _complete_docstring(cls: "type[Baseline]", settings: Sequence[str]) -> str:
    sections = re.split(r"\n\n(?=[A-Z]\w+\n---)", inspect.cleandoc(cls.__doc__ or ""))
    known = {**SETTINGS, **cls.FURTHER_SETTINGS}
    shared = {name: known[name] for name in settings if name in known}
    fitted = {name: PROJECTION for name in getattr(cls, "LEARNED", ()) if name == "projection_"}
    for name in settings:
        if f"{name}_" in getattr(cls, "LEARNED", ()):
            fitted[f"{name}_"] = type(getattr(cls, name)).__name__, f"The {name} of the fit."
    for place, (title, entries) in enumerate((("Parameters", shared), ("Attributes", fitted | LEARNED)), start=1):
        if not sections[place:] or not sections[place].startswith(f"{title}\n"):
            sections.insert(place, f"{title}\n{'-' * len(title)}")
        for name, (kind, sentence) in entries.items():
            written = re.search(rf"\n{name} : .*(\n    .*)*", sections[place])
            if written:
                entry = written[0]
            else:
                default = getattr(cls, name, None)
                shown = f'"{default}"' if isinstance(default, str) else default
                kind = f"{kind}, default={shown}" if entries is shared else kind
                said = SEEDLESS if name == "random_state" and not cls.RANDOM else sentence
                entry = f"\n{name} : {kind}\n    {said}"
            sections[place] = sections[place].replace(entry, "") + entry
    if hasattr(cls, "EXAMPLE") and "kind" in vars(cls):
        sections.append(cls.TEMPLATE.format(model=f"{cls.__name__}({cls.EXAMPLE})"))
    return "\n\n".join(sections)


@dataclass(repr=False, eq=False)
class Baseline(ZeroShotClassifier):
    """A published method to compare with. A subclass lists its settings as fields, and is decorated with `baseline`."""

    EXAMPLE: ClassVar[str]  # settings of the model in the example that its docstring gets
    TEMPLATE: ClassVar[str] = EXAMPLE
    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {}  # to which selection extends numbers of `GRID`
    FURTHER_SETTINGS: ClassVar[Mapping[str, tuple[str, str]]] = {}  # as `SETTINGS`, of a family of methods
    CHECKS: ClassVar[Mapping[str, Callable[[str, Any], object]]] = {}  # of learned values that are no arrays
    OPTIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # the words that a setting may be
    FROM_ZERO: ClassVar[tuple[str, ...]] = ("alignment", "ridge", "weight_decay")  # numbers that may be 0
    _: KW_ONLY
    feature_scaling: str = "center-l2"
    signature_scaling: str = "center-l2"
    signature_mean: str = "seen"
    device: str | None = None
    random_state: int | np.random.RandomState | None = None

    def _check_parameters(self) -> None:
        """Refuse settings out of range: numbers by what they are called, words by `OPTIONS`."""
        for name, value in self.get_params(deep=False).items():
            if name in COUNTS:
                check_count(name, value)
            elif name in POSITIVE or name in self.FROM_ZERO:
                check_positive(name, value, zero_allowed=name in self.FROM_ZERO)
            elif name in self.OPTIONS:
                check_option(name, value, self.OPTIONS[name])

    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Any = None) -> Self:
        """Learn from training rows, their classes and the signatures of the classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class: a data frame with a row per class, a mapping from class to vector, or an
            array with a row per class of sorted(set(y)). None stands for one-hot rows. Classes that are not in y become
            further candidates.
        callback : callable, default=None
            Called with a `Progress` after each step of a method that has steps. Its projection is the first of the
            weights in training, in coordinates of their own. Other methods never call it.

        Returns
        -------
        self
            The fitted estimator.
        """
        raise NotImplementedError

    @classmethod
    def _from_json(cls, name: str, value: Any) -> Any:
        if name in cls.CHECKS:
            cls.CHECKS[name](name.removesuffix("_"), value)
        return super()._from_json(name, value)


class SharedFitClassifier(Baseline):
    """A method without steps or draws, whose fits share much work. A subclass writes `_learn` and `_scores`."""

    RANDOM: ClassVar[bool] = False
    READS: ClassVar[type[ScaledRows]] = ScaledRows

    def _learn(self, training: Training) -> Callable[[Self], None]:
        """Do the work that all settings in `FREE` share; the function that it returns finishes one model."""
        raise NotImplementedError

    @refuse_weights
    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Any = None) -> Self:
        return self._fit(X, y, signatures, NO_WEIGHTS)

    def _fit(self, X: Array, y: Any, signatures: Any, weights: WeightArguments) -> Self:
        with self._all_or_nothing():
            self._check_parameters()
            self._learn(self._prepare(X, y, signatures, self.READS, weights=weights))(self)
        return self

    def _fit_together(
        self, settings: Sequence[Mapping[str, Any]], X: Array, y: Any, signatures: Any, visit: Visit
    ) -> None:
        models = [clone(self).set_params(**setting) for setting in settings]
        for model in models:
            model._check_parameters()
        training = models[0]._prepare(X, y, signatures, self.READS)
        prepared = {name: value for name, value in vars(models[0]).items() if name.endswith("_")}
        finish = models[0]._learn(training)
        for place, model in enumerate(models):
            vars(model).update(prepared)
            finish(model)
            visit(place, model)


class WeightedClassifier(SharedFitClassifier):
    """Such a method whose sums over rows take weights."""

    def fit(
        self,
        X: Array,
        y: Any,
        signatures: Any = None,
        *,
        sample_weight: Any = None,
        class_weight: Any = None,
        callback: Any = None,
    ) -> Self:
        """Learn from training rows, their classes and the signatures of the classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class: a data frame with a row per class, a mapping from class to vector, or an
            array with a row per class of sorted(set(y)). None stands for one-hot rows. Classes that are not in y become
            further candidates.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts: 2 is as if it were there twice, 0 as if it were not there. None counts all once.
        class_weight : {"balanced"}, mapping or None, default=None
            A factor of the weights of all rows of a class, by class; one that is not named has 1. "balanced" lets the
            rows of each class weigh the same together.
        callback : callable, default=None
            Never called, because the method has no steps.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, signatures, (sample_weight, class_weight))
