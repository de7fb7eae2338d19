"""How cost grows: time of a step against d, p, C and the batch, and of a predicted row against the number of classes.

Each curve is fitted by t = a·sizeᵇ over its upper half, where constant costs weigh little; b is the exponent.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from shapes import problem, times
from step_cpu import ours
from zskl import ZeroShotKernelClassifier

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


def figure(curves: dict[str, Any]) -> str:
    """Small log–log charts side by side, as SVG."""
    wide, tall, gap = 190, 150, 58
    columns = 3
    rows = -(-len(curves) // columns)
    parts = []
    for place, (name, curve) in enumerate(curves.items()):
        left, top = gap + (place % columns) * (wide + gap), 34 + (place // columns) * (tall + 74)
        x, y = np.log10(curve["sizes"]), np.log10(np.array(curve["seconds"]) * 1e6)
        low, high = np.floor(y.min()), max(np.ceil(y.max()), np.floor(y.min()) + 1)
        across = left + wide * (x - x[0]) / (x[-1] - x[0])
        up = top + tall * (1 - (y - low) / (high - low))
        parts.append(f'<rect x="{left}" y="{top}" width="{wide}" height="{tall}" fill="none" stroke="#999"/>')
        for power in range(int(low), int(high) + 1):
            height = top + tall * (1 - (power - low) / (high - low))
            parts.append(f'<path d="M{left} {height:.1f}h{wide}" stroke="#ddd"/>')
            text = f"{10.0**power:g}" if power < 4 else f"10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(c)] for c in str(power))}"
            parts.append(f'<text x="{left - 6}" y="{height + 4:.1f}" text-anchor="end">{text}</text>')
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, up, strict=True))
        parts.append(f'<path d="M{path}" fill="none" stroke="#0072b2" stroke-width="2"/>')
        shown = range(0, len(x), 2) if len(x) > 5 else range(len(x))
        for k, (a, b) in enumerate(zip(across, up, strict=True)):
            parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="#0072b2"/>')
            if k in shown:
                parts.append(f'<text x="{a:.1f}" y="{top + tall + 16}" text-anchor="middle">{curve["sizes"][k]}</text>')
        unit = "µs a row" if name == "classes" else "µs a step"
        title = f"{unit} against {name}: exponent {curve['exponent']:.2f}"
        parts.append(f'<text x="{left - 40}" y="{top - 12}" font-weight="bold">{title}</text>')
        parts.append(f'<text x="{left + wide / 2}" y="{top + tall + 34}" text-anchor="middle">{name}</text>')
    width, height = columns * (wide + gap) + 30, rows * (tall + 74) + 20
    described = "; ".join(f"{name}: exponent {curve['exponent']:.2f}" for name, curve in curves.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11" role="img" aria-label="Time against size, both on logarithmic axes. {described}">'
        f'<rect width="{width}" height="{height}" fill="white"/>' + "".join(parts) + "</svg>\n"
    )
