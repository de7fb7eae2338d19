"""`zskl run`: records, figures, settings, and the commands of `make run`; `zskl expect`: text and JSON."""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

import user_files
from command import invoke, process, zskl
from paper_runs import shortened
from user_files import MAKE
from zskl import datasets, methods
from zskl.cli import _options
from zskl.experiments import run_folder
from zskl.experiments.expectation import expect_accuracy
from zskl.experiments.unit import unit_seed
from zskl.version import __version__

GRID = {"shrinkage": (0.1, 0.6)}


@pytest.fixture(scope="module")
def two_seeds(tmp_path_factory):
    file = tmp_path_factory.mktemp("runs") / "new folder" / "digits.jsonl"
    done = zskl(
        "run", "Digits", "--method", "Gaussian-Ort", "--method", "gaussian", "--seeds", "2", "--json", str(file)
    )
    return done, file


def test_run_prints_both_protocols(two_seeds):
    done, file = two_seeds
    assert done.returncode == 0, done.stderr
    figures = ("zero-shot", "unseen", "seen", "H", "95 % interval")
    for words in ("digits", "gaussian-ort", "default", *figures, "where guessing gives 33.3 %"):
        assert words in done.stdout
    assert done.stderr == f"note: 4 records written to {file}\n"


def test_json_holds_one_complete_record_per_seed(two_seeds):
    _, file = two_seeds
    lines = run_folder.read_log(file)
    assert [(line["method"], line["seed"]) for line in lines] == [
        (method, seed) for method in ("gaussian-ort", "gaussian") for seed in (0, 1)
    ]
    for line in lines:
        assert line["dataset"] == "digits"
        assert line["config"]["incoherence"] is (line["method"] == "gaussian-ort")
        assert (
            line["config"]["random_state"] == line["random_state"] == unit_seed("digits", line["method"], line["seed"])
        )
        assert 0.5 < line["zsl"]["accuracy"] <= 1
        for key in ("unseen", "seen", "harmonic", "ausuc", "calibration"):
            assert 0 <= line["gzsl"][key] <= 1
        assert line["seconds"]["fit"] > 0
        assert line["versions"]["zskl"] == __version__
        assert len(line["fingerprint"]) == 64


def test_same_seed_same_figures(two_seeds, tmp_path):
    _, file = two_seeds
    again = tmp_path / "again.jsonl"
    assert zskl("run", "digits", "--method", "gaussian-ort", "--json", str(again)).returncode == 0
    old, other, *_ = (line for line in run_folder.read_log(file) if line["method"] == "gaussian-ort")
    (new,) = run_folder.read_log(again)
    assert (old["zsl"], old["gzsl"], old["fingerprint"]) == (new["zsl"], new["gzsl"], new["fingerprint"])
    assert old["gzsl"] != other["gzsl"]  # another seed


