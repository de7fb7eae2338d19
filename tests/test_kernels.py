"""Kernels: value and slope against their two-line formulas, and the contract around them."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import textbook
import zskl
from tolerances import FORMULA, SUMS, assert_close
from zskl import ZeroShotKernelClassifier, kernels
from zskl.kernels import Cauchy, Gaussian, Kernel, Polynomial, squared_distances

NAMES = kernels.names()
POLYNOMIALS = [("polynomial", {"degree": degree, "bias": bias}) for degree in range(1, 7) for bias in (0.0, 0.8)]
LACKING = sorted(set(NAMES) - set(textbook.KERNELS))
assert not LACKING, (
    f"add {', '.join(LACKING)} to KERNELS in tests/support/textbook.py: value and slope in one line each"
)
CASES = [(name, setting) for name in NAMES for setting in textbook.KERNELS[name].settings] + POLYNOMIALS


def arguments(kernel, dtype=np.float64):
    """What a kernel is a function of: squared distances, or inner products of either sign."""
    return np.linspace(0.01 if kernel.radial else -2.0, 4.0, 41, dtype=dtype).reshape(1, 41)


def as_column(values):
    return np.array(values, dtype=np.float64).reshape(-1, 1, 1)


def slope_error(kernel, h=1e-4):
    """The largest difference between the slope and central differences of the value, against the largest slope."""
    t = arguments(kernel)
    near, far = (kernel.value(t + step) - kernel.value(t - step) for step in (h, 2 * h))
    expected = (8 * near - far) / (12 * h)  # of fourth order, for kernels that are steep at 0
    return np.abs(kernel.slope(t) - expected).max() / np.abs(expected).max()


class UphillGaussian(Gaussian):
    """The planted fault: the sign of the slope is wrong."""

    def slope(self, t, value=None):
        return -super().slope(t, value)


@dataclass(frozen=True)
class InverseMultiquadric(Kernel):
    """k(D) = (1 + D/σ²)^(−1/2), a kernel that zskl does not have."""

    name: ClassVar[str] = "inverse-multiquadric"
    sigma: float = 1.0

    def value(self, t):
        return (1 + t / self.sigma**2) ** -0.5

    def slope(self, t, value=None):
        return -0.5 / self.sigma**2 * (1 + t / self.sigma**2) ** -1.5


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_is_public_and_has_a_twin(name):
    kernel = kernels.get(name)
    assert kernel.__name__ in kernels.__all__, f"add {kernel.__name__!r} to __all__ in src/zskl/kernels.py"
    twin = "value and slope, one line each"
    assert name in textbook.KERNELS, f"add {name!r} to KERNELS in tests/support/textbook.py: {twin}"
    assert kernel.radial == textbook.KERNELS[name].radial


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_value_and_slope_equal_the_formulas(name, setting):
    kernel, formula = kernels.build(name, setting), textbook.KERNELS[name]
    t = arguments(kernel)
    value = [[formula.value(u, **setting) for u in t[0]]]
    slope = [[formula.slope(u, **setting) for u in t[0]]]
    assert_close(kernel.value(t), value, FORMULA.double)
    assert_close(kernel.slope(t), slope, FORMULA.double)
    np.testing.assert_array_equal(kernel.slope(t, kernel.value(t)), kernel.slope(t))


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_slope_is_the_derivative_of_the_value(name, setting):
    assert slope_error(kernels.build(name, setting)) < 1e-8


def test_the_slope_check_catches_a_wrong_sign():
    assert slope_error(UphillGaussian(0.7)) > 1


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_single_precision_stays(name, setting):
    kernel = kernels.build(name, setting)
    t = arguments(kernel, np.float32)
    exact = arguments(kernel)
    for found, expected in ((kernel.value(t), kernel.value(exact)), (kernel.slope(t), kernel.slope(exact))):
        assert found.dtype == np.float32
        assert_close(found, expected, FORMULA.single)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "setting"), CASES)
def test_torch_equals_numpy(name, setting, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: kernels on tensors")
    kernel = kernels.build(name, setting)
    t = arguments(kernel, dtype)
    for function in (kernel.value, kernel.slope):
        found, expected = function(torch.from_numpy(t)), function(t)
        assert found.dtype == getattr(torch, dtype)
        assert_close(found.numpy(), expected, FORMULA.of(dtype))


# Table 1

PRINTED = {  # the last column of the paper's Table 1, as printed: ∂k/∂W for x (d,), y (p,), W (d, p)
    "gaussian": lambda x, y, W, sigma: (
        -np.outer(x, W.T @ x - y) / sigma**2 * np.exp(-(np.linalg.norm(W.T @ x - y) ** 2) / (2 * sigma**2))
    ),
    "cauchy": lambda x, y, W, sigma: (
        -2 * sigma * np.outer(x, W.T @ x - y) / (1 + sigma * np.linalg.norm(W.T @ x - y) ** 2) ** 2
    ),
    "polynomial": lambda x, y, W, degree, bias: degree * np.outer(x, y) * (x @ W @ y + bias) ** (degree - 1),
}


def check_table_1(kernel):
    """∂k/∂W = k′ · ∂t/∂W is the printed formula."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        x, y, W = rng.standard_normal(5), rng.standard_normal(4), 0.5 * rng.standard_normal((5, 4))
        if kernel.radial:
            t, inner = np.sum((W.T @ x - y) ** 2), 2 * np.outer(x, W.T @ x - y)
        else:
            t, inner = x @ W @ y, np.outer(x, y)
        printed = PRINTED[kernel.name](x, y, W, **kernel.parameters())
        assert_close(kernel.slope(t) * inner, printed, SUMS.double)


