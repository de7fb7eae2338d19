"""Small models of class means of every sort: kernels, priors, several signatures, taught, adapted."""

import numpy as np
import pandas as pd

from zskl import ClassMeansClassifier


def shared_table(toy):
    """Descriptions in the space of the rows."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(toy.table.to_numpy() @ rng.normal(size=(4, 6)), index=toy.table.index)


def several(toy):
    rng = np.random.default_rng(0)
    return pd.concat([toy.table, toy.table + 0.5 * rng.normal(size=toy.table.shape), toy.table.loc[["ant"]] + 0.5])


def taught(model, toy):
    """With examples of unseen, seen and new classes, one of them marked as wrong."""
    X = np.concatenate([toy.X_new[:3], toy.X[:2], -toy.X_new[8:], toy.X_new[9:]])
    y = [*toy.y_new[:3], "cat", "dog", "fox", "fox", "emu"]
    return model.add_examples(X, y, wrong=np.arange(8) == 7)


SORTS = {
    "linear": lambda toy: fitted(toy, kernel="linear"),
    "gaussian": lambda toy: fitted(toy),
    "gaussian without crowding": lambda toy: fitted(toy, crowding=0.0, bandwidth=0.5),
    "linear, several signatures": lambda toy: fitted(toy, several(toy), kernel="linear"),
    "gaussian, several signatures": lambda toy: fitted(toy, several(toy)),
    "linear identity": lambda toy: fitted(toy, shared_table(toy), kernel="linear", prior="identity"),
    "gaussian identity": lambda toy: fitted(toy, shared_table(toy), prior="identity"),
    "cosine": lambda toy: fitted(toy, shared_table(toy), prior="cosine"),
    "linear, taught": lambda toy: taught(fitted(toy, kernel="linear"), toy),
    "gaussian, taught": lambda toy: taught(fitted(toy), toy),
    "gaussian, adapted": lambda toy: fitted(toy).adapt(toy.X_new, force=True),
    "linear, taught and adapted": lambda toy: taught(fitted(toy, kernel="linear"), toy).adapt(toy.X_new, force=True),
}


def fitted(toy, table=None, **settings):
    settings = {"noise": 0.05, "crowding_share": 0.2, **settings}
    return ClassMeansClassifier(**settings).fit(toy.X, toy.y, toy.table if table is None else table)
