"""Intervals and paired differences from records, against loops over the same draws; and who is best."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from records import ROWS, SEEN, UNSEEN, answered, rights
from tolerances import SUMS, assert_close
from zskl.experiments import compare, uncertainty
from zskl.experiments.record import LEVELS, TaughtResults, pack_answers, unpack_answers
from zskl.metrics import harmonic_mean, seen_unseen_curve
from zskl.plots import ComparisonDisplay


@cache
def _taken():
    """How often each draw takes each row of the unseen and of the seen classes."""
    return [
        next(uncertainty.draw_counts(np.full(n, ROWS), seed, uncertainty.DRAWS))
        for seed, n in enumerate((UNSEEN, SEEN))
    ]


def _slow_draw(unseen, seen, draw):
    """(unseen, seen) accuracy of a draw, by loops over the rows that it takes."""
    pair = []
    for right, times, classes in zip((unseen, seen), _taken(), (UNSEEN, SEEN), strict=True):
        total = sum(times[draw, row] * right.ravel()[row] for row in range(right.size))
        pair.append(total / classes / ROWS)
    return pair


def test_draws_of_figures_are_those_of_loops():
    unseen, seen = rights(0.5), rights(0.8, SEEN)
    record = answered(unseen=unseen, seen=seen)
    slow = [_slow_draw(unseen, seen, draw) for draw in range(40)]
    for column, expected in {
        "zero-shot": [u for u, _ in slow],
        "unseen": [u for u, _ in slow],
        "seen": [s for _, s in slow],
        "H": [harmonic_mean(s, u) for u, s in slow],
        "calibrated H": [harmonic_mean(s, u) for u, s in slow],
    }.items():
        found = uncertainty.mean_draws([record], column)
        assert len(found) == uncertainty.DRAWS
        assert_close(found[:40], np.array(expected), SUMS.single)


def test_an_area_is_drawn_from_levels():
    unseen, seen = rights(0.5), rights(0.8, SEEN)
    record = answered(unseen=unseen, seen=seen)
    levels = [unpack_answers(text) for text in (record.gzsl.answers.unseen_levels, record.gzsl.answers.seen_levels)]
    found = uncertainty.mean_draws([record], "area")
    for draw in range(5):
        points = []
        for passed in range(LEVELS + 1):  # rows up to this level have left the seen classes
            gained, kept = levels[0] * (levels[0] <= passed) > 0, levels[1] > passed
            points.append(_slow_draw(gained, kept, draw))
        area = sum((u2 - u1) * (s1 + s2) / 2 for (u1, s1), (u2, s2) in pairwise(points))
        assert found[draw] == pytest.approx(area, rel=SUMS.single)


def test_the_interval_of_a_figure_holds_it_and_is_none_without_answers():
    found = uncertainty.figures([replace(answered(), gzsl_own=answered(seed=7).gzsl)])
    assert list(found) == list(compare.FIGURES)
    for column in ("zero-shot", "unseen", "seen", "H", uncertainty.OTHER_H, "calibrated H"):
        assert found[column].low < found[column].mean < found[column].high
    old = replace(answered(), class_rows=None)
    assert all(figure.low is None for figure in uncertainty.figures([old]).values())


def test_all_classes_alike_and_all_right_have_no_interval_to_speak_of():
    figure = uncertainty.figures([answered(unseen=np.ones((UNSEEN, ROWS)))])["zero-shot"]
    assert (figure.low, figure.high) == pytest.approx((100, 100), abs=1e-3)


def test_h_is_that_of_its_own_setting_and_the_other_has_a_column():
    record, own = answered(), answered(seed=7).gzsl
    both = uncertainty.figures([replace(record, gzsl_own=own)])
    assert both["H"] == uncertainty.figures([answered(seed=7)])["H"]
    assert both[uncertainty.OTHER_H] == uncertainty.figures([record])["H"]
    assert uncertainty.OTHER_H not in uncertainty.figures([record])


def test_every_draw_takes_seeds_too():
    """Seeds, classes and rows by loops: the mean over the seeds that a draw takes, each as often as it is taken."""
    unseen, seen = zip(*((rights(0.5, seed=one), rights(0.8, SEEN, seed=one)) for one in range(3)), strict=True)
    records = [answered(seed=one, unseen=unseen[one], seen=seen[one]) for one in range(3)]
    times = uncertainty.seed_counts(uncertainty.DRAWS, 3)
    found = uncertainty.mean_draws(records, "H")
    for draw in range(20):
        taken = [one for one in range(3) for _ in range(times[draw, one])]
        assert len(taken) == 3
        slow = [harmonic_mean(*_slow_draw(unseen[one], seen[one], draw)) for one in taken]
        assert found[draw] == pytest.approx(np.mean(slow), rel=SUMS.single)
    assert np.bincount(times[:, 0], minlength=4) / len(times) == pytest.approx(
        [8 / 27, 12 / 27, 6 / 27, 1 / 27], abs=0.02
    )


def test_an_interval_that_forgets_seeds_would_be_found(monkeypatch):
    """One seed answers all rows right, the other none: classes and rows alone would say that 50 is certain."""
    records = [answered(seed=one, unseen=np.full((UNSEEN, ROWS), bool(one))) for one in range(2)]
    figure = uncertainty.figures(records)["zero-shot"]
    assert (figure.low, figure.mean, figure.high) == pytest.approx((0, 50, 100), abs=1e-3)
    monkeypatch.setattr(uncertainty, "seed_counts", lambda draws, seeds: np.ones((draws, seeds), np.int64))
    figure = uncertainty.figures(records)["zero-shot"]
    assert (figure.low, figure.high) == pytest.approx((50, 50), abs=1e-3)


def test_a_p_value_counts_draws_and_holm_corrects_it():
    draws = np.arange(-24, 975) / 10  # 25 of 999 are 0 or less
    assert uncertainty.two_sided_p(draws) == uncertainty.two_sided_p(-draws) == 2 * 26 / 1000
    assert uncertainty.two_sided_p(np.zeros(999)) == 1
    p = [0.01, 0.04, 0.03, 0.005, 0.5]
    slow = []
    for one in p:  # the largest correction among those that are not larger
        lower = [other for other in p if other <= one]
        slow.append(max(min(1, other * sum(rest >= other for rest in p)) for other in lower))
    assert uncertainty.adjust_holm(p) == pytest.approx(slow, rel=1e-12)
    assert uncertainty.adjust_holm([]) == []


def test_holm_keeps_errors_rare_where_nothing_is_there():
    """Of 20 claims about nothing one or more is called clear in 5 % of cases; uncorrected, in 64 %."""
    p = np.random.default_rng(0).random((2000, 20))
    corrected = np.mean([min(uncertainty.adjust_holm(row.tolist())) < 0.05 for row in p])
    assert corrected == pytest.approx(0.05, abs=0.02)
    assert np.mean(p.min(axis=1) < 0.05) > 0.6


def test_several_seeds_have_one_mean():
    records = [answered(seed=seed) for seed in range(3)]
    figure = uncertainty.figures(records)["H"]
    assert figure.mean == pytest.approx(np.mean([100 * record.gzsl.harmonic for record in records]), rel=1e-12)
    assert figure.deviation > 0


def test_a_difference_is_paired():
    """Two methods that fail on the same rows, and one on one row more: unpaired, nothing could be said."""
    base = rights(0.5)
    better = base.copy()
    better[:, 0] = True
    base[:, 0] = False
    ours, theirs = [answered("ours", unseen=better)], [answered("theirs", unseen=base)]
    found = uncertainty.difference(ours, theirs, "zero-shot")
    assert found.mean == pytest.approx(100 / ROWS, rel=1e-9)
    assert found.decided
    one, other = uncertainty.figures(ours)["zero-shot"], uncertainty.figures(theirs)["zero-shot"]
    assert one.low < other.high  # their own intervals overlap
    back = uncertainty.difference(theirs, ours, "zero-shot")
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), rel=1e-6)
    same = uncertainty.difference(ours, [answered("twin", unseen=better)], "H")
    assert (same.mean, same.decided) == (0, False)
    assert uncertainty.difference(ours, theirs, "H, 5 shots") is None


def test_records_of_other_data_are_not_paired():
    with pytest.raises(ValueError, match=r"of different data .*expected the same classes and rows"):
        uncertainty.difference([answered()], [answered(fingerprint="cd" * 32)], "H")


def test_examples_count_as_their_class_does_on_average():
    base = answered("class-means", unseen=np.tile([1, 0, 1, 0, 1, 0], (UNSEEN, 1)))
    examples = np.zeros((UNSEEN, ROWS), bool)
    examples[:, 1] = True  # so that 3 of 5 rows are right
    answers = replace(base.zsl.answers, examples=pack_answers(examples.ravel()))
    zsl = replace(base.zsl, accuracy=0.6, answers=answers)
    record = replace(base, taught=(TaughtResults(1, zsl, base.gzsl),))
    draws = uncertainty.mean_draws([record], "zero-shot, 1 shot")
    assert draws.mean() == pytest.approx(0.6, abs=0.01)
    assert uncertainty.figures([record])["zero-shot, 1 shot"].low < 60


def _methods(**shares):
    """Records by method: a wide gap in right rows is clear, a narrow one is not."""
    return {name: [answered(name, unseen=rights(share, seed=3))] for name, share in shares.items()}


def test_best_are_the_first_and_all_that_are_not_clearly_below():
    found = uncertainty.leaders(_methods(good=0.9, near=0.88, bad=0.1), "zero-shot")
    assert (found.first, found.best) == ("good", {"good", "near"})
    assert uncertainty.leaders(_methods(good=0.9, bad=0.1), "zero-shot").best == {"good"}
    assert uncertainty.leaders(_methods(good=0.9, near=0.88), "zero-shot").best == frozenset()
    assert uncertainty.leaders(_methods(alone=0.9), "zero-shot").best == frozenset()
    lowest = uncertainty.leaders(_methods(good=0.9, bad=0.1), "zero-shot", most=False)
    assert (lowest.first, lowest.best) == ("bad", {"bad"})
    groups = _methods(good=0.9, bad=0.1)
    groups["bad"] = [replace(groups["bad"][0], class_rows=None)]
    assert (uncertainty.leaders(groups, "zero-shot").best, uncertainty.leaders(groups, "zero-shot").unknown) == (
        frozenset(),
        ("bad",),
    )


def test_a_table_of_differences():
    records = [group[0] for group in _methods(good=0.9, near=0.88, bad=0.1).values()]
    table = compare.compare(records, sort="zero-shot", differences=True)
    first, near, bad = (row.figures["zero-shot"] for row in table.rows)
    assert compare.format_cell(first) == "0.0 (first)"
    assert near.low <= 0 <= near.high
    assert bad.high < 0
    assert (first.best, near.best, bad.best) == (True, True, False)
    assert "seconds" not in table.figures


def test_whiskers_reach_the_ends_of_intervals():
    display = ComparisonDisplay.from_records([answered("one"), replace(answered("old"), class_rows=None)])
    figure = uncertainty.figures([answered("one")])["zero-shot"]
    assert display.whiskers[0][:, 0].tolist() == [figure.mean - figure.low, figure.high - figure.mean]
    assert display.whiskers[0][:, 1].tolist() == [0, 0]


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(uncertainty, "KEPT", 2)
    for seed in range(4):
        uncertainty.figures([answered(seed=50 + seed)])
    assert len(uncertainty._FOUND) <= 2
    many = [answered(f"method {seed}", seed) for seed in range(5)]  # more than are remembered
    drawn, draw = [], uncertainty.draw_means
    monkeypatch.setattr(uncertainty, "draw_means", lambda *some, **more: drawn.append(1) or draw(*some, **more))
    assert all(row.figures["H"].low is not None for row in compare.compare(many).rows)
    assert len(drawn) == 2  # once for each side: nothing was forgotten on the way


def test_the_area_is_that_of_the_plain_model_also_where_the_constant_is_0():
    record, other = answered(seed=1), answered(seed=2)
    both = replace(record, gzsl_calibrated=other.gzsl)  # which keeps levels
    assert np.array_equal(*(uncertainty.mean_draws([one], "area") for one in (record, both)))


def test_where_nothing_is_random_the_last_record_with_answers_stands_for_all_seeds():
    """Old folders have the same run for several seeds, without answers."""
    new = answered("eszsl", 0, unseen=rights(0.5))
    old = [replace(answered("eszsl", seed), class_rows=None) for seed in (1, 2)]
    assert uncertainty.figures([new, *old]) == uncertainty.figures([new])
    rivals = {"eszsl": [new, *old], "bad": [answered("bad", unseen=rights(0))]}
    assert uncertainty.leaders(rivals, "zero-shot").best == {"eszsl"}
    random = replace(old[0], method="gaussian"), replace(new, method="gaussian")
    assert uncertainty.figures(random)["zero-shot"].low is None


def test_few_classes_are_said():
    note = "birds: of 5 unseen classes a 95 % interval is too narrow, so that differences look clear too often"
    assert note in compare.compare([answered("one"), answered("two")]).notes
    many = {"unseen": pack_answers(np.full(20, 1)), "seen": pack_answers(np.full(SEEN, ROWS))}
    assert uncertainty.few_classes_note([answered(class_rows=many), replace(answered(), class_rows=None)]) == ""


# The bootstrap

SIZES = np.array([3, 1, 4, 2])


def _slow_means(outcomes, sizes, times):
    """One draw by loops: `times` says how often it takes each row."""
    total, row = 0.0, 0
    for size in sizes:
        for _ in range(size):
            total += times[row] * outcomes[row] / size / len(sizes)
            row += 1
    return total


def test_means_of_draws_are_those_of_a_loop_over_the_rows_drawn():
    rng = np.random.default_rng(0)
    outcomes = rng.random((10, 2))
    found = uncertainty.draw_means(outcomes, SIZES, seed=3, draws=20)
    (times,) = uncertainty.draw_counts(SIZES, 3, 20)
    slow = [[_slow_means(outcomes[:, k], SIZES, times[draw]) for k in range(2)] for draw in range(20)]
    assert_close(found, np.array(slow), SUMS.single)


def test_a_draw_takes_as_many_classes_as_there_are_and_of_each_as_many_rows_as_it_has():
    (times,) = uncertainty.draw_counts(SIZES, 0, 500)
    by_class = np.add.reduceat(times, [0, 3, 4, 8], axis=1)
    often = by_class / SIZES  # how often each class was drawn
    assert np.array_equal(often, often.round())
    assert np.all(often.sum(axis=1) == len(SIZES))
    assert often.min() == 0
    assert often.max() >= 3


def test_draws_do_not_depend_on_what_is_averaged_or_how_they_are_cut_into_blocks(monkeypatch):
    one = uncertainty.draw_means(np.eye(10), SIZES, seed=1, draws=30)
    assert np.array_equal(one[:, :3], uncertainty.draw_means(np.eye(10)[:, :3], SIZES, seed=1, draws=30))
    assert not np.array_equal(one, uncertainty.draw_means(np.eye(10), SIZES, seed=2, draws=30))
    monkeypatch.setattr(uncertainty, "BLOCK", 100)
    assert [len(block) for block in uncertainty.draw_counts(SIZES, 1, 25)] == [10, 10, 5]


def test_frequencies_are_those_of_all_draws_of_a_tiny_case():
    """Classes of 2 and 1 rows, right: [1, 0] and [0]. All choices of classes, then of rows, are equally likely."""
    right, expected = [[1, 0], [0]], Counter()
    for classes in product(range(2), repeat=2):
        picks = [list(product(right[c], repeat=len(right[c]))) for c in classes]
        for rows in product(*picks):
            share = 1 / 4 / np.prod([len(one) for one in picks])
            expected[float(np.mean([np.mean(one) for one in rows]))] += share
    found = uncertainty.draw_means([[1], [0], [0]], [2, 1])[:, 0]
    assert set(found.tolist()) == set(expected)
    for value, share in expected.items():
        assert abs(np.mean(found == value) - share) < 4 * np.sqrt(share / len(found)), value


def _twelve():
    """Which rows of twelve classes are right, their accuracies, and the variance of the mean."""
    rng = np.random.default_rng(0)
    right = rng.random(96) < np.repeat(rng.random(12), 8)
    p = right.reshape(12, 8).mean(axis=1)
    return right, p, (p.var() + np.mean(p * (1 - p) / 8)) / 12


def test_the_variance_is_that_between_classes_and_within_them():
    sizes = np.full(12, 8)
    right, p, expected = _twelve()
    found = uncertainty.draw_means(right[:, None], sizes)[:, 0]
    assert found.var() == pytest.approx(expected, rel=0.06)  # 10 000 draws: a standard error of 0.014
    assert found.mean() == pytest.approx(p.mean(), abs=4 * np.sqrt(expected / len(found)))
    low, high = uncertainty.bootstrap_interval(found)
    assert low < p.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(expected), rel=0.1)


def test_draws_of_rows_alone_would_be_found(monkeypatch):
    """The planted fault: every draw takes each class once."""

    class Faulty:
        def __init__(self, *seed):
            self.rng = np.random.default_rng(seed)

        def integers(self, high, size, dtype=np.int64):
            every = np.arange(high) if isinstance(size, tuple) else self.rng.integers(high, size=size, dtype=dtype)
            return np.broadcast_to(every, size)

    monkeypatch.setattr(uncertainty, "make_generator", Faulty)
    right, _, expected = _twelve()
    assert uncertainty.draw_means(right[:, None], np.full(12, 8)).var() < expected / 2


def test_an_area_of_levels_is_that_of_the_curve():
    rng = np.random.default_rng(0)
    candidates, is_seen = np.arange(4), np.array([True, True, False, False])
    y, scores = np.repeat(candidates, 5), rng.random((20, 4))
    order = np.argsort(gap := scores[:, :2].max(axis=1) - scores[:, 2:].max(axis=1))
    side = np.where(is_seen[y][:, None], scores[:, :2], scores[:, 2:])
    right = np.argmax(side, axis=1) == y % 2
    lost, gained = (right & is_seen[y])[order] / 10, (right & ~is_seen[y])[order] / 10
    assert len(np.unique(gap)) == 20
    assert_close(
        uncertainty.area_from_levels(lost, gained), seen_unseen_curve(scores, y, candidates, is_seen).area, SUMS.double
    )


def test_rows_without_a_class_are_refused():
    with pytest.raises(ValueError, match="shape \\(3, 1\\) for classes of 4 rows"):
        uncertainty.draw_means(np.zeros((3, 1)), [2, 2])
    with pytest.raises(ValueError, match="at least one row of each class"):
        uncertainty.draw_means(np.zeros((2, 1)), [2, 0])


@pytest.mark.parametrize(("classes", "share"), [(3, 25), (5, 16), (10, 10), (50, 6)])
def test_differences_that_are_nothing_look_clear_as_often_as_the_docs_say(classes, share):
    """docs/uncertainty.md; the noise of rows left out, since every class has one."""
    nothing = np.random.default_rng(classes).normal(size=(classes, 2000))
    low, high = np.percentile(uncertainty.draw_means(nothing, [1] * classes, draws=2000), [2.5, 97.5], axis=0)
    assert 100 * np.mean((low > 0) | (high < 0)) == pytest.approx(share, abs=2)
