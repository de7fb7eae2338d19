"""Scores of class means in a search, as search vectors, and split into the parts of an explanation."""

import gc
import weakref

import numpy as np
import pytest

from taught_models import SORTS, fitted, shared_table, taught
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets, selection
from zskl.estimators import kernel_classifier
from zskl.estimators._candidates import best_row_scores
from zskl.estimators._class_means_scores import CrowdingScores, compute_score_secants
from zskl.estimators.explanation import SCALING

# Searches

GRID = {"crowding": [0.0, 0.2, 0.5], "description_weight": [2.0, 20.0], "shrinkage": [0.1, 0.5]}


@pytest.fixture(scope="module")
def rows():
    data = datasets.load("digits")
    some = data.parts["trainval"][::3]
    return data.X[some], data.y[some], data.signatures


@pytest.mark.parametrize("at_once", [1, kernel_classifier.AT_ONCE])
def test_search_on_tensors_equals_search_on_arrays(rows, at_once, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(kernel_classifier, "AT_ONCE", at_once)
    asked = []
    together = CrowdingScores.best_scores
    monkeypatch.setattr(
        CrowdingScores, "best_scores", lambda self, *rest: [asked.append(len(self.weights)), together(self, *rest)][1]
    )
    X, y, table = rows
    found = selection.search(ClassMeansClassifier(), torch.from_numpy(X), y, table, GRID, 2)
    assert asked == 8 * [3]  # 4 groups of settings on 2 folds, 3 settings each
    expected = selection.search(ClassMeansClassifier(), X, y, table, GRID, 2)
    assert asked == 8 * [3]
    assert found.settings == expected.settings
    rows_of_a_class = min(np.unique(y, return_counts=True)[1])
    for name in ("zsl", "gzsl"):  # another order of sums may move a row that is between two classes
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=2 / rows_of_a_class)
    assert np.ptp(expected.gzsl) > 4 / rows_of_a_class  # settings differ


def test_search_frees_each_fold(rows):
    """Models that point at each other in a circle would keep their decomposition until garbage is collected."""
    X, y, table = rows
    settings = [{"crowding": 0.0}, {"crowding": 0.2}]
    seen = []
    gc.disable()
    try:
        ClassMeansClassifier()._fit_together(settings, X, y, table, lambda _, model: seen.append(weakref.ref(model)))
        assert len(seen) == 2
        assert [one() for one in seen] == [None, None]
    finally:
        gc.enable()


# Search vectors
# Inner products of the maps of class means are their scores.


@pytest.mark.parametrize("sort", SORTS)
def test_inner_products_are_scores(toy, sort):
    model = SORTS[sort](toy)
    X, maps = np.concatenate([toy.X, toy.X_new]), model.ranking_map()
    found = maps.samples(X) @ maps.classes(dtype="float64").T
    assert found.shape[1] == len(maps.labels())
    expected = model.compatibility(X)
    assert_close(best_row_scores(found, model.signature_table_.padded_rows()), expected, SUMS.double)
    quality = maps.quality(X, k=2)
    assert (quality.error < SUMS.double, quality.recall) == (True, 1.0)
    assert maps.samples(X.astype(np.float32)).dtype == maps.classes().dtype == np.float32


def test_calibration_can_be_part_of_the_map(toy):
    model = SORTS["gaussian"](toy)
    model.calibration_ = 0.2
    maps = model.ranking_map()
    scores = maps.samples(toy.X) @ maps.classes(calibrated=True).T
    assert maps.labels()[scores.argmax(axis=1)].tolist() == model.predict(toy.X).tolist()
    told = model.compatibility(toy.X) - 0.2 * np.isin(model.candidates_, model.seen_classes_)
    assert_close(scores, told, SUMS.single)


# Explanations
# Scores of class means split exactly: by attributes or seen classes, and into what rows and crowding add.

EXACT = 1e-9


