"""Every method by its name on the command line and in records; and the way from a model file to its estimator."""

import logging
import os
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from zskl._arrays import NumPyArray, check_device
from zskl._validation import suggest
from zskl.adapters import ADAPTERS
from zskl.baselines import BASELINES, ESZSL
from zskl.estimators import model_file
from zskl.estimators.base import DefaultGrid, GridPart, ZeroShotClassifier, add_standardized
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.estimators.committee import Committee
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.kernels import UnknownKernelError

__all__ = ["METHODS", "Method", "build", "find", "load"]

log = logging.getLogger(__name__)
T = TypeVar("T")
LARGE_SHARE = 4.0  # what one of several class tables counts at most where a search weighs them, the others 1
# Only the grids of kernels hold this setting. A search trains them in larger batches than the paper's 10, at twice the
# learning rates: the steps are a third as many and less noisy, so they may be larger.
BATCH_SIZE = "batch_size"


@dataclass(frozen=True)
class Method:
    """A named configuration of an estimator.

    Parameters
    ----------
    estimator : type
        The class of the estimator.
    description : str
        One sentence about the method.
    overrides : mapping of str to object, default={}
        The settings in which the method differs from the estimator's defaults.
    grid : mapping of str to sequence, or tuple of such mappings, default={}
        The values of each setting that selection tries by default; of several mappings it tries those of each.
    bounds : mapping of str to (float, float), default={}
        The lowest and the highest value to which selection extends a number of the grid, where its choice is at an
        edge.

    Examples
    --------
    >>> from zskl import methods
    >>> methods.METHODS["gaussian"].overrides
    {'kernel': 'gaussian', 'incoherence': False}
    """

    estimator: type[ZeroShotClassifier]
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    grid: DefaultGrid = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def random(self) -> bool:
        """Whether another seed gives another model."""
        return self.estimator.RANDOM


def split_grid(grid: DefaultGrid) -> tuple[GridPart, ...]:
    """The mappings of a grid, the largest first."""
    return (grid,) if isinstance(grid, Mapping) else tuple(grid)


def list_tried_values(grid: DefaultGrid, name: str) -> tuple[Any, ...]:
    """The values of a setting in all parts, each once."""
    return tuple(dict.fromkeys(value for part in split_grid(grid) for value in part.get(name, ())))


def drop_fixed_settings(grid: DefaultGrid, fixed: Container[str]) -> list[dict[str, list[Any]]]:
    """What is left to try where some settings are fixed; a part that tries nothing of its own is left out."""
    found: list[dict[str, list[Any]]] = []
    for part in split_grid(grid):
        own_batch = any(name.endswith(BATCH_SIZE) and name in fixed for name in part)
        tried = use_default_batches(part) if own_batch else part
        left = {name: list(values) for name, values in tried.items() if name not in fixed}
        if not any(_is_within_grid(left, other) for other in found):
            found.append(left)
    return found


def trains_kernel(grid: DefaultGrid) -> bool:
    """Whether it is the grid of a kernel, or of a committee that has one."""
    return any(name.endswith(BATCH_SIZE) for part in split_grid(grid) for name in part)


def use_default_batches(part: GridPart) -> dict[str, tuple[Any, ...]]:
    """A part of a grid for the batches that an estimator has by itself: for kernels 10, at half the rates."""
    batched = [name.removesuffix(BATCH_SIZE) for name in part if name.endswith(BATCH_SIZE)]
    halved = {f"{name}learning_rate" for name in batched}
    return {
        name: tuple(value / 2 for value in values) if name in halved else tuple(values)
        for name, values in part.items()
        if not name.endswith(BATCH_SIZE)
    }


def prefix_settings(name: str, settings: Mapping[str, T]) -> dict[str, T]:
    """Settings of a member or of a step under the names that the whole has for them, such as `means__shrinkage`."""
    return {f"{name}__{setting}": value for setting, value in settings.items()}


def nest_grids(members: Mapping[str, DefaultGrid]) -> tuple[GridPart, ...]:
    """The grids of several members as one, under nested names; each member keeps its parts."""
    lists = {name: split_grid(grid) for name, grid in members.items()}
    found: list[dict[str, Sequence[Any]]] = [{} for _ in range(max(map(len, lists.values())))]
    for name, mine in lists.items():
        for k, part in enumerate(found):
            part.update(prefix_settings(name, mine[min(k, len(mine) - 1)]))
    return tuple(found)


