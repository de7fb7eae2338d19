"""scikit-learn's own checks, with no exemption."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from zskl import ClassMeansClassifier, Committee


@pytest.mark.filterwarnings("ignore::zskl.estimators.estimator.UncalibratedWarning")
@parametrize_with_checks([Committee(), Committee([("means", ClassMeansClassifier()), ("other", "drop")], [1, 2])])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
