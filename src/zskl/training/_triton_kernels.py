"""What lies between the matrix products of a step, as five kernels for a GPU.

They have a module of their own because Triton compiles functions of modules that import it, and only a GPU needs it.

For member k of K: batch X (n, d), rows `order[place]` of all features; W, V (d, p); one signature a class, Y (C, p).

    gather    X, and its transpose into [Z, Xᵀ]
    compare   distances, kernel, loss and their slopes from P = X W, S = P Yᵀ and ‖W yⱼ‖²; the objective, b, and what U
              is made of: A + B in the place of S, and the rows of P by their sums of A
    narrow    a product with few rows, X W, P Yᵀ or (A + B) Y, where the library would leave most of a GPU idle
    weigh     diag(b) Y, above U
    descend   RMSprop, in one pass over W, V, the gradient and, unless they are its own, the squares

and of a step whose second moment is that of single rows, the one kernel

    sum_squares    Σ_i (x_i u_iᵀ + G_i)², where G_i = Z diag(B_i) Y are made by the library for a few members at once
"""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def gather(
    features, order, place, X, left, first, n, d, width, IMAGES: tl.constexpr, NB: tl.constexpr, DB: tl.constexpr
):  # fmt: skip
    k = tl.program_id(1).to(tl.int64)
    i, at = tl.arange(0, NB), tl.program_id(0) * DB + tl.arange(0, DB)
    inside = (i < n)[:, None] & (at < d)[None, :]
    rows = tl.load(order + tl.load(place) * n + i, mask=i < n, other=0)
    x = tl.load(features + rows[:, None] * d + at[None, :], mask=inside, other=0.0)
    if k == 0:
        tl.store(X + i[:, None] * d + at[None, :], x, mask=inside)
    if IMAGES:
        tl.store(left + (k * d + at[None, :]) * width + first + i[:, None], x, mask=inside)


@triton.jit
def compare(
    order, place, codes, x_norms, y_norms, z_norms, S_of, P, width, repulsion, temperature, mine_of, others_of,
    scaled, height, b, objectives, K, n, p, C,
    KERNEL: tl.constexpr, LOSS: tl.constexpr, INCOHERENT: tl.constexpr,
    NB: tl.constexpr, PB: tl.constexpr, CB: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0).to(tl.int64)
    now = tl.load(place)
    i, c = tl.arange(0, NB), tl.arange(0, CB)
    rows = tl.load(order + now * n + i, mask=i < n, other=0)
    code = tl.load(codes + rows, mask=i < n, other=0)
    own = code[:, None] == c[None, :]
    there = (i < n)[:, None] & (c < C)[None, :]
    S = tl.load(S_of + (k * n + i[:, None]) * C + c[None, :], mask=there, other=0.0)
    p_norms = tl.zeros((NB,), dtype=tl.float32)
    for first in range(0, p, PB):
        j = first + tl.arange(0, PB)
        ps = tl.load(P + (k * n + i[:, None]) * p + j[None, :], mask=(i < n)[:, None] & (j < p)[None, :], other=0.0)
        p_norms += tl.sum(ps * ps, axis=1)
    a = tl.load(width + k)
    norms = tl.load(y_norms + c, mask=c < C, other=0.0)
    D1 = tl.maximum(p_norms[:, None] - 2 * S + norms[None, :], 0.0)
    x_norm = tl.load(x_norms + rows, mask=i < n, other=0.0)
    norms = tl.load(z_norms + k * C + c, mask=c < C, other=0.0)
    D2 = tl.maximum(x_norm[:, None] - 2 * S + norms[None, :], 0.0)
    if KERNEL == "gaussian":  # a = −1 / 2σ²
        k1 = tl.exp(a * D1)
        k2 = tl.exp(a * D2)
        slope1 = a * k1
        slope2 = a * k2
    else:  # Cauchy, a = σ
        k1 = 1 / (1 + a * D1)
        k2 = 1 / (1 + a * D2)
        slope1 = -a * k1 * k1
        slope2 = -a * k2 * k2
    if not INCOHERENT:
        k2 = tl.zeros_like(k2)
        slope2 = tl.zeros_like(slope2)
    if LOSS == "softmax":
        heat = tl.load(temperature + k)
        logits = tl.where(there, (k1 + k2) / heat, float("-inf"))
        logits = logits - tl.where(i < n, tl.max(logits, axis=1), 0.0)[:, None]
        e = tl.where(there, tl.exp(logits), 0.0)
        others = tl.sum(tl.where(own, 0.0, e), axis=1)
        mine = tl.sum(tl.where(own & there, logits, 0.0), axis=1)
        total = others + tl.exp(mine)
        up = 1 + others  # log(1 + t) without losing a small t: log(u) t / (u − 1)
        losses = tl.where(up == 1, others, tl.log(up) * others / tl.where(up == 1, 1.0, up - 1))
        losses = tl.where(mine == 0, losses, tl.log(total) - mine)
        outer1 = tl.where(own, -others[:, None], e) / (total * heat)[:, None]
        outer2 = outer1
    else:
        attraction = tl.load(mine_of + c, mask=c < C, other=0.0)
        rest = tl.load(repulsion + k) * tl.load(others_of + c, mask=c < C, other=0.0)
        weight = tl.where(own, attraction[None, :], rest[None, :])
        if LOSS == "linear":
            outer1 = tl.where(own, -weight, weight)
            outer2 = outer1
            losses = tl.sum(tl.where(there, outer1 * (k1 + k2), 0.0), axis=1)
        else:
            e1 = tl.where(own, k1 - 1, k1)
            e2 = tl.where(own, k2 - 1, k2) if INCOHERENT else k2
            outer1 = 2 * weight * e1
            outer2 = 2 * weight * e2
            losses = tl.sum(tl.where(there, weight * (e1 * e1 + e2 * e2), 0.0), axis=1)
    tl.store(objectives + now * K + k, tl.sum(tl.where(i < n, losses, 0.0), axis=0) / n)
    A = tl.where(there, outer1 * slope1 * (2 / n), 0.0)
    B = tl.where(there, outer2 * slope2 * (2 / n), 0.0)
    tl.store(b + k * C + c, tl.sum(B, axis=0), mask=c < C)
    lengths = tl.sum(A, axis=1)
    tl.store(S_of + (k * n + i[:, None]) * C + c[None, :], A + B, mask=there)
    for first in range(0, p, PB):
        j = first + tl.arange(0, PB)
        inside = (i < n)[:, None] & (j < p)[None, :]
        ps = tl.load(P + (k * n + i[:, None]) * p + j[None, :], mask=inside, other=0.0)
        tl.store(scaled + k * height * p + i[:, None] * p + j[None, :], lengths[:, None] * ps, mask=inside)


