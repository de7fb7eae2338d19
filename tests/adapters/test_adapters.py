"""Adapters to examples and unlabelled rows: each against a slow twin, and what all of them promise."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import zskl
from tolerances import SOLUTION, SUMS, assert_close
from zskl import adapters, datasets, methods, protocols, selection
from zskl.adapters import ADAPTERS
from zskl.adapters._adapter import Task
from zskl.experiments.unit import Unit

each = pytest.mark.parametrize("name", ADAPTERS)
TRANSDUCTIVE = [name for name, one in ADAPTERS.items() if hasattr(one, "adapt")]

# Slow twins, in float64 with loops, of every formula


def unit(rows):
    return rows / np.sqrt((rows * rows).sum(axis=-1, keepdims=True))


@pytest.fixture(scope="module")
def task():
    """Four classes in six dimensions, two examples of each of three, nine rows without labels."""
    rng = np.random.default_rng(3)
    texts = unit(rng.normal(size=(4, 6)))
    own = np.array([0, 1, 2, 0, 1, 2])
    x = unit(texts[own] + 0.5 * rng.normal(size=(6, 6)))
    u = unit(np.repeat(texts, [3, 2, 2, 2], axis=0) + 0.5 * rng.normal(size=(9, 6)))
    single = (one.astype(np.float32) for one in (texts, x, u))
    texts, x, u = single
    return Task(texts, np.arange(4)[:, None], x, own, u, 8.0, np.array([0.1, 0, 0, 0.05], np.float32))


@pytest.fixture(scope="module")
def asked():
    return unit(np.random.default_rng(4).normal(size=(5, 6))).astype(np.float32)


def doubles(task):
    found = (np.asarray(one, np.float64) for one in (task.directions, task.x, task.unlabelled, task.crowding))
    return *found, task.own


def slow_text(task, row):
    t, _, _, crowding, _ = doubles(task)
    return [task.scale * (sum(a * b for a, b in zip(row, t[c], strict=True)) - crowding[c]) for c in range(len(t))]


def slow_softmax(values):
    e = [exp(one - max(values)) for one in values]
    return np.array([one / sum(e) for one in e])


def slow_tip(task, asked, alpha, beta):
    _, x, _, _, own = doubles(task)
    found = []
    for row in asked.astype(np.float64):
        scores = slow_text(task, row)
        for example, c in zip(x, own, strict=True):
            scores[c] += alpha * exp(-beta * (1 - row @ example))
        found.append(scores)
    return found


def slow_gda(task, asked, alpha):
    t, x, _, _, own = doubles(task)
    means = {c: x[own == c].mean(axis=0) for c in set(own.tolist())}
    A = np.array([one - means[c] for one, c in zip(x, own, strict=True)])
    m, d = x.shape
    P = d * np.linalg.inv(A.T @ A + np.trace(A.T @ A) / (m - 1) * np.eye(d))
    found = []
    for row in asked.astype(np.float64):
        terms = {c: row @ P @ mean - 0.5 * mean @ P @ mean for c, mean in means.items()}
        usual = np.mean(list(terms.values()))
        text = slow_text(task, row)
        found.append([text[c] + alpha * terms.get(c, usual) for c in range(len(t))])
    return found


def slow_proker(task, asked, beta, lam):
    t, x, _, _, own = doubles(task)

    def k(a, b):
        return exp(-beta * ((a - b) ** 2).sum())

    K = np.array([[k(a, b) for b in x] for a in x])
    rest = np.array([np.eye(len(t))[c] - slow_softmax(slow_text(task, one)) for one, c in zip(x, own, strict=True)])
    weights = np.linalg.inv(K + lam * np.eye(len(x))) @ rest
    rows = asked.astype(np.float64)
    return [slow_softmax(slow_text(task, row)) + np.array([k(row, one) for one in x]) @ weights for row in rows]


def slow_clap_loss(task, w, start):
    t, x, _, _, own = doubles(task)
    total = 0.0
    for row, c in zip(x, own, strict=True):
        total -= log(slow_softmax([task.scale * (row @ unit(one)) for one in w])[c]) / len(x)
    for c in range(len(t)):
        mine = [slow_softmax(slow_text(task, row))[c] for row in x[own == c]]
        total += (np.mean(mine) if mine else 1.0) * ((w[c] - start[c]) ** 2).sum() / len(t)
    return total


def slow_clap(task, asked, learning_rate, steps):
    t = doubles(task)[0]
    w, velocity, h = t.copy(), np.zeros_like(t), 1e-6
    for step in range(steps):
        slope = np.zeros_like(w)
        for place in np.ndindex(*w.shape):  # by differences
            up, down = w.copy(), w.copy()
            up[place] += h
            down[place] -= h
            slope[place] = (slow_clap_loss(task, up, t) - slow_clap_loss(task, down, t)) / (2 * h)
        velocity = 0.9 * velocity + slope
        w = w - learning_rate * (1 + np.cos(np.pi * step / steps)) / 2 * velocity
    change = task.scale * (unit(w) - t)
    return [np.array(slow_text(task, row)) + change @ row for row in asked.astype(np.float64)]


def slow_neighbours(row, others, k, skip=None):
    order = sorted((j for j in range(len(others)) if j != skip), key=lambda j: -(row @ others[j]))
    return [(j, max(0.0, row @ others[j])) for j in order[:k]]


def slow_graph(task, k):
    """w (n, n + m) among unlabelled rows, both ways, and towards examples."""
    _, x, u, _, _ = doubles(task)
    everyone, n = np.concatenate([u, x]), len(u)
    w = np.zeros((n, len(everyone)))
    for i in range(n):
        for j, cosine in slow_neighbours(u[i], everyone, k, skip=i):
            w[i, j] += cosine / (2 * k) * (1 if j < n else 2)
            if j < n:
                w[j, i] += cosine / (2 * k)
    return w


def slow_assign(logits, w, z, given):
    for _ in range(5):
        pulled = w @ np.concatenate([z, given])
        z = np.array([slow_softmax(list(one)) for one in logits + pulled])
    return z


def slow_mixture(task, asked, k, lam, gamma=None, alpha=None):
    """TransCLIP with `gamma`, StatA with `alpha`: log z of unlabelled rows, and of others."""
    t, x, u, _, own = doubles(task)
    c, given, w = len(t), np.eye(len(t))[own], slow_graph(task, k)
    first = np.array([[log(one + 1e-12) for one in slow_softmax(slow_text(task, row))] for row in u])
    z = np.exp(first)
    everyone, classes = np.concatenate([u, x]), range(c)
    if gamma is not None:
        means = np.array([unit(u[np.argsort(-z[:, b], kind="stable")[:8]].mean(axis=0)) for b in classes])
        for b in set(own.tolist()):
            means[b] = unit(x[own == b].mean(axis=0))
        variance = np.full((c, 6), 1 / 6)
        mass = np.array([1 / len(u)] * len(u) + [50 * gamma / len(x)] * len(x))
    else:
        means = t
        start = sum(z[i, b] * (u[i] - t[b]) ** 2 for i in range(len(u)) for b in classes) / len(u)
        variance = np.tile(start, (c, 1))

    def density(row):
        return [-((row - means[b]) ** 2 / variance[b]).sum() / 100 for b in classes]

    def round_of():
        return slow_assign(lam * first + np.array([density(row) for row in u]), w, z, given)

    for _ in range(10):
        z = round_of()
        every = np.concatenate([z, given])
        if gamma is not None:
            means = np.array(
                [unit(sum(mass[i] * every[i, b] * everyone[i] for i in range(len(every)))) for b in classes]
            )
            total = sum(
                mass[i] * every[i, b] * (everyone[i] - means[b]) ** 2 for i in range(len(every)) for b in classes
            )
            variance = np.tile(total / (mass.sum()), (c, 1))
            continue
        n = every.sum(axis=0)
        share = n / (alpha + n)
        means = np.array([unit(share[b] * unit(every[:, b] @ everyone) + (1 - share[b]) * t[b]) for b in classes])
        own_spread = [every[:, b] @ (everyone - means[b]) ** 2 / n[b] for b in classes]
        variance = np.array(
            [share[b] * own_spread[b] + (1 - share[b]) * (start + (t[b] - means[b]) ** 2) for b in classes]
        )
    z = round_of()
    every = np.concatenate([z, given])
    others = []
    for row in asked.astype(np.float64):
        logits = lam * np.log(slow_softmax(slow_text(task, row)) + 1e-12) + density(row)
        for j, cosine in slow_neighbours(row, everyone, k):
            logits = logits + cosine / k * every[j]
        others.append(np.log(slow_softmax(list(logits)) + 1e-12))
    return np.log(z + 1e-12), others


def slow_zlap(task, asked, k, gamma, decay):
    t, x, u, _, own = doubles(task)
    rows, c = np.concatenate([u, x]), len(t)
    n = len(rows)
    S = np.zeros((c + n, c + n))
    for i in range(n):
        for j, cosine in slow_neighbours(rows[i], rows, k, skip=i):
            S[c + i, c + j] += cosine**gamma
        for j, cosine in slow_neighbours(rows[i], t, k):
            S[c + i, j] += cosine**gamma
    S = (S + S.T) / 2
    D = np.diag(1 / np.sqrt(np.maximum(S.sum(axis=1), 1e-12)))
    L = np.concatenate([np.eye(c), np.zeros((len(u), c)), np.eye(c)[own]])
    z = np.linalg.inv(np.eye(c + n) - decay * D @ S @ D) @ L
    others = []
    for row in asked.astype(np.float64):
        total = np.zeros(c)
        for nodes, values in ((rows, z[c:]), (t, z[:c])):
            for j, cosine in slow_neighbours(row, nodes, k):
                total += cosine**gamma * values[j]
        others.append(np.log(total + 1e-12))
    return np.log(z[c : c + len(u)] + 1e-12), others


def test_tip_adapter_gda_and_proker_equal_their_slow_twins(task, asked):
    tip = adapters.TipAdapter(alpha=2.0, beta=3.0)._answer(task)(asked)
    assert_close(tip, slow_tip(task, asked, 2.0, 3.0), SUMS.single)
    with pytest.raises(AssertionError):  # another sharpness
        assert_close(tip, slow_tip(task, asked, 2.0, 3.1), SUMS.single)
    gda = adapters.GDA(alpha=0.3)
    assert_close(gda._answer(task)(asked), slow_gda(task, asked, 0.3), SOLUTION.single)
    # More examples than columns: the other system.
    many = replace(task, x=np.concatenate([task.x, task.unlabelled]), own=np.array([0, 1, 2, 0, 1, 2, *(0, 1, 2) * 3]))
    assert_close(gda._answer(many)(asked), slow_gda(many, asked, 0.3), SOLUTION.single)
    with pytest.raises(AssertionError):  # the mean of other classes
        assert_close(gda._answer(task)(asked), slow_gda(replace(task, own=task.own[::-1]), asked, 0.3), SOLUTION.single)
    proker = adapters.ProKeR(beta=0.7, lam=0.2)._answer(task)(asked)
    assert_close(proker, slow_proker(task, asked, 0.7, 0.2), SOLUTION.single)
    with pytest.raises(AssertionError):
        assert_close(proker, slow_proker(task, asked, 0.7, 0.3), SOLUTION.single)


def test_clap_descends_the_loss_that_it_names(task, asked):
    found = adapters.CLAP(learning_rate=0.05, steps=4)._answer(task)(asked)
    assert_close(found, slow_clap(task, asked, 0.05, 4), SOLUTION.single)
    with pytest.raises(AssertionError):  # a step more
        assert_close(found, slow_clap(task, asked, 0.05, 5), SOLUTION.single)


def test_mixtures_equal_their_slow_twins(task, asked):
    for model, settings in (
        (adapters.TransCLIP(lam=0.8, neighbours=2, gamma=0.1), {"lam": 0.4, "gamma": 0.1}),
        (adapters.StatA(alpha=2.0, neighbours=2), {"lam": 1.0, "alpha": 2.0}),
    ):
        answer = model._answer(task)
        known, others = slow_mixture(task, asked, 2, **settings)
        assert_close(answer(task.unlabelled), known, SOLUTION.single)
        assert_close(answer(asked), others, SOLUTION.single)
        with pytest.raises(AssertionError):  # other neighbours
            assert_close(answer(asked), slow_mixture(task, asked, 3, **settings)[1], SOLUTION.single)


def test_labels_spread_as_the_inverse_says(task, asked):
    answer = adapters.ZLaP(k=2, gamma=3.0, decay=0.5)._answer(task)
    known, others = slow_zlap(task, asked, 2, 3.0, 0.5)
    assert_close(answer(task.unlabelled), known, SOLUTION.single)
    assert_close(answer(asked), others, SOLUTION.single)
    with pytest.raises(AssertionError):
        assert_close(answer(asked), slow_zlap(task, asked, 2, 3.0, 0.51)[1], SOLUTION.single)


def test_logistic_regression_is_at_the_least_of_its_loss(task, asked):
    """The gradient of −C Σ log p + ½ ‖W‖² is 0 where descriptions are rows too."""
    t, x, _, _, own = doubles(task)
    X, y = np.concatenate([x, t]), np.concatenate([own, np.arange(4)])
    probe = np.concatenate([np.eye(6), np.zeros((1, 6))]).astype(np.float32)  # reads off W and the constants
    logits = adapters.Logistic(C=2.0)._answer(task)(probe).astype(np.float64)
    # log p = xW + b − log Σ; only differences between classes are known, and W sums up to 0 over them.
    centred = logits - logits.mean(axis=1, keepdims=True)
    b, W = centred[6], centred[:6] - centred[6]
    p = np.array([slow_softmax(list(one)) for one in X @ W + b])
    slope = 2.0 * X.T @ (p - np.eye(4)[y]) + W
    assert np.abs(slope).max() < 1e-2 * np.abs(2.0 * X.T @ np.eye(4)[y]).max()
    assert np.abs(slope + W).max() > 1e-2 * np.abs(2.0 * X.T @ np.eye(4)[y]).max()  # another ridge


@each
def test_without_examples_and_rows_the_descriptions_answer(name, task, asked):
    nothing = replace(task, x=task.x[:0], own=task.own[:0], unlabelled=task.unlabelled[:0])
    found = ADAPTERS[name]()._answer(nothing)(asked)
    assert_close(found, [slow_text(task, row) for row in asked.astype(np.float64)], SUMS.single)


# What all promise


@pytest.fixture(scope="module")
def data():
    return datasets.make_synthetic(
        n_seen=12, n_unseen=4, samples_per_class=12, n_features=16, n_attributes=8, noise=0.4
    )


@pytest.fixture(scope="module")
def shared():
    """X, y and a table of one encoder: rows lie around the descriptions."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(12, 24)) + 0.3, index=[f"class {k:02}" for k in range(12)])
    y = np.repeat(table.index.to_numpy(), 8)
    return (table.loc[y].to_numpy() + 1.2 * rng.normal(size=(96, 24))).astype(np.float32), y, table


