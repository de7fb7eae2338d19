"""Slow, obvious twins of the numeric core, in plain loops over float64 numbers: what the fast code is compared with.

Matrices come in as anything indexable, W[i][j], and go out as NumPy arrays. A new kernel needs one entry in KERNELS.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import sqrtm


class Formula(NamedTuple):
    """A kernel's value and slope in one number, and three settings that may stand in one stack."""

    value: Callable[..., float]
    slope: Callable[..., float]
    settings: tuple[dict[str, Any], ...] = ({"sigma": 0.7}, {"sigma": 1.1}, {"sigma": 1.9})
    radial: bool = True


KERNELS = {
    "gaussian": Formula(
        lambda D, sigma: math.exp(-D / (2 * sigma**2)),
        lambda D, sigma: -math.exp(-D / (2 * sigma**2)) / (2 * sigma**2),
    ),
    "cauchy": Formula(
        lambda D, sigma: 1 / (1 + sigma * D),
        lambda D, sigma: -sigma / (1 + sigma * D) ** 2,
        ({"sigma": 0.4}, {"sigma": 1.0}, {"sigma": 1.6}),
    ),
    "polynomial": Formula(
        lambda s, degree, bias: math.prod([s + bias] * degree),
        lambda s, degree, bias: degree * math.prod([s + bias] * (degree - 1)),
        ({"degree": 3, "bias": 0.5}, {"degree": 3, "bias": 1.0}, {"degree": 3, "bias": 2.0}),
        radial=False,
    ),
}


class Setting(NamedTuple):
    """One objective: kernel by name with its parameters, and the other choices of METHOD.md."""

    kernel: str
    parameters: dict[str, Any]
    loss: str = "squared"
    balance: str = "mean"
    incoherence: bool = True
    repulsion: float = 1.0
    temperature: float = 0.5
    incoherence_weight: float = 1.0


# Vectors and distances


def inner(a, b):
    return sum(float(a[i]) * float(b[i]) for i in range(len(a)))


def distance(a, b):
    return sum((float(a[i]) - float(b[i])) ** 2 for i in range(len(a)))


def distances(A, B):
    return np.array([[distance(a, b) for b in B] for a in A])


def project(W, x):
    """Wᵀx, in signature space."""
    return [sum(float(W[i][j]) * float(x[i]) for i in range(len(W))) for j in range(len(W[0]))]


def image(W, y):
    """Wy, in feature space."""
    return [inner(row, y) for row in W]


def outer(a, b):
    return np.array([[float(ai) * float(bj) for bj in b] for ai in a])


# Objective


def kernel_terms(setting, W, x, y):
    """[(k, dk/dW)]: one for D1, one for D2 where there is incoherence, or the one of the polynomial kernel."""
    formula, parameters = KERNELS[setting.kernel], setting.parameters
    if not formula.radial:
        s = inner(project(W, x), y)
        return [(formula.value(s, **parameters), formula.slope(s, **parameters) * outer(x, y))]
    P, Z = project(W, x), image(W, y)
    D1, D2 = distance(P, y), distance(x, Z)
    first = formula.value(D1, **parameters), formula.slope(D1, **parameters) * 2 * outer(x, np.subtract(P, y))
    second = formula.value(D2, **parameters), formula.slope(D2, **parameters) * 2 * outer(np.subtract(Z, x), y)
    return [first, second] if setting.incoherence else [first]


def score(setting, W, x, y):
    return sum(k for k, _ in kernel_terms(setting, W, x, y))


def scores(setting, W, X, Y):
    return np.array([[score(setting, W, x, y) for y in Y] for x in X])


def weight(setting, j, code, sizes):
    """w[i, j] of a sample of class `code` for class j, its own or another one."""
    own = j == code
    C, N = len(sizes), sum(float(size) for size in sizes)
    if setting.balance == "mean":
        return 1.0 if own else setting.repulsion / (C - 1)
    if setting.balance == "paper":
        return N / C if own else setting.repulsion
    if setting.balance == "printed":
        return N * float(sizes[j]) * (1.0 if own else setting.repulsion)
    return float(sizes[code]) if own else setting.repulsion


