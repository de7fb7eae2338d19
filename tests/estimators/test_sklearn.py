"""scikit-learn's own checks, with no exemption."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from zskl import ClassMeansClassifier, ZeroShotKernelClassifier


@pytest.mark.filterwarnings("ignore::zskl.estimators.estimator.UncalibratedWarning")
@parametrize_with_checks(
    [
        ZeroShotKernelClassifier(),
        ZeroShotKernelClassifier("polynomial", incoherence=False, loss="softmax", second_moment="per_sample"),
        ClassMeansClassifier(),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