def _is_within_grid(part: GridPart, other: GridPart) -> bool:
    return part.keys() == other.keys() and all(set(part[name]) <= set(other[name]) for name in part)


TRAINED = {  # reasons are in docs/selection.md
    "feature_scaling": ("center-l2", "sqrt-center-l2"),
    "signature_scaling": ("center-l2", "sqrt-center-l2"),
    "epochs": (2, 4, 8),
    BATCH_SIZE: (32,),
}
SQUARED = {"learning_rate": (6e-4, 2e-3), **TRAINED}
SOFTMAX = {"temperature": (0.05, 0.1), "learning_rate": (2e-4, 6e-4), **TRAINED}
LINEAR = {
    "loss": ("linear", "squared"),
    "repulsion": (15.0, 40.0),
    "incoherence_weight": (0.3, 3.0),
    "learning_rate": (2e-4, 6e-4),
    **TRAINED,
    "feature_scaling": ("sqrt-center-l2",),
}
FEW = {"signature_scaling": ("center-l2",)}  # beside standardised features
GAUSSIAN = add_standardized({"sigma": (0.7, 1.0), "repulsion": (3.0, 10.0), **SQUARED}, {"repulsion": (3.0,), **FEW})
CAUCHY = add_standardized({"sigma": (0.3, 1.0), "repulsion": (1.0, 3.0), **SQUARED}, {"repulsion": (1.0,), **FEW})
POLYNOMIAL = {
    degree: add_standardized({"bias": bias, **LINEAR}, {"repulsion": (15.0,), "incoherence_weight": (0.3,), **FEW})
    for degree, bias in {2: (0.25, 0.5), 4: (1.0, 2.0), 6: (1.0, 2.0)}.items()
}
GAUSSIAN_SOFTMAX = add_standardized({"sigma": (0.7, 1.0), **SOFTMAX}, {"sigma": (1.0,), **FEW})
CAUCHY_SOFTMAX = add_standardized({"sigma": (0.3, 1.0), **SOFTMAX}, {"sigma": (0.3,), **FEW})
RADII = {"gaussian": (0.2, 5.0), "cauchy": (0.03, 100.0)}
KERNEL_BOUNDS = {
    "bias": (0.1, 8.0),
    "repulsion": (0.003, 300.0),  # λ = 1 of Eq. 9 is C(C − 1)/N here: 0.08 on AWA1, 3.2 on CUB
    "incoherence_weight": (0.003, 100.0),
    "temperature": (0.003, 1.0),
    "learning_rate": (1e-5, 1e-2),
    "epochs": (1, 16),
}
# The paper's algorithm as its text prints it. Where the text is silent (start, rate and its decay, grids) this is ours.
PRINTED = {
    "balance": "paper",
    "init": "uniform",
    "second_moment": "per_sample",
    "schedule": "inverse-epochs",
    "learning_rate": 8e-4,
}
PRINTED_EPOCHS = {"learning_rate": (3e-4, 8e-4, 2e-3), "epochs": (5, 6, 7, 8, 9, 10)}
PRINTED_REPULSION = {"repulsion": (0.25, 0.5, 1.0, 2.0, 4.0), **PRINTED_EPOCHS}
PRINTED_RADIAL = {"sigma": (0.4, 0.57, 0.8, 1.13, 1.6, 2.26), **PRINTED_REPULSION}
PRINTED_BIAS: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
PRINTED_BOUNDS = {"sigma": (0.05, 20.0), "repulsion": (1e-3, 100.0), "bias": (0.1, 16.0)}
# A committee fits its members again on each fold, so the grid of class means is smaller there.
MEMBER_MEANS = add_standardized(
    {
        "kernel": ("gaussian", "linear"),
        "bandwidth": (1.0, 4.0),
        "noise": (0.03, 0.1),
        "shrinkage": (0.1, 0.2, 0.45, 0.75),
        "crowding": (0.0, 0.1, 0.2, 0.3, 0.4),
        "description_weight": (5.0, 50.0),
        "prior": ("zero", "identity", "cosine"),
        "feature_scaling": ("sqrt-l2", "l2"),
    },
    {"bandwidth": (4.0,), "noise": (0.1,), "prior": ("zero",)},
)
CLASS_MEANS = {
    "signature_scaling": ("center-l2", "standardize-l2"),
    "kernel": ("gaussian", "linear"),
    "bandwidth": (0.5, 1.0, 2.0),
    "noise": (0.03, 0.1, 0.3),
    "shrinkage": (0.1, 0.3, 0.5, 0.7, 0.9),
    "crowding": (0.0, 0.15, 0.3),
    "description_weight": (2.0, 10.0, 50.0, 500.0),
    "prior": ("zero", "identity", "cosine"),
}
MEMBER_MEANS_BOUNDS = {
    "bandwidth": (0.25, 16.0),
    "noise": (0.003, 1.0),
    "shrinkage": (0.01, 1.0),
    "crowding": (0.0, 0.6),
    "description_weight": (0.5, 50.0),
}
CLASS_MEANS_BOUNDS = {**MEMBER_MEANS_BOUNDS, "description_weight": (0.5, 500.0)}


