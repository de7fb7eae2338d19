"""What every published method promises, whoever wrote it: one battery over the registry."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from zskl import methods
from zskl.baselines import BASELINES

QUICK = {"epochs": 3}  # where a method has them


def make(name, **settings):
    model = methods.make(name, {"random_state": 0})
    known = model.get_params()
    return model.set_params(**{key: value for key, value in QUICK.items() if key in known}, **settings)


@pytest.mark.filterwarnings("ignore::zskl.estimator.UncalibratedWarning")
@parametrize_with_checks([baseline.estimator(**baseline.overrides) for baseline in BASELINES.values()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
