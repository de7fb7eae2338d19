"""The kernel classifier: stacks, monitors, warm starts, divergence, whole fits, several signatures of a class."""

import itertools
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import textbook
from fits import (
    DATA,
    KERNEL_METHODS,
    ONE_ROW,
    ROWS,
    STEPS_40,
    TRAINING,
    UNSEEN,
    WILD,
    check_exchanged,
    check_members,
    described_twice,
    estimator,
    fitted,
    slow_problem,
)
from tolerances import AFTER_FIT, FIT, SUMS, assert_close, decided, distance, shaken
from zskl import ClassMeansClassifier, DivergenceError, ZeroShotKernelClassifier, datasets, kernels, metrics, protocols
from zskl.estimators._inputs import Training
from zskl.estimators.kernel_classifier import STACKABLE, draw_signatures, fit_stack, make_step
from zskl.methods import METHODS, build
from zskl.training.objective import BALANCES, LOSSES, Objective
from zskl.training.solver import INITIALISATIONS, SCHEDULES, SECOND_MOMENTS, batch_indices, polarise

# Stack

CHANGES = {
    "sigma": 0.6,
    "bias": 1.5,
    "repulsion": 2.0,
    "temperature": 0.2,
    "learning_rate": 1e-3,
    "incoherence_weight": 0.5,
}