def _kernel(description: str, grid: tuple[GridPart, GridPart], **overrides: Any) -> Method:
    return Method(ZeroShotKernelClassifier, description, overrides, grid, _kernel_bounds(overrides["kernel"], grid))


def _kernel_bounds(kernel: str, grid: tuple[GridPart, GridPart]) -> dict[str, tuple[float, float]]:
    known = {**KERNEL_BOUNDS, **({"sigma": RADII[kernel]} if kernel in RADII else {})}
    return {name: known[name] for name in grid[0] if name in known}


def _polynomial(degree: int) -> Method:
    sentence = f"Polynomial kernel, degree {degree}"
    return _kernel(sentence, POLYNOMIAL[degree], kernel="polynomial", degree=degree, loss="linear")


def _printed(sentence: str, **overrides: Any) -> Method:
    """A method that only chooses σ or c, λ, the rate, the number of epochs and, of polynomials, the loss."""
    grid: GridPart = PRINTED_RADIAL
    known = PRINTED_BOUNDS
    if overrides["kernel"] not in RADII:
        bias = PRINTED_BIAS
        if overrides["degree"] == 2:  # 0 is a dead point of the others
            bias, known = (0.0, *PRINTED_BIAS), {**PRINTED_BOUNDS, "bias": (0.0, 16.0)}
        grid = {"bias": bias, "loss": ("linear", "squared"), **PRINTED_REPULSION}
    bounds = {name: known[name] for name in grid if name in known}
    return Method(ZeroShotKernelClassifier, f"As printed: {sentence}", {**overrides, **PRINTED}, grid, bounds)


