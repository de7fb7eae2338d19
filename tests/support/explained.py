"""Models that can be explained, for the tests of explanations."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zskl import kernels, methods


@dataclass(frozen=True)
class Rational(kernels.Kernel):
    """k(D) = 1 / (1 + D)ᵃ: a kernel from outside, of which only value and slope are known."""

    name: ClassVar[str] = "rational of the tests"
    power: float = 1.5

    def value(self, t):
        return (1 + t) ** -self.power

    def slope(self, t, value=None):
        return -self.power * (1 + t) ** (-self.power - 1)


KERNELS = {
    "gaussian": {"kernel": "gaussian", "sigma": 0.7},
    "narrow gaussian": {"kernel": "gaussian", "sigma": 0.1},
    "cauchy": {"kernel": "cauchy", "sigma": 1.3},
    **{f"polynomial-{r}": {"kernel": "polynomial", "degree": r, "loss": "linear"} for r in (2, 4, 6)},
    "rational": {"kernel": Rational()},
}
BILINEAR = {
    **{name: (name, {}) for name in ("ale", "devise", "sje", "eszsl")},
    **{f"sae {way}": ("sae", {"direction": way}) for way in ("to-features", "to-signatures")},
}
ALL = {**{f"{name}, {flag}": (name, flag) for name in KERNELS for flag in (True, False)}, **BILINEAR}
SECANT = 64  # a quotient of two differences, each of which may be 1/64 of what is subtracted: that much is lost


def fitted(name, toy, table=None):
    table = toy.table if table is None else table
    if name in BILINEAR:
        method, settings = BILINEAR[name]
        return methods.build(method, {"random_state": 0, **settings}).fit(toy.X, toy.y, table)
    if name in ALL:
        kernel, incoherence = ALL[name]
        settings = {**KERNELS[kernel], "incoherence": incoherence, "learning_rate": 1e-2}
        return toy.model(**settings).fit(toy.X, toy.y, table)
    return methods.build(name, {"random_state": 0}).fit(toy.X, toy.y, table)


def raw_difference(model, X, found, signatures=None):
    """score(label) − score(against) as `compatibility` has it."""
    scores = np.asarray(model.compatibility(X, signatures), dtype=np.float64)
    classes = (model.candidates_ if signatures is None else signatures.index.unique()).tolist()
    at = [(classes.index(one.label), classes.index(one.against)) for one in found]
    return np.array([scores[i, a] - scores[i, b] for i, (a, b) in enumerate(at)])


def sums(found):
    return np.array([one.contributions.sum() for one in found])


def fit_digits(digits, name, **settings):
    rows = digits.parts["trainval"]
    model = methods.build(name, {"random_state": 0, **settings})
    return model.fit(digits.X[rows], digits.y[rows], digits.signatures)
