"""Methods by name: what each stands for, and that each one trains."""

import numpy as np
import pytest

import textbook
import zskl
from tolerances import FIT, assert_close
from toy import make_toy
from zskl import ZeroShotKernelClassifier, methods
from zskl._arrays import make_generator, resolve_seed
from zskl.training.solver import batch_indices

PAPER = {
    "gaussian-ort": {"kernel": "gaussian", "incoherence": True, "loss": "squared"},
    "gaussian": {"kernel": "gaussian", "incoherence": False, "loss": "squared"},
    "cauchy-ort": {"kernel": "cauchy", "incoherence": True, "loss": "squared"},
    "cauchy": {"kernel": "cauchy", "incoherence": False, "loss": "squared"},
    "polynomial-2": {"kernel": "polynomial", "degree": 2, "loss": "linear"},
    "polynomial-4": {"kernel": "polynomial", "degree": 4, "loss": "linear"},
    "polynomial-6": {"kernel": "polynomial", "degree": 6, "loss": "linear"},
}
AS_PRINTED = {
    "balance": "paper",
    "batch_size": 10,
    "smoothing": 0.99,
    "second_moment": "per_sample",
    "schedule": "inverse-epochs",
    "init": "uniform",
    "incoherence_weight": 1.0,
    "feature_scaling": "center-l2",
    "signature_scaling": "center-l2",
}
PRINTED = {
    **{f"{name}-printed": {**meaning, **AS_PRINTED} for name, meaning in PAPER.items()},
    "gaussian-ort-eq8": {**PAPER["gaussian-ort"], **AS_PRINTED, "balance": "printed", "loss": "linear"},
}
OURS = {
    "gaussian-softmax": {"kernel": "gaussian", "incoherence": True, "loss": "softmax"},
    "cauchy-softmax": {"kernel": "cauchy", "incoherence": True, "loss": "softmax"},
}


@pytest.mark.parametrize(("name", "meaning"), {**PAPER, **PRINTED, **OURS}.items())
def test_what_a_name_stands_for(name, meaning):
    model = methods.build(name)
    assert type(model) is ZeroShotKernelClassifier
    parameters = model.get_params()
    assert {key: parameters[key] for key in meaning} == meaning
    defaults = ZeroShotKernelClassifier().get_params()
    changed = {key: value for key, value in parameters.items() if value != defaults[key]}
    assert changed.items() <= methods.find(name).overrides.items()  # `zskl methods` prints all that is changed


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_fit_equals_the_textbook_loop(name):
    """Eq. 9–11 and the solver of the text, sample by sample in float64: start, weights, moments, falling rate."""
    rng = np.random.default_rng(3)
    sizes = np.array([5, 9, 6])
    y, Y = np.repeat(np.arange(3), sizes), rng.standard_normal((3, 4))
    X = Y[y] @ rng.standard_normal((4, 5)) + 0.3 * rng.standard_normal((20, 5))
    model = methods.build(name, {"epochs": 3, "random_state": 4, "repulsion": 0.7, "sigma": 0.8, "bias": 0.5})
    model.set_params(epsilon=1e-3)  # so that W does not hang on the sign of a gradient that is nearly 0
    found = model.fit(X, y, dict(enumerate(Y))).projection_

    def loop(**changes):
        setting = textbook.Setting(
            model.kernel,
            {"degree": model.degree, "bias": 0.5} if model.kernel == "polynomial" else {"sigma": 0.8},
            model.loss,
            **{"balance": model.balance, "incoherence": model.incoherence, "repulsion": 0.7, **changes},
        )
        rows, table = (textbook.scale(["center", "l2"], one, one) for one in (X, Y))
        seed = resolve_seed(4)
        start = make_generator(seed, 1).uniform(0, 2 / 5, size=(5, 4))  # [0, 2/d)
        order = [batch for epoch in range(3) for batch in batch_indices(20, 10, seed, epoch)]

        def step(W, batch, t):
            asked = setting, W, rows[batch], table, y[batch], sizes
            return textbook.objective(*asked)[1], textbook.per_sample_squares(*asked)

        return textbook.rmsprop(step, start, order, 8e-4, "inverse-epochs", 0.0, 0.99, 1e-3, epoch=2)[0]

    assert_close(found, loop(), FIT.single)
    with pytest.raises(AssertionError):  # a planted fault
        assert_close(found, loop(repulsion=0.8), FIT.single)


