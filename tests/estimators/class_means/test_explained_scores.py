"""Scores of class means split exactly: by attributes or seen classes, and into what rows and crowding add."""

import numpy as np
import pytest

from means_models import SORTS, fitted, shared_table, taught
from tolerances import SUMS, assert_close

EXACT = 1e-9


def slow_parts(model, x, label, row):
    """The parts of score(x, label), obvious and slow: name → value, with a part for each attribute or seen class."""
    table = model.signature_table_
    scaled = model.feature_scaling_.apply(x[None])[0]
    hat = (scaled - model.center_) @ model.whitening_.astype(float)
    hat = hat / np.linalg.norm(hat)
    y = model.signature_scaling_.apply(row[None])[0]
    seen = table.select(model.classes_)
    by_class = model.kernel == "gaussian" and model.prior != "cosine"
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
    if model.prior != "zero":
        own = model.feature_scaling_.apply(row[None])[0] - model.signature_center_
        for m in range(len(own)):
            name = "the description itself" if by_class else m
            vectors[name] = vectors.get(name, 0) + model.slope_ * own[m] * model.whitening_[m].astype(float)
    mean = sum(vectors.values())
    known, adapted = label in model.classes_, label in model.adapted_classes_
    examples = [k for k, name in enumerate(model.example_classes_) if name == label]
    given = [k for k in examples if model.example_weights_[k] > 0]
    weight = model.adaptation_["weight"] if adapted else 2.0
    if given and not known and not adapted:
        weight *= slow_firmness(model, y, model.signature_scaling_.apply(seen.matrix))
    weight = 0.0 if label in model.undescribed_ else weight
    whole = weight * mean / np.linalg.norm(mean)
    rows = {}
    if known:
        rows["training rows"] = model.class_sums_[model.classes_.tolist().index(label)].astype(float)
    if examples:
        counted = {1.0: 1.0, -1.0: -0.35 / max(1, len(examples) - len(given))}
        rows["examples"] = sum(counted[model.example_weights_[k]] * model.examples_[k].astype(float) for k in examples)
    if adapted:
        rows["unlabelled rows"] = model.adapted_sums_[model.adapted_classes_.index(label)].astype(float)
    whole = whole + sum(rows.values())
    length = np.linalg.norm(whole)
    for name, vector in vectors.items():
        parts[name] = hat @ vector * weight / np.linalg.norm(mean) / length
    for name, vector in rows.items():
        parts[name] = hat @ vector / length
    if model.crowding_:
        near = sorted(kept.astype(float) @ whole / length for kept in model.kept_rows_)
        parts["crowding"] = -model.crowding_ * np.mean(near[-max(1, int(model.crowding_share * len(near))) :])
    return parts


def slow_firmness(model, y, Y):
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
def test_contributions_and_terms_are_those_of_slow_sums(toy, sort):
    model = SORTS[sort](toy)
    X = np.concatenate([toy.X[:4], toy.X_new])
    found = model.explain(X)
    labels = model.candidates_.tolist()
    scores = model.compatibility(X)
    for x, row, one in zip(X, scores, found, strict=True):
        assert abs(one.contributions.sum() + one.offset - one.difference) <= EXACT
        assert one.difference == pytest.approx(row[labels.index(one.label)] - row[labels.index(one.against)], abs=EXACT)
        assert (one.likeness is None) == (model.kernel == "linear" or model.prior == "cosine")
        if one.likeness is not None and "several" in sort:
            continue  # which signature is compared shows in values of attributes only
        by_attribute = one.likeness is None
        parts = [
            slow_parts(model, x, label, chosen_row(model, label, values if by_attribute else None))
            for label, values in ((one.label, one.values), (one.against, one.values_against))
        ]
        keys = range(len(one.attributes)) if by_attribute else model.classes_.tolist()
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
    hat = model._hat(model._scaled(toy.X_new[:1]))
    assert_close(one.likeness, (hat @ model.regression_.astype(float).T)[0], SUMS.double)


def test_what_is_printed(toy):
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


def test_a_part_that_is_forgotten_is_caught(toy, monkeypatch):
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
