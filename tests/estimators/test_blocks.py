"""Blocks of features and several class tables, against the textbook; and all that class means do, with blocks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import zskl
from tolerances import SOLUTION, assert_close
from zskl import ClassMeansClassifier, Committee, selection
from zskl._arrays import to_numpy
from zskl.estimators._blocks import Blocks, read_blocks

WIDTHS = {"eye": 5, "ear": 3}
TABLES = {"look": 4, "sound": 2}
NAMES = [f"c{number:02d}" for number in range(14)]
SEEN = NAMES[:10]
HALF = 2.0**-9  # kept rows, and rows in half precision, are rounded by 2⁻¹¹; the sum of several such


@pytest.fixture(scope="module")
def problem():
    """Ten seen classes and four others; the second block of rows is on another scale, and half of it is noise."""
    rng = np.random.default_rng(5)
    eye, ear = rng.normal(size=(14, 5)), rng.normal(size=(14, 3))
    table = np.concatenate([eye[:, :4], ear[:, :2]], axis=1) + 0.3 * rng.normal(size=(14, 6))
    own = np.repeat(np.arange(14), 8)
    rows = np.concatenate(
        [eye[own] + 0.5 * rng.normal(size=(112, 5)), 300 * (ear[own] + rng.normal(size=(112, 3)))], axis=1
    )
    seen = own < 10
    return (
        rows[seen],
        np.array(NAMES)[own[seen]],
        pd.DataFrame(table, index=NAMES),
        rows[~seen],
        np.array(NAMES)[own[~seen]],
    )


def unit(vector):
    length = np.sqrt((vector * vector).sum())
    return vector / length if length else vector


class SlowBlocks:
    """The formulas, class by class and block by block, in float64."""

    def __init__(self, X, y, table, widths, tables, weights=None, *, kernel="gaussian", rho=0.7, noise=0.1, n0=2.0):
        self.cuts, self.n0 = np.cumsum(list(widths))[:-1], n0
        weights = np.ones(len(widths)) if weights is None else np.asarray(weights, float)
        self.shares = np.sqrt(weights / weights.sum())
        self.parts = []
        sums = {name: [] for name in SEEN}
        targets = {name: [] for name in SEEN}
        for block, share in zip(np.split(X, self.cuts, axis=1), self.shares, strict=True):
            rows = np.array([unit(row) for row in block])
            means = {name: rows[y == name].mean(axis=0) for name in SEEN}
            g = np.mean(list(means.values()), axis=0)
            S = sum(np.outer(row - means[c], row - means[c]) for row, c in zip(rows, y, strict=True)) / len(rows)
            d = len(S)
            values, Q = np.linalg.eigh((1 - rho) * S + rho * np.trace(S) / d * np.eye(d))
            root = Q @ np.diag(values**-0.5) @ Q.T
            spread = np.trace(np.linalg.inv(Q @ np.diag(values) @ Q.T) @ S)
            self.parts.append((g, root))
            for name in SEEN:
                M = root @ (means[name] - g)
                n = (y == name).sum()
                sums[name].append(share * n * M / np.sqrt(M @ M + spread))
                targets[name].append(share * unit(M))
        self.sums = {name: np.concatenate(found) for name, found in sums.items()}
        T = np.array([np.concatenate(targets[name]) for name in SEEN])
        scaled = []
        for part in np.split(table.to_numpy(), np.cumsum(list(tables))[:-1], axis=1):
            center = part[: len(SEEN)].mean(axis=0)
            scaled.append(np.array([unit(row - center) for row in part]))
        K = np.zeros((14, 10))
        for part in scaled:
            apart = np.array([[((a - b) ** 2).sum() for b in part[:10]] for a in part])
            width = np.median(apart[:10][~np.eye(10, dtype=bool)])
            K += (np.exp(-apart / width) if kernel == "gaussian" else part @ part[:10].T) / len(scaled)
        M = K @ np.linalg.inv(K[:10] + noise * np.eye(10)) @ T
        self.described = dict(zip(NAMES, map(self._unit_blocks, M), strict=True))

    def _unit_blocks(self, vector):
        parts = zip(self.shares, np.split(vector, self.cuts), strict=True)
        return np.concatenate([share * unit(part) for share, part in parts])

    def row(self, x):
        blocks = zip(self.parts, np.split(x, self.cuts), strict=True)
        return self._unit_blocks(np.concatenate([root @ (unit(part) - g) for (g, root), part in blocks]))

    def direction(self, name):
        if name in self.sums:
            return unit(self.n0 * self.described[name] + self.sums[name])
        return self.described[name]

    def scores(self, rows):
        return np.array([[self.row(x) @ self.direction(name) for name in NAMES] for x in rows])


def make(**settings):
    return ClassMeansClassifier(**{"feature_scaling": "l2", "crowding": 0.0, "blocks": WIDTHS, **settings})


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("weights", [None, [3.0, 1.0]], ids=str)
@pytest.mark.parametrize("tables", [None, TABLES], ids=str)
def test_scores_match_the_textbook(problem, kernel, weights, tables):
    X, y, table, new, _ = problem
    model = make(kernel=kernel, block_weights=weights, signature_blocks=tables).fit(X, y, table)
    slow = SlowBlocks(X, y, table, WIDTHS.values(), (tables or {"all": 6}).values(), weights, kernel=kernel)
    found = pd.DataFrame(model.compatibility(new), columns=model.candidates_)[NAMES].to_numpy()
    assert_close(found, slow.scores(new), SOLUTION.single)


def test_the_twin_tells_blocks_from_one_block(problem):
    X, y, table, new, _ = problem
    model = make(blocks=None).fit(X, y, table)
    slow = SlowBlocks(X, y, table, WIDTHS.values(), [6])
    with pytest.raises(AssertionError):
        assert_close(model.compatibility(new)[:, :10], slow.scores(new)[:, :10], SOLUTION.single)


def test_one_block_gives_the_same_bits(problem):
    X, y, table, new, _ = problem
    plain, named = (
        ClassMeansClassifier(**one).fit(X, y, table) for one in ({}, {"blocks": [8], "signature_blocks": [6]})
    )
    np.testing.assert_array_equal(plain.compatibility(new), named.compatibility(new))
    taught = [model.add_examples(new[:8], ["c10"] * 8).compatibility(new) for model in (plain, named)]
    np.testing.assert_array_equal(*taught)


def test_crowding_is_that_of_rows_with_blocks(problem):
    X, y, table, new, _ = problem
    model = make(crowding=0.5, crowding_share=0.2).fit(X, y, table)
    slow = SlowBlocks(X, y, table, WIDTHS.values(), [6])
    kept = np.array([slow.row(x) for x in X])
    expected = slow.scores(new)
    for column, name in enumerate(NAMES):
        expected[:, column] -= 0.5 * np.sort(kept @ slow.direction(name))[-len(X) // 5 :].mean()
    found = pd.DataFrame(model.compatibility(new), columns=model.candidates_)[NAMES].to_numpy()
    assert_close(found, expected, HALF)


def test_blocks_are_scaled_each_by_itself(problem):
    X, y, table, new, _ = problem
    positive = np.concatenate([X[:, :5], np.abs(X[:, 5:])], axis=1)
    model = ClassMeansClassifier(blocks=WIDTHS).fit(positive, y, table)
    assert [part.name for part in model.feature_scaling_.parts] == ["l2", "sqrt-l2"]
    large = X * np.repeat([1.0, 1e4], [5, 3])
    one, other = (make().fit(rows, y, table) for rows in (X, large))
    assert_close(one.compatibility(new), other.compatibility(new * np.repeat([1.0, 1e4], [5, 3])), SOLUTION.single)


@pytest.mark.parametrize(
    "given",
    [
        [5, 3],
        WIDTHS,
        {"eye": range(5), "ear": range(5, 8)},
        {"eye": slice(0, 5), "ear": slice(5, 8)},
        {"eye": [0, 1, 2, 3, 4], "ear": [5, 6, 7]},
    ],
    ids=str,
)
def test_ways_to_write_blocks(problem, given):
    X, y, table, new, _ = problem
    np.testing.assert_array_equal(
        make(blocks=given).fit(X, y, table).compatibility(new), make().fit(X, y, table).compatibility(new)
    )


def test_blocks_by_the_names_of_columns():
    found = read_blocks({"one": ["a", "b"], "two": ["c"]}, None, ["a", "b", "c"], 3, "blocks")
    assert found == Blocks(("one", "two"), (2, 3), (1.0, 1.0))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"blocks": [5, 2]}, "blocks has 7 columns in all, and there are 8"),
        ({"blocks": {"eye": range(3), "ear": range(5, 8)}}, r"blocks\['ear'\] is range\(5, 8\): .* from number 3 on"),
        ({"blocks": {"eye": 8, "ear": 0}}, r"blocks\['ear'\] is 0: expected a number of columns above 0"),
        ({"blocks": "eye"}, "blocks is 'eye': expected a list of widths, or a mapping"),
        ({"block_weights": [1, 2, 3]}, r"weights of blocks are \[1, 2, 3\]: .* each of the 2 blocks"),
        ({"block_weights": {"nose": 1}}, "weights of blocks name 'nose': expected 'eye', 'ear'"),
        ({"block_weights": [0, 0]}, "not all of them 0"),
        ({"blocks": None, "block_weights": [1]}, "weights of blocks are given, and blocks is None"),
        ({"signature_blocks": [4, 4]}, "signature_blocks has 8 columns in all, and there are 6"),
    ],
    ids=str,
)
def test_blocks_that_do_not_fit_are_refused(problem, settings, sentence):
    X, y, table, *_ = problem
    with pytest.raises(ValueError, match=sentence):
        make(**settings).fit(X, y, table)


def test_a_block_without_weight_does_not_count(problem):
    X, y, table, new, _ = problem
    model = make(block_weights={"ear": 0.0}).fit(X, y, table)
    alone = make(blocks=None).fit(X[:, :5], y, table)
    assert_close(model.compatibility(new), alone.compatibility(new[:, :5]), SOLUTION.single)


def test_model_file(problem, tmp_path):
    X, y, table, new, labels = problem
    model = ClassMeansClassifier(blocks=WIDTHS, block_weights=[2, 1], signature_blocks=TABLES).fit(X, y, table)
    model = model.add_examples(new[::4], labels[::4])
    model.save(tmp_path / "model.zskl")
    again = zskl.load(tmp_path / "model.zskl")
    np.testing.assert_array_equal(again.compatibility(new), model.compatibility(new))
    assert again.get_params() == {**model.get_params(), "block_weights": [2.0, 1.0]}
    assert again.blocks_ == model.blocks_
    assert clone(again).fit(X, y, table).blocks_ == model.blocks_


def test_pieces_equal_one_fit(problem):
    X, y, table, new, _ = problem
    whole = make().fit(X, y, table)
    order = np.random.default_rng(0).permutation(len(X))
    model = make()
    for rows in np.array_split(order, 3):
        model.partial_fit(X[rows], y[rows], table)
    merged = make().fit_sums(sum(make().sums(X[rows], y[rows]) for rows in np.array_split(order, 4)), table)
    for one in (model, merged):
        assert_close(one.compatibility(new), whole.compatibility(new), SOLUTION.single)


def test_half_precision_and_sparse_rows(problem):
    X, y, table, new, _ = problem
    X, new = X / 300, new / 300
    whole = make().fit(X, y, table).compatibility(new)
    assert_close(make().fit(X.astype(np.float16), y, table).compatibility(new), whole, HALF)
    positive, ask = (np.abs(rows) * np.repeat([300.0, 1.0], [5, 3]) for rows in (X, new))
    sparse = make().fit(sp.csr_array(positive), y, table)
    assert sparse.whitening_.shape == (8, 1)
    # What is subtracted from sparse rows stays apart, block by block.
    rows = sparse._row_directions(sparse._scale_rows(zskl._arrays.SparseRows.from_scipy(sp.csr_array(ask))))
    lengths = np.sqrt([part.squares() for part in sparse.blocks_.split(rows)]).T
    assert_close(lengths, np.full((len(ask), 2), np.sqrt(0.5)), SOLUTION.double)


def test_learning_from_examples_and_unlabelled_rows(problem):
    X, y, table, new, labels = problem
    model = make(crowding=0.15).fit(X, y, table)
    taught = model.add_examples(new[::2], labels[::2])
    rest = new[1::2]
    right = [np.mean(one.predict(rest, candidates=NAMES[10:]) == labels[1::2]) for one in (model, taught)]
    assert right[1] >= right[0]
    lengths = [np.linalg.norm(part, axis=1) for part in model.blocks_.split(taught.examples_)]
    assert_close(np.array(lengths), np.full((2, len(new[::2])), np.sqrt(0.5)), SOLUTION.single)
    adapted = model.adapt(new, force=True)
    x = model._row_directions(model._scale_rows(new)).astype(np.float64)
    # What a class takes up is a sum of rows, so no block of it is longer than its rows together.
    taken = np.array([np.linalg.norm(part, axis=1) for part in model.blocks_.split(adapted.adapted_sums_)])
    assert (taken.sum(axis=1) <= len(x) * np.sqrt(0.5) * (1 + SOLUTION.single)).all()
    assert np.abs(adapted.compatibility(new) - model.compatibility(new)).max() > 0.01
    restored = taught.remove_examples()
    np.testing.assert_array_equal(restored.compatibility(new), model.compatibility(new))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_tensors_give_what_arrays_give(problem, device):
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA GPU here")
    X, y, table, new, labels = problem
    found = []
    for convert in (np.asarray, lambda rows: torch.as_tensor(rows, device=device)):
        rows, ask = convert(X.astype(np.float32)), convert(new.astype(np.float32))
        model = make(crowding=0.15, signature_blocks=TABLES).fit(rows, y, table)
        taught = model.add_examples(ask[::2], labels[::2])
        models = [model, taught, taught.adapt(ask, force=True)]
        found.append([to_numpy(one.compatibility(ask)) for one in models])
        found[-1].append(np.array([list(one.blocks.values()) for one in model.explain(ask[:5])]))
    for ours, expected in zip(*found, strict=True):
        assert_close(ours, expected, HALF)


def test_another_shrinkage_is_another_fit(problem):
    X, y, table, new, _ = problem
    model, other = (make(shrinkage=rho).fit(X, y, table) for rho in (0.7, 0.3))
    moved = model._copy_for_teaching()
    moved._set_shrinkage(0.3)
    assert_close(
        moved._row_directions(moved._scale_rows(new)), other._row_directions(other._scale_rows(new)), SOLUTION.single
    )


@pytest.mark.parametrize("tables", [None, TABLES], ids=str)
def test_search_scores_equal_single_fits(problem, tables):
    X, y, table, new, _ = problem
    settings = [
        {"shrinkage": rho, "kernel": kernel, "crowding": crowding, "signature_weights": weights}
        for rho in (0.2, 0.9)
        for kernel in ("gaussian", "linear")
        for crowding in (0.3, 0.0)
        for weights in ((None, [1.0, 0.0], [1.0, 3.0]) if tables else (None,))
    ]
    estimator, found, asked = make(signature_blocks=tables), {}, {}
    rows = clone(estimator).fit(X, y, table)._scale_rows(new)

    def visit(place, model):
        question = asked.setdefault("question", model._question(rows, model.signature_table_))
        found[place] = model._candidate_scorer(question)(rows)

    clone(estimator)._fit_together(settings, X, y, table, visit)
    for place, setting in enumerate(settings):
        alone = clone(estimator).set_params(**setting).fit(X, y, table)
        assert_close(found[place], alone.compatibility(new), HALF)


def test_search_keeps_blocks(problem):
    X, y, table, *_ = problem
    tuned = selection.tune(make(), X, y, table, {"shrinkage": [0.3, 0.7], "crowding": [0.0, 0.15]})
    assert len(tuned.model.blocks_) == 2
    assert tuned.model.blocks == WIDTHS


def test_a_committee_with_blocks(problem):
    X, y, table, new, _ = problem
    committee = Committee([("means", make()), ("other", make(blocks=None))]).fit(X, y, table)
    scores = sum(
        member.compatibility(new) / temperature
        for member, temperature in zip(committee.members_, committee.member_temperatures_, strict=True)
    )
    assert_close(committee.compatibility(new), scores, SOLUTION.single)


@pytest.mark.parametrize("by", ["attributes", "scaled", "classes"])
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"signature_blocks": TABLES}], ids=str)
def test_explanations_add_up_and_name_blocks(problem, by, settings):
    X, y, table, new, labels = problem
    model = make(crowding=0.2, **settings).fit(X, y, table).add_examples(new[:4], labels[:4])
    scores = pd.DataFrame(model.compatibility(new), columns=model.classes_)
    for place, one in enumerate(model.explain(new, by=by)):
        difference = scores.loc[place, one.label] - scores.loc[place, one.against]
        assert_close(one.contributions.sum() + sum(one.terms.values()), difference, SOLUTION.single)
        assert list(one.blocks) == ["eye", "ear"]
        assert_close(sum(one.blocks.values()) + one.terms.get("crowding", 0.0), difference, SOLUTION.single)
        assert "by features" in str(one)


def test_slopes_of_explanations_are_differences(problem):
    """What an attribute adds is its change times the slope, where all else stays: against central differences."""
    X, y, table, new, _ = problem
    model = make(signature_blocks=TABLES).fit(X, y, table)
    base, step = table.loc["c10"], 1e-4
    near = pd.DataFrame([base, base], index=["a", "b"])
    near.loc["a"] += step * np.arange(1.0, 7.0)
    one = model.explain(new[:1], signatures=near, label="a", against="b", by="attributes")[0]
    row, slow = new[0], []
    for column in range(6):
        ends = pd.DataFrame([base, base], index=["a", "b"])
        ends.iloc[0, column] += step * (column + 1)
        scores = model.compatibility(row[None].astype(np.float64), ends)[0]
        slow.append(scores[0] - scores[1])
    assert_close(one.contributions, np.array(slow), 0.01)
