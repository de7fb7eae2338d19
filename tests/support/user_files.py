"""Files such as a user brings: features with labels in CSV, and a class table. Sized by the test that asks."""

import numpy as np
import pandas as pd

from zskl import datasets
from zskl.datasets import tables

MAKE = ["data", "make", "birds", "--features", "features.csv", "--labels", "label", "--signatures", "traits.csv"]
SPECIES = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay")


def write_birds(folder, classes=SPECIES, rows=12, width=6, attributes=5, seed=0, ids=True):
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


# A table as people keep it: row numbers, holes, words, truth values, names in other letters, a class of one row.

CHEESES = ("Brie", "Époisses", "Gruyère", "Käse", "Manchego", "Oštiepok", "Ser", "Τυρί", "Сыр", "チーズ")
MAKE_CHEESE = ["data", "make", "cheese", "--features", "rows.csv", "--labels", "sort", "--signatures", "traits.csv"]
LOOSE = ["--missing", "mean", "--categories", "onehot"]


def write_cheese(folder, rows=12, seed=0):
    """rows.csv (nr, id, m0…m5, rind, washed, sort) and traits.csv (nr, class, t0…t3); the frame of the rows."""
    draw = np.random.default_rng(seed)
    traits = pd.DataFrame(draw.normal(size=(len(CHEESES), 4)).round(3), columns=[f"t{k}" for k in range(4)])
    traits.insert(0, "class", CHEESES)
    traits.insert(0, "nr", range(1, len(CHEESES) + 1))
    traits.to_csv(folder / "traits.csv", index=False)
    sizes = [1 if name == "Ser" else rows for name in CHEESES]
    of = np.repeat(np.arange(len(CHEESES)), sizes)
    values = traits.iloc[:, 2:].to_numpy()[of] @ draw.normal(size=(4, 6)) + 0.1 * draw.normal(size=(len(of), 6))
    frame = pd.DataFrame(values.round(4), columns=[f"m{k}" for k in range(6)])
    frame.insert(0, "id", [f"r{k}" for k in range(len(of))])
    frame.insert(0, "nr", range(100, 100 + len(of)))
    frame["rind"] = np.where(values[:, 0] > 0, "bloomy", np.where(values[:, 1] > 0, "washed", "natural"))
    frame["soft"] = values[:, 2] > 0
    frame["sort"] = np.array(CHEESES)[of]
    frame.loc[draw.choice(len(of), 9, replace=False), "m1"] = np.nan
    frame.loc[[3, 40], "rind"] = None
    frame.to_csv(folder / "rows.csv", index=False)
    return frame


# A small table of features, and all that is read from a file of any kind.

FEATURES = "id,length,label,mass\nr1,1.5,ant,2\nr2,-0.25,bee,1e3\nr3,0,ant,7\n"
MATRIX = np.array([[1.5, 2], [-0.25, 1000], [0, 7]], dtype=np.float32)


def all_rows(path, **how):
    """(matrix, names, ids, labels) of every block."""
    opened = tables.open_features(path, **how)
    blocks = list(opened.blocks())
    join = [[text for block in blocks for text in (getattr(block, kind) or [])] for kind in ("ids", "labels")]
    return np.concatenate([block.X for block in blocks]), opened.names, *join


# The same tables as a spreadsheet in Western Europe writes them.

EUROPEAN = {"encoding": "cp1252", "decimal": ","}


def write_european(path, target):
    """A copy of a CSV file with semicolons, decimal commas and "é" for "e", in cp1252."""
    text = path.read_text("utf-8").replace(",", ";").replace(".", ",").replace("bee", "béé")
    target.write_bytes(text.encode("cp1252"))
