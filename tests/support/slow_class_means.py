"""Class means as a textbook writes them: row by row and class by class, in float64, with explicit inverses."""

import numpy as np
from scipy.linalg import sqrtm


def unit(v):
    length = np.linalg.norm(v)
    return v / length if length else v


def root_l2(x):
    return unit(np.sign(x) * np.sqrt(np.abs(x)))


class SlowClassMeans:
    """`table` maps each class to its list of signatures. `rows_kept` are indices of training rows.

    A `diagonal` scatter is that of sparse rows, of which none is rounded to half precision.
    """

    def __init__(self, model, X, y, table, rows_kept=(), diagonal=False):
        self.s, self.classes = model, sorted(set(y.tolist()))
        Z = np.array([self.scale(x) for x in X])
        mu = {c: Z[y == c].mean(axis=0) for c in self.classes}
        d = Z.shape[1]
        S = sum(np.outer(z - mu[c], z - mu[c]) for z, c in zip(Z, y.tolist(), strict=True)) / len(Z)
        S = np.diag(np.diag(S)) if diagonal else S
        S_rho = (1 - model.shrinkage) * S + model.shrinkage * np.trace(S) / d * np.eye(d)
        plain = model.prior == "cosine"
        self.whitening = np.eye(d) / np.sqrt(np.trace(S) / d) if plain else np.linalg.inv(np.real(sqrtm(S_rho)))
        self.g = np.zeros(d) if plain else np.mean([mu[c] for c in self.classes], axis=0)
        self.M = {c: self.whitening @ (mu[c] - self.g) for c in self.classes}
        spread = np.trace(self.whitening @ self.whitening @ S)
        self.sums = {c: np.sum(y == c) * self.M[c] / np.sqrt(self.M[c] @ self.M[c] + spread) for c in self.classes}
        seen = np.array([row for c in self.classes for row in table[c]])
        self.mean = seen.mean(axis=0)
        self.Y = [(c, self.described(row)) for c in self.classes for row in table[c]]
        apart = [np.sum((a - b) ** 2) for c, a in self.Y for k, b in self.Y if c != k]
        self.width = model.bandwidth * np.median(apart)
        K = np.array([[self.k(a, b) for _, b in self.Y] for _, a in self.Y])
        if not plain:
            self.inverse = np.linalg.inv(K + model.noise * np.eye(len(K)))
        if model.prior != "zero":
            self.signature_mean = np.mean(
                [np.mean([self.scale(row) for row in table[c]], axis=0) for c in self.classes], axis=0
            )
            self.signature_mean = 0 * self.signature_mean if plain else self.signature_mean
            own = np.array([self.shared(row) for c in self.classes for row in table[c]])
            targets = np.array([unit(self.M[c]) for c, _ in self.Y])
            self.slope = 1.0 if plain else max(0.0, np.sum(own * targets) / np.sum(own * own))
            self.rest = targets - self.slope * own
        self.kept = np.array([self.hat(x) for x in X[list(rows_kept)]])
        self.kept = self.kept if diagonal else self.kept.astype(np.float16).astype(float)

    def scale(self, x):
        return {"sqrt-l2": root_l2, "l2": unit, "none": lambda v: v}[self.s.feature_scaling](x)

    def described(self, row):
        return unit(row - self.mean)

    def k(self, a, b):
        return a @ b if self.s.kernel == "linear" else np.exp(-np.sum((a - b) ** 2) / self.width)

    def shared(self, row):
        return self.whitening @ (self.scale(row) - self.signature_mean)

    def hat(self, x):
        return unit(self.whitening @ (self.scale(x) - self.g))

    def m(self, row):
        """The direction that one signature says."""
        if self.s.prior == "cosine":
            return unit(self.shared(row))
        k = np.array([self.k(self.described(row), b) for _, b in self.Y])
        if self.s.prior == "identity":
            return unit(self.slope * self.shared(row) + k @ self.inverse @ self.rest)
        return unit(k @ self.inverse @ np.array([unit(self.M[c]) for c, _ in self.Y]))

    def direction(self, c, row, weight=None, rows=()):
        """u: the description, the training rows, and further rows x̂."""
        weight = weight if weight is not None else self.s.description_weight if c in self.classes else 2.0
        return unit(weight * self.m(row) + self.sums.get(c, 0.0) + sum(rows, np.zeros(len(self.g))))

    def crowding(self, u):
        cosines = sorted((x @ u for x in self.kept), reverse=True)
        return np.mean(cosines[: max(1, int(self.s.crowding_share * len(cosines)))])

    def score(self, x, u):
        return self.hat(x) @ u - (self.s.crowding * self.crowding(u) if self.s.crowding else 0.0)

    def variance(self, at, known):
        """What the process does not know at a scaled signature, from these others."""
        K = np.array([[self.k(a, b) for b in known] for a in known]) + self.s.noise * np.eye(len(known))
        near = np.array([self.k(at, b) for b in known])
        return self.k(at, at) - near @ np.linalg.inv(K) @ near

    def firmness(self, row):
        """How much surer it is of this signature than it was of a training class that is left out."""
        Y = [y for _, y in self.Y]
        usual = np.median([self.variance(Y[i], Y[:i] + Y[i + 1 :]) for i in range(len(Y))])
        return np.clip(usual / self.variance(self.described(row), Y), 0.2, 5.0)
