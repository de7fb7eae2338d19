"""Files such as a user brings: features with labels in CSV, and a class table. Sized by the test that asks."""

import numpy as np

from zskl import datasets

MAKE = ["data", "make", "birds", "--features", "features.csv", "--labels", "label", "--signatures", "traits.csv"]
SPECIES = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay")


def write(folder, classes=SPECIES, rows=12, width=6, attributes=5, seed=0, ids=True):
    """features.csv (id, f0…, label) and traits.csv (class, t0…) of classes whose features follow their traits."""
    draw = np.random.default_rng(seed)
    traits = draw.standard_normal((len(classes), attributes)).round(3)
    features = traits @ draw.standard_normal((attributes, width))
    lines = [",".join([*(["id"] if ids else []), *(f"f{k}" for k in range(width)), "label"])]
    number = 0
    for name, centre in zip(classes, features, strict=True):
        for _ in range(rows):
            values = (centre + 0.1 * draw.standard_normal(width)).round(4)
            lines.append(",".join([*([f"r{number}"] if ids else []), *map(str, values.tolist()), name]))
            number += 1
    (folder / "features.csv").write_text("\n".join(lines) + "\n", "utf-8")
    header = ",".join(["class", *(f"t{k}" for k in range(attributes))])
    table = [",".join([name, *map(str, row)]) for name, row in zip(classes, traits.tolist(), strict=True)]
    (folder / "traits.csv").write_text("\n".join([header, *table]) + "\n", "utf-8")
    return traits


def make(out="birds", labels="label", features="features.csv", **how):
    """The dataset of the files that `write` wrote into the working folder."""
    return datasets.make(out, features, labels, "traits.csv", **how)


def edit(path, old, new):
    """Change the first `old` in a file, which must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
