"""Points as convex combinations of others: one quadratic programme over the simplex for each point, all at once."""

from __future__ import annotations

from zskl.arrays import Array, like, namespace

PASSES = 5000  # at most
TOLERANCE = 1e-9  # of the largest change of a weight in one pass


def project(A: Array) -> Array:
    """The nearest point of the simplex {a ≥ 0, Σa = 1} to each row of A (m, k)."""
    xp = namespace(A)
    k = A.shape[1]
    falling = xp.flip(xp.sort(A, axis=1), axis=1)
    ranks = xp.astype(xp.cumulative_sum(xp.ones_like(A[0, :])), A.dtype)
    surplus = (xp.cumulative_sum(falling, axis=1) - 1) / ranks  # (m, k) what to subtract if so many weights remain
    remain = xp.sum(xp.astype(falling > surplus, xp.int64), axis=1)  # (m,) ≥ 1
    columns = xp.astype(ranks, xp.int64)[None, :] == xp.reshape(remain, (-1, 1))
    taken = xp.sum(xp.where(columns, surplus, xp.zeros_like(surplus)), axis=1, keepdims=True)
    return xp.maximum(A - taken, xp.zeros_like(A)) if k > 1 else xp.ones_like(A)


def mixtures(points: Array, corners: Array, gamma: float) -> Array:
    """argmin over a in the simplex of ½‖point − aᵀcorners‖² + ½ gamma ‖a‖², for each of the points (m, p): (m, k).

    Accelerated projected gradient in float64. It starts again for a point that it overshoots.
    """
    xp = namespace(points)
    points, corners = like(points, points, "float64"), like(corners, points, "float64")
    k = corners.shape[0]
    H = corners @ corners.T + gamma * xp.eye(k, dtype=points.dtype, device=points.device)
    linear = points @ corners.T
    step = 1 / float(xp.linalg.eigvalsh(H)[-1])
    A = xp.full(linear.shape, 1 / k, dtype=points.dtype, device=points.device)
    ahead, t = A, xp.ones_like(A[:, :1])
    for _ in range(PASSES):
        new = project(ahead - step * (ahead @ H - linear))
        overshot = xp.sum((ahead - new) * (new - A), axis=1, keepdims=True) > 0
        t = xp.where(overshot, xp.ones_like(t), t)
        following = (1 + xp.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / following * (new - A)
        change = float(xp.max(xp.abs(new - A)))
        A, t = new, following
        if change < TOLERANCE:
            break
    return A