METHODS: Mapping[str, Method] = {
    "gaussian-ort": _kernel("Gaussian kernel with incoherence", GAUSSIAN, kernel="gaussian"),
    "gaussian": _kernel("Gaussian kernel, no incoherence", GAUSSIAN, kernel="gaussian", incoherence=False),
    "cauchy-ort": _kernel("Cauchy kernel with incoherence", CAUCHY, kernel="cauchy"),
    "cauchy": _kernel("Cauchy kernel, no incoherence", CAUCHY, kernel="cauchy", incoherence=False),
    "polynomial-2": _polynomial(2),
    "polynomial-4": _polynomial(4),
    "polynomial-6": _polynomial(6),
    "gaussian-softmax": _kernel(
        "Gaussian kernel, incoherence, softmax loss (ours)", GAUSSIAN_SOFTMAX, kernel="gaussian", loss="softmax"
    ),
    "cauchy-softmax": _kernel(
        "Cauchy kernel, incoherence, softmax loss (ours)", CAUCHY_SOFTMAX, kernel="cauchy", loss="softmax"
    ),
    "class-means": Method(
        ClassMeansClassifier,
        "Class means predicted from descriptions, in closed form (ours)",
        {},
        CLASS_MEANS,
        CLASS_MEANS_BOUNDS,
    ),
    "means-softmax": Method(
        Committee,
        "Committee of class-means and gaussian-softmax (ours)",
        {},
        nest_grids({"means": MEMBER_MEANS, "softmax": GAUSSIAN_SOFTMAX}),
        {
            **prefix_settings("means", MEMBER_MEANS_BOUNDS),
            **prefix_settings("softmax", _kernel_bounds("gaussian", GAUSSIAN_SOFTMAX)),
        },
    ),
    "gaussian-ort-printed": _printed("Gaussian kernel with incoherence, Eq. 9", kernel="gaussian"),
    "gaussian-printed": _printed("Gaussian kernel, Eq. 10", kernel="gaussian", incoherence=False),
    "cauchy-ort-printed": _printed("Cauchy kernel with incoherence, Eq. 9", kernel="cauchy"),
    "cauchy-printed": _printed("Cauchy kernel, Eq. 10", kernel="cauchy", incoherence=False),
    **{
        f"polynomial-{degree}-printed": _printed(
            f"polynomial kernel, degree {degree}, Eq. 11", kernel="polynomial", degree=degree, loss="linear"
        )
        for degree in (2, 4, 6)
    },
    "gaussian-ort-eq8": replace(
        _printed("Gaussian kernel with incoherence, all pairs of Eq. 8", kernel="gaussian"),
        overrides={"kernel": "gaussian", **PRINTED, "balance": "printed", "loss": "linear"},
    ),
    **{
        name: Method(baseline, baseline.SUMMARY, {}, baseline.GRID, baseline.BOUNDS)
        for name, baseline in (*BASELINES.items(), *ADAPTERS.items())
    },
    "eszsl-signs": Method(
        ESZSL,
        "ESZSL as published: -1 for the classes that a row is not of",
        {"targets": "signs"},
        {name: values for name, values in ESZSL.GRID.items() if name != "targets"},
        ESZSL.BOUNDS,
    ),
}
ESTIMATORS: Mapping[str, type[ZeroShotClassifier]] = {one.estimator.kind: one.estimator for one in METHODS.values()}


def find(name: str) -> Method:
    """Find the method of a name.

    Parameters
    ----------
    name : str
        The name, in any case.

    Returns
    -------
    Method
        The estimator, a description, the settings and the default grid.

    Examples
    --------
    >>> from zskl import methods
    >>> methods.find("ESZSL").description
    'Bilinear map in closed form, ridges on both sides'
    """
    key = str(name).lower()
    if key not in METHODS:
        names = ", ".join(one for one in METHODS if one not in ADAPTERS and not one.endswith(("-printed", "-eq8")))
        raise ValueError(
            f"unknown method {name!r}{suggest(key, METHODS)}: expected one of {names}; `zskl methods` lists all"
        )
    return METHODS[key]


def build(name: str, settings: Mapping[str, Any] | None = None) -> ZeroShotClassifier:
    """Make an unfitted estimator of a method.

    Parameters
    ----------
    name : str
        The name of the method, in any case.
    settings : mapping of str to object, default=None
        Settings that replace those of the method.

    Returns
    -------
    ZeroShotClassifier
        The estimator, not fitted yet.

    Examples
    --------
    >>> from zskl import methods
    >>> methods.build("polynomial-4", {"bias": 0.5}).degree
    4
    """
    method = find(name)
    known = method.estimator().get_params()
    for setting in settings or {}:
        if setting not in known:
            raise ValueError(
                f"method {name!r} has no setting {setting!r}{suggest(setting, known)}: expected one of "
                f"{', '.join(known)}"
            )
    return method.estimator(**method.overrides).set_params(**(settings or {}))


def set_blocks(
    estimator: ZeroShotClassifier, blocks: Mapping[str, range] | None, tables: Mapping[str, range] | None
) -> None:
    """Hand the blocks of a dataset to an estimator, or to members of a committee, and say which method knows none."""
    known = estimator.get_params()
    for parameter, given in (("blocks", blocks), ("signature_blocks", tables)):
        if given is None or len(given) < 2:
            continue
        takers = [name for name in known if name.rpartition("__")[2] == parameter]
        widths = {name: len(columns) for name, columns in given.items()}
        estimator.set_params(**{name: widths for name in takers if known[name] is None})
        if not takers:
            log.warning("%s knows no %s: it takes %s side by side", estimator.kind, parameter, " and ".join(widths))