def test_settings_reach_the_model(tmp_path):
    file = tmp_path / "r.jsonl"
    done = zskl(
        *("run", "digits", "--method", "gaussian-ort", "--set", "sigma=0.8", "--set", "incoherence=false"),
        *("--set", "epochs=1", "--json", str(file)),
    )
    assert done.returncode == 0, done.stderr
    config = json.loads(file.read_text())["config"]
    assert (config["sigma"], config["incoherence"], config["epochs"]) == (0.8, False, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "digit"), ["'digit'", "digits"]),
        (("run", "digits", "--method", "gausian-ort"), ["gausian-ort", "gaussian-ort"]),
        (("run", "digits", "--method", "gaussian", "--set", "sgma=1"), ["sgma", "did you mean 'sigma'"]),
        (("run", "digits", "--set", "sigma=1"), ["method 'class-means' has no setting 'sigma'"]),
        (("run", "digits", "--method", "gaussian", "--set", "sigma=-1"), ["sigma is -1", "> 0"]),
        (("run", "digits", "--method", "gaussian", "--set", "sigma=wide"), ["sigma is 'wide'", "> 0"]),
        (("run", "digits", "--set", "sigma"), ["NAME=VALUE"]),
        (("run", "digits", "--set", "random_state=3"), ["--seeds"]),
        (("run", "digits", "--seeds", "0"), ["--seeds"]),
        (("run", "digits", "--device", "gpu"), ["'gpu'", "expected 'cuda'"]),
        (("run", "digits", "--json", f"{__file__}/x.jsonl"), ["test_runs.py"]),
        (
            ("run", "digits", "--method", "polynomial-6", "--set", "learning_rate=9", "--set", "incoherence_weight=0"),
            ["diverged at step", "learning_rate (now 9)"],
        ),
        (("run", "digits", "--scoring", "gzsl"), ["'gzsl'", "without tune"]),
        (("run", "digits", "--scoring", "acc", "--tune"), ["acc", "gzsl"]),
        (("run", "digits", "--engine", "spark"), ["spark", "dask"]),
        (("run", "digits", "--address", "tcp://127.0.0.1:1"), ["tcp://127.0.0.1:1", "expected engine 'dask'"]),
        (("run", "digits", "--workers", "0"), ["--workers"]),
        (("run", "digits", "--out", f"{__file__}/none"), ["test_runs.py"]),
        (("fly",), ["fly"]),
        (("run",), ["dataset"]),
    ],
)
def test_user_mistake_is_one_sentence_with_exit_code_2(arguments, words):
    done = zskl(*arguments)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    for word in words:
        assert word in done.stderr


def test_finished_units_are_kept_when_another_diverges(tmp_path):
    file = tmp_path / "r.jsonl"
    methods_ = ("--method", "gaussian", "--method", "polynomial-6", "--set", "incoherence_weight=0", "--set", "bias=9")
    done = zskl("run", "digits", *methods_, "--set", "learning_rate=0.4", "--json", str(file))
    assert done.returncode == 2
    assert "digits polynomial-6 seed 0: training diverged" in done.stderr
    assert "gaussian" in done.stdout
    assert [line["method"] for line in run_folder.read_log(file)] == ["gaussian"]


def test_unwritable_target_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("zskl.experiments.unit.Unit.run", lambda *a: pytest.fail("work was done"))
    done = zskl("run", "digits", "--json", str(tmp_path))
    assert done.returncode == 2
    assert "is a folder" in done.stderr


def test_the_same_command_continues(tmp_path):
    arguments = ("run", "digits", "--method", "gaussian-ort", "--set", "epochs=1", "--out", str(tmp_path))
    assert "done before" not in zskl(*arguments).stdout
    more = zskl(*arguments, "--seeds", "2", "--json", str(tmp_path / "all.jsonl"))
    assert "1 of 2 units were done before" in more.stderr
    assert re.search(r"\ngaussian-ort +default, .* 2 +\d", more.stdout)
    assert run_folder.read_log(tmp_path / "all.jsonl") == run_folder.read_log(tmp_path / "records.jsonl")


