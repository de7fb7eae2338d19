"""A table as people keep it: row numbers, holes, words, truth values, names in other letters, a class of one row."""

import numpy as np
import pandas as pd

CHEESES = ("Brie", "Époisses", "Gruyère", "Käse", "Manchego", "Oštiepok", "Ser", "Τυρί", "Сыр", "チーズ")
MAKE = ["data", "make", "cheese", "--features", "rows.csv", "--labels", "sort", "--signatures", "traits.csv"]
LOOSE = ["--missing", "mean", "--categories", "onehot"]


def write(folder, rows=12, seed=0):
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
