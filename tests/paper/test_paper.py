"""The paper's evaluation: published figures, every part end to end on a tiny benchmark, twins of every number."""

from __future__ import annotations

import csv
import json
import re
import shutil
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from command import zskl
from package_files import tiny, write_package
from tolerances import AFTER_FIT, SUMS, decided
from zskl import datasets, methods, metrics, protocols, selection
from zskl.engines import Engine
from zskl.experiments import jsonl_log
from zskl.experiments import unit as experiment
from zskl.experiments.compare import Figure
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Generalised, Tuning, ZeroShot
from zskl.paper import (
    claims,
    collect,
    comparison_table,
    convergence_run,
    pictures,
    published,
    results_page,
    sensitivity,
    sensitivity_run,
    write,
)
from zskl.paper import methods as paper_methods
from zskl.paper.accuracy_tables import printed_harmonic, printed_zero_shot
from zskl.paper.curve_records import SensitivityRecord, Varied
from zskl.paper.results import Problem, Results, problem_of

ROOT = Path(__file__).parents[2]
VALUES = {
    "gaussian-ort": {"sigma": (0.5, 1.0, 2.0), "repulsion": (0.0, 1.0, 50.0)},
    "cauchy-ort": {"sigma": (0.1, 1.0, 5.0), "repulsion": (0.0, 1.0)},
    "polynomial-4": {"bias": (0.5, 1.0), "repulsion": (0.0, 1.0)},
}
PARTS = ("zsl", "gzsl", "incoherence", "gram", "sensitivity", "convergence")


def image_of(svg):
    return b"\x89PNG of " + svg.encode()


