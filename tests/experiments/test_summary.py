"""The table of a run and the sentences below it, from planted records."""

from dataclasses import replace

import pytest

from records import UNSEEN, answered, rights
from zskl.experiments import summary
from zskl.experiments.record import Record


def with_classes(record, left_out=()):
    """The same with the accuracy of each unseen class."""
    zsl = replace(record.zsl, per_class={str(k): 0.5 for k in range(UNSEEN)}, left_out=left_out)
    return replace(record, zsl=zsl)


def planted(method="gaussian", seed=0, share=0.6, **more):
    return with_classes(answered(method, seed, rights(share, UNSEEN, seed), **more))


def test_a_clear_leader_is_named_with_its_paired_lead():
    first = planted("eszsl", share=0.9)
    said, generalised = summary.summarise([planted("sae", share=0.1), first])
    assert said.startswith(f"Among the 5 unseen classes alone eszsl is right on {100 * first.zsl.accuracy:.1f} % [")
    points = 100 * (first.zsl.accuracy - planted("sae", share=0.1).zsl.accuracy)
    assert f"], where guessing gives 20.0 %; it leads sae by {points:.1f} points [" in said
    assert "too narrow" in said  # five classes are few
    assert "eszsl has the highest calibrated H of " in generalised


def test_what_cannot_be_told_apart_is_not_said_to_lead():
    twins = [planted("eszsl", 0), planted("sae", 0), planted("sje", 0, share=0.62)]
    said, generalised = summary.summarise(twins)
    assert "leads" not in said
    assert "it cannot be told apart from" in said
    assert "cannot be told apart from" in generalised
    many = [planted(name, 0) for name in ("eszsl", "sae", "sje", "ale", "dap")]
    assert "sae, sje, ale and 1 more" in summary.summarise(many)[0]


@pytest.mark.parametrize(
    ("calibrated", "words"),
    [(0.9, "up from 50.0 % without calibration"), (0.2, "down from 50.0 %"), (0.5, "as without calibration")],
)
def test_what_calibration_did(calibrated, words):
    line = planted("eszsl").to_json()
    line["gzsl"]["harmonic"], line["gzsl_calibrated"]["harmonic"] = 0.5, calibrated
    _, sentence = summary.summarise([Record.from_json(line)])
    assert f"has a calibrated H of {100 * calibrated:.1f} %" in sentence
    assert words in sentence
    better = planted("sae", share=0.9).to_json()
    better["gzsl_calibrated"]["harmonic"] = 0.95
    *_, sentence = summary.summarise([Record.from_json(line), Record.from_json(better)])
    assert ("calibrated H is below H for eszsl (20.0 against 50.0 %)" in sentence) is (calibrated == 0.2)


def test_one_method_without_calibration_or_answers():
    alone = replace(planted("eszsl"), gzsl_calibrated=None)
    said, generalised = summary.summarise([alone])
    assert "%; with so few" in said  # nobody to compare it with
    assert "eszsl has an H of" in generalised
    assert generalised.endswith("--calibrate may raise it.")
    old = [replace(planted(name, share=share), class_rows=None) for name, share in (("eszsl", 0.9), ("sae", 0.1))]
    assert all("it cannot be said whether by chance" in sentence for sentence in summary.summarise(old)[:2])
    bare = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {}, "gzsl": {}}
    assert summary.summarise([Record.from_json(bare)]) == []


def test_candidates_without_test_rows_count_for_chance():
    more = replace(planted("eszsl"), zsl=replace(planted("eszsl").zsl, left_out=("a",) * 15))
    said, _ = summary.summarise([more])
    assert "Among the 20 unseen classes alone" in said
    assert "where guessing gives 5.0 %" in said
    assert "too narrow" not in said


def test_the_lowest_is_named_and_whether_only_others_were_tuned():
    tuned = {"scoring": "zsl", "settings": 9}
    best, low = planted("eszsl", share=0.9, tune=tuned), planted("gaussian-ort", share=0.1)
    said, *_ = summary.summarise([best, planted("sae", tune=tuned), low])
    assert f"; lowest is gaussian-ort, at its default settings, with {100 * low.zsl.accuracy:.1f} %" in said
    assert "default settings" not in summary.summarise([planted("eszsl", share=0.9), planted("sae"), low])[0]
    assert "lowest" not in summary.summarise([best, low])[0]
    set_ = replace(low, settings={"sigma": 9.0})
    assert "; lowest is gaussian-ort, not tuned, with" in summary.summarise([best, planted("sae", tune=tuned), set_])[0]
    assert "lowest" not in summary.summarise([planted(name) for name in ("eszsl", "sae", "sje")])[0]


TAUGHT = [
    {"shots": 1, "zsl": {"accuracy": 0.7}, "gzsl": {"harmonic": 0.5}, "gzsl_calibrated": {"harmonic": 0.6}},
    {"shots": 5, "zsl": {"accuracy": 0.9}, "gzsl": {"harmonic": 0.8}, "gzsl_calibrated": {"harmonic": 0.85}},
]
ADAPTED = [
    {"unlabelled": "unseen", "zsl": {"accuracy": 0.6, "declined": "no gain"}},
    {"unlabelled": "all", "zsl": {"accuracy": 0.8}},
]


def test_what_examples_bring_is_one_more_sentence_and_rows_of_the_one_table():
    given = planted("class-means", taught=TAUGHT, adapted=ADAPTED)
    *_, said = summary.summarise([given, planted("eszsl")])
    assert "with 1 example of each class on 70.0 % (60.0 %), with 5 examples of each class on 90.0 % (85.0 %)" in said
    assert "with unlabelled rows of all classes on 80.0 %;" in said
    assert "60.0 %;" not in said  # to these rows it did not adapt
    assert said.endswith("; it did not adapt to unlabelled rows of unseen classes (†).")
    assert "may be luck" not in said
    near = replace(given, taught=(replace(given.taught[0], zsl=given.zsl),), adapted=None)
    assert "differences so small may be luck" in summary.summarise([near])[-1]
    table = summary.run_table([given, planted("eszsl", tune={"scoring": "zsl", "settings": 9})])
    assert table.labels == ("method", "settings")
    assert [tuple(row.labels.values()) for row in table.rows] == [
        ("class-means", "default"),
        ("+ 1 example", ""),
        ("+ 5 examples", ""),
        ("+ unlabelled unseen", ""),
        ("+ unlabelled all", ""),
        ("eszsl", "tuned"),
    ]
    assert table.rows[3].figures["zero-shot"].low is None  # as in the first row
    assert table.rows[2].figures["calibrated H"].mean == pytest.approx(85)
    assert "area" not in table.figures
    (note,) = table.notes
    assert note.startswith("† class-means did not adapt")
    assert set(summary.column_legend([given], table.figures)) == {"zero-shot", "unseen, seen", "H", "calibrated H"}
    assert "among 5 unseen" in summary.column_legend([given], ["zero-shot"])["zero-shot"]


def test_a_method_that_was_run_in_two_ways_is_named_with_its_settings():
    ways = [planted("eszsl"), planted("eszsl", share=0.9, settings={"gamma": 2})]
    assert list(summary.name_groups(ways)) == ["eszsl (default)", "eszsl (default, with gamma=2)"]
