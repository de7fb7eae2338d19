"""Scores of class means in a search, as search vectors, and split into the parts of an explanation."""

import copy
import gc
import weakref

import numpy as np
import pytest

from slow_walk import WALKED, ask, walk, walk_descriptions
from taught_models import SORTS, fitted, shared_table, taught
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets, selection
from zskl.estimators import kernel_classifier
from zskl.estimators._candidates import best_row_scores
from zskl.estimators._class_means_scores import DESCRIPTION, CrowdingScores

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


def slow_row(model, x):
    scaled = model.feature_scaling_.apply(x[None])[0]
    unit_row = (scaled - model.center_) @ model.whitening_.astype(float)
    return unit_row / np.linalg.norm(unit_row)


def slow_mean(model, y, own):
    """m of a scaled signature, and of what the prior expects: (y as a feature) − centre, or None."""
    seen = model.signature_scaling_.apply(model.signature_table_.select(model.seen_classes_).matrix)
    mean = np.zeros(len(model.center_))
    if model.prior_ != "cosine":
        for one, weights in zip(seen, model.regression_.astype(float), strict=True):
            near = y @ one if model.kernel == "linear" else np.exp(-((y - one) ** 2).sum() / model.width_)
            mean += near * weights
    return mean if own is None else mean + model.slope_ * own @ model.whitening_.astype(float)


def slow_own(model, row):
    return None if model.prior_ == "zero" else model.feature_scaling_.apply(row[None])[0] - model.signature_center_


def slow_terms(model, x, label, row):
    """What each source of rows adds to score(x, label) beyond the description, and crowding, obvious and slow."""
    unit_row, y = slow_row(model, x), model.signature_scaling_.apply(row[None])[0]
    seen = model.signature_table_.select(model.seen_classes_)
    mean = slow_mean(model, y, slow_own(model, row))
    described = mean / np.linalg.norm(mean)
    known, adapted = label in model.seen_classes_, label in model.adapted_classes_
    examples = [k for k, name in enumerate(model.example_classes_) if name == label]
    given = [k for k in examples if model.example_weights_[k] > 0]
    weight = model.adaptation_["weight"] if adapted else 2.0
    if given and not known:
        weight = model._description_worth(len(given)) * slow_certainty(
            model, y, model.signature_scaling_.apply(seen.matrix)
        )
    if label in model.undescribed_ or not weight:
        weight, described = 0.0, np.zeros_like(described)
    rows = {}
    if known:
        rows["training rows"] = model.class_sums_[model.seen_classes_.tolist().index(label)].astype(float)
    if examples:
        counted = {1.0: 1.0, -1.0: -0.35 / max(1, len(examples) - len(given))}
        rows["examples"] = sum(counted[model.example_weights_[k]] * model.examples_[k].astype(float) for k in examples)
        rows["examples"] = rows["examples"] + model._refined_examples().get(label, 0.0)
    if adapted:
        rows["unlabelled rows"] = model.adapted_sums_[model.adapted_classes_.index(label)].astype(float)
    whole = weight * described + sum(rows.values())
    length = np.linalg.norm(whole)
    spare = 1 - weight / length
    sizes = {name: np.linalg.norm(vector) for name, vector in rows.items()}
    parts = {
        name: unit_row @ vector / length - spare * sizes[name] / sum(sizes.values()) * (unit_row @ described)
        for name, vector in rows.items()
    }
    parts[DESCRIPTION] = unit_row @ described
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


def without_rows(model):
    """The model as it scores classes that it has only read about."""
    found = copy.copy(model)
    found.crowding_ = 0.0
    return found


@pytest.mark.parametrize("by", ["attributes", "scaled", "classes"])
@pytest.mark.parametrize("sort", SORTS)
def test_contributions_and_terms_add_up(toy, sort, by):
    model = SORTS[sort](toy)
    if by == "classes" and model.prior_ == "cosine":
        with pytest.raises(ValueError, match=r"^by is 'classes': ClassMeansClassifier does not compare"):
            model.explain(toy.X, by=by)
        return
    X = np.concatenate([toy.X[:4], toy.X_new])
    labels, scores = model.candidates_.tolist(), model.compatibility(X)
    names = set()
    for row, one in zip(scores, model.explain(X, by=by), strict=True):
        assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
        assert one.difference == pytest.approx(row[labels.index(one.label)] - row[labels.index(one.against)], abs=EXACT)
        assert (one.likeness is not None) == (by == "classes")
        assert one.by == by
        for source in {part.source for part in one.evidence}:
            mine = sum(part.adds for part in one.evidence if part.source == source)
            assert mine == pytest.approx(one.terms[source], abs=EXACT)
        names |= set(one.terms)
    assert ("examples" in names, "unlabelled rows" in names) == ("taught" in sort, "adapted" in sort)