def pair(setting, W, x, y, j, code, sizes):
    """What one sample and one class add to n · loss, and the gradient of it; squared and linear loss."""
    own, w, value, gradient = j == code, weight(setting, j, code, sizes), 0.0, np.zeros((len(x), len(y)))
    for k, dk in kernel_terms(setting, W, x, y):
        if setting.loss == "linear":
            sign = -1 if own else 1
            value, gradient = value + w * sign * k, gradient + w * sign * dk
        else:
            target = 1 if own else 0
            value, gradient = value + w * (k - target) ** 2, gradient + w * 2 * (k - target) * dk
    return value, gradient


def cross_entropy(setting, W, x, Y, code):
    """−log q of the own class, q the softmax of scores / temperature, and the gradient of it."""
    terms = [kernel_terms(setting, W, x, y) for y in Y]
    exponentials = [math.exp(sum(k for k, _ in term) / setting.temperature) for term in terms]
    q = [e / sum(exponentials) for e in exponentials]
    gradient = np.zeros((len(x), len(Y[0])))
    for j in range(len(Y)):
        for _, dk in terms[j]:
            gradient += (q[j] - (1 if j == code else 0)) / setting.temperature * dk
    return -math.log(q[code]), gradient


def penalty(setting, W):
    """α‖WᵀW‖² − α tr(WᵀW) and the gradient of it, for the polynomial kernel alone."""
    d, p = len(W), len(W[0])
    if KERNELS[setting.kernel].radial:
        return 0.0, np.zeros((d, p))
    M = [[sum(float(W[i][j]) * float(W[i][k]) for i in range(d)) for k in range(p)] for j in range(p)]
    value = sum(M[j][k] ** 2 for j in range(p) for k in range(p)) - sum(M[j][j] for j in range(p))
    gradient = [[4 * sum(W[i][k] * M[k][j] for k in range(p)) - 2 * W[i][j] for j in range(p)] for i in range(d)]
    return setting.incoherence_weight * value, setting.incoherence_weight * np.array(gradient)


def objective(setting, W, X, Y, codes, sizes):
    """(objective, gradient) by the double loop over samples and classes; Y[j] is the row that describes class j."""
    return full_sum(setting, W, X, [[y] for y in Y], codes, sizes)


def full_sum(setting, W, X, descriptions, codes, sizes):
    """The same where descriptions[j] holds all rows of class j, each of them weighted by one over their number."""
    value, gradient = 0.0, np.zeros((len(W), len(W[0])))
    for x, code in zip(X, codes, strict=True):
        if setting.loss == "softmax":
            found = [cross_entropy(setting, W, x, [rows[0] for rows in descriptions], code)]
            assert all(len(rows) == 1 for rows in descriptions), "the softmax is no sum over descriptions"
        else:
            found = [
                (v / len(rows), g / len(rows))
                for j, rows in enumerate(descriptions)
                for v, g in (pair(setting, W, x, y, j, code, sizes) for y in rows)
            ]
        value += sum(v for v, _ in found) / len(X)
        gradient += sum(g for _, g in found) / len(X)
    extra, extra_gradient = penalty(setting, W)
    return value + extra, gradient + extra_gradient


def per_sample_squares(setting, W, X, Y, codes, sizes):
    """Mean over the samples of the squared gradient of each alone."""
    each = [objective(setting, W, X[i : i + 1], Y, codes[i : i + 1], sizes)[1] ** 2 for i in range(len(X))]
    return sum(each) / len(each)


# Solver

SCHEDULES = {
    "constant": lambda t, decay, epoch: 1.0,
    "exponential": lambda t, decay, epoch: math.prod([math.exp(-decay)] * t),
    "inverse-time": lambda t, decay, epoch: 1 / (1 + decay * t),
    "inverse-epochs": lambda t, decay, epoch: epoch / (epoch + t),
}


def rmsprop(step, W, batches, rate, schedule, decay, smoothing, epsilon, epoch=None):
    """W after the batches, for one W: `step` gives (gradient, G₂ or None) and every entry is updated on its own;
    `epoch` is its number of steps."""
    W = np.array(W, dtype=np.float64)
    V = np.zeros_like(W)
    for t, rows in enumerate(batches):
        gradient, squares = step(W, rows, t)
        beta = rate * SCHEDULES[schedule](t, decay, epoch)
        for i in range(W.shape[0]):
            for j in range(W.shape[1]):
                g = float(gradient[i][j])
                g2 = g * g if squares is None else float(squares[i][j])
                V[i, j] = smoothing * V[i, j] + (1 - smoothing) * g2
                W[i, j] -= beta * g / (math.sqrt(V[i, j]) + epsilon)
    return W, V