@pytest.fixture(scope="module", autouse=True)
def quick(tmp_path_factory):
    """Grids of one or two settings, few values to vary, short courses, quick pictures; a cache of our own."""

    def short(name, method):
        grid = {setting: tuple(values)[:1] for setting, values in method.grid.items()}
        if "sigma" in grid and name in paper_methods.PARTS["sensitivity"]:
            grid["sigma"] = tuple(method.grid["sigma"])[:2]
        return replace(method, grid=grid)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "METHODS", {name: short(name, one) for name, one in methods.METHODS.items()})
        patch.setattr(sensitivity_run, "VALUES", VALUES)
        patch.setattr(convergence_run, "EPOCHS", 3)
        patch.setattr(write, "pixels", image_of)  # seconds each; `pictures.pixels` has a test of its own
        patch.setenv("ZSKL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("ZSKL_DATA", raising=False)
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """CUB whole, with the published features; AWA1 with others; SUN with its splits alone."""
    folder = tmp_path_factory.mktemp("root")
    write_package(folder / "CUB", *tiny())
    write_package(folder / "AWA1", *tiny(), file="other")
    write_package(folder / "SUN", *tiny())
    (folder / "SUN" / "res101.mat").unlink()
    return folder


def paper(part, out, *more, seeds="2"):
    return zskl("paper", part, "--seeds", seeds, "--workers", "1", "--out", str(out), *map(str, more))


@pytest.fixture(scope="module")
def whole(root, tmp_path_factory):
    """Everything on CUB, and what was said."""
    out = tmp_path_factory.mktemp("paper") / "out"
    done = paper("all", out, "--root", root, "--dataset", "CUB", "--dataset", "sun")
    assert done.returncode == 0, done.stderr
    return out, done


def table(out, name):
    with open(out / "tables" / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def runs(out, part=""):
    return jsonl_log.read(out / part / "records.jsonl")


def near(text, value):
    return float(text) == pytest.approx(value, abs=6e-5)


# Published figures ----------------------------------------------------------------------------------------------------


def test_published_tables_are_whole():
    for method in (*published.BASELINES, *published.KERNELS):
        for dataset in paper_methods.DATASETS:
            assert published.general(method, dataset) is not None
            assert (published.zero_shot(method, dataset) is None) == (method == "cmt-star")
    for method in paper_methods.PARTS["incoherence"]:
        assert all(published.incoherence(method, dataset) > 0 for dataset in paper_methods.DATASETS)
    assert published.zero_shot("gaussian-ort", "APY") == 45.3
    assert published.zero_shot("gaussian-softmax", "APY") is None
    assert "ResNet-101" in published.tables()["source"]
    assert set(paper_methods.ALL) == set(methods.METHODS)


def test_exactly_two_printed_harmonic_means_are_misprints():
    assert published.misprints() == [("dap", "APY"), ("cmt", "CUB")]
    found = published.general("cmt", "CUB")
    assert (found.printed, round(found.harmonic, 1)) == (8.7, 12.9)
    assert printed_harmonic("cmt", "CUB").mark == "†"
    assert printed_harmonic("cmt-star", "CUB").mark == ""
    assert published.General(20.0, 60.0, 30.0).misprint is False  # and a planted one is found
    assert published.General(20.0, 60.0, 31.0).misprint is True


def test_wins_are_counted_as_in_the_paper():
    zero_shot = [comparison_table.printed_wins(name, printed_zero_shot) for name in published.KERNELS]
    general = [comparison_table.printed_wins(name, printed_harmonic) for name in published.KERNELS]
    assert zero_shot == ["4/5", "4/5", "3/5", "0/5", "4/5", "1/5", "4/5"]
    assert general == ["0/5", "1/5", "0/5", "0/5", "3/5", "0/5", "2/5"]
    assert comparison_table.printed_wins("ale", printed_zero_shot) == ""


# End to end -----------------------------------------------------------------------------------------------------------


def test_all_writes_every_format_of_every_part(whole):
    out, done = whole
    names = {file.stem for file in (out / "tables").glob("*.csv")} - {"claims"}
    for name in names:
        assert (out / "tables" / f"{name}.md").read_text("utf-8").startswith("| ")
        assert (out / "tables" / f"{name}.tex").read_text("utf-8").startswith("\\begin{tabular}")
    assert {part for part in PARTS if any(name.startswith(part) for name in names)} == set(PARTS)
    assert "44 of" not in done.stdout
    assert "52 unit(s) run" in done.stdout  # 22 methods, 3 sensitivities and 1 course, from 2 seeds each
    assert "claims of the paper" in done.stdout
    text = (out / "results.md").read_text("utf-8")
    for figure in (out / "figures").glob("*.svg"):
        assert f"(figures/{figure.name})" in text
        ElementTree.parse(figure)
        assert "var(" not in figure.read_text("utf-8")
        assert figure.with_suffix(".png").read_bytes() == image_of(figure.read_text("utf-8"))
    assert len(list((out / "figures").glob("*.svg"))) == 9
    stages = [entry["stage"] for entry in json.loads((out / "times.json").read_text("utf-8"))]
    assert stages == ["kernel methods", "published methods", "sensitivity", "convergence"]


@pytest.mark.parametrize("part", PARTS)
def test_each_part_resumes_and_writes_its_own_tables(part, whole, root, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(whole[0], out)
    shutil.rmtree(out / "tables")
    before = (out / "records.jsonl").read_bytes()
    done = paper(part, out, "--root", root, "--dataset", "CUB")
    assert (done.returncode, "0 unit(s) run" in done.stdout) == (0, True), done.stderr
    stems = {file.stem.partition("-")[0] for file in (out / "tables").glob("*.csv")}
    assert stems == {part, "claims"} | ({"choices"} if part in ("zsl", "gzsl") else set())
    assert (out / "records.jsonl").read_bytes() == before


def test_a_part_runs_no_more_than_it_needs(root, tmp_path):
    done = paper("gram", tmp_path / "out", "--root", root, "--dataset", "CUB", seeds="1")
    assert "4 unit(s) run" in done.stdout
    done = paper("convergence", tmp_path / "out", "--root", root, "--dataset", "CUB", seeds="1")
    assert "1 unit(s) run" in done.stdout  # the setting was chosen before
    done = paper("sensitivity", tmp_path / "out", "--root", root, "--dataset", "CUB", "--method", "dap", seeds="1")
    assert done.returncode == 2
    assert "sensitivity is about none of the methods dap: expected some of gaussian-ort" in done.stderr


def test_records_suffice_where_the_data_are_gone(whole, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(whole[0], out)
    kept = {file: file.read_bytes() for folder in ("tables", "figures", ".") for file in (out / folder).glob("*.*")}
    for more in (("--offline",), ("--root", tmp_path / "nowhere")):
        for file in kept:
            if file.suffix not in (".jsonl", ".json"):
                file.unlink()
        done = paper("all", out, "--dataset", "CUB", "--dataset", "SUN", *more)
        assert (done.returncode, "0 unit(s) run" in done.stdout) == (0, True), done.stderr
        assert {file: file.read_bytes() for file in kept} == kept
    assert "CUB cannot be read" in done.stderr
    assert "its tables are made from what is recorded" in done.stderr
    done = paper("all", tmp_path / "empty", "--offline")
    assert done.returncode == 2
    assert "nothing to show" in done.stderr


def test_a_dataset_without_features_is_skipped_and_its_columns_say_so(whole):
    out, done = whole
    assert "SUN is skipped" in done.stderr
    assert "has no feature file" in done.stderr
    (row,) = [row for row in table(out, "zsl") if row["method"] == "ale"]
    assert row["SUN not measured; published (res101) mean"] == "58.1000"
    assert row["CUB published (res101) mean"] == "54.9000"
    assert not any(name.startswith("SUN (") for name in row)
    text = (out / "results.md").read_text("utf-8")
    assert "SUN: not measured" in text
    assert str(out) not in text
    assert "res101.mat" not in text


def test_other_features_are_called_not_comparable(root, tmp_path):
    done = paper("zsl", tmp_path / "out", "--root", root, "--dataset", "AWA1", "--method", "sae", seeds="1")
    assert done.returncode == 0, done.stderr
    (row,) = table(tmp_path / "out", "zsl")
    ours, theirs = row["AWA1 (other) mean"], row["AWA1 published (res101) mean"]
    assert near(row["AWA1 difference, not comparable mean"], float(ours) - float(theirs))
    assert "not those of the published figures" in (tmp_path / "out" / "results.md").read_text("utf-8")
    done = paper("zsl", tmp_path / "none", "--root", root, "--dataset", "AWA1", "--features", "AWA1=res101")
    assert "AWA1 is skipped" in done.stderr
    assert done.returncode == 2


def test_a_failing_unit_loses_nothing_else(root, tmp_path, monkeypatch):
    run = experiment.run

    def faulty(unit, *rest):
        if (unit.method, unit.seed) == ("sae", 1):
            raise ArithmeticError("planted")
        return run(unit, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(experiment, "run", faulty)
        arguments = ("--root", root, "--dataset", "CUB", "--method", "sae", "--method", "eszsl")
        done = paper("zsl", tmp_path / "out", *arguments)
    assert done.returncode == 2
    assert "1 unit(s) failed: CUB sae seed 1: planted" in done.stderr
    assert [(row["method"], row["seeds"]) for row in table(tmp_path / "out", "zsl")] == [("eszsl", "2"), ("sae", "1")]
    done = paper("zsl", tmp_path / "out", *arguments)
    assert "1 unit(s) run" in done.stdout
    assert done.returncode == 0


# Merging --------------------------------------------------------------------------------------------------------------


def test_folders_merge_and_the_device_does_not_matter(whole, root, tmp_path):
    halves = {"one": published.BASELINES, "two": (*published.KERNELS, *paper_methods.OURS)}
    for name, mine in halves.items():
        found = [record for record in runs(whole[0]) if record["method"] in mine]
        for record in found:
            record["config"]["device"] = "cuda"
        jsonl_log.write(tmp_path / name / "records.jsonl", found)
    shutil.copytree(whole[0] / "curves", tmp_path / "two" / "curves")
    both = ("--merge", tmp_path / "one", "--merge", tmp_path / "two", "--compact")
    done = paper("all", tmp_path / "out", "--root", root, "--dataset", "CUB", *both)
    assert "0 unit(s) run" in done.stdout
    assert "52 record(s) merged" in done.stderr
    for name in ("zsl", "gzsl-cub", "incoherence", "sensitivity-gaussian-ort-cub"):
        assert table(tmp_path / "out", name)[0].keys() <= table(whole[0], name)[0].keys()
    assert [row["CUB (res101) mean"] for row in table(tmp_path / "out", "zsl")] == [
        row["CUB (res101) mean"] for row in table(whole[0], "zsl")
    ]
    before = (tmp_path / "out" / "records.jsonl").read_bytes()
    assert b'"per_class": {"' not in before
    assert b'"gram"' in before
    done = paper("all", tmp_path / "out", "--offline", "--dataset", "CUB", *both)
    assert "0 record(s) merged" in done.stderr
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == before
    done = paper("all", tmp_path / "out", "--merge", tmp_path / "nothing")
    assert done.returncode == 2
    assert "no records at" in done.stderr


def test_runs_of_another_kind_are_left_out(whole):
    found = [Record.from_json(line) for line in runs(whole[0])]
    problem = problem_of(found[0])
    untuned = [replace(record, tune=Tuning()) for record in found]
    fixed = [replace(record, settings={"sigma": 1.0}) for record in found]
    assert collect.select([problem], paper_methods.ALL, 2, [*untuned, *fixed], []).runs == {}
    other = replace(found[0], tune=replace(found[0].tune, grid={"sigma": (9.0,)}))
    mixed = collect.select([problem], paper_methods.ALL, 2, [other, *found[1:]], []).runs[problem, found[0].method]
    assert [record.seed for record in mixed] == [1]
    assert len(collect.select([problem], paper_methods.ALL, 1, found, []).runs[problem, "sae"]) == 1


def test_groups_name_methods():
    assert paper_methods.chosen(["Baselines"]) == published.BASELINES
    assert paper_methods.chosen(["kernels", "sae"])[0] == "sae"
    assert paper_methods.chosen(None) == paper_methods.ALL
    with pytest.raises(ValueError, match="unknown method 'gausian'"):
        paper_methods.chosen(["gausian"])


# Numbers --------------------------------------------------------------------------------------------------------------


def test_tables_hold_what_the_records_say(whole):
    out = whole[0]
    by_method = {}
    for record in runs(out):
        by_method.setdefault(record["method"], []).append(record)

    def same(row, column, values):
        assert near(row[f"{column} mean"], statistics.mean(values))
        assert near(row[f"{column} std"], statistics.stdev(values))

    zero_shot = table(out, "zsl")
    assert [row["method"] for row in zero_shot] == [name for name in paper_methods.ALL if name != "cmt-star"]
    for row in zero_shot:
        mine = [100 * record["zsl"]["accuracy"] for record in by_method[row["method"]]]
        same(row, "CUB (res101)", mine)
        theirs = published.zero_shot(row["method"], "CUB")
        if theirs is not None:
            assert near(row["CUB difference mean"], statistics.mean(mine) - theirs)
    best = max(float(row["CUB (res101) mean"]) for row in zero_shot if row["method"] in published.BASELINES)
    for row in zero_shot[len(published.BASELINES) - 1 :]:
        assert row[comparison_table.MEASURED] == f"{int(float(row['CUB (res101) mean']) > best)}/1"
    for row in table(out, "gzsl-cub"):
        mine = by_method[row["method"]]
        for column, (part, name) in {
            "unseen": ("gzsl", "unseen"),
            "seen": ("gzsl", "seen"),
            "H": ("gzsl", "harmonic"),
            "calibrated H": ("gzsl_calibrated", "harmonic"),
            "area": ("gzsl", "ausuc"),
        }.items():
            same(row, column, [100 * record[part][name] for record in mine])
    for row in table(out, "incoherence"):
        same(row, "CUB (res101)", [record["incoherence"] for record in by_method[row["method"]]])
    for kernel in ("gaussian", "cauchy"):
        rows_of = table(out, f"gram-{kernel}-cub")
        for name in (kernel, f"{kernel}-ort"):
            cells = [[float(row[f"{k} mean"]) for k in (1, 2, 3)] for row in rows_of if row["method"] == name]
            np.testing.assert_allclose(cells, by_method[name][0]["gram"], atol=6e-5, rtol=0)


def test_curves_hold_what_the_records_say(whole):
    found = runs(whole[0], "curves")
    for method in paper_methods.PARTS["sensitivity"]:
        mine = [record for record in found if (record["part"], record["method"]) == ("sensitivity", method)]
        lines = iter(table(whole[0], f"sensitivity-{method}-cub"))
        for setting in VALUES[method]:
            for place, value in enumerate(mine[0]["curves"][setting]["values"]):
                row = next(lines)
                assert (row["setting"], float(row["value"])) == (setting, value)
                tested = [100 * record["curves"][setting]["test"][place] for record in mine]
                assert near(row["test mean"], statistics.mean(tested))
                assert near(row["test std"], statistics.stdev(tested))
                folds = np.array([record["curves"][setting]["validation"][place] for record in mine])
                assert near(row["validation mean"], 100 * folds.mean())
                assert near(row["validation std"], 100 * folds.mean(axis=0).std(ddof=1))
    mine = [record for record in found if record["part"] == "convergence"]
    lines = table(whole[0], "convergence-gaussian-ort-cub")
    steps = mine[0]["phases"]["validation"]["step"]
    assert [int(row["iteration"]) for row in lines[: len(steps)]] == steps
    last = [100 * record["phases"]["test"]["accuracy"]["held out"][-1] for record in mine]
    assert near(lines[-1]["accuracy, held out mean"], statistics.mean(last))
    first = [record["phases"]["validation"]["objective"]["training"][0] for record in mine]
    assert near(lines[0]["objective, training mean"], statistics.mean(first))


SETTING = {"sigma": 0.7, "repulsion": 2.0, "learning_rate": 1e-3, "epochs": 2, "feature_scaling": "center-l2"}


@pytest.fixture(scope="module")
def data(root):
    return datasets.load("CUB", root)


def fitted(data, part, **settings):
    state = experiment.seed_of(data.name, "gaussian-ort", 0)
    model = methods.build("gaussian-ort", {**SETTING, **settings, "random_state": state})
    return model.fit(data.X[part], data.y[part], data.signatures)


def test_a_varied_setting_is_fitted_on_folds_and_on_all_training_rows(data):
    record = sensitivity_run.Varying("gaussian-ort", 0, SETTING).run(data)
    assert record.curves["sigma"].values == (0.5, 0.7, 1.0, 2.0)
    rows_ = data.parts["trainval"]
    for setting, curve in record.curves.items():
        for value, validation, tested in zip(curve.values, curve.validation, curve.test, strict=True):
            model = fitted(data, rows_, **{setting: value})
            assert tested == pytest.approx(protocols.zsl(model, data).accuracy, rel=1e-12)
            for fold, score in zip(selection.folds(data), validation, strict=True):
                model, held = fitted(data, rows_[fold.train], **{setting: value}), rows_[fold.val_unseen]
                answers = model.predict(data.X[held], data.signatures.loc[np.unique(data.y[held])])
                assert score == pytest.approx(metrics.mean_per_class_accuracy(data.y[held], answers), rel=1e-12)
    apart = sensitivity_run.Varying("gaussian-ort", 0, SETTING).run(data, None, Engine("loky", None, 2))
    assert apart.curves == record.curves


def test_validation_of_a_varied_setting_sees_no_test_row(data):
    X = data.X.copy()
    for part in ("test_seen", "test_unseen"):
        X[data.parts[part]] = np.random.default_rng(0).normal(size=X[data.parts[part]].shape)
    noise = replace(data, X=X)
    before, after = (sensitivity_run.Varying("gaussian-ort", 0, SETTING).run(one).curves for one in (data, noise))
    for setting in before:
        assert before[setting].validation == after[setting].validation
    assert [before[setting].test for setting in before] != [after[setting].test for setting in after]


def test_a_diverging_value_is_a_gap(data):
    setting = {"bias": 1.0, "repulsion": 1.0, "learning_rate": 1e4, "epochs": 1}
    record = sensitivity_run.Varying("polynomial-4", 0, setting).run(data)
    assert record.curves["bias"] == Varied((0.5, 1.0), (None, None), (None, None))
    point = sensitivity.points([record], "bias")[1]
    assert (point.validation, point.test, point.diverged) == (None, None, 1)
    problem = problem_of(record)
    results = Results((problem,), paper_methods.ALL, {}, {(problem, "polynomial-4"): [record]})
    assert "diverged in 4 case(s)" in " ".join(sensitivity.outputs(results)[0].table.notes)
    assert claims.SMALL in {one.claim for one in claims.judge(results) if one.answer == claims.UNTESTED}


def open_(model, data):
    """How far two accuracies on unseen test rows may be apart: by the rows that rounding during a fit can decide."""
    held = data.parts["test_unseen"]
    scores = model.compatibility(data.X[held], data.signatures.loc[np.unique(data.y[held])])
    undecided = ~decided(scores, AFTER_FIT.single)
    assert undecided.mean() < 0.2
    shares = [undecided[data.y[held] == label].mean() for label in np.unique(data.y[held])]
    return np.mean(shares) + 1e-12


def test_a_stack_tests_what_single_fits_do(data, monkeypatch):
    """As on a GPU, where all values train at once."""
    settings = [{**SETTING, "sigma": sigma} for sigma in (0.5, 1.0, 2.0)]
    estimator = methods.build("gaussian-ort", {"random_state": 3})
    alone = sensitivity_run._tested(estimator, settings, data, None)
    monkeypatch.setattr(sensitivity_run, "on_gpu", lambda *given: True)
    stacked = sensitivity_run._tested(estimator, settings, data, None)
    for one, other, setting in zip(stacked, alone, settings, strict=True):
        model = methods.build("gaussian-ort", {"random_state": 3, **setting}).fit(
            *data.samples("trainval"), data.signatures
        )
        assert one == pytest.approx(other, abs=open_(model, data))


def test_the_objective_of_watched_rows_is_the_same_in_torch(data):
    torch = pytest.importorskip("torch")
    part = data.parts["trainval"]
    model = fitted(data, part)
    W = model.projection_[None]
    found = [convergence_run._Measure(model, data, part, place).objective(place) for place in (W, torch.from_numpy(W))]
    assert found[0] == pytest.approx(found[1], rel=SUMS.single)


def test_a_watched_course_ends_where_a_fit_does(data):
    record = convergence_run.Watching("gaussian-ort", 0, SETTING).run(data)
    assert record.epochs == 3
    part = data.parts["trainval"]
    model = fitted(data, part, epochs=3)
    phase = record.phases["test"]
    assert phase.accuracy["held out"][-1] == pytest.approx(protocols.zsl(model, data).accuracy, abs=open_(model, data))
    for side, held in (("training", part), ("held out", data.parts["test_unseen"])):
        assert phase.objective[side][-1] == pytest.approx(objective(model, data, held), rel=AFTER_FIT.single)
    fold = selection.folds(data)[0]
    model, held = fitted(data, part[fold.train], epochs=3), part[fold.val_unseen]
    assert record.phases["validation"].objective["held out"][-1] == pytest.approx(
        objective(model, data, held), rel=AFTER_FIT.single
    )


def objective(model, data, held):
    """The squared loss of the Gaussian kernel, written out."""
    W = np.asarray(model.projection_, np.float64)
    X = model.feature_scaling_.apply(data.X[held]).astype(np.float64)
    classes = np.unique(data.y[held])
    Y = model.signature_scaling_.apply(data.signatures.loc[classes].to_numpy(dtype=np.float32)).astype(np.float64)
    total = 0.0
    for x, label in zip(X, data.y[held], strict=True):
        for name, y in zip(classes, Y, strict=True):
            weight = 1.0 if name == label else SETTING["repulsion"] / (len(classes) - 1)
            for distance in (np.sum((W.T @ x - y) ** 2), np.sum((x - W @ y) ** 2)):
                k = np.exp(-distance / (2 * SETTING["sigma"] ** 2))
                total += weight * (k - (name == label)) ** 2
    return total / len(X)


# Claims ---------------------------------------------------------------------------------------------------------------

HERE = Problem("CUB", "res101", "f", "d")


def evaluation(seed, zero_shot, unseen, harmonic, incoherence=None):
    return Record(
        dataset="CUB",
        method="any",
        seed=seed,
        zsl=ZeroShot(accuracy=zero_shot),
        gzsl=Generalised(unseen=unseen, harmonic=harmonic),
        incoherence=incoherence,
    )


def made_up(better):
    """Results in which all claims hold, or none; single seeds would say otherwise than means."""
    sign = 1 if better else -1
    both = {
        "gaussian": [evaluation(0, 0.5, 0.3, 0.4, 100.0), evaluation(1, 0.5, 0.3, 0.4, 120.0)],
        "gaussian-ort": [
            evaluation(0, 0.5 + 0.1 * sign, 0.3 - 0.02 * sign, 0.4 + 0.1 * sign, 100.0 + 5 * sign),
            evaluation(1, 0.5 + 0.1 * sign, 0.3 + 0.1 * sign, 0.4 + 0.1 * sign, 120.0 - 50 * sign),
        ],
        "sje": [evaluation(0, 0.55, 0.2, 0.45)],
        "cauchy-softmax": [evaluation(0, 0.55 + 0.01 * sign, 0.2, 0.45 + 0.01 * sign)],
    }
    if not better:
        both["gaussian"] = both["gaussian"][:1]  # one seed is enough to be judged
    curve = {
        "sigma": Varied(
            (0.1, 1.0, 10.0),
            ((0.5, 0.3), (0.4 + 0.1 * sign, 0.4 + 0.1 * sign), (0.4, 0.4)),
            (0.4, 0.4 + 0.1 * sign, 0.4),
        ),
        "repulsion": Varied(
            (0.0, 1.0, 100.0, 1000.0),
            ((0.4, 0.4), (0.5, 0.5), (0.4, 0.4), None),
            (0.4, 0.4 + 0.1 * sign, 0.4, None),
        ),
    }
    setting = {"sigma": 1.0, "repulsion": 1.0}
    record = SensitivityRecord(key="k", dataset="CUB", method="gaussian-ort", seed=0, setting=setting, curves=curve)
    curves = {(HERE, "gaussian-ort"): [record]}
    return Results((HERE,), paper_methods.ALL, {(HERE, name): mine for name, mine in both.items()}, curves)


@pytest.mark.parametrize("better", [True, False])
def test_claims_are_judged_both_ways(better):
    found = claims.judge(made_up(better))
    assert {verdict.claim for verdict in found} == set(claims.CLAIMS)
    assert {verdict.answer for verdict in found} == {claims.YES if better else claims.NO}
    assert claims.counted(found) == [
        (claim, cases * better, cases) for claim, cases in zip(claims.CLAIMS, (1, 1, 1, 1, 2, 2, 2), strict=True)
    ]
    (large,) = [verdict for verdict in found if verdict.claim == claims.LARGE]
    assert "at λ = 100," in large.figure  # 1000 diverged
    (lower,) = [verdict for verdict in found if verdict.claim == claims.INCOHERENCE]
    assert ("110.0 ± 14.1 without, 87.5" in lower.figure) == better


def test_claims_that_nothing_tests_say_so():
    found = claims.judge(Results((HERE,), paper_methods.ALL, {}))
    assert [verdict.claim for verdict in found] == list(claims.CLAIMS)
    assert {verdict.answer for verdict in found} == {claims.UNTESTED}
    text = results_page.page(Results((Problem("SUN", missing=True),), paper_methods.ALL, {}), [], found)
    assert text.count("| **not by these data** |") == len(claims.CLAIMS)


def test_a_small_difference_is_called_so():
    (unseen,) = [one for one in claims.judge(made_up(True)) if one.claim == claims.UNSEEN]
    assert (unseen.answer, unseen.figure) == (claims.YES, "30.0 ± 0.0 without, 34.0 ± 8.5 with; within the deviations")
    (single,) = [one for one in claims.judge(made_up(False)) if one.claim == claims.UNSEEN]
    assert single.figure.startswith("30.0 without, ")  # one seed has no deviation to be within
    assert "deviations" not in single.figure


def test_a_draw_is_no_victory():
    results = made_up(True)
    even = {**results.runs, (HERE, "gaussian-ort"): results.runs[HERE, "gaussian"]}
    found = claims.judge(replace(results, runs=even))
    assert {one.answer for one in found if one.claim in (claims.INCOHERENCE, claims.UNSEEN)} == {claims.NO}


# Figures and pages ----------------------------------------------------------------------------------------------------


def test_the_best_is_marked_at_the_precision_of_the_table():
    marked = comparison_table.marked({"a": Figure(50.04), "b": Figure(50.0), "c": Figure(49.9)})
    assert [figure.best for figure in marked.values()] == [True, True, False]
    assert [one.best for one in comparison_table.marked({"a": Figure(2.0), "b": Figure(1.0)}, most=False).values()] == [
        False,
        True,
    ]


def test_pixels_need_a_package_and_the_command_says_so(whole, root, tmp_path, monkeypatch):
    out = tmp_path / "copy"
    shutil.copytree(whole[0], out)
    monkeypatch.setattr(write, "pixels", pictures.pixels)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    done = paper("gram", out, "--root", root, "--dataset", "CUB")
    assert "pip install 'zskl[figures]'" in done.stdout


def test_pixels():
    pytest.importorskip("resvg_py")
    drawn = pictures.panels(
        "t", [("a", '<svg viewBox="0 0 400 100"><circle class="full c0" cx="9" cy="9" r="4"/></svg>')]
    )
    image = pictures.pixels(drawn)
    assert image.startswith(b"\x89PNG")
    wide = int.from_bytes(image[16:20], "big")
    assert wide == pytest.approx(412 * pictures.SCALE * pictures.ZOOM, abs=2)


def test_results_page_is_made_from_the_records_beside_it(tmp_path):
    """docs/results.md and its figures are never edited by hand."""
    shutil.copytree(ROOT / "benchmarks" / "results" / "paper", tmp_path / "out")
    done = zskl("paper", "all", "--offline", "--out", str(tmp_path / "out"), "--docs", str(tmp_path / "docs"))
    assert done.returncode == 0, done.stderr
    figures = [f"figures/{figure.name}" for figure in (tmp_path / "docs" / "figures").glob("*.svg")]
    assert len(figures) > 5
    for name in ("results.md", *figures):
        assert_same_numbers(*((folder / name).read_text("utf-8") for folder in (tmp_path / "docs", ROOT / "docs")))


NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def assert_same_numbers(found, expected):
    """The same words, and numbers that differ by one in their last place at most: sums may be rounded otherwise."""
    assert NUMBER.split(found) == NUMBER.split(expected)
    for mine, theirs in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        place = min(len(one.partition(".")[2]) for one in (mine, theirs))
        assert mine == theirs or (place and abs(float(mine) - float(theirs)) < 1.01 * 10.0**-place), (mine, theirs)


def test_a_planted_edit_of_results_is_found():
    assert_same_numbers("H 54.9 of 10", "H 55.0 of 10")
    for edited in ("H 55.1 of 10", "H 54.9 of 11", "U 54.9 of 10", "H 54.9"):
        with pytest.raises(AssertionError):
            assert_same_numbers(edited, "H 54.9 of 10")