def slow_parts(model, x, label, row):
    """The parts of score(x, label), obvious and slow: name → value, with a part for each attribute or seen class."""
    table = model.signature_table_
    scaled = model.feature_scaling_.apply(x[None])[0]
    unit_row = (scaled - model.center_) @ model.whitening_.astype(float)
    unit_row = unit_row / np.linalg.norm(unit_row)
    y = model.signature_scaling_.apply(row[None])[0]
    seen = table.select(model.seen_classes_)
    by_class = model.kernel == "gaussian" and model.prior_ != "cosine"
    parts, vectors = {}, {}
    for one, owner, weights in zip(
        model.signature_scaling_.apply(seen.matrix), seen.labels.tolist(), model.regression_.astype(float), strict=True
    ):
        if by_class:
            likeness = np.exp(-((y - one) ** 2).sum() / model.width_)
            vectors[owner] = vectors.get(owner, 0) + likeness * weights
        else:
            for m in range(len(y)):
                vectors[m] = vectors.get(m, 0) + y[m] * one[m] * weights
    if model.prior_ != "zero":
        own = model.feature_scaling_.apply(row[None])[0] - model.signature_center_
        for m in range(len(own)):
            name = "the description itself" if by_class else m
            vectors[name] = vectors.get(name, 0) + model.slope_ * own[m] * model.whitening_[m].astype(float)
    mean = sum(vectors.values())
    known, adapted = label in model.seen_classes_, label in model.adapted_classes_
    examples = [k for k, name in enumerate(model.example_classes_) if name == label]
    given = [k for k in examples if model.example_weights_[k] > 0]
    weight = model.adaptation_["weight"] if adapted else 2.0
    if given and not known and not adapted:
        weight = model._description_worth(len(given)) * slow_certainty(
            model, y, model.signature_scaling_.apply(seen.matrix)
        )
    weight = 0.0 if label in model.undescribed_ else weight
    whole = weight * mean / np.linalg.norm(mean)
    rows = {}
    if known:
        rows["training rows"] = model.class_sums_[model.seen_classes_.tolist().index(label)].astype(float)
    if examples:
        counted = {1.0: 1.0, -1.0: -0.35 / max(1, len(examples) - len(given))}
        rows["examples"] = sum(counted[model.example_weights_[k]] * model.examples_[k].astype(float) for k in examples)
        rows["examples"] = rows["examples"] + model._refined_examples().get(label, 0.0)
    if adapted:
        rows["unlabelled rows"] = model.adapted_sums_[model.adapted_classes_.index(label)].astype(float)
    whole = whole + sum(rows.values())
    length = np.linalg.norm(whole)
    for name, vector in vectors.items():
        parts[name] = unit_row @ vector * weight / np.linalg.norm(mean) / length
    for name, vector in rows.items():
        parts[name] = unit_row @ vector / length
    if model.crowding_:
        near = sorted(kept.astype(float) @ whole / length for kept in model.kept_rows_)
        parts["crowding"] = -model.crowding_ * np.mean(near[-max(1, int(model.crowding_share * len(near))) :])
    return parts


def slow_certainty(model, y, Y):
    """How much surer than at a training class that is left out the process is at y."""

    def k(a, b):
        return a @ b if model.kernel == "linear" else np.exp(-((a - b) ** 2).sum() / model.width_)

    def variance(at, known):
        K = np.array([[k(a, b) for b in known] for a in known]) + model.noise * np.eye(len(known))
        near = np.array([k(at, b) for b in known])
        return k(at, at) - near @ np.linalg.inv(K) @ near

    usual = np.median([variance(Y[i], np.delete(Y, i, axis=0)) for i in range(len(Y))])
    return np.clip(usual / variance(y, Y), 0.2, 5.0)


def chosen_row(model, one, values):
    """The signature of a class that an explanation speaks of."""
    rows = model.signature_table_.select([one]).matrix
    return rows[0] if values is None else next(row for row in rows if np.array_equal(row, values))


