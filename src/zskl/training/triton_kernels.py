"""A step as four kernels for a GPU. Imported only where Triton is used.

For member k of K: batch X (n, d), rows `order[place]` of all features; W, V (d, p); one signature a class, Y (C, p).

    project   in one pass over W: P = X W and, for incoherence with C ≤ p, Z = W Yᵀ and ‖W yⱼ‖²; a part
              for each block of d
    add_up    P and ‖W yⱼ‖² from these parts, always in the same order
    compare   distances, kernel, loss and their slopes from P and ‖W yⱼ‖²; U, b and the objective
    descend   the gradient Xᵀ U + Z diag(b) Y, and RMSprop with it, in one pass over W and V

Where C > p, ‖W yⱼ‖² and W Yᵀ diag(b) Y come through WᵀW, by the library's products: Z would be larger than W.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def project(
    features, order, place, W, Y, P_parts, Z, z_parts, n, d, p, C,
    IMAGES: tl.constexpr, PRECISION: tl.constexpr,
    NB: tl.constexpr, DB: tl.constexpr, PB: tl.constexpr, CB: tl.constexpr,
):  # fmt: skip
    part, parts = tl.program_id(0), tl.num_programs(0)
    k = tl.program_id(2).to(tl.int64)
    i, at, c = tl.arange(0, NB), part * DB + tl.arange(0, DB), tl.program_id(1) * CB + tl.arange(0, CB)
    rows = tl.load(order + tl.load(place) * n + i, mask=i < n, other=0)
    x = tl.load(features + rows[:, None] * d + at[None, :], mask=(i < n)[:, None] & (at < d)[None, :], other=0.0)
    z = tl.zeros((DB, CB), dtype=tl.float32)
    for first in range(0, p, PB):
        j = first + tl.arange(0, PB)
        w = tl.load(W + (k * d + at[:, None]) * p + j[None, :], mask=(at < d)[:, None] & (j < p)[None, :], other=0.0)
        if tl.program_id(1) == 0:
            product = tl.dot(x, w, input_precision=PRECISION)
            place_of = P_parts + ((k * parts + part) * n + i[:, None]) * p + j[None, :]
            tl.store(place_of, product, mask=(i < n)[:, None] & (j < p)[None, :])
        if IMAGES:
            y = tl.load(Y + c[None, :] * p + j[:, None], mask=(c < C)[None, :] & (j < p)[:, None], other=0.0)
            z = tl.dot(w, y, z, input_precision=PRECISION)
    if IMAGES:
        tl.store(Z + (k * d + at[:, None]) * C + c[None, :], z, mask=(at < d)[:, None] & (c < C)[None, :])
        tl.store(z_parts + (k * parts + part) * C + c, tl.sum(z * z, axis=0), mask=c < C)


@triton.jit
def add_up(parts_of, total, parts, size, BLOCK: tl.constexpr):
    k = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in range(parts):
        found += tl.load(parts_of + (k * parts + part) * size + at, mask=at < size, other=0.0)
    tl.store(total + k * size + at, found, mask=at < size)


@triton.jit
def compare(
    order, place, codes, x_norms, y_norms, z_norms, Y, P, width, repulsion, temperature, mine_of, others_of,
    U, b, objectives, K, n, p, C,
    KERNEL: tl.constexpr, LOSS: tl.constexpr, INCOHERENT: tl.constexpr,
    PRECISION: tl.constexpr, NB: tl.constexpr, PB: tl.constexpr, CB: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0).to(tl.int64)
    now = tl.load(place)
    i, c = tl.arange(0, NB), tl.arange(0, CB)
    rows = tl.load(order + now * n + i, mask=i < n, other=0)
    code = tl.load(codes + rows, mask=i < n, other=0)
    own = code[:, None] == c[None, :]
    there = (i < n)[:, None] & (c < C)[None, :]
    S = tl.zeros((NB, CB), dtype=tl.float32)
    p_norms = tl.zeros((NB,), dtype=tl.float32)
    for first in range(0, p, PB):
        j = first + tl.arange(0, PB)
        ps = tl.load(P + (k * n + i[:, None]) * p + j[None, :], mask=(i < n)[:, None] & (j < p)[None, :], other=0.0)
        y = tl.load(Y + c[None, :] * p + j[:, None], mask=(c < C)[None, :] & (j < p)[:, None], other=0.0)
        p_norms += tl.sum(ps * ps, axis=1)
        S = tl.dot(ps, y, S, input_precision=PRECISION)
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
    A += B
    for first in range(0, p, PB):
        j = first + tl.arange(0, PB)
        inside = (i < n)[:, None] & (j < p)[None, :]
        ps = tl.load(P + (k * n + i[:, None]) * p + j[None, :], mask=inside, other=0.0)
        y = tl.load(Y + c[:, None] * p + j[None, :], mask=(c < C)[:, None] & (j < p)[None, :], other=0.0)
        u = lengths[:, None] * ps - tl.dot(A, y, input_precision=PRECISION)
        tl.store(U + (k * n + i[:, None]) * p + j[None, :], u, mask=inside)


@triton.jit
def descend(
    features, order, place, W, V, U, Z, b, Y, pull, rates, K, n, d, p, C, smoothing, rest, epsilon,
    IMAGES: tl.constexpr, PULL: tl.constexpr, PRECISION: tl.constexpr,
    NB: tl.constexpr, DB: tl.constexpr, PB: tl.constexpr, CB: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(2).to(tl.int64)
    i, j, at = tl.arange(0, NB), tl.program_id(0) * PB + tl.arange(0, PB), tl.program_id(1) * DB + tl.arange(0, DB)
    now = tl.load(place)
    rows = tl.load(order + now * n + i, mask=i < n, other=0)
    x = tl.load(features + rows[None, :] * d + at[:, None], mask=(i < n)[None, :] & (at < d)[:, None], other=0.0)
    u = tl.load(U + (k * n + i[:, None]) * p + j[None, :], mask=(i < n)[:, None] & (j < p)[None, :], other=0.0)
    g = tl.dot(x, u, input_precision=PRECISION)
    if IMAGES:
        for first in range(0, C, CB):
            c = first + tl.arange(0, CB)
            here = (at < d)[:, None] & (c < C)[None, :]
            z = tl.load(Z + (k * d + at[:, None]) * C + c[None, :], mask=here, other=0.0)
            y = tl.load(Y + c[:, None] * p + j[None, :], mask=(c < C)[:, None] & (j < p)[None, :], other=0.0)
            y *= tl.load(b + k * C + c, mask=c < C, other=0.0)[:, None]
            g = tl.dot(z, y, g, input_precision=PRECISION)
    here, inside = (k * d + at[:, None]) * p + j[None, :], (at < d)[:, None] & (j < p)[None, :]
    if PULL:
        g += tl.load(pull + here, mask=inside, other=0.0)
    moment = tl.load(V + here, mask=inside, other=0.0) * smoothing + g * g * rest
    step = tl.load(rates + now * K + k) * g / (tl.sqrt(moment) + epsilon)
    tl.store(V + here, moment, mask=inside)
    tl.store(W + here, tl.load(W + here, mask=inside, other=0.0) - step, mask=inside)