@pytest.mark.parametrize(("name", "setting"), [case for case in CASES if case[0] in PRINTED])
def test_derivatives_of_table_1_follow_from_the_slope(name, setting):
    check_table_1(kernels.build(name, setting))


def test_the_check_of_table_1_catches_a_wrong_sign():
    with pytest.raises(AssertionError):
        check_table_1(UphillGaussian(0.7))


# Distances


def test_squared_distances_equal_the_loop():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((6, 5)), rng.standard_normal((4, 5))
    found = squared_distances(np.sum(A * A, axis=1, keepdims=True), A @ B.T, np.sum(B * B, axis=1))
    assert_close(found, textbook.distances(A, B), SUMS.double)


def test_squared_distances_are_never_negative():
    A = np.random.default_rng(0).standard_normal((200, 50)).astype(np.float32) * 100
    norms = np.sum(A * A, axis=1, keepdims=True)
    assert (norms - 2 * A @ A.T + norms.T).min() < 0  # rounding alone would do it
    assert squared_distances(norms, A @ A.T, norms.T).min() == 0


# Parameters


@pytest.mark.parametrize("kernel", [Gaussian, Cauchy])
@pytest.mark.parametrize("sigma", [0, -1.0, float("nan"), float("inf"), "0.8", "wide", None, True, [1.0]])
def test_a_radius_out_of_range_is_refused(kernel, sigma):
    with pytest.raises(ValueError, match=r"^sigma is .*expected a finite number > 0"):
        kernel(sigma)


@pytest.mark.parametrize("bias", [-0.1, float("nan"), float("inf"), "1", None, False])
def test_a_bias_out_of_range_is_refused(bias):
    with pytest.raises(ValueError, match=r"^bias is .*expected a finite number ≥ 0"):
        Polynomial(2, bias)


@pytest.mark.parametrize("degree", [0, -2, 1.5, 2.0, True, "2", None])
def test_a_degree_out_of_range_is_refused(degree):
    with pytest.raises(ValueError, match=r"^degree is .*expected an integer ≥ 1"):
        Polynomial(degree)


def test_parameters_at_the_border_are_welcome():
    assert Polynomial(1, 0).bias == 0
    assert Polynomial(np.int64(3), np.float32(0.5)).parameters() == {"degree": 3, "bias": 0.5}
    assert Gaussian(np.float64(1e-3)).sigma == 1e-3


# Stacks


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_of_kernels_equals_its_members(name):
    members = [kernels.build(name, setting) for setting in textbook.KERNELS[name].settings]
    stacked = kernels.stack(members, as_column)
    t = arguments(members[0])  # (1, 41), so that a stack gives (3, 1, 41)
    for k, member in enumerate(members):
        assert_close(stacked.value(t)[k], member.value(t), FORMULA.double)
        assert_close(stacked.slope(t)[k], member.slope(t), FORMULA.double)
    assert members[0] == kernels.build(name, textbook.KERNELS[name].settings[0]), "stacking changed a member"