def test_a_fit_is_a_stack_of_one():
    (member,) = fit_stack(estimator(), [{}], *TRAINING)
    np.testing.assert_array_equal(member.projection_, fitted().projection_)
    assert member.diverged_ is None


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_member_equals_its_lone_fit(kernel, loss):
    assert set(CHANGES) == set(STACKABLE)
    model = estimator(kernel, loss=loss, **STEPS_40)
    settings = [{}] + [{name: value} for name, value in CHANGES.items()] + [CHANGES]
    members = fit_stack(model, settings, *TRAINING)
    moved = fit_stack(model, settings, shaken(TRAINING[0]), *TRAINING[1:])
    lone = [clone(model).set_params(**setting).fit(*TRAINING) for setting in settings]
    assert all(len(member.history_.objective) == 40 for member in members)
    check_members(members, lone, moved)
    assert not hasattr(model, "projection_"), "the estimator handed in was fitted"
    check_exchanged(members, lone, moved)


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("second_moment", SECOND_MOMENTS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stacks_of_every_solver_setting(schedule, second_moment, balance):
    model = estimator(schedule=schedule, second_moment=second_moment, balance=balance, decay=0.01)
    settings = [{"sigma": 0.6, "repulsion": 0.5}, {"sigma": 1.4, "learning_rate": 1e-3}]
    members = fit_stack(model, settings, *TRAINING)
    lone = [clone(model).set_params(**setting).fit(*TRAINING) for setting in settings]
    check_members(members, lone)
    check_exchanged(members, lone)


def test_settings_that_cannot_stack_are_split_and_come_back_in_order():
    settings = [
        {"sigma": 0.6},
        {"kernel": "cauchy"},
        {"sigma": 1.4},
        {"loss": "softmax", "temperature": 0.2},
        {"kernel": "polynomial", "degree": 2},
        {"epochs": 2},
        {"kernel": "polynomial", "degree": 3, "bias": 0.5},
        {"kernel": "cauchy", "sigma": 0.6},
        {"random_state": 5},
        {"incoherence": False},
        {"kernel": kernels.Gaussian(0.6)},
        {"kernel": kernels.Gaussian(1.4)},
    ]
    runs = []
    members = fit_stack(
        estimator(), settings, *TRAINING, callback=lambda now: runs.append((now.step, len(now.objective)))
    )
    lone = [estimator().set_params(**setting).fit(*TRAINING) for setting in settings]
    check_members(members, lone)
    with pytest.raises(AssertionError):
        check_members([members[2], *members[1:]], lone)
    for member, setting in zip(members, settings, strict=True):
        assert {name: member.get_params()[name] for name in setting} == setting
    assert sorted(size for step, size in runs if step == 1) == [1] * 8 + [2] * 2  # two pairs could train together
    assert_close(members[0].projection_, members[10].projection_, FIT.single)


def test_no_settings_give_no_members():
    assert fit_stack(estimator(), [], *TRAINING) == []


def test_a_bad_setting_of_any_member_is_refused():
    with pytest.raises(ValueError, match=r"sigma is -1\.0: expected a finite number > 0"):
        fit_stack(estimator(), [{}, {"sigma": -1.0}], *TRAINING)


def test_members_share_nothing_that_they_could_change():
    one, other = fit_stack(estimator(), [{}, {}], *TRAINING)
    one.projection_[:] = 0
    one.calibration_ = 3.0
    assert distance(one.projection_, other.projection_) == 1
    assert_close(other.projection_, fitted().projection_, FIT.single)
    assert other.calibration_ == 0


def test_a_stack_with_several_signatures_equals_lone_fits():
    data = described_twice()
    settings = [{"sigma": 0.6}, {"sigma": 1.4}]
    members = fit_stack(estimator(), settings, *data)
    lone = [estimator(**setting).fit(*data) for setting in settings]
    check_members(members, lone)
    check_exchanged(members, lone)


# Monitor
# What a fit tells while it runs: its history, the callback, monitored rows.


@pytest.mark.parametrize("name", KERNEL_METHODS)
def test_the_objective_of_each_iteration_is_kept_and_falls(name):
    model = build(name, {"random_state": 0}).fit(*TRAINING)
    objective = model.history_.objective
    assert objective.shape == (model.epochs * (len(ROWS) // model.batch_size),)
    assert objective[-12:].mean() < objective[:12].mean()
    assert model.history_.accuracy == {}


def test_the_callback_sees_the_run():
    steps = []
    model = estimator().fit(*TRAINING, callback=steps.append)
    assert [now.step for now in steps] == list(range(1, 37))
    assert [now.step for now in steps if now.epoch_ends] == [12, 24, 36]
    np.testing.assert_array_equal(steps[-1].projection[0], model.projection_)
    np.testing.assert_array_equal([now.objective[0] for now in steps], model.history_.objective)
    np.testing.assert_array_equal(model.projection_, fitted().projection_)


def test_a_callback_that_raises_ends_the_fit_and_leaves_no_trace():
    def stop(now):
        if now.step == 5:
            raise KeyboardInterrupt

    model = estimator()
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*TRAINING, callback=stop)
    assert vars(model) == before


def test_a_monitor_records_what_the_model_would_predict():
    seen = DATA.parts["test_seen"]
    watched = {"unseen": (DATA.X[UNSEEN], DATA.y[UNSEEN]), "seen": (DATA.X[seen], DATA.y[seen])}
    model = estimator(init="uniform", learning_rate=1e-3).fit(*TRAINING, monitor=watched, monitor_every=12)
    np.testing.assert_array_equal(
        model.projection_, fitted(init="uniform", learning_rate=1e-3).projection_, "a monitor changed W"
    )
    assert set(model.history_.accuracy) == {"unseen", "seen"}
    for name, (X, y) in watched.items():
        iterations, accuracies = model.history_.accuracy[name]
        assert iterations.tolist() == [12, 24, 36]
        for epochs, accuracy in enumerate(accuracies, start=1):  # a prefix of a run is a shorter run
            shorter = fitted(init="uniform", learning_rate=1e-3, epochs=epochs)
            predicted = shorter.predict(X, candidates=np.unique(y))
            assert accuracy == pytest.approx(metrics.mean_per_class_accuracy(y, predicted), abs=ONE_ROW)
    assert np.ptp(model.history_.accuracy["unseen"][1]) > 5 * ONE_ROW, "an accuracy that never changes shows nothing"


@pytest.mark.parametrize(("every", "expected"), [(1, list(range(1, 37))), (10, [10, 20, 30, 36]), (500, [36])])
def test_a_monitor_records_every_few_steps_and_at_the_end(every, expected):
    model = estimator().fit(*TRAINING, monitor=(DATA.X[UNSEEN], DATA.y[UNSEEN]), monitor_every=every)
    iterations, accuracies = model.history_.accuracy["monitor"]
    assert iterations.tolist() == expected
    assert accuracies.shape == iterations.shape
    assert accuracies[-1] == pytest.approx(protocols.zsl(model, DATA).accuracy, abs=ONE_ROW)


def test_a_monitor_takes_the_best_row_of_a_class():
    data = datasets.make_synthetic(6, 3, 25, 20, 8, noise=0.3, descriptions=3)
    rows, unseen = data.parts["trainval"], data.parts["test_unseen"]
    table = data.signatures.copy()
    first = (table.groupby(level=0).cumcount() == 0).to_numpy()
    table[first] *= -1  # misleads
    model = estimator().fit(data.X[rows], data.y[rows], table, monitor=(data.X[unseen], data.y[unseen]))

    def accuracy(table):
        answers = model.predict(data.X[unseen], table.loc[data.unseen_classes])
        return metrics.mean_per_class_accuracy(data.y[unseen], answers)

    assert model.history_.accuracy["monitor"][1][-1] == pytest.approx(accuracy(table), abs=ONE_ROW)
    assert accuracy(table[first]) < accuracy(table) - 5 * ONE_ROW, "the first row of each class would do as well"


@pytest.mark.parametrize(
    ("monitor", "every", "sentence"),
    [
        ((DATA.X[UNSEEN], DATA.y[UNSEEN]), 0, "monitor_every is 0: expected an integer ≥ 1"),
        (DATA.X[UNSEEN], 5, r"monitor 'monitor' is a ndarray: expected a pair \(X, y\)"),
        ({"a": (DATA.X[UNSEEN], DATA.y[UNSEEN][:-1])}, 5, "monitor 'a' has 75 rows but 74 labels"),
        ((DATA.X[UNSEEN][:, :3], DATA.y[UNSEEN]), 5, "3 features.*20 features"),
        ((DATA.X[UNSEEN], ["unheard of"] * 75), 5, "'unheard of' is not in the fitted table"),
    ],
)
def test_a_bad_monitor_is_refused(monitor, every, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimator().fit(*TRAINING, monitor=monitor, monitor_every=every)


# Warm start
# A warm start continues the run where the last fit ended.


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_warm_start_goes_on_where_the_fit_ended(kernel, schedule):
    settings = {"schedule": schedule, "decay": 0.01}
    whole = fitted(kernel, epochs=6, **settings)
    model = estimator(kernel, epochs=3, warm_start=True, **settings)
    first = model.fit(*TRAINING).history_.objective
    second = model.fit(*TRAINING).history_.objective
    np.testing.assert_array_equal(model.projection_, whole.projection_)
    np.testing.assert_array_equal(np.concatenate([first, second]), whole.history_.objective)
    np.testing.assert_array_equal(estimator(kernel, **settings).fit(*TRAINING).fit(*TRAINING).history_.objective, first)


def test_a_warm_start_draws_new_signatures():
    data = described_twice()
    whole = estimator(epochs=4).fit(*data)
    model = estimator(epochs=2, warm_start=True).fit(*data).fit(*data)
    np.testing.assert_array_equal(model.projection_, whole.projection_)


def test_a_warm_start_from_another_shape_is_refused():
    model = fitted(warm_start=True)
    W = model.projection_
    X, y, table = TRAINING
    with pytest.raises(
        ValueError, match=r"projection of shape \(20, 8\), but the data need \(19, 8\).*warm_start=False"
    ):
        model.fit(X[:, :19], y, table)
    with pytest.raises(ValueError, match=r"projection of shape \(20, 8\), but the data need \(20, 7\)"):
        model.fit(X, y, table.iloc[:, :7])
    assert model.projection_ is W
    assert model.n_features_in_ == 20
    model.predict(X)


def test_a_warm_start_of_a_loaded_model_begins_at_its_projection(tmp_path):
    from zskl import load

    fitted(warm_start=True).save(tmp_path / "model.zskl")
    model = load(tmp_path / "model.zskl").set_params(learning_rate=1e-12)
    W = model.projection_.copy()
    assert_close(model.fit(*TRAINING).projection_, W, FIT.single)


# Divergence
# Fits that diverge: what is marked, what is said, what is left as it was.


def test_a_diverging_member_is_marked_and_the_others_go_on():
    settings = [{"learning_rate": rate} for rate in (3e-4, 50.0, 1e-3)]
    model = estimator(**WILD, **STEPS_40)
    members = fit_stack(model, settings, *TRAINING)
    assert [member.diverged_ for member in members] == [None, members[1].diverged_, None]
    assert 0 <= members[1].diverged_ < 10
    assert all(len(member.history_.objective) == 40 for member in members)
    lone = [clone(model).set_params(**setting).fit(*TRAINING) for setting in settings[::2]]
    check_members(members[::2], lone)
    check_exchanged(members[::2], lone)
    with pytest.raises(DivergenceError) as caught:
        clone(model).set_params(**settings[1]).fit(*TRAINING)
    assert caught.value.step == members[1].diverged_


def test_a_stack_whose_members_all_diverge_ends_early():
    members = fit_stack(estimator(**WILD, **STEPS_40), [{"learning_rate": 50.0}, {"learning_rate": 90.0}], *TRAINING)
    assert all(member.diverged_ is not None for member in members)
    assert len(members[0].history_.objective) < 40


def test_a_lone_fit_that_diverges_names_step_and_remedy():
    with pytest.raises(DivergenceError, match=r"at step \d+.*lower learning_rate \(now 50\), lower degree") as caught:
        fitted(**WILD, learning_rate=50.0)
    assert f"step {caught.value.step}:" in str(caught.value)


def test_a_fit_that_diverges_leaves_the_fit_before_it():
    model = fitted(**WILD)
    before = dict(vars(model), learning_rate=50.0)
    scores, W = model.compatibility(DATA.X[UNSEEN]), model.projection_.copy()
    with pytest.raises(DivergenceError):
        model.set_params(learning_rate=50.0).fit(*TRAINING)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] or vars(model)[name] == before[name] for name in before)
    np.testing.assert_array_equal(model.projection_, W)
    np.testing.assert_array_equal(model.compatibility(DATA.X[UNSEEN]), scores)


def test_a_fit_that_diverges_before_the_first_look_of_a_monitor_says_so():
    with pytest.raises(DivergenceError, match="learning_rate"):
        estimator(**WILD, learning_rate=50.0, epochs=20).fit(*TRAINING, monitor=(DATA.X[UNSEEN], DATA.y[UNSEEN]))


def test_a_first_fit_that_diverges_leaves_no_trace():
    model = estimator(**WILD, learning_rate=50.0)
    before = dict(vars(model))
    with pytest.raises(DivergenceError):
        model.fit(*TRAINING)
    assert vars(model) == before


# Whole fit
# Whole fits: equal to the obvious loop, fixed by their seed, and good for what the paper claims.

SCALED = ("feature_scaling", "signature_scaling")
BASE = {"learning_rate": 3e-3, "batch_size": 6, "epochs": 2, "temperature": 0.5, "random_state": 0}
SETTINGS = [  # every setting of the constructor that has a say in W, away from its default
    {},
    {"sigma": 0.6},
    {"kernel": "cauchy"},
    {"kernel": "cauchy", "sigma": 0.4, "incoherence": False},
    {"kernel": "polynomial"},
    {"kernel": "polynomial", "degree": 3},
    {"kernel": "polynomial", "bias": 0.3},
    {"kernel": "polynomial", "incoherence_weight": 0.2, "loss": "linear"},
    {"incoherence": False},
    {"repulsion": 3.0},
    {"loss": "linear"},
    {"loss": "softmax"},
    {"loss": "softmax", "temperature": 1.5},
    {"balance": "paper"},
    {"balance": "sizes"},
    {"balance": "printed"},
    {"batch_size": 5},
    {"epochs": 3},
    {"learning_rate": 1e-3},
    {"schedule": "exponential", "decay": 0.2},
    {"schedule": "inverse-time", "decay": 0.2},
    {"schedule": "inverse-time", "decay": 0.6},
    {"schedule": "inverse-epochs"},
    {"smoothing": 0.7},
    {"epsilon": 0.1},
    {"second_moment": "per_sample"},
    {"second_moment": "per_sample", "kernel": "polynomial"},
    {"init": "uniform"},
    {"init": "orthogonal"},
    {"feature_scaling": "sqrt-center-l2"},
    {"feature_scaling": "none"},
    {"signature_scaling": "l2"},
    {"signature_mean": "all"},
    {"random_state": 1},
]


def slow_fit(model):
    """W of the model's settings from the twins of scaling, objective and RMSprop, in float64."""
    X, y, Y = slow_problem()
    steps = {name: [step for step in getattr(model, name).split("-") if step != "none"] for name in SCALED}
    seed = int(np.random.RandomState(model.random_state).randint(2**31 - 1))
    X = textbook.scale(steps["feature_scaling"], X, X)
    Y = textbook.scale(steps["signature_scaling"], Y if model.signature_mean == "all" else Y[:3], Y[:3])
    names = ("loss", "balance", "incoherence", "repulsion", "temperature", "incoherence_weight")
    own = {"polynomial": ("degree", "bias")}.get(model.kernel, ("sigma",))
    setting = textbook.Setting(
        model.kernel, {name: getattr(model, name) for name in own}, *(getattr(model, name) for name in names)
    )
    sizes = np.bincount(y)

    def step(W, rows, t):
        batch = setting, W, X[rows], Y, y[rows], sizes
        squares = textbook.per_sample_squares(*batch) if model.second_moment == "per_sample" else None
        return textbook.objective(*batch)[1], squares

    order = [rows for epoch in range(model.epochs) for rows in batch_indices(len(X), model.batch_size, seed, epoch)]
    solver = model.learning_rate, model.schedule, model.decay, model.smoothing, model.epsilon
    start, epoch = INITIALISATIONS[model.init](X, Y[y], seed), len(X) // model.batch_size
    return textbook.rmsprop(step, start, order, *solver, epoch)[0]


@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_a_fit_equals_the_loop(changes):
    X, y, Y = slow_problem()
    model = ZeroShotKernelClassifier(**{**BASE, **changes}).fit(X, y, dict(enumerate(Y)))
    expected = slow_fit(model)
    assert_close(model.projection_, expected, FIT.single)
    for name in changes:  # and the check would notice if a setting were ignored
        default = {**ZeroShotKernelClassifier().get_params(), **BASE}[name]
        if model.get_params()[name] != default and name != "kernel":
            ignorant = slow_fit(clone(model).set_params(**{name: default}))
            assert ignorant.shape != expected.shape or distance(ignorant, expected) > 4 * FIT.single


@pytest.mark.parametrize("init", INITIALISATIONS)
@pytest.mark.parametrize("kernel", kernels.names())
def test_same_seed_same_projection(kernel, init):
    one, same, other = (fitted(kernel, init=init, random_state=seed).projection_ for seed in (3, 3, 4))
    assert one.dtype == np.float32
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_generator_is_a_seed_too():
    one, same = (fitted(random_state=np.random.RandomState(3)).projection_ for _ in range(2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(fitted(random_state=None).projection_, fitted(random_state=None).projection_)


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the global state is what is looked at)
    fitted()
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("name", [name for name in METHODS if name != "cosine"])  # which needs one space
def test_every_method_solves_the_noise_free_problem(name):
    # a network with three layers takes more than 20 classes to learn from
    data = datasets.make_synthetic(n_seen=30 if name == "cnzsl" else 20)
    rows = data.parts["trainval"]
    model = build(name, {"random_state": 0}).fit(data.X[rows], data.y[rows], data.signatures)
    # DAP and IAP see attributes as yes or no, and one of five classes as another; margins of the rest are wide
    assert protocols.zsl(model, data).accuracy >= (0.7 if name in ("dap", "iap") else 1.0)


def test_incoherence_helps_unseen_digits_among_all():
    data = datasets.load("digits")
    rows = data.parts["trainval"]
    zero_shot, unseen = {}, {}
    for name, seed in itertools.product(("gaussian-ort", "gaussian"), range(2)):
        model = build(name, {"random_state": seed, "sigma": 1.0, "repulsion": 1.0})
        model.fit(data.X[rows], data.y[rows], data.signatures)
        zero_shot.setdefault(name, []).append(protocols.zsl(model, data).accuracy)
        unseen.setdefault(name, []).append(protocols.gzsl(model, data).unseen)
    assert min(zero_shot["gaussian-ort"] + zero_shot["gaussian"]) > 0.6
    assert min(unseen["gaussian-ort"]) >= 2 * max(unseen["gaussian"])
    assert min(unseen["gaussian-ort"]) > 0


def test_a_fit_raises_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(**WILD)
        fit_stack(estimator(**WILD), [{"learning_rate": 50.0}, {}], *TRAINING)


# Fit on tensors
# The same fit on PyTorch tensors and NumPy arrays.


@pytest.mark.parametrize("second_moment", SECOND_MOMENTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_fit_on_tensors_equals_one_on_arrays(kernel, loss, second_moment):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: fits on tensors")
    X, y, table = TRAINING
    model = estimator(kernel, loss=loss, second_moment=second_moment)
    expected = clone(model).fit(X, y, table)
    found = model.fit(torch.tensor(X), y, table)
    assert isinstance(found.projection_, np.ndarray)
    assert_close(found.projection_, expected.projection_, FIT.single)
    assert_close(found.history_.objective, expected.history_.objective, AFTER_FIT.single)
    scores = found.compatibility(torch.tensor(DATA.X[UNSEEN]))
    assert isinstance(scores, torch.Tensor)
    assert_close(scores.numpy(), expected.compatibility(DATA.X[UNSEEN]), AFTER_FIT.single)
    with pytest.raises(AssertionError):  # another order of batches would be noticed
        assert_close(
            clone(model).set_params(random_state=1).fit(X, y, table).projection_, found.projection_, FIT.single
        )


def test_tensors_with_several_signatures_and_integer_labels():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: fits on tensors")
    X, y, table = described_twice()
    number = {label: k for k, label in enumerate(dict.fromkeys(table.index))}
    codes, renamed = np.array([number[label] for label in y]), table.rename(index=number)
    expected = estimator().fit(X, codes, renamed)
    found = estimator().fit(torch.tensor(X), torch.tensor(codes), renamed)
    assert_close(found.projection_, expected.projection_, FIT.single)
    clear = decided(expected.compatibility(X), AFTER_FIT.single)
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found.predict(torch.tensor(X))[clear], expected.predict(X)[clear])


@pytest.mark.parametrize("tensors", ["training", "monitor", "both"])
def test_a_monitor_may_hold_tensors_or_arrays(tensors):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: monitors on tensors")
    X, y, table = TRAINING
    watched = DATA.X[UNSEEN]
    expected = estimator().fit(X, y, table, monitor=(watched, DATA.y[UNSEEN])).history_.accuracy["monitor"]
    X = torch.tensor(X) if tensors != "monitor" else X
    watched = torch.tensor(watched) if tensors != "training" else watched
    found = estimator().fit(X, y, table, monitor=(watched, DATA.y[UNSEEN])).history_.accuracy["monitor"]
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=ONE_ROW)
    assert min(found[1]) > 0.5  # chance is 1/3


def test_double_precision_trains_in_single():
    X, y, table = TRAINING
    model = estimator().fit(X.astype(np.float64), y, table)
    assert model.projection_.dtype == np.float32
    assert_close(model.projection_, fitted().projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(model.projection_, fitted(random_state=1).projection_, FIT.single)
    assert model.compatibility(DATA.X[UNSEEN]).dtype == np.float32
    assert model.compatibility(DATA.X[UNSEEN].astype(np.float64)).dtype == np.float64


# Sklearn
# scikit-learn's own checks, with no exemption.


@pytest.mark.filterwarnings("ignore::zskl.estimators.base.UncalibratedWarning")
@parametrize_with_checks(
    [
        ZeroShotKernelClassifier(),
        ZeroShotKernelClassifier("polynomial", incoherence=False, loss="softmax", second_moment="per_sample"),
        ClassMeansClassifier(),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# Several signatures
# Classes with several signatures: one is drawn for each step, and the best one scores.


def training_set(counts=(2, 3, 1), n=5, d=6, p=4):
    """Scaled float64 arrays as a method sees them, class k described by counts[k] rows."""
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(len(counts)), counts)
    groups = [np.flatnonzero(owners == k) for k in range(len(counts))]
    rows = np.array([[*group, *[group[0]] * (max(counts) - len(group))] for group in groups])
    codes = np.arange(n) % len(counts)
    return Training(
        X=rng.standard_normal((n, d)) / 2,
        codes=codes,
        Y=rng.standard_normal((len(owners), p)) / 2,
        rows=rows,
        counts=np.array(counts),
        sizes=np.array([4, 2, 3]),
    )


def test_each_row_of_a_class_is_drawn_equally_often():
    training, times = training_set(), 6000
    drawn = np.array([draw_signatures(training, 5, t) for t in range(times)])  # (times, C)
    for k, count in enumerate(training.counts):
        found = np.bincount(drawn[:, k], minlength=len(training.Y))
        own = training.rows[k, :count]
        assert found.sum() == found[own].sum() == times, "a row of another class was drawn"
        spread = 5 * (times * (1 / count) * (1 - 1 / count)) ** 0.5
        assert np.abs(found[own] - times / count).max() <= spread
    together = np.bincount(3 * drawn[:, 0] + drawn[:, 1] - 2, minlength=6)  # rows 0–1 and 2–4: six pairs
    assert np.abs(together - times / 6).max() <= 5 * (times / 6) ** 0.5, "classes are not drawn independently"


def test_a_draw_is_a_function_of_seed_and_step():
    training = training_set((4, 4, 4))
    draws = {(seed, t): tuple(draw_signatures(training, seed, t)) for seed in range(3) for t in range(30)}
    assert all(tuple(draw_signatures(training, seed, t)) == rows for (seed, t), rows in draws.items())
    assert len({draws[0, t] for t in range(30)}) > 10
    assert [draws[0, t] for t in range(30)] != [draws[1, t] for t in range(30)]


def test_a_step_takes_the_drawn_rows():
    training = training_set()
    objective = Objective(kernels.Gaussian(1.1))
    step = make_step(objective, training, seed=5, per_sample=False)
    W, rows = np.random.default_rng(2).standard_normal((1, 6, 4)), np.array([0, 3])
    sizes = training.sizes.astype(np.float64)
    for t in range(10):
        Y = training.Y[draw_signatures(training, 5, t)]
        expected = objective.evaluate(W, training.X[rows], Y, training.codes[rows], sizes)
        np.testing.assert_array_equal(step(W, rows, t)[1], expected.gradient)


def problem_with_names():
    X, y, table = slow_problem()
    return X, y, pd.DataFrame(table, columns=list("abcd"))


@pytest.mark.parametrize("second_moment", ["batch", "per_sample"])
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_rows_that_have_the_signature_of_their_class_change_nothing(kernel, second_moment):
    X, y, table = problem_with_names()
    settings = {"signature_scaling": "center-l2", "second_moment": second_moment, "random_state": 3}
    plain, owned = (estimator(kernel, **settings) for _ in range(2))
    plain.fit(X, y, table)
    owned.fit(X, y, table, row_signatures=table.loc[y])
    largest = np.abs(plain.projection_).max()
    np.testing.assert_allclose(owned.projection_, plain.projection_, rtol=0, atol=2e-5 * largest)
    frame = table.loc[y].iloc[:, ::-1]  # columns are found by name
    found = estimator(kernel, **settings).fit(X, y, table, row_signatures=frame)
    np.testing.assert_array_equal(found.projection_, owned.projection_)
    moved = table.loc[y].to_numpy() + np.random.default_rng(0).normal(size=(len(y), table.shape[1]))
    other = estimator(kernel, **settings).fit(X, y, table, row_signatures=moved)
    assert np.abs(other.projection_ - plain.projection_).max() > 0.01 * largest
    assert other.candidates_.tolist() == plain.candidates_.tolist()


def test_a_step_keeps_the_signature_of_a_row_and_draws_the_others_from_its_class():
    training = replace(training_set(), Y=np.random.default_rng(4).standard_normal((5, 4)), own=True)
    training = replace(training, rows=np.array([[0, 3], [1, 4], [2, 2]]), counts=np.array([2, 2, 1]))
    seen = []
    objective = SimpleNamespace(evaluate=lambda W, X, Y, *rest: seen.append(Y))
    step, rows = make_step(objective, training, seed=5, per_sample=False), np.array([3, 2])
    for t in range(20):
        step(None, rows, t)
    for Y in seen:
        np.testing.assert_array_equal(Y[3:], training.Y[rows])
        assert all((Y[code] == training.Y[training.rows[code]]).all(axis=1).any() for code in range(3))
    assert len({Y[:3].tobytes() for Y in seen}) == 4  # all pairs of the first two classes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.iloc[1:], "`row_signatures` has shape"),
        (lambda rows: rows.to_numpy()[:, 1:], "a column for each of `signatures`"),
        (lambda rows: rows * np.nan, "a row of finite numbers for each row of X"),
        (lambda rows: rows.iloc[:, 1:], "`row_signatures` has no column"),
    ],
)
def test_signatures_of_rows_that_do_not_fit_are_refused(change, message):
    X, y, table = problem_with_names()
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y, table, row_signatures=change(table.loc[y]))