QUICK = {"clap": {"steps": 20}}


def make(name, **settings):
    return methods.build(name, {**QUICK.get(name, {}), **settings})


def taught(model, data, shots=3):
    rows = protocols.draw_examples(data, shots, 0)
    return model.add_examples(data.X[rows], data.y[rows])


@each
def test_examples_and_unlabelled_rows_help(name, data):
    model = make(name).fit(*data.samples("trainval"), data.signatures)
    plain = protocols.zsl(model, data).accuracy
    means = zskl.ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    assert model.space_ == "learned"
    assert plain == pytest.approx(protocols.zsl(means, data).accuracy)  # whose scores it starts from
    later = protocols.zsl(model, data, shots=3).accuracy
    assert later > plain - 0.01
    if name in TRANSDUCTIVE:
        assert protocols.zsl(model, data, unlabelled="unseen").accuracy > plain - 0.05
        assert 0 < protocols.gzsl(model, data, unlabelled="all").harmonic <= 1
    else:
        with pytest.raises(ValueError, match="cannot adapt to unlabelled rows"):
            protocols.zsl(model, data, unlabelled="unseen")


@each
def test_in_a_shared_space_descriptions_are_plain_cosine(name, shared):
    X, y, table = shared
    model = make(name).fit(X[:64], y[:64], table)
    assert model.space_ == "shared"
    cosines = 100 * unit(X[64:].astype(np.float64)) @ unit(table.to_numpy()).T
    assert_close(model.compatibility(X[64:]), cosines, SUMS.single)
    alone = make(name).fit(X[:0], [], table)  # no rows at all
    assert_close(alone.compatibility(X), model.compatibility(X), SUMS.single)
    learned = make(name, space="learned").fit(X[:64], y[:64], table)
    assert learned.space_ == "learned"
    several = make(name, space="shared").fit(
        X[:64], y[:64], pd.concat([table, -table])
    )  # the better description counts
    assert_close(several.compatibility(X[64:]), np.abs(cosines), SUMS.single)