@pytest.mark.parametrize("sort", SORTS)
def test_contributions_and_terms_match_slow_sums(toy, sort):
    model = SORTS[sort](toy)
    X = np.concatenate([toy.X[:4], toy.X_new])
    found = model.explain(X)
    labels = model.candidates_.tolist()
    scores = model.compatibility(X)
    for x, row, one in zip(X, scores, found, strict=True):
        assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
        assert one.difference == pytest.approx(row[labels.index(one.label)] - row[labels.index(one.against)], abs=EXACT)
        assert (one.likeness is None) == (model.kernel == "linear" or model.prior_ == "cosine")
        if one.likeness is not None and "several" in sort:
            continue  # which signature is compared shows in values of attributes only
        by_attribute = one.likeness is None
        parts = [
            slow_parts(model, x, label, chosen_row(model, label, values if by_attribute else None))
            for label, values in ((one.label, one.values), (one.against, one.values_against))
        ]
        keys = range(len(one.attributes)) if by_attribute else model.seen_classes_.tolist()
        assert_close(one.contributions, [parts[0][key] - parts[1][key] for key in keys], SUMS.double)
        terms = {name for part in parts for name in part if name not in keys}
        assert set(one.terms) == terms
        for name in terms:
            assert one.terms[name] == pytest.approx(parts[0].get(name, 0) - parts[1].get(name, 0), abs=EXACT)
    names = {name for one in found for name in one.terms}
    assert ("examples" in names, "unlabelled rows" in names) == ("taught" in sort, "adapted" in sort)


def test_values_of_seen_classes_are_similarities(toy):
    model = fitted(toy)
    (one,) = model.explain(toy.X_new[:1], label="cat", against="emu")
    assert one.attributes == ("ant", "cat", "dog")
    assert (one.values[1], one.values_against[1] < 1) == (1.0, True)
    Y = model.signature_scaling_.apply(toy.table.loc[["emu", "ant"]].to_numpy())
    assert one.values_against[0] == pytest.approx(np.exp(-((Y[0] - Y[1]) ** 2).sum() / model.width_))
    unit_row = model._row_directions(model._scale_rows(toy.X_new[:1]))
    assert_close(one.likeness, (unit_row @ model.regression_.astype(float).T)[0], SUMS.double)


def test_printed_explanation(toy):
    one = taught(fitted(toy), toy).explain(toy.X_new[:1], top=2, label="emu", against="cat")[0]
    lines = str(one).split("\n")
    assert lines[0] == f"emu against cat: {one.difference:+.4g}"
    for m, line in zip(one.order, lines[1:3], strict=True):
        word = "like" if one.likeness[m] > 0 else "unlike"
        assert line.split()[:3] == [word, one.attributes[m], f"{one.contributions[m]:+.4g}"]
    assert lines[3] == f"  1 more: {one.rest:+.4g}"
    assert [line.rsplit("  ", 1)[0].strip() for line in lines[4:]] == ["training rows", "examples", "crowding"]
    plain = fitted(toy, shared_table(toy), prior="cosine", crowding=0.0).explain(
        toy.X_new[:1], label="emu", against="bee"
    )
    assert (plain[0].terms, plain[0].offset, "like" in str(plain[0])) == ({}, 0.0, False)


def test_missing_part_is_caught(toy, monkeypatch):
    """The planted fault: examples move the direction, but are not told."""
    model = taught(fitted(toy), toy)
    explainer = type(model)._explainer

    def forgetful(self, table):
        found = explainer(self, table)
        del found._terms["examples"]
        return found

    monkeypatch.setattr(type(model), "_explainer", forgetful)
    (one,) = model.explain(toy.X_new[:1], label="emu", against="bee")
    assert abs(one.contributions.sum() + one.offset - one.difference) > 1e-3


# Explanations along raw attributes
# Class means explained along raw attributes, with either kernel; and classes that nobody has described.