def test_json_and_out_hold_the_same_records(tmp_path):
    done = zskl(
        *("run", "digits", "--method", "sae", "--method", "eszsl", "--seeds", "2", "--calibrate"),
        *("--set", "feature_scaling=center-l2", "--out", str(tmp_path / "out"), "--json", str(tmp_path / "r.jsonl")),
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.jsonl").read_bytes() == (tmp_path / "out" / "records.jsonl").read_bytes()
    assert len(run_folder.read_log(tmp_path / "r.jsonl")) == 2
    assert "sae, eszsl: run once, since every seed gives the same model" in done.stderr


def test_json_file_is_appended_after_the_first_unit(tmp_path, monkeypatch):
    """The file is replaced when the first unit has finished; the others are appended."""
    written = []
    write = run_folder.write_lines
    monkeypatch.setattr(run_folder, "write_lines", lambda path, lines: written.append(path) or write(path, lines))
    file = tmp_path / "r.jsonl"
    file.write_text("something else\n")
    arguments = ("--method", "gaussian", "--set", "epochs=1", "--seeds", "3", "--json", str(file))
    assert zskl("run", "digits", *arguments).returncode == 0
    assert written == [file]
    assert [line["seed"] for line in run_folder.read_log(file)] == [0, 1, 2]


def test_default_methods_with_and_without_shots(tmp_path):
    file = tmp_path / "r.jsonl"
    assert zskl("run", "digits", "--json", str(file)).returncode == 0
    assert [line["method"] for line in run_folder.read_log(file)] == ["class-means", "gaussian-softmax", "gaussian-ort"]
    assert zskl("run", "digits", "--shots", "1", "--json", str(file)).returncode == 0
    assert [line["method"] for line in run_folder.read_log(file)] == ["class-means"]


def test_source_of_a_dataset_is_found_once(monkeypatch):
    """From its options to its source."""
    asked = []
    find_source = _options.find_dataset_source
    monkeypatch.setattr(
        _options, "find_dataset_source", lambda name, *rest: asked.append(name) or find_source(name, *rest)
    )
    assert zskl("run", "digits", "--method", "gaussian-ort", "--set", "epochs=1").returncode == 0
    assert asked == ["digits"]


def test_tuning_shows_the_calibrated_figure(tmp_path, monkeypatch):
    monkeypatch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
    fixed = ("sigma=1", "repulsion=1", "feature_scaling=center-l2", "signature_scaling=center-l2")
    settings = [word for text in fixed for word in ("--set", text)]
    done = zskl("run", "digits", "--method", "gaussian-ort", "--tune", "--calibrate", *settings, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "calibrated" in done.stdout
    (record,) = run_folder.read_log(tmp_path / "records.jsonl")
    assert set(record["tune"]["grid"]) == {"learning_rate", "epochs", "batch_size"}
    assert record["gzsl_calibrated"]["harmonic"] > record["gzsl"]["harmonic"]


def test_repeated_names_are_run_once():
    done = zskl("run", "digits", "digits", "--method", "gaussian", "--method", "Gaussian", "--set", "epochs=1")
    assert done.returncode == 0
    assert re.search(r"\ngaussian +default, .*\d", done.stdout)
    assert done.stdout.count("\ngaussian") == 1


def test_root_and_features_apply_to_benchmarks_only(tmp_path):
    assert _options.load_dataset("digits", tmp_path, ["res101"]).name == "digits"
    with pytest.raises(ValueError, match="takes none"):
        _options.load_dataset("digits", None, ["digits=res101"])


def test_cuda_without_a_gpu_is_refused_before_any_work():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    done = zskl("run", "digits", "--device", "cuda")
    assert done.returncode == 2
    assert "cuda" in done.stderr
    assert "Traceback" not in done.stderr


WITHOUT_TORCH = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError("no torch here")
sys.meta_path.insert(0, Without())
"""


def test_device_cuda_without_pytorch_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # what an import that fails leaves behind
    done = zskl("run", "digits", "--device", "cuda")
    assert done.returncode == 2
    assert "pip install 'zskl[torch]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_run_works_without_pytorch():
    done = process("run", "digits", "--method", "gaussian-ort", "--set", "epochs=1", before=WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    assert "gaussian-ort" in done.stdout


MAKEFILE = Path(__file__).parents[2] / "Makefile"


def make_run_commands():
    """The arguments of the commands of `make run`, in order."""
    recipe = re.search(r"^run:.*\n((?:\t.*\n)+)", MAKEFILE.read_text("utf-8"), re.MULTILINE)[1]
    lines = recipe.replace("\\\n", " ").splitlines()
    return [shlex.split(line.strip().removeprefix("@$(BIN)/zskl")) for line in lines]


def test_make_run_tunes_three_methods_and_leaves_one_at_its_defaults(monkeypatch):
    order, page = make_run_commands()
    found, loaded = [], []
    data = datasets.make_synthetic()
    monkeypatch.setattr(_options, "load_source", lambda source: loaded.append(source.name) or data)
    monkeypatch.setattr("zskl.cli.runs.run_pieces", lambda pieces, *more: found.append((pieces, more)))
    done = zskl(*order)
    assert done.returncode == 0, done.stderr
    assert loaded == ["letters"]
    ((pieces, (_, folder, _)),) = found
    units = {piece.unit.method: piece.unit for piece in pieces}
    assert list(units) == ["class-means", "eszsl", "gaussian-softmax", "gaussian-ort"]
    assert [unit.tune for unit in units.values()] == [True, True, False, True]  # 0.2 left gaussian-ort untuned
    assert all(unit.calibrate and unit.seed == 0 for unit in units.values())
    assert (units["class-means"].shots, units["class-means"].unlabelled) == ((1, 5), ("all",))
    assert "note: gaussian-softmax: not tuned, at default settings, with one seed" in done.stderr
    command, runs, option, target, *_ = page
    assert (command, Path(runs), option) == ("report", folder, "-o")
    assert Path(target) == folder / "report.html"


def test_make_run_prints_at_most_40_lines_on_a_narrow_terminal(tmp_path, monkeypatch):
    """On another dataset and with grids of one setting; the lines are the same."""
    monkeypatch.setattr("command.COLUMNS", 80)
    folder, printed = tmp_path / "runs", ""
    with shortened(tmp_path / "cache"):
        for words in make_run_commands():
            words = [str(folder / Path(word).name) if word.startswith("runs/") else word for word in words]
            words = [str(folder) if word == str(folder / "letters") else word for word in words]
            done = zskl(*("digits" if word == "letters" else word for word in words))
            assert done.returncode == 0, done.stderr
            printed += done.stdout + done.stderr
    assert re.search(r"^gaussian-ort +tuned ", printed, re.MULTILINE)
    assert re.search(r"^\+ 5 examples", printed, re.MULTILINE)
    weak = ("note: validation is weak", "note: probabilities among unseen")  # of few digits, not of letters
    lines = [line for line in printed.splitlines() if not line.startswith(weak)]
    shown = [line for text in lines for line in textwrap.wrap(text, 80) or [text]]
    assert 25 < len(shown) <= 44, printed
    assert len(lines) <= 36


@pytest.fixture
def quick_expect(monkeypatch):
    """Two settings, and no processes for so little."""
    monkeypatch.setitem(methods.METHODS, "class-means", replace(methods.METHODS["class-means"], grid=GRID, bounds={}))
    monkeypatch.setattr("zskl.selection.calibration.Engine", lambda *names: None)


@pytest.mark.usefixtures("quick_expect")
def test_what_to_expect(here):
    invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu")
    twin = expect_accuracy(datasets.load("birds"), GRID, engine=None)
    code, out = invoke("expect", "birds", "--top", "2")
    assert code == 0
    figure = f"{100 * twin.zero_shot.mean:.1f} ± {100 * twin.zero_shot.spread:.1f} %"
    assert f"birds: expected zero-shot accuracy {figure} (3 folds of 2 to 3 held-out classes; chance" in out
    assert f"{100 * twin.harmonic.mean:.1f} ± {100 * twin.harmonic.spread:.1f} %" in out
    assert f"{100 * twin.groups[0].loss.mean:+.1f}" in out
    assert "3 more; --top shows them" in out
    out = zskl("expect", "birds", "--json").stdout
    assert json.loads(out) == {"dataset": "birds", **json.loads(json.dumps(twin.to_json()))}


@pytest.mark.usefixtures("quick_expect")
def test_expecting_from_too_few_classes_is_a_sentence(here):
    user_files.write_birds(here, ["ant", "bee", "cat", "dog"])
    invoke(*MAKE, "--unseen", "dog")
    done = zskl("expect", "birds")
    assert done.returncode == 2
    assert "of 3 classes" in done.stderr
    assert "Traceback" not in done.stderr
