"""Notes on choices: numbers at an edge, and figures that folds or seeds do not agree on."""

from zskl.experiments import choice_notes, typed_json
from zskl.experiments.compare import compare
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Choice, Edge

CHOICE = {
    "setting": {"epochs": 80, "lam": 0.1},
    "score": 0.264,
    "fold_scores": [0.275, 0.272, 0.245],
    "figures": {"zsl": [0.275, 0.272, 0.245], "seen": [0.434, 0.402, 0.08], "gzsl": [0.224, 0.221, 0.221]},
    "edges": [
        {"name": "epochs", "value": 80, "side": "highest", "bound": 80},
        {"name": "lam", "value": 0.1, "side": "lowest"},
    ],
}


def record(seed=0, seen=0.33, method="gaussian-ort", **choice):
    line = {"dataset": "AWA1", "method": method, "seed": seed, "zsl": {"accuracy": 0.32}}
    chosen = {"zsl": {**CHOICE, **choice}}
    return Record.from_json({**line, "gzsl": {"seen": seen}, "tune": {"scoring": "zsl", "choices": chosen}})


def test_a_choice_keeps_its_edges_and_figures_in_a_record():
    found = typed_json.from_json(Choice, CHOICE)
    assert found.edges == (Edge("epochs", 80.0, "highest", 80.0), Edge("lam", 0.1, "lowest"))
    again = typed_json.to_json(found)
    assert typed_json.from_json(Choice, again) == found
    assert typed_json.to_json(Choice(edges=()))["edges"] == []  # inside, not unknown
    assert typed_json.from_json(Choice, {"score": 0.5}).edges is None  # a line of an earlier zskl


def test_sentences_name_method_value_and_reason():
    assert choice_notes.at_edges([record(), record(1)]) == (
        "chosen at the edge of what was tried: gaussian-ort epochs 80 at its bound, lam 0.1 not extended"
    )
    assert choice_notes.over_folds([record()]) == (
        "differ widely between validation folds, so expect luck: gaussian-ort seen 8.0 to 43.4 %"
    )
    steady = record(edges=[], figures={"seen": [0.4, 0.38, 0.41]})
    assert choice_notes.at_edges([steady]) is None
    assert choice_notes.over_folds([steady]) is None
    assert choice_notes.spreads(steady.tune.choices.zsl) == "seen 1.5"


def test_seeds_that_chose_the_same_setting_and_differ_are_told():
    (note,) = compare([record(0, 0.33), record(1, 0.164)]).notes
    assert note.startswith("AWA1 gaussian-ort: 2 seeds with the same settings differ widely, seen 16.4 to 33.0 %")
    assert compare([record(0, 0.33), record(1, 0.31)]).notes == ()
    assert compare([record(0, 0.33), record(1, 0.164, setting={"epochs": 10})]).notes == ()
    apart = compare([record(0, 0.33), record(1, 0.164, method="gaussian")]).notes
    assert not any("differ widely" in note for note in apart)