@each
def test_a_model_file_gives_the_same_answers(name, data, tmp_path):
    model = taught(make(name).fit(*data.samples("trainval"), data.signatures), data)
    model.practice_ = {"examples": {"3": {"settings": {"scale": 50.0}}}, "unlabelled": None}
    if name in TRANSDUCTIVE:
        model = model.adapt(data.X[data.parts["test_unseen"]])
        assert model.adaptation_["rows"] == len(data.parts["test_unseen"])
    model = model.add_examples(data.X[:2], ["yeti", "yeti"])  # known by examples alone
    model.save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.compatibility(data.X), model.compatibility(data.X))
    loaded.save(tmp_path / "b.zskl")
    assert (tmp_path / "a.zskl").read_bytes() == (tmp_path / "b.zskl").read_bytes()


@each
def test_teaching_leaves_the_model_as_it_was_and_refuses_bad_input(name, data, caplog):
    model = make(name).fit(*data.samples("trainval"), data.signatures)
    before = model.compatibility(data.X)
    after = taught(model, data)
    np.testing.assert_array_equal(model.compatibility(data.X), before)
    assert not np.array_equal(after.compatibility(data.X), before)
    np.testing.assert_array_equal(after.remove_examples().compatibility(data.X), before)
    again = after.add_examples(data.X[:1], ["yeti"]).remove_examples(data.X[:1], ["yeti"])
    assert again.classes_.tolist() == after.classes_.tolist()
    label = data.unseen_classes[0]
    with pytest.raises(ValueError, match="one label for each row"):
        model.add_examples(data.X[:3], [label])
    same = model.add_examples(data.X[:3], [label] * 3, wrong=True)
    np.testing.assert_array_equal(same.compatibility(data.X), before)
    assert "3 wrong ones are left out" in caplog.text
    for setting in ("scale", "space", "shrinkage", *type(model).TRIED):
        with pytest.raises(ValueError, match=f"{setting} is 'nonsense': expected"):
            make(name, **{setting: "nonsense"}).fit(*data.samples("trainval"), data.signatures)
    if name in TRANSDUCTIVE:
        with pytest.raises(ValueError, match=r"balance is 1: .* has no such setting"):
            model.adapt(data.X, balance=1)