def mean_over_draws(setting, training, W, drawn_from):
    """The mean gradient over all combinations of one row per class."""
    objective = Objective(
        kernels.build(setting.kernel, setting.parameters),
        setting.loss,
        setting.balance,
        setting.incoherence,
        setting.repulsion,
    )
    gradients = []
    for combination in itertools.product(*drawn_from):
        Y = training.Y[list(combination)]
        gradients.append(objective.evaluate(W, training.X, Y, training.codes, training.sizes.astype(float)).gradient)
    return np.mean(gradients, axis=0)


@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("loss", ["squared", "linear"])
@pytest.mark.parametrize("kernel", kernels.names())
def test_the_expected_gradient_is_that_of_the_full_sum(kernel, loss, balance, incoherence):
    training = training_set()
    setting = textbook.Setting(kernel, textbook.KERNELS[kernel].settings[0], loss, balance, incoherence, 0.7)
    W = 0.4 * np.random.default_rng(1).standard_normal((6, 4))
    own = [training.rows[k, :count] for k, count in enumerate(training.counts)]
    descriptions = [training.Y[rows] for rows in own]
    _, expected = textbook.full_sum(setting, W, training.X, descriptions, training.codes, training.sizes)
    found = mean_over_draws(setting, training, W, own)
    assert_close(found, expected, SUMS.double)
    padded = mean_over_draws(setting, training, W, training.rows)  # a fault: the padding counts as rows
    assert np.abs(padded - expected).max() > 1e-4