@triton.jit
def narrow(
    A, B, out, each, apart, between, n, m, size, first, second, ADD: tl.constexpr, PRECISION: tl.constexpr,
    NB: tl.constexpr, MB: tl.constexpr, SB: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(1).to(tl.int64)
    i, j = tl.arange(0, NB), tl.program_id(0) * MB + tl.arange(0, MB)
    inside = (i < n)[:, None] & (j < m)[None, :]
    found = tl.zeros((NB, MB), dtype=tl.float32)
    for start in range(0, size, SB):
        s = start + tl.arange(0, SB)
        inner = s < size
        a = tl.load(A + k * each + i[:, None] * size + s[None, :], mask=(i < n)[:, None] & inner[None, :], other=0.0)
        there = inner[:, None] & (j < m)[None, :]
        b = tl.load(B + k * apart + s[:, None] * first + j[None, :] * second, mask=there, other=0.0)
        found = tl.dot(a, b, found, input_precision=PRECISION)
    here = out + k * between + i[:, None] * m + j[None, :]
    if ADD:
        found = tl.load(here, mask=inside, other=0.0) - found
    tl.store(here, found, mask=inside)


@triton.jit
def weigh(Y, b, right, height, p, C, CB: tl.constexpr, PB: tl.constexpr):
    k = tl.program_id(2).to(tl.int64)
    c, j = tl.program_id(0) * CB + tl.arange(0, CB), tl.program_id(1) * PB + tl.arange(0, PB)
    inside = (c < C)[:, None] & (j < p)[None, :]
    y = tl.load(Y + c[:, None] * p + j[None, :], mask=inside, other=0.0)
    y *= tl.load(b + k * C + c, mask=c < C, other=0.0)[:, None]
    tl.store(right + (k * height + c[:, None]) * p + j[None, :], y, mask=inside)


@triton.jit
def descend(
    W, V, gradient, squares, rates, place, K, size, smoothing, rest, epsilon, OWN: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    k = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here, inside = k * size + at, at < size
    g = tl.load(gradient + here, mask=inside, other=0.0)
    square_of = g * g if OWN else tl.load(squares + here, mask=inside, other=0.0)
    moment = tl.maximum(tl.load(V + here, mask=inside, other=0.0) * smoothing + square_of * rest, 0.0)
    step = tl.load(rates + tl.load(place) * K + k) * g / (tl.sqrt(moment) + epsilon)
    tl.store(V + here, moment, mask=inside)
    tl.store(W + here, tl.load(W + here, mask=inside, other=0.0) - step, mask=inside)


@triton.jit
def sum_squares(
    X, U, G, squares, factor, first, n, d, p, DB: tl.constexpr, PB: tl.constexpr
):  # fmt: skip
    k = tl.program_id(2).to(tl.int64)
    a, j = tl.program_id(0) * DB + tl.arange(0, DB), tl.program_id(1) * PB + tl.arange(0, PB)
    inside = (a < d)[:, None] & (j < p)[None, :]
    total = tl.zeros((DB, PB), dtype=tl.float32)
    for i in range(0, n):
        x = tl.load(X + i * d + a, mask=a < d, other=0.0)
        u = tl.load(U + ((first + k) * n + i) * p + j, mask=j < p, other=0.0)
        g = tl.load(G + ((k * d + a[:, None]) * n + i) * p + j[None, :], mask=inside, other=0.0)
        g += x[:, None] * u[None, :]
        total += g * g
    tl.store(squares + ((first + k) * d + a[:, None]) * p + j[None, :], factor * total, mask=inside)