# Preprocessing


def scale(steps, training, rows):
    """The rows after the steps in order; the mean is that of the training rows after the steps before it."""
    training = [[float(v) for v in row] for row in training]
    rows = [[float(v) for v in row] for row in rows]
    for step in steps:
        if step == "center":
            mean = [math.fsum(row[j] for row in training) / len(training) for j in range(len(training[0]))]
            training = [[v - m for v, m in zip(row, mean, strict=True)] for row in training]
            rows = [[v - m for v, m in zip(row, mean, strict=True)] for row in rows]
        elif step in ("log", "unit"):
            columns = [sorted(column) for column in zip(*training, strict=True)]
            change = [(_logarithm if step == "log" else _unit)(column) for column in columns]
            training = [[f(v) for f, v in zip(change, row, strict=True)] for row in training]
            rows = [[f(v) for f, v in zip(change, row, strict=True)] for row in rows]
        elif step == "standardize":
            columns = list(zip(*training, strict=True))
            mean = [math.fsum(column) / len(column) for column in columns]
            centred = [[v - m for v in column] for column, m in zip(columns, mean, strict=True)]
            spread = [math.sqrt(math.fsum(v * v for v in column) / len(column)) or 1.0 for column in centred]
            training = [[(v - m) / s for v, m, s in zip(row, mean, spread, strict=True)] for row in training]
            rows = [[(v - m) / s for v, m, s in zip(row, mean, spread, strict=True)] for row in rows]
        else:
            training, rows = [_row(step, row) for row in training], [_row(step, row) for row in rows]
    return np.array(rows)


def middle(column):
    half = len(column) // 2
    return column[half] if len(column) % 2 else (column[half - 1] + column[half]) / 2


def _logarithm(column):
    """Of a sorted column: v → ±log(1 + |v|/low), where its entries range over orders of magnitude; else v → v."""
    ranged = sorted(abs(v) for v in column if v != middle(column) and v != 0)
    cut = len(ranged) // 10
    if not ranged or ranged[-1 - cut] <= 300 * ranged[cut]:
        return lambda v: v
    return lambda v: math.copysign(math.log1p(abs(v) / ranged[cut]), v)


def _unit(column):
    apart = [v - middle(column) for v in column if v != middle(column)]
    size = math.sqrt(math.fsum(v * v for v in apart) / len(apart))
    return lambda v: v / size


def _row(step, row):
    if step == "sqrt":
        return [math.copysign(math.sqrt(abs(v)), v) for v in row]
    length = math.sqrt(math.fsum(v * v for v in row))
    return [v / length for v in row] if length > 0 else row


# Explanations


def explanation(value, slope, radial, incoherence, W, x, first, second):
    """What each attribute adds to score(first) − score(second): its difference in D1, D2 or s times a secant."""
    P = project(W, x)

    def addends(y):
        """[(what each attribute adds, what none does)] for each argument of the kernel."""
        if not radial:
            return [([P[m] * float(y[m]) for m in range(len(y))], 0.0)]
        back = project(W, image(W, y))  # WᵀWy
        near = [(P[m] - float(y[m])) ** 2 for m in range(len(y))]
        far = [float(y[m]) * (back[m] - 2 * P[m]) for m in range(len(y))]
        return [(near, 0.0), (far, inner(x, x))] if incoherence else [(near, 0.0)]

    parts = [0.0] * len(P)
    for (mine, base), (theirs, _) in zip(addends(first), addends(second), strict=True):
        a, b = base + math.fsum(mine), base + math.fsum(theirs)
        secant = slope(a) if a == b else (value(a) - value(b)) / (a - b)
        parts = [parts[m] + (mine[m] - theirs[m]) * secant for m in range(len(P))]
    return np.array(parts)


def cosine(a, b):
    lengths = math.sqrt(inner(a, a) * inner(b, b))
    return inner(a, b) / lengths if lengths else 0.0