@each
def test_validation_classes_choose_settings_by_the_number_of_examples(name, data):
    X, y = data.samples("trainval")
    model = make(name).fit(X, y, data.signatures)
    selection.calibrate(model, X, y, data.signatures, folds=2, engine=None)
    practice = model.practice_
    found = [practice["unlabelled"]] if name in TRANSDUCTIVE else [practice["examples"][k] for k in "124"]
    for entry in found:
        assert entry["zsl"] >= entry["default"]
        assert set(entry["settings"]) == set(type(model).TRIED)
    # They are in use: the answers are those of a model that has them as its own.
    rows, own = data.X[data.parts["test_unseen"]], make(name, **found[0]["settings"]).fit(X, y, data.signatures)
    if name in TRANSDUCTIVE:
        model, own = model.adapt(rows), own.adapt(rows)
    pair = [taught(one, data, 1).compatibility(rows, candidates=data.unseen_classes) for one in (model, own)]
    assert_close(*pair, SUMS.single)


def test_records_hold_what_examples_and_rows_brought(data):
    for name in ("gda", "transclip"):
        unlabelled = ("unseen", "all") if name in TRANSDUCTIVE else ()
        record = Unit(name, 0, shots=(1, 2), unlabelled=unlabelled, calibrate=True).run(data)
        assert [one.shots for one in record.taught] == [1, 2]
        assert all(one.zsl.accuracy > 0.25 for one in record.taught)
        assert len(record.adapted or ()) == len(unlabelled)
    with pytest.raises(ValueError, match="method 'gda' cannot adapt to unlabelled rows: expected one of class-means,"):
        Unit("gda", 0, unlabelled=("unseen",))


def test_tensors(data):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: tensors")
    model = taught(make("tip-adapter").fit(*data.samples("trainval"), data.signatures), data)
    found = model.compatibility(torch.from_numpy(data.X.copy()))
    assert isinstance(found, torch.Tensor)
    assert_close(found.numpy(), model.compatibility(data.X), SUMS.single)


@pytest.mark.filterwarnings("ignore::zskl.estimators.base.UncalibratedWarning")
@parametrize_with_checks([adapters.TipAdapter(), adapters.TransCLIP()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@each
def test_a_name_is_a_method(name):
    assert methods.METHODS[name].estimator is ADAPTERS[name]
    assert ADAPTERS[name].__name__ in adapters.__all__
