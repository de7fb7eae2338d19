"""A small problem and the fits of it that several tests share."""

from zskl import ZeroShotKernelClassifier, datasets

DATA = datasets.make_synthetic(6, 3, 25, 20, 8, noise=0.3)  # 120 training rows
ROWS = DATA.parts["trainval"]
UNSEEN = DATA.parts["test_unseen"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures


def estimator(kernel="gaussian", **settings):
    return ZeroShotKernelClassifier(kernel, **{"random_state": 0, "epochs": 3, **settings})


def fitted(kernel="gaussian", **settings):
    return estimator(kernel, **settings).fit(*TRAINING)
