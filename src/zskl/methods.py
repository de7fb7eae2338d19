"""Methods by name, as the command line and records call them; and model files → estimators, from a closed list."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zskl.arrays import check_device
from zskl.baselines import BASELINES
from zskl.estimators import model_file
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.kernels import UnknownKernelError
from zskl.parameters import did_you_mean


@dataclass(frozen=True)
class Method:
    """A named configuration: the estimator, a sentence, what it sets other than the defaults, and the grid that
    selection searches by default."""

    estimator: type[ZeroShotClassifier]
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


SCALINGS = ("center-l2", "sqrt-center-l2")
SQUARED = {
    "repulsion": (1.0, 6.0),
    "learning_rate": (3e-4, 1e-3),
    "feature_scaling": SCALINGS,
    "epochs": (2, 4, 6, 8, 10),
}
SOFTMAX = {
    "temperature": (0.05, 0.1),
    "learning_rate": (1e-4, 3e-4),
    "feature_scaling": SCALINGS,
    "epochs": (1, 2, 4, 6, 8, 10),
}
GAUSSIAN = {"sigma": (0.7, 1.0, 1.3), **SQUARED}
CAUCHY = {"sigma": (0.3, 0.7, 1.5), **SQUARED}
POLYNOMIAL = {"bias": (0.5, 1.0, 2.0), **SQUARED}


def _kernel(description: str, grid: Mapping[str, Sequence[Any]], **overrides: Any) -> Method:
    return Method(ZeroShotKernelClassifier, description, overrides, grid)


METHODS: Mapping[str, Method] = {
    "gaussian-ort": _kernel("Gaussian kernel with incoherence", GAUSSIAN, kernel="gaussian"),
    "gaussian": _kernel("Gaussian kernel, no incoherence", GAUSSIAN, kernel="gaussian", incoherence=False),
    "cauchy-ort": _kernel("Cauchy kernel with incoherence", CAUCHY, kernel="cauchy"),
    "cauchy": _kernel("Cauchy kernel, no incoherence", CAUCHY, kernel="cauchy", incoherence=False),
    **{
        f"polynomial-{r}": _kernel(
            f"Polynomial kernel, degree {r}", POLYNOMIAL, kernel="polynomial", degree=r, loss="linear"
        )
        for r in (2, 4, 6)
    },
    "gaussian-softmax": _kernel(
        "Gaussian kernel, incoherence, softmax loss (ours)",
        {"sigma": (0.7, 1.0, 1.4), **SOFTMAX},
        kernel="gaussian",
        loss="softmax",
    ),
    "cauchy-softmax": _kernel(
        "Cauchy kernel, incoherence, softmax loss (ours)",
        {"sigma": (0.3, 0.7, 1.5), **SOFTMAX},
        kernel="cauchy",
        loss="softmax",
    ),
    **{name: Method(one.estimator, one.description, one.overrides, one.grid) for name, one in BASELINES.items()},
}
ESTIMATORS: Mapping[str, type[ZeroShotClassifier]] = {
    method.estimator.kind: method.estimator for method in METHODS.values()
}


def find(name: str) -> Method:
    """The method of that name, in any case."""
    key = str(name).lower()
    if key not in METHODS:
        raise ValueError(f"unknown method {name!r}{did_you_mean(key, METHODS)}: expected one of {', '.join(METHODS)}")
    return METHODS[key]


def build(name: str, settings: Mapping[str, Any] | None = None) -> ZeroShotClassifier:
    """An unfitted estimator of the named method, with `settings` over its own."""
    method = find(name)
    known = method.estimator().get_params(deep=False)
    for setting in settings or {}:
        if setting not in known:
            raise ValueError(
                f"method {name!r} has no setting {setting!r}{did_you_mean(setting, known)}: expected one of "
                f"{', '.join(known)}"
            )
    return method.estimator(**{**method.overrides, **(settings or {})})


def load(path: str | os.PathLike[str], device: str | None = None) -> ZeroShotClassifier:
    """The model that `save` wrote at `path`, computing where its input lies unless a `device` is named."""
    check_device(device)
    header, arrays = model_file.read(path)
    kind = str(header.get("estimator"))
    if kind not in ESTIMATORS:
        raise ValueError(f"{path} holds an estimator {kind!r}, this zskl knows {', '.join(ESTIMATORS)}: upgrade zskl")
    try:
        model = ESTIMATORS[kind]._restore(header, arrays)
    except UnknownKernelError as error:
        raise ValueError(
            f"{path} needs a kernel of its own ({error}): call zskl.kernels.register on its class before loading"
        ) from None
    except KeyError as error:
        raise ValueError(f"{path} is damaged: its header lacks {error}; save the model anew") from None
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is damaged: {error}; save the model anew") from None
    return model.set_params(device=device)  # type: ignore[no-any-return]