# Slow accuracy
# Accuracies by loops over rows and by argmax, to check the fast ones against.


def slow_per_class(y_true, y_pred):
    rows = {}
    for true, predicted in zip(y_true, y_pred, strict=True):
        rows.setdefault(true, []).append(true == predicted)
    return {label: sum(right) / len(right) for label, right in rows.items()}


def slow_mean(y_true, y_pred):
    accuracies = slow_per_class(y_true, y_pred).values()
    return sum(accuracies) / len(accuracies)


def slow_point(scores, y_true, candidates, seen, constant):
    """Both accuracies under one constant, by the definition."""
    predicted = [candidates[np.argmax([s - constant * f for s, f in zip(row, seen, strict=True)])] for row in scores]
    is_seen = dict(zip(candidates, seen, strict=True))
    sides = []
    for side in (True, False):
        pairs = [(t, p) for t, p in zip(y_true, predicted, strict=True) if is_seen[t] == side]
        sides.append(slow_mean(*zip(*pairs, strict=True)))
    return tuple(sides)


def random_scores(seed, n=60, seen=4, unseen=3):
    """Scores (n, c) in tenths, the column (n,) of each row's class, and which columns (c,) are of seen classes."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, seen + unseen))
    own = rng.integers(0, seen + unseen, n)
    scores[np.arange(n), own] += 0.7
    scores[:, :seen] += 0.5
    return np.round(scores, 1), own, np.arange(seen + unseen) < seen


def slow_accuracies(scores, own, is_seen, constant):
    """(seen, unseen) mean per-class accuracy with a constant subtracted from the scores of seen classes."""
    answers = np.argmax(scores - constant * is_seen, axis=1)
    sides = []
    for side in (is_seen, ~is_seen):
        classes = [c for c in np.flatnonzero(side) if (own == c).any()]
        sides.append(float(np.mean([np.mean(answers[own == c] == c) for c in classes])))
    return tuple(sides)


# Slow class means
# Class means as a textbook writes them: row by row and class by class, in float64, with explicit inverses.


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
        plain = model.prior_ == "cosine"
        self.whitening = np.eye(d) / np.sqrt(np.trace(S) / d) if plain else np.linalg.inv(np.real(sqrtm(S_rho)))
        self.g = np.zeros(d) if plain else np.mean([mu[c] for c in self.classes], axis=0)
        self.M = {c: self.whitening @ (mu[c] - self.g) for c in self.classes}
        spread = np.trace(self.whitening @ self.whitening @ S)
        self.sums = {c: np.sum(y == c) * self.M[c] / np.sqrt(self.M[c] @ self.M[c] + spread) for c in self.classes}
        seen = np.array([row for c in self.classes for row in table[c]])
        self.mean = seen.mean(axis=0)
        self.N = {c: int(np.sum(y == c)) for c in self.classes}
        # What a row differs from its class by, on average, at unit length.
        self.lengths = {c: np.sqrt(self.M[c] @ self.M[c] + spread) for c in self.classes}
        self.table = table
        self.Y = [(c, self.described(row)) for c in self.classes for row in table[c]]
        apart = [np.sum((a - b) ** 2) for c, a in self.Y for k, b in self.Y if c != k]
        self.width = model.bandwidth * np.median(apart)
        K = np.array([[self.k(a, b) for _, b in self.Y] for _, a in self.Y])
        if not plain:
            self.inverse = np.linalg.inv(K + model.noise * np.eye(len(K)))
        if model.prior_ != "zero":
            self.signature_mean = np.mean(
                [np.mean([self.scale(row) for row in table[c]], axis=0) for c in self.classes], axis=0
            )
            self.signature_mean = 0 * self.signature_mean if plain else self.signature_mean
            own = np.array([self.shared(row) for c in self.classes for row in table[c]])
            targets = np.array([unit(self.M[c]) for c, _ in self.Y])
            self.slope = 1.0 if plain else max(0.0, np.sum(own * targets) / np.sum(own * own))
            self.rest = targets - self.slope * own
        self.kept = np.array([self.unit_row(x) for x in X[list(rows_kept)]])
        self.kept = self.kept if diagonal else self.kept.astype(np.float16).astype(float)

    def scale(self, x):
        return {"sqrt-l2": root_l2, "l2": unit, "none": lambda v: v}[self.s.feature_scaling_.name](x)

    def described(self, row):
        return unit(row - self.mean)

    def k(self, a, b):
        return a @ b if self.s.kernel == "linear" else np.exp(-np.sum((a - b) ** 2) / self.width)

    def shared(self, row):
        return self.whitening @ (self.scale(row) - self.signature_mean)

    def unit_row(self, x):
        return unit(self.whitening @ (self.scale(x) - self.g))

    def m(self, row):
        """The direction that one signature says."""
        if self.s.prior_ == "cosine":
            return unit(self.shared(row))
        k = np.array([self.k(self.described(row), b) for _, b in self.Y])
        if self.s.prior_ == "identity":
            return unit(self.slope * self.shared(row) + k @ self.inverse @ self.rest)
        return unit(k @ self.inverse @ np.array([unit(self.M[c]) for c, _ in self.Y]))

    def direction(self, c, row, weight=None, rows=()):
        """u: the description, the training rows, and further rows x̂."""
        weight = weight if weight is not None else self.s.description_weight_ if c in self.classes else 2.0
        return unit(weight * self.m(row) + self.sums.get(c, 0.0) + sum(rows, np.zeros(len(self.g))))

    def crowding(self, u):
        cosines = sorted((x @ u for x in self.kept), reverse=True)
        return np.mean(cosines[: max(1, int(self.s.crowding_share * len(cosines)))])

    def score(self, x, u):
        return self.unit_row(x) @ u - (self.s.crowding * self.crowding(u) if self.s.crowding else 0.0)

    def variance(self, at, known):
        """What the process does not know at a scaled signature, from these others."""
        K = np.array([[self.k(a, b) for b in known] for a in known]) + self.s.noise * np.eye(len(known))
        near = np.array([self.k(at, b) for b in known])
        return self.k(at, at) - near @ np.linalg.inv(K) @ near

    def left_out(self, c, row):
        """The direction that a signature of a training class says to a process that knows only the other classes."""
        if self.s.prior == "cosine":
            return unit(self.shared(row))
        others = [(k, one) for k in self.classes if k != c for one in self.table[k]]
        # Without c the centre of the classes is elsewhere.
        shift = unit(self.M[c]) / (len(self.classes) - 1)
        prior = (lambda one: self.slope * self.shared(one)) if self.s.prior == "identity" else lambda one: 0.0
        rest = np.array([unit(self.M[k]) + shift - prior(one) for k, one in others])
        Y = [self.described(one) for _, one in others]
        K = np.array([[self.k(a, b) for b in Y] for a in Y]) + self.s.noise * np.eye(len(Y))
        near = np.array([self.k(self.described(row), b) for b in Y])
        return unit(prior(row) + near @ np.linalg.inv(K) @ rest)

    def worth(self):
        """n₀ beside examples: p·σ²/τ², one class for each signature."""
        pairs = [(c, row) for c in self.classes for row in self.table[c]]
        described = [self.left_out(c, row) for c, row in pairs]
        theta, N = [self.M[c] / self.lengths[c] for c, _ in pairs], [self.N[c] for c, _ in pairs]
        R, free = len(pairs), sum(N) - len(pairs)
        sigma = sum(n * (1 - one @ one) for n, one in zip(N, theta, strict=True)) / free
        if self.s.prior == "cosine":
            described = [one - np.mean(described, axis=0) for one in described]
            theta = [one - np.mean(theta, axis=0) for one in theta]
            R -= 1
        product = sum(a @ b for a, b in zip(described, theta, strict=True)) / R
        square = sum(one @ one for one in theta) / R
        if product <= 0:
            return 0.0
        p = product / (sum(one @ one for one in described) / R)
        tau = square - np.mean([sigma / n for n in N]) - p * product
        return p * sigma / max(tau, 0.02 * square)

    def certainty(self, row):
        """How much surer it is of this signature than it was of a training class that is left out."""
        Y = [y for _, y in self.Y]
        usual = np.median([self.variance(Y[i], Y[:i] + Y[i + 1 :]) for i in range(len(Y))])
        return np.clip(usual / self.variance(self.described(row), Y), 0.2, 5.0)