def slow_raw_parts(model, x, one):
    """What each attribute adds with the Gaussian kernel: a loop over seen classes and one over attributes."""
    scaled = model.feature_scaling_.apply(x[None])[0]
    unit_row = (scaled - model.center_) @ model.whitening_.astype(float)
    unit_row = unit_row / np.linalg.norm(unit_row)
    mean = model.signature_scaling_.mean
    first, second = one.values - mean, one.values_against - mean
    lengths = np.linalg.norm(first), np.linalg.norm(second)
    a, b = first / lengths[0], second / lengths[1]
    seen = model.signature_scaling_.apply(model.signature_table_.select(model.seen_classes_).matrix)
    factors = []
    for y, label in ((a, one.label), (b, one.against)):
        likeness = [np.exp(-np.sum((y - other) ** 2) / model.width_) for other in seen]
        m = np.array(likeness) @ model.regression_.astype(float)
        rows = 0.0
        if label in model.seen_classes_:
            rows = model.class_sums_[model.seen_classes_.tolist().index(label)].astype(float)
        factors.append(2.0 / np.linalg.norm(m) / np.linalg.norm(2.0 * m / np.linalg.norm(m) + rows))
    found = np.zeros(len(a))
    for other, weights in zip(seen, model.regression_.astype(float), strict=True):
        s, t = (np.sum((y - other) ** 2) for y in (a, b))
        secant = (np.exp(-s / model.width_) - np.exp(-t / model.width_)) / (s - t)
        for m in range(len(a)):
            difference = (1 / lengths[0] + 1 / lengths[1]) / 2 * (one.values[m] - one.values_against[m])
            found[m] += np.mean(factors) * (unit_row @ weights) * secant * (a[m] + b[m] - 2 * other[m]) * difference
    return found


@pytest.mark.parametrize("sort", SORTS)
def test_raw_parts_and_terms_add_up(toy, sort):
    model = SORTS[sort](toy)
    X = np.concatenate([toy.X[:4], toy.X_new])
    plain = model.explain(X)
    for one, other in zip(model.explain(X, raw=True), plain, strict=True):
        assert (one.label, one.against, one.difference) == (other.label, other.against, other.difference)
        assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
        assert one.likeness is None
        assert len(one.contributions) == model.signature_table_.matrix.shape[1]
        kept = {name: value for name, value in one.terms.items() if name != SCALING}
        assert kept == {name: value for name, value in other.terms.items() if name != "the description itself"}
    if sort == "linear":  # the centred part of an attribute is what the two explanations differ by
        assert any(np.abs(one.contributions - other.contributions).max() > 1e-3
                   for one, other in zip(model.explain(X, raw=True), plain, strict=True))  # fmt: skip


def test_gaussian_kernel_is_explained_by_attributes(toy):
    model = fitted(toy)
    for x, one in zip(toy.X_new, model.explain(toy.X_new, raw=True), strict=True):
        assert one.attributes == tuple(toy.table.columns)
        assert_close(one.contributions, slow_raw_parts(model, x, one), 64 * SUMS.double)
    table = toy.table.copy()
    table.iloc[:, :2] = table.iloc[:, :2].round()
    agreed = fitted(toy, table).explain(toy.X, raw=True, top=99)
    assert any((one.values == one.values_against).any() for one in agreed)
    for one in agreed:
        np.testing.assert_array_equal(one.contributions[one.values == one.values_against], 0.0)


def test_secants_between_equal_and_distant_numbers():
    s, t = np.array([1.0, 1.0, 0.0, 3.0, 0.0]), np.array([1.0, 1.0 + 1e-9, 2.0, 1.0, 800.0])
    found = compute_score_secants(s, t)
    assert_close(found[:2], -np.exp(-s[:2]), 1e-8)
    assert_close(found[2:], (np.exp(-s[2:]) - np.exp(-t[2:])) / (s[2:] - t[2:]), SUMS.double)


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_undescribed_class_has_no_values(toy, raw, kernel):
    """What stood there was the mean of the seen classes, which nobody wrote."""
    model = taught(fitted(toy, kernel=kernel), toy)
    (one,) = model.explain(toy.X[:1], label="cat", against="fox", raw=raw)
    assert np.isnan(one.values_against).all()
    assert np.isfinite(one.values).all()
    assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
    told = one.record()["attributes"]
    if raw:  # there are no two descriptions to compare
        assert (one.top, told) == ([], [])
        assert f"{SCALING}  {one.terms[SCALING]:+.4g}" in str(one)
    else:
        assert "against no description)" in str(one)
        assert {part["value_against"] for part in told} == {None}
