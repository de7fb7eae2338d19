"""Which methods each part of the evaluation is about, in the order of the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zskl import methods
from zskl.paper.published import BASELINES, KERNELS

OURS = ("gaussian-softmax", "cauchy-softmax")
ALL = (*BASELINES, *KERNELS, *OURS)
GROUPS: Mapping[str, tuple[str, ...]] = {"baselines": BASELINES, "kernels": (*KERNELS, *OURS)}
PAIRS = (("gaussian", "gaussian-ort"), ("cauchy", "cauchy-ort"))  # without and with incoherence
DATASETS = ("AWA1", "AWA2", "SUN", "CUB", "APY")
PARTS: Mapping[str, tuple[str, ...]] = {
    "zsl": tuple(name for name in ALL if name != "cmt-star"),  # which is cmt where only unseen classes are candidates
    "gzsl": ALL,
    "incoherence": tuple(name for pair in PAIRS for name in pair),
    "gram": tuple(name for pair in PAIRS for name in pair),
    "sensitivity": ("gaussian-ort", "cauchy-ort", "polynomial-4"),
    "convergence": ("gaussian-ort",),
}


def chosen(names: Iterable[str] | None) -> tuple[str, ...]:
    """Methods by name or by group, in the order of the tables; by default all. An unknown name is refused."""
    wanted: set[str] = set()
    for name in names or ("baselines", "kernels"):
        wanted |= set(GROUPS.get(name.lower(), ())) or {name.lower()}
    for name in wanted:
        if name not in ALL:
            methods.find(name)  # says what there is
            raise ValueError(
                f"method {name!r} is not part of the paper's evaluation: expected one of {', '.join(ALL)}; zskl run "
                f"takes every method"
            )
    return tuple(name for name in ALL if name in wanted)


def parts(name: str) -> tuple[str, ...]:
    """ "all" is every part."""
    return tuple(PARTS) if name == "all" else (name,)


def needed(wanted: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
    """Of the `asked` methods those that some of the `wanted` parts are about."""
    about = {name for part in wanted for name in PARTS[part]}
    return tuple(name for name in asked if name in about)