def test_a_class_scores_the_best_of_its_rows():
    X, y, table = described_twice()
    table = pd.concat([table, table.iloc[:1] + 0.1]).sample(frac=1, random_state=0)  # 2 or 3 rows, not side by side
    model = estimator(feature_scaling="none", signature_scaling="none").fit(X, y, table)
    setting = textbook.Setting("gaussian", {"sigma": 1.0})
    found = model.compatibility(X[:7])
    for column, label in enumerate(model.candidates_):
        rows = table.loc[[label]].to_numpy()
        each = textbook.scores(setting, model.projection_, X[:7], rows)
        assert_close(found[:, column], each.max(axis=1), SUMS.single)
        with pytest.raises(AssertionError):  # and not of the worst
            assert_close(found[:, column], each.min(axis=1), SUMS.single)
    np.testing.assert_array_equal(model.predict(X[:7]), model.candidates_[found.argmax(axis=1)])


def test_a_fit_starts_from_the_mean_of_a_class_s_own_rows():
    """A class with fewer rows than others is padded with its first, which must not count twice."""
    X, y, Y = slow_problem()
    table = {0: Y[:1], 1: np.stack([Y[1], Y[1] + 1, Y[1] - 3]), 2: np.stack([Y[2], 5 * Y[2]])}
    model = estimator(learning_rate=1e-12, feature_scaling="none", signature_scaling="none").fit(X, y, table)
    means = np.stack([rows.mean(axis=0) for rows in table.values()])
    assert_close(model.projection_, polarise(X, means[y], 0), SUMS.single)
    padded = np.stack([table[0].mean(axis=0), means[1], (2 * table[2][0] + table[2][1]) / 3])
    with pytest.raises(AssertionError):
        assert_close(model.projection_, polarise(X, padded[y], 0), SUMS.single)