def test_kernel_methods_come_first_and_every_method_is_described():
    assert list(methods.METHODS)[:9] == [*PAPER, *OURS]
    for name, method in methods.METHODS.items():
        assert name == name.lower()
        assert method.description
        assert "\n" not in method.description
        assert method.overrides.keys() <= method.estimator().get_params().keys()


@pytest.mark.parametrize("name", [name for name in methods.METHODS if name != "cosine"])  # which needs one space
def test_every_method_trains_predicts_and_is_kept_in_a_file(toy, name, tmp_path):
    # From its small start, a rate that falls with each epoch of three steps leads nowhere.
    longer = {"learning_rate": 0.03, "epochs": 40} if name in PRINTED else {}
    model = methods.build(name, {"random_state": 0, **longer}).fit(toy.X, toy.y, toy.table)
    assert (model.predict(toy.X, candidates=model.seen_classes_) == toy.y).mean() > 0.5
    assert set(model.predict(toy.X_new, toy.table.loc[["emu", "bee"]])) <= {"emu", "bee"}
    model.save(tmp_path / "a.zskl")
    loaded = methods.load(tmp_path / "a.zskl")
    assert type(loaded) is methods.METHODS[name].estimator
    np.testing.assert_array_equal(loaded.compatibility(toy.X), model.compatibility(toy.X))


def test_names_are_found_in_any_case():
    assert methods.find("Gaussian-ORT") is methods.find("gaussian-ort")
    assert methods.build("CAUCHY").get_params() == methods.build("cauchy").get_params()


def test_settings_go_over_the_overrides_and_leave_them_alone():
    model = methods.build("polynomial-4", {"degree": 3, "bias": 0.5})
    assert (model.degree, model.bias, model.loss) == (3, 0.5, "linear")
    assert methods.build("polynomial-4").degree == 4
    assert methods.find("polynomial-4").overrides["degree"] == 4
    assert methods.build("gaussian", {}).get_params() == methods.build("gaussian", None).get_params()


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("gausian-ort", "gaussian-ort"),
        ("gaussian_ort", "gaussian-ort"),
        ("polynomial2", "polynomial-2"),
        ("Cauchi", "cauchy"),
    ],
)
def test_an_unknown_name_gets_the_nearest(name, nearest):
    with pytest.raises(ValueError, match=rf"unknown method {name!r} \(did you mean {nearest!r}\?\): expected one of "):
        methods.build(name)


def test_an_unknown_name_without_a_near_one():
    with pytest.raises(ValueError, match=r"^unknown method 'zzz': expected one of gaussian-ort, gaussian, "):
        methods.find("zzz")


def test_an_unknown_setting_gets_the_nearest():
    with pytest.raises(
        ValueError, match=r"'gaussian' has no setting 'lerning_rate' \(did you mean 'learning_rate'\?\)"
    ):
        methods.build("gaussian", {"lerning_rate": 1})


def test_every_estimator_of_a_method_can_be_loaded():
    kinds = {method.estimator.kind: method.estimator for method in methods.METHODS.values()}
    assert kinds == dict(methods.ESTIMATORS)


def test_a_model_is_not_loaded_for_a_device_that_is_not_there(toy, tmp_path):
    toy.fitted().save(tmp_path / "model.zskl")
    with pytest.raises(ValueError, match="device is 'cuda:99'"):
        zskl.load(tmp_path / "model.zskl", device="cuda:99")


@pytest.mark.parametrize("name", methods.METHODS)
def test_a_method_knows_whether_its_seed_matters(name):
    """Two fits from two seeds: other scores of a random method, equal ones of any other."""
    toy = make_toy()
    found = []
    for seed in range(2):
        model = methods.build(name, {"random_state": seed})
        for setting in model.get_params():
            if setting == "epochs" or setting.endswith("__epochs"):
                model.set_params(**{setting: 1})
        if name == "cosine":  # features and signatures from one encoder
            model.fit(toy.X[:, :4], toy.y, toy.table)
            found.append(model.compatibility(toy.X_new[:, :4], toy.table))
            continue
        found.append(model.fit(toy.X, toy.y, toy.table).compatibility(toy.X_new, toy.table))
    assert np.array_equal(*found) == (not methods.METHODS[name].random)