# Of blocks, tests/estimators/test_blocks.py has slow twins of their own.
@pytest.mark.parametrize("sort", [sort for sort in SORTS if "blocks" not in sort])
def test_parts_of_attributes_match_a_slow_walk(toy, sort):
    model = SORTS[sort](toy)
    for x, one in zip(toy.X_new[:3], model.explain(toy.X_new[:3], by="attributes"), strict=True):
        rows = [one.values, one.values_against]
        if DESCRIPTION in one.terms:  # the other one counts for nothing beside examples
            np.testing.assert_array_equal(one.contributions, 0.0)
        else:
            walked = walk_descriptions(model, one, ask(without_rows(model), x))
            assert np.abs(one.contributions - walked).max() <= WALKED * np.abs(walked).max()
        terms = [slow_terms(model, x, *pair) for pair in zip((one.label, one.against), rows, strict=True)]
        for name, value in one.terms.items():
            assert value == pytest.approx(terms[0].get(name, 0) - terms[1].get(name, 0), abs=EXACT)


@pytest.mark.parametrize(
    "sort",
    [
        sort
        for sort in SORTS
        if sort != "cosine" and not {"several", "taught", "blocks"} & {*sort.replace(",", "").split()}
    ],
)
def test_parts_of_scaled_attributes_and_of_classes_match_a_slow_walk(toy, sort):
    model = SORTS[sort](toy)
    x, seen = toy.X_new[0], model.signature_table_.select(model.seen_classes_).matrix
    unit_row, seen = slow_row(model, x), model.signature_scaling_.apply(seen)
    regression, whiten = model.regression_.astype(float), model.whitening_.astype(float)
    (one,) = model.explain(x[None], label="emu", against="ant", by="scaled")
    (other,) = model.explain(x[None], label="emu", against="ant", by="classes")
    rows = [one.values, one.values_against]
    y, own = (
        [scale(model, row) for row in rows] for scale in (lambda m, r: m.signature_scaling_.apply(r[None])[0], slow_own)
    )
    p = len(y[0])

    def cosine(mean):
        return mean @ unit_row / np.linalg.norm(mean, axis=1)

    def score(points):  # y, and beside it y° where there is one
        return cosine(
            np.stack([slow_mean(model, point[:p], point[p:] if len(point) > p else None) for point in points])
        )

    def score_by_class(points):
        mean = points[:, : len(seen)] @ regression
        return cosine(mean if points.shape[1] == len(seen) else mean + model.slope_ * points[:, len(seen) :] @ whiten)

    def near(row):
        return seen @ row if model.kernel == "linear" else np.exp(-((seen - row) ** 2).sum(axis=1) / model.width_)

    ends = [np.concatenate([each, *([] if mine is None else [mine])]) for each, mine in zip(y, own, strict=True)]
    walked = walk(*ends, score).reshape(-1, p).sum(axis=0)
    assert np.abs(one.contributions - walked).max() <= WALKED * np.abs(walked).max()
    ends = [np.concatenate([near(each), *([] if mine is None else [mine])]) for each, mine in zip(y, own, strict=True)]
    walked = walk(*ends, score_by_class)
    assert np.abs(other.contributions - walked[: len(seen)]).max() <= WALKED * np.abs(walked).max()
    assert other.terms.get("the description itself", 0.0) == pytest.approx(
        walked[len(seen) :].sum(), rel=1e-3, abs=1e-9
    )


def test_attributes_in_which_classes_agree_add_nothing(toy):
    table = toy.table.copy()
    table.iloc[:, :2] = table.iloc[:, :2].round()
    agreed = fitted(toy, table).explain(toy.X, top=99)
    assert any((one.values == one.values_against).any() for one in agreed)
    for one in agreed:
        np.testing.assert_array_equal(one.contributions[one.values == one.values_against], 0.0)


