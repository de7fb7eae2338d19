"""Small models of class means of every sort: kernels, priors, several signatures, taught, adapted."""

import copy
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd

from zskl import ClassMeansClassifier, methods
from zskl.baselines import ESZSL

# Means models ---------------------------------------------------------------------------------------------------------


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
    "blocks": lambda toy: fitted(toy, blocks=[4, 2], block_weights=[2, 1], signature_blocks=[1, 3]),
    "linear, blocks, taught": lambda toy: taught(fitted(toy, kernel="linear", blocks=[3, 3]), toy),
    "linear, taught": lambda toy: taught(fitted(toy, kernel="linear"), toy),
    "gaussian, taught": lambda toy: taught(fitted(toy), toy),
    "gaussian, adapted": lambda toy: fitted(toy).adapt(toy.X_new, force=True),
    "linear, taught and adapted": lambda toy: taught(fitted(toy, kernel="linear"), toy).adapt(toy.X_new, force=True),
}


def fitted(toy, table=None, **settings):
    settings = {"noise": 0.05, "crowding_share": 0.2, **settings}
    return ClassMeansClassifier(**settings).fit(toy.X, toy.y, toy.table if table is None else table)


# Teachable ------------------------------------------------------------------------------------------------------------
# A small model that can be taught and can adapt: ESZSL's scores, and nearness to the mean of what it was given.


class Teachable(ESZSL):
    """A class with a mean m scores −‖x − m‖² on top. `adapt` finds the means by one round of assignment."""

    kind: ClassVar[str] = "teachable"
    SUMMARY: ClassVar[str] = "A model of the tests that learns from examples and adapts"
    gain: ClassVar[bool] = True  # whether validation promised one
    means_: ClassVar[dict] = {}

    def compatibility(self, X, signatures=None, candidates=None, **more):
        scores = np.array(super().compatibility(X, signatures, candidates, **more))
        labels = self.candidates_ if signatures is None else signatures.index.unique()
        for column, label in enumerate(labels):
            if label in self.means_:
                scores[:, column] += 10 - np.sum((np.asarray(X) - self.means_[label]) ** 2, axis=1)
        return scores

    def add_examples(self, X, y):
        return self._with({label: np.asarray(X)[y == label].mean(axis=0) for label in np.unique(y)}, constant=0.25)

    def adapt(self, X_unlabelled, candidates=None, force=False):
        if not (self.gain or force):
            raise ValueError("no clear gain on validation classes: pass force=True to adapt all the same")
        classes = self.classes_
        if candidates != "all":
            classes = classes[~np.isin(classes, self.seen_classes_)]
        answers = classes[np.argmax(super().compatibility(X_unlabelled, candidates=classes), axis=1)]
        model = self._with({label: X_unlabelled[answers == label].mean(axis=0) for label in set(answers)}, constant=0.5)
        model.adaptation_ = {"candidates": candidates, "rows": len(X_unlabelled)}
        return model

    def _with(self, means, constant):
        model = copy.copy(self)
        model.means_, model.calibration_ = {**self.means_, **means}, constant
        return model


def registered(patch):
    """The methods with "teachable" among them, and a small grid of "class-means"."""
    one = replace(
        methods.METHODS["eszsl"], estimator=Teachable, grid={"gamma": (0.1, 1.0), "lam": (0.1, 1.0)}, bounds={}
    )
    other = replace(methods.METHODS["class-means"], grid={"shrinkage": (0.1, 0.9), "crowding": (0.0, 0.3)}, bounds={})
    patch.setattr(methods, "METHODS", {**methods.METHODS, "teachable": one, "class-means": other})
