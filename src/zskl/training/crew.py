"""A few threads that share each piece of work, with products in one thread each.

A library of products divides each one among its own threads. Of small products that gains little, and while other work
runs on the machine it loses much, because those threads wait for each other without sleeping. Larger pieces, divided
once, are quicker: see docs/performance.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

MOST = 2  # threads: with more, those of a library are as quick
WORTH = 40_000_000  # multiplications of a step; below, waking a thread up costs what it saves
LATE = 1_000_000  # multiplications that this thread does while another one wakes up


class Crew:
    """This thread and others, `size` of them in all."""

    def __init__(self, size: int = 1, pool: ThreadPoolExecutor | None = None) -> None:
        self.size, self._pool = size, pool

    def each(self, work: Callable[[int], object]) -> None:
        """`work(k)` for every k below `size`, at the same time; returns when all are done."""
        if self._pool is None:
            work(0)
            return
        others = [self._pool.submit(work, k) for k in range(1, self.size)]
        try:
            work(0)
        finally:
            errors = [one.exception() for one in others]  # waits for each
        for error in errors:
            if error is not None:
                raise error

    def shares(self, length: int, cost: float) -> list[slice]:
        """A part of so many rows for each thread, the first a little larger; `cost` is that of all of them."""
        share = max(0.0, 1 - LATE / cost) / self.size
        bounds = [length - round(share * length * k) for k in range(self.size)][::-1]
        return [slice(first, last) for first, last in zip([0, *bounds], bounds, strict=False)]


@contextmanager
def gathered(multiplications: float) -> Iterator[Crew]:
    """The threads that the library of products may use, which meanwhile uses one. This one alone, and the library as it
    was, for small steps and where it may use many.
    """
    if multiplications < WORTH:
        yield Crew()
        return
    libraries = ThreadpoolController().select(user_api="blas")
    size = allowed(libraries)
    if not 1 < size <= MOST:
        yield Crew()
        return
    with libraries.limit(limits=1), ThreadPoolExecutor(size - 1, "zskl-step") as pool:
        yield Crew(size, pool)


def allowed(libraries: ThreadpoolController) -> int:
    """The threads that the libraries of products may use."""
    return max((int(one["num_threads"]) for one in libraries.info()), default=1)
