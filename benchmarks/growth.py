"""How cost grows: time of a step against d, p, C and the batch, and of a predicted row against the number of classes;
and of class means against rows n, features d, classes C and attributes p.

Each curve is fitted by t = a·sizeᵇ over its upper half, where constant costs weigh little; b is the exponent.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from shapes import problem, times
from step_cpu import ours
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier
from zskl.plots import _style

START = {"d": 512, "p": 64, "C": 50, "batch": 10}
SIZES = {
    "d": (256, 512, 1024, 2048, 4096),
    "p": (32, 64, 128, 256, 512),
    "C": (25, 50, 100, 200, 400, 800, 1600),
    "batch": (5, 10, 20, 40, 80, 160),
}
EXPECTED = {  # of the products: through Z = W Yᵀ where C ≤ p, else through WᵀW
    "d": "1",
    "p": "1 while C ≤ p",
    "C": "1 while C ≤ p, then towards that of the small products",
    "batch": "below 1: the products over all classes do not depend on it",
    "classes": "1",
}
CLASSES = (10, 30, 100, 300, 1000, 3000, 10000)
MEANS_START = {"n": 4000, "d": 256, "C": 50, "p": 64}  # class means
MEANS_SIZES = {
    "n": (1000, 2000, 4000, 8000, 16000, 32000),
    "d": (64, 128, 256, 512, 1024, 2048),
    "C": (25, 50, 100, 200, 400, 800, 1600),
    "p": (32, 64, 128, 256, 512, 1024),
}
KEPT = 4096  # rows that class means keep at most
UNITS = {"classes": ("µs a row", 1e6), "predict": ("µs a row", 1e6), "fit": ("ms", 1e3)}
HEIGHT = 240  # of a chart


def exponent(sizes: Any, seconds: Any) -> float:
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)[0])


def steps(rounds: int = 7) -> dict[str, Any]:
    """name → sizes, seconds a step, exponent."""
    found = {}
    for name, sizes in SIZES.items():
        ways = {}
        for size in sizes:
            shape = {**START, name: size}
            data = problem(shape["C"], shape["p"], shape["d"], rows=shape["batch"] * 40)
            ways[str(size)] = ours(data, batch_size=shape["batch"])
        seconds = list(times(ways, steps=40, rounds=rounds).values())
        found[name] = {"sizes": list(sizes), "seconds": seconds, "exponent": exponent(sizes, seconds)}
    return found


def prediction(rows: int = 2000, rounds: int = 5) -> dict[str, Any]:
    """Seconds a predicted row against the number of candidate classes, d = 512, p = 64."""
    data = problem(50, 64, 512, rows)
    model = ZeroShotKernelClassifier(epochs=1, random_state=0)
    model.fit(data.X[:500], data.codes[:500], {int(k): data.Y[k] for k in np.unique(data.codes[:500])})
    rng = np.random.default_rng(0)
    seconds = []
    for count in CLASSES:
        table, names = rng.standard_normal((count, 64)), [f"class {k}" for k in range(count)]
        seen = []
        for _ in range(rounds):
            began = time.perf_counter()
            model.predict(data.X, table, candidates=names)
            seen.append((time.perf_counter() - began) / rows)
        seconds.append(float(np.median(seen)))
    return {"sizes": list(CLASSES), "seconds": seconds, "exponent": exponent(CLASSES, seconds)}


def arithmetic(n: int, d: int, C: int, p: int) -> float:
    """Multiplications of a fit of class means: Σxxᵀ, eigenvectors, kept rows turned, regression on signatures."""
    return n * d**2 + 4.5 * d**3 + min(n, KEPT) * d**2 + C * d**2 + C**2 * (p + d) + C**3 / 2


def arithmetic_of_a_row(n: int, d: int, C: int, p: int) -> float:
    """Multiplications of a predicted row: it is whitened, then compared with each class."""
    return d**2 + C * d


def class_means(rounds: int = 3, asked: int = 2000) -> dict[str, Any]:
    """Curves of `fit` and of `predict` per row, in processor seconds on one thread; n, d, C and p varied one by one."""
    found: dict[str, Any] = {}
    for name, sizes in MEANS_SIZES.items():
        fits: list[float] = []
        rows: list[float] = []
        shapes = [{**MEANS_START, name: size} for size in sizes]
        for shape in shapes:
            data = problem(shape["C"], shape["p"], shape["d"], shape["n"])
            codes = np.arange(shape["n"]) % shape["C"]  # each class has rows
            taken: list[tuple[float, float]] = []
            for _ in range(rounds):
                began = time.process_time()
                model = ClassMeansClassifier(random_state=0).fit(data.X, codes, dict(enumerate(data.Y)))
                fitted = time.process_time()
                model.predict(data.X[:asked])
                taken.append((fitted - began, (time.process_time() - fitted) / min(asked, shape["n"])))
            fit, row = np.median(taken, axis=0)
            fits.append(float(fit))
            rows.append(float(row))
        for way, seconds, count in (("fit", fits, arithmetic), ("predict", rows, arithmetic_of_a_row)):
            if way == "predict" and name in ("n", "p"):
                continue  # a row's cost does not depend on them
            on_paper = exponent(sizes, [count(**shape) for shape in shapes])
            curve = {"sizes": list(sizes), "seconds": seconds, "exponent": exponent(sizes, seconds)}
            found[f"{way}, {name}"] = {**curve, "arithmetic": on_paper}
    return found


def figure(curves: dict[str, Any]) -> str:
    """Small log–log charts side by side, as SVG."""
    with _style.open_panels(len(curves), HEIGHT) as axes:
        for ax, (name, curve) in zip(axes, curves.items(), strict=True):
            sizes = curve["sizes"]
            unit, scale = UNITS.get(name.partition(",")[0], ("µs a step", 1e6))
            ax.loglog(sizes, scale * np.array(curve["seconds"]), "o-", color=_style.COLOURS[0], clip_on=False)
            shown = sizes[::2] if len(sizes) > 5 else sizes
            _style.set_tick_names(ax.xaxis, shown, [f"{size:g}" for size in shown])
            ax.set_xlim(sizes[0], sizes[-1])
            ax.yaxis.set_major_formatter("{x:g}")
            ax.minorticks_off()
            ax.set_title(f"against {name}: exponent {curve['exponent']:.2f}")
            ax.set_xlabel(name.rpartition(" ")[2])
            ax.set_ylabel(unit)
    said = "; ".join(f"{name}: exponent {curve['exponent']:.2f}" for name, curve in curves.items())
    return _style.to_svg(axes[0].figure, "Time against size, both on logarithmic axes", said)