@pytest.fixture(scope="module")
def units():
    """Rows of 12 seen and 4 unseen classes, signatures, and units of their columns from 1 to 10⁹."""
    draw = np.random.default_rng(0)
    S, W = draw.standard_normal((16, 8)), draw.standard_normal((8, 15))
    y = np.repeat(np.arange(16), 20)
    X = S[y] @ W + 0.5 * draw.standard_normal((len(y), 15))
    units = [10 ** draw.permutation(np.linspace(0, 9, k)) for k in (15, 8)]
    return X, y, S, W, *units


def unseen_accuracy(name, X, y, S, settings):
    seen, table = y < 12, dict(enumerate(S))
    model = methods.build(name, {"random_state": 0, **settings}).fit(X[seen], y[seen], table)
    assert np.isfinite(model.compatibility(X)).all()
    return np.mean(model.predict(X[~seen], candidates=[12, 13, 14, 15]) == y[~seen])


@pytest.mark.parametrize("name", methods.METHODS)
def test_columns_in_their_own_units(name, units):
    """No method fails on them, and with "auto" none loses what it has on columns of one unit."""
    X, y, S, W, of_features, of_attributes = units
    S, of_attributes = (S @ W, of_features) if name == "cosine" else (S, of_attributes)  # which needs one space
    auto = {"feature_scaling": "auto", "signature_scaling": "auto"}
    auto = {f"softmax__{key}": value for key, value in auto.items()} if name == "means-softmax" else auto
    before = unseen_accuracy(name, X, y, S, auto)
    for some, table in ((X * of_features, S), (X, S * of_attributes), (X * of_features, S * of_attributes)):
        assert np.isfinite(unseen_accuracy(name, some, y, table, {}))
        if name != "cosine" or some is not X:
            assert unseen_accuracy(name, some, y, table, auto) > before - 0.15


# Blocks


def test_blocks_reach_those_that_know_them(caplog):
    blocks, tables = {"eye": range(3), "ear": range(3, 4)}, {"look": range(2), "sound": range(2, 5)}
    means, committee = methods.build("class-means"), methods.build("means-softmax")
    for model in (means, committee):
        methods.set_blocks(model, blocks, tables)
    assert (means.blocks, means.signature_blocks) == ({"eye": 3, "ear": 1}, {"look": 2, "sound": 3})
    assert committee.get_params()["means__blocks"] == {"eye": 3, "ear": 1}
    assert committee.get_params()["means__signature_blocks"] == {"look": 2, "sound": 3}
    assert not caplog.messages
    given = methods.build("class-means", {"blocks": [2, 2]})
    methods.set_blocks(given, blocks, None)
    assert given.blocks == [2, 2]
    methods.set_blocks(methods.build("eszsl"), blocks, {"table": range(5)})
    assert caplog.messages == ["eszsl knows no blocks: it takes eye and ear side by side"]


def test_a_search_weighs_several_class_tables():
    tables = {"look": range(2), "sound": range(2, 5)}
    tried = [(1.0, 1.0), (4.0, 1.0), (1.0, 4.0)]
    means, committee = methods.build("class-means"), methods.build("means-softmax")
    assert methods.add_table_weights({"noise": [0.1]}, means) == ({"noise": [0.1]},)
    for model in (means, committee):
        methods.set_blocks(model, None, tables)
    assert methods.add_table_weights([{"noise": [0.1]}], means) == ({"noise": [0.1], "signature_weights": tried},)
    assert methods.add_table_weights({}, committee) == ({"means__signature_weights": tried},)
    means.set_params(signature_weights=[1, 2])
    assert methods.add_table_weights({"noise": [0.1]}, means) == ({"noise": [0.1]},)
    assert methods.add_table_weights({"gamma": [1]}, methods.build("eszsl")) == ({"gamma": [1]},)