def test_columns_without_names_fall_back_to_classes(toy):
    vectors = toy.table.set_axis([f"w{k}" for k in range(4)], axis=1)
    (one,) = fitted(toy, vectors).explain(toy.X_new[:1])
    assert (one.by, one.attributes) == ("classes", ("ant", "cat", "dog"))
    assert "the columns of the descriptions have no names, so training classes stand for them" in str(one)
    (other,) = fitted(toy, vectors).explain(toy.X_new[:1], by="attributes")
    assert (other.by, other.note, other.attributes[0]) == ("attributes", "", "w0")
    (plain,) = fitted(toy).explain(toy.X_new[:1])
    assert (plain.by, plain.note, plain.attributes) == ("attributes", "", tuple(toy.table.columns))


def test_which_rows_count_is_said(toy):
    model = taught(fitted(toy), toy)
    (one,) = model.explain(toy.X_new[:1], label="emu", against="cat")
    told = {(part.label, part.source): part for part in one.evidence}
    assert told.keys() == {("emu", "examples"), ("cat", "examples"), ("cat", "training rows")}
    assert told["cat", "training rows"].rows == (toy.y == "cat").sum() == 12
    mine = [k for k, label in enumerate(model.example_classes_) if label == "emu"]
    assert told["emu", "examples"].rows == len(mine)
    adds = dict(told["emu", "examples"].examples)
    assert adds.keys() <= set(range(1, len(mine) + 1))
    unit_row, counted = slow_row(model, toy.X_new[0]), model._weigh_examples()
    near = [counted[k] * model.examples_[k].astype(float) @ unit_row for k in mine]
    assert max(adds, key=adds.get) == int(np.argmax(near)) + 1
    assert "12 training rows of cat" in str(one)


def test_values_of_seen_classes_are_similarities(toy):
    model = fitted(toy)
    (one,) = model.explain(toy.X_new[:1], label="cat", against="emu", by="classes")
    assert one.attributes == ("ant", "cat", "dog")
    assert (one.values[1], one.values_against[1] < 1) == (1.0, True)
    Y = model.signature_scaling_.apply(toy.table.loc[["emu", "ant"]].to_numpy())
    assert one.values_against[0] == pytest.approx(np.exp(-((Y[0] - Y[1]) ** 2).sum() / model.width_))
    unit_row = model._row_directions(model._scale_rows(toy.X_new[:1]))
    assert_close(one.likeness, (unit_row @ model.regression_.astype(float).T)[0], SUMS.double)


def test_printed_explanation(toy):
    one = taught(fitted(toy), toy).explain(toy.X_new[:1], top=2, label="emu", against="cat", by="classes")[0]
    title, *lines = str(one).split("\n")
    assert title.startswith("emu rather than cat: ")
    for m in one.order:
        word = "like" if one.likeness[m] > 0 else "unlike"
        head = "for it" if one.contributions[m] > 0 else "against it"
        assert any(line.strip().startswith(head) and f"{word} {one.attributes[m]} " in line for line in lines)
    assert lines[-1].strip().startswith("everything else")
    plain = fitted(toy, shared_table(toy), prior="cosine", crowding=0.0).explain(
        toy.X_new[:1], label="emu", against="bee"
    )
    assert (plain[0].terms, plain[0].offset, "like" in str(plain[0])) == ({}, 0.0, False)


def test_missing_part_is_caught(toy, monkeypatch):
    """The planted fault: examples move the direction, but are not told."""
    model = taught(fitted(toy), toy)
    explainer = type(model)._explainer

    def forgetful(self, *given):
        found = explainer(self, *given)
        del found._sources["examples"]
        return found

    monkeypatch.setattr(type(model), "_explainer", forgetful)
    (one,) = model.explain(toy.X_new[:1], label="emu", against="bee")
    assert abs(one.contributions.sum() + one.offset - one.difference) > 1e-3


@pytest.mark.parametrize("by", ["attributes", "classes"])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_undescribed_class_has_no_values(toy, by, kernel):
    """What stood there was the mean of the seen classes, which nobody wrote."""
    model = taught(fitted(toy, kernel=kernel), toy)
    (one,) = model.explain(toy.X[:1], label="cat", against="fox", by=by)
    assert np.isnan(one.values_against).all()
    assert np.isfinite(one.values).all()
    assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
    assert (one.top, one.record()["attributes"]) == ([], [])  # there are no two descriptions to compare
    assert one.terms[DESCRIPTION] == pytest.approx(
        ask(without_rows(model), toy.X[0])(toy.table.loc[["cat"]].to_numpy())[0]
    )
    assert DESCRIPTION in str(one)