def add_table_weights(
    grid: DefaultGrid | Sequence[GridPart], estimator: ZeroShotClassifier
) -> tuple[dict[str, Sequence[Any]], ...]:
    """A grid that also tries what each of several class tables counts, unless the estimator has a weight for each."""
    known = estimator.get_params()
    tried: dict[str, Sequence[Any]] = {}
    for name in known:
        path, _, last = name.rpartition("signature_weights")
        count = 0 if last else len(known.get(f"{path}signature_blocks") or ())
        if count > 1 and known[name] is None:
            ones = (1.0,) * count
            tried[name] = [ones, *((*ones[:k], LARGE_SHARE, *ones[k + 1 :]) for k in range(count))]
    return tuple({**part, **tried} for part in ((grid,) if isinstance(grid, Mapping) else grid))


def method_of(estimator: ZeroShotClassifier) -> Method | None:
    """The method whose settings an estimator has, as far as the methods of its class differ in them; else None."""
    alike = [method for method in METHODS.values() if method.estimator is type(estimator)]
    names = {name for method in alike for name in method.overrides}
    mine = estimator.get_params(deep=False)
    for method in alike:
        theirs = method.estimator(**method.overrides).get_params(deep=False)
        if all(mine[name] == theirs[name] for name in names):
            return method
    return None


def check_ability(name: str, ability: str, words: str) -> None:
    """Refuse a method whose estimator lacks a method such as `adapt`, and say which have it."""
    if not hasattr(find(name).estimator, ability):
        raise ValueError(f"method {name!r} cannot {words}: expected one of {', '.join(methods_with(ability))}")


def methods_with(ability: str) -> list[str]:
    return [name for name, method in METHODS.items() if hasattr(method.estimator, ability)]


def load(path: str | os.PathLike[str], device: str | None = None) -> ZeroShotClassifier:
    """Read an estimator or a pipeline that `save` wrote. `zskl.load` also reads classifiers of texts and of pictures.

    Parameters
    ----------
    path : str or path-like
        The model file.
    device : str, default=None
        Where the model computes. None computes where its input lies.

    Returns
    -------
    ZeroShotClassifier or ZeroShotPipeline
        The fitted model.

    Examples
    --------
    >>> import os, tempfile, zskl
    >>> data, path = zskl.datasets.make_synthetic(), os.path.join(tempfile.mkdtemp(), "model.zskl")
    >>> zskl.methods.build("eszsl").fit(*data.samples("trainval"), data.signatures).save(path)
    >>> zskl.methods.load(path)
    ESZSL()
    """
    check_device(device)
    header, arrays = model_file.read_model(path)
    if "steps" not in header:
        return restore_model(path, header, arrays, device)
    from zskl.pipelines import restore_pipeline  # which takes long to import

    with refuse_damage(path):
        inside = {name.removeprefix("model."): one for name, one in arrays.items() if name.startswith("model.")}
        model = restore_model(path, header["model"], inside, device)
        return restore_pipeline(header, arrays, model)


def restore_model(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NumPyArray], device: str | None = None
) -> ZeroShotClassifier:
    """The estimator of what a model file holds."""
    kind = str(header.get("estimator"))
    if kind not in ESTIMATORS:
        if kind == "scorer":
            raise ValueError(f"{path} is a scorer's file: read it by zskl.Scorer")
        if "model" in header:  # one model inside another
            raise ValueError(f"{path} holds a {kind}, which takes no rows of numbers: use it in Python")
        raise ValueError(f"{path} holds an estimator {kind!r}, this zskl knows {', '.join(ESTIMATORS)}: upgrade zskl")
    with refuse_damage(path):
        model = ESTIMATORS[kind]._restore(header, arrays, ESTIMATORS)
    return model.set_params(device=device)


@contextmanager
def refuse_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of a model file that does not fit together what to do about it."""
    try:
        yield
    except UnknownKernelError as error:
        raise ValueError(
            f"{path} needs a kernel of its own ({error}): in Python, call zskl.kernels.register on its class "
            "before loading"
        ) from None
    except KeyError as error:
        raise ValueError(f"{path} is damaged: its header lacks {error}; save the model again") from None
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is damaged: {error}; save the model again") from None