def test_a_stack_shares_what_is_no_number():
    with pytest.raises(ValueError, match=r"must share degree: found \[2, 4\]"):
        kernels.stack([Polynomial(2), Polynomial(4)], as_column)


# Names


@pytest.fixture
def registry(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(kernels, "_registered", dict(kernels._registered))


def toy():
    rng = np.random.default_rng(5)
    Y = rng.standard_normal((4, 3))
    y = np.repeat(np.arange(4), 15)
    X = Y[y] @ rng.standard_normal((3, 6)) + 0.1 * rng.standard_normal((60, 6))
    return X.astype(np.float32), y, Y


def fitted(kernel, **settings):
    return ZeroShotKernelClassifier(kernel, random_state=0, epochs=2, **settings).fit(*toy())


@pytest.mark.usefixtures("registry")
def test_a_registered_kernel_works_by_name_and_in_model_files(tmp_path):
    assert slope_error(InverseMultiquadric(0.7)) < 1e-8
    assert kernels.register(InverseMultiquadric) is InverseMultiquadric  # usable as a decorator
    assert kernels.register(InverseMultiquadric) is InverseMultiquadric  # twice is no clash
    assert kernels.names() == [*NAMES, "inverse-multiquadric"]
    by_name, by_object = fitted("inverse-multiquadric", sigma=0.7), fitted(InverseMultiquadric(0.7))
    np.testing.assert_array_equal(by_name.projection_, by_object.projection_)
    X = toy()[0]
    for model in (by_name, by_object):
        model.save(tmp_path / "model.zskl")
        loaded = zskl.load(tmp_path / "model.zskl")
        assert loaded.kernel == model.kernel
        np.testing.assert_array_equal(loaded.compatibility(X), model.compatibility(X))


@pytest.mark.usefixtures("registry")
def test_an_unregistered_kernel_trains_but_is_not_saved(tmp_path):
    model = fitted(InverseMultiquadric(0.7))
    assert model.score(*toy()[:2]) > 0.9
    with pytest.raises(ValueError, match=r"InverseMultiquadric is not registered.*zskl\.kernels\.register\(Inverse"):
        model.save(tmp_path / "model.zskl")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"unknown kernel 'inverse-multiquadric': expected one of gaussian, cauchy"):
        fitted("inverse-multiquadric")


@pytest.mark.usefixtures("registry")
def test_a_model_file_of_a_forgotten_kernel_is_refused(tmp_path, monkeypatch):
    kernels.register(InverseMultiquadric)
    fitted(InverseMultiquadric(0.7)).save(tmp_path / "model.zskl")
    monkeypatch.delitem(kernels._registered, "inverse-multiquadric")
    with pytest.raises(
        ValueError, match=r"unknown kernel 'inverse-multiquadric'.*kernels\.register on its class before loading"
    ):
        zskl.load(tmp_path / "model.zskl")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("qualname", ["Impostor", "Gaussian"])
def test_a_taken_name_is_refused(qualname):
    impostor = type(qualname, (InverseMultiquadric,), {"name": "gaussian", "__module__": "elsewhere"})
    impostor.__qualname__ = qualname
    with pytest.raises(ValueError, match=r"the kernel name 'gaussian' is taken by .*Gaussian"):
        kernels.register(impostor)
    assert kernels.get("gaussian") is Gaussian


def test_the_nearest_name_is_offered():
    with pytest.raises(ValueError, match=r"unknown kernel 'gausian' \(did you mean 'gaussian'\?\)"):
        kernels.build("gausian", {})


@pytest.mark.parametrize("name", NAMES)
def test_make_takes_the_parameters_that_a_kernel_has(name):
    given = {"sigma": 0.3, "degree": 5, "bias": 0.2, "unrelated": 1}
    kernel = kernels.build(name, given)
    own = {field.name for field in dataclasses.fields(kernel)}
    assert kernel.parameters() == {name: value for name, value in given.items() if name in own}


@pytest.mark.parametrize("sigma", [1e200, 1e-30])
def test_a_parameter_that_single_precision_cannot_square_is_refused(sigma):
    with pytest.raises(ValueError, match=r"sigma is 1e.*between 1e-18 and 1e\+18"):
        Gaussian(sigma)
