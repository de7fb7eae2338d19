"""How far one more example would move the direction of a class, in closed form.

With v the sum of a class's evidence, u = v/‖v‖ its direction, and v′ the same with the weight that its description has
beside one more example, a row x̂ of the class would turn u to u′ = (v′ + x̂)/‖v′ + x̂‖. It moves by

    ‖u′ − u‖ = √(2 − 2 u·u′),    u·u′ = (u·v′ + u·x̂) / √(‖v′‖² + 2 v′·x̂ + 1)
"""

from __future__ import annotations

from zskl.arrays import Array, namespace


def moves(hat: Array, now: Array, then: Array) -> Array:
    """(n, rows) ‖u′ − u‖ of rows x̂ (n, d), directions u `now` (rows, d) and sums v′ `then` (rows, d)."""
    xp = namespace(hat)
    squares = xp.sum(then * then, axis=1) + 2 * (hat @ then.T) + xp.sum(hat * hat, axis=1, keepdims=True)
    products = xp.sum(now * then, axis=1) + hat @ now.T
    tiny = xp.finfo(squares.dtype).tiny
    cosines = products / xp.sqrt(squares.clip(min=tiny))
    return xp.sqrt((2 - 2 * cosines).clip(min=0.0))
