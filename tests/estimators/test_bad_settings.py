"""Settings, methods and devices that cannot be: the name, the value and what was expected in one sentence."""

import sys

import numpy as np
import pytest

from refusals import assert_one_sentence
from zskl import arrays, methods

POSITIVE, NOT_NEGATIVE, WHOLE = "finite number > 0", "finite number ≥ 0", "integer ≥ 1"
PARAMETERS = [
    *(("sigma", value, POSITIVE) for value in (0, 0.0, -1, -0.5, np.nan, np.inf, None, "1", True, [1.0])),
    *(("bias", value, NOT_NEGATIVE) for value in (-1, -1e-9, np.nan, -np.inf, "a")),
    *(("degree", value, WHOLE) for value in (0, -2, 1.5, 2.0, True, "2", None)),
    *(("repulsion", value, NOT_NEGATIVE) for value in (-1, np.nan)),
    *(("incoherence_weight", value, NOT_NEGATIVE) for value in (-1, np.inf)),
    *(("temperature", value, POSITIVE) for value in (0, -1)),
    *(("learning_rate", value, POSITIVE) for value in (0, -1e-3)),
    *(("epsilon", value, POSITIVE) for value in (0, -1e-6)),
    *(("decay", value, NOT_NEGATIVE) for value in (-1, None)),
    *(("smoothing", value, "") for value in (-0.1, 1, 1.5, "x")),
    *(("batch_size", value, WHOLE) for value in (0, 2.5)),
    *(("epochs", value, WHOLE) for value in (0, -1, 1e3)),
    *(("incoherence", value, "True or False") for value in ("yes", None, 2)),
    *(("warm_start", value, "True or False") for value in ("no", None)),
]


@pytest.mark.parametrize(("name", "value", "expected"), PARAMETERS, ids=repr)
def test_a_number_out_of_range(toy, name, value, expected):
    for kernel in ("gaussian", "polynomial"):
        with pytest.raises(ValueError) as caught:
            toy.fitted(kernel, **{name: value})
        assert_one_sentence(caught.value, [f"{name} is {value!r}: expected", expected])


CHOICES = [
    ("kernel", "gausian", "gaussian", "cauchy, polynomial"),
    ("kernel", "Cauchy", "cauchy", "gaussian, cauchy, polynomial"),
    ("loss", "square", "squared", "squared, linear, softmax"),
    ("loss", "soft-max", "softmax", "squared, linear, softmax"),
    ("balance", "size", "sizes", "mean, paper, sizes, printed"),
    ("schedule", "exponental", "exponential", "constant, exponential, inverse-time"),
    ("schedule", "inverse_time", "inverse-time", "constant, exponential, inverse-time"),
    ("init", "unifrom", "uniform", "uniform, orthogonal"),
    ("init", "polarized", "polarised", "uniform, orthogonal"),
    ("second_moment", "per-sample", "per_sample", "batch, per_sample"),
    ("signature_mean", "al", "all", "seen, all"),
    ("feature_scaling", "centre-l2", "center-l2", "none, center-l2, sqrt-center-l2, l2-center-l2"),
    ("feature_scaling", "sqrt-centre-l2", "sqrt-center-l2", "none, center-l2, sqrt-center-l2, l2-center-l2"),
    ("signature_scaling", "centerl2", "center-l2", "none, center-l2, sqrt-center-l2, l2-center-l2"),
]


@pytest.mark.parametrize(("name", "value", "nearest", "options"), CHOICES)
def test_an_unknown_choice_names_the_nearest(toy, name, value, nearest, options):
    with pytest.raises(ValueError) as caught:
        toy.fitted(**{name: value})
    assert_one_sentence(caught.value, [name, repr(value), f"did you mean {nearest!r}?", options])


@pytest.mark.parametrize(
    "name",
    ["kernel", "loss", "balance", "schedule", "init", "second_moment", "signature_mean", "feature_scaling",
     "signature_scaling"],
)  # fmt: skip
def test_a_choice_that_is_none_of_them(toy, name):
    for value in (None, 3, ["gaussian"], "", "qqqqqqq"):
        with pytest.raises(ValueError) as caught:
            toy.fitted(**{name: value})
        assert_one_sentence(caught.value, [name, repr(value), "expected one of"])
        assert value not in (3, "", "qqqqqqq") or "did you mean" not in str(caught.value)


@pytest.mark.parametrize("scaling", ["center-center", "center-l2-center", "-", "center-", "none-l2"])
def test_scalings_that_cannot_be(toy, scaling):
    with pytest.raises(ValueError) as caught:
        toy.fitted(feature_scaling=scaling)
    assert_one_sentence(caught.value, [f"feature_scaling is {scaling!r}", "at most one 'center'"])


def test_parameters_are_checked_before_the_data(toy):
    with pytest.raises(ValueError, match="sigma is 0"):
        toy.model(sigma=0).fit(np.full((2, 2), np.nan), [])


def test_unknown_methods_and_settings_name_the_nearest():
    with pytest.raises(ValueError) as caught:
        methods.build("gausian-ort")
    assert_one_sentence(caught.value, ["method 'gausian-ort'", "did you mean 'gaussian-ort'?", "cauchy-softmax"])
    with pytest.raises(ValueError) as caught:
        methods.build("gaussian", {"sigmas": 1})
    assert_one_sentence(caught.value, ["'gaussian'", "'sigmas'", "did you mean 'sigma'?"])


# Devices -------------------------------------------------------------------------------------------------------------


def has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.mark.skipif(has_gpu(), reason="there is a GPU here")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:7"])
def test_cuda_without_a_gpu(toy, device):
    for call in (
        lambda: toy.fitted(device=device),
        lambda: toy.fitted().set_params(device=device).predict(toy.X),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert_one_sentence(caught.value, [f"device is {device!r}", "device='cpu'"])


@pytest.mark.parametrize("device", ["gpu", "nonsense", "cuda:x", "", 5])
def test_a_device_that_is_none(toy, device):
    with pytest.raises(ValueError) as caught:
        toy.fitted(device=device)
    assert_one_sentence(caught.value, [f"device is {str(device)!r}", "'cpu'"])


@pytest.mark.parametrize("device", ["xpu" if sys.platform == "darwin" else "mps", "meta"])
def test_a_device_of_another_kind(toy, device):
    with pytest.raises(ValueError) as caught:
        toy.fitted(device=device)
    assert_one_sentence(caught.value, [f"device is {device!r}", "'cpu'"])


def test_a_device_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # what an import that fails leaves behind
    with pytest.raises(ValueError) as caught:
        arrays.check_device("cuda")
    assert_one_sentence(caught.value, ["device is 'cuda'", "PyTorch", "zskl[torch]", "device='cpu'"])
    arrays.check_device("cpu")
    arrays.check_device(None)
