"""The command line as a user meets it: through its entry point."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from command import process, zskl
from zskl import methods
from zskl.cli import named
from zskl.cli.settings import setting
from zskl.experiments import run_folder
from zskl.experiments.unit import unit_seed
from zskl.version import __version__


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
    for words in ("digits", "gaussian-ort", "default", *figures, "where guessing gives 33.3 %", str(file)):
        assert words in done.stdout


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
    ("text", "expected"),
    [
        ("sigma=0.8", ("sigma", 0.8)),
        ("epochs = 3", ("epochs", 3)),
        ("incoherence=False", ("incoherence", False)),
        ("device_x=none", ("device_x", None)),
        ("loss=softmax", ("loss", "softmax")),
        ("feature_scaling=sqrt-center-l2", ("feature_scaling", "sqrt-center-l2")),
    ],
)
def test_setting_values(text, expected):
    assert setting(text) == expected


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
        (("run", "digits", "--json", f"{__file__}/x.jsonl"), ["test_cli.py"]),
        (
            ("run", "digits", "--method", "polynomial-6", "--set", "learning_rate=9", "--set", "incoherence_weight=0"),
            ["diverged at step", "learning_rate (now 9)"],
        ),
        (("run", "digits", "--scoring", "gzsl"), ["'gzsl'", "without tune"]),
        (("run", "digits", "--scoring", "acc", "--tune"), ["acc", "gzsl"]),
        (("run", "digits", "--engine", "spark"), ["spark", "dask"]),
        (("run", "digits", "--address", "tcp://127.0.0.1:1"), ["tcp://127.0.0.1:1", "expected engine 'dask'"]),
        (("run", "digits", "--workers", "0"), ["--workers"]),
        (("run", "digits", "--out", f"{__file__}/none"), ["test_cli.py"]),
        (("fly",), ["fly"]),
        (("run",), ["dataset"]),
    ],
)
def test_a_mistake_gets_a_sentence_and_exit_code_2(arguments, words):
    done = zskl(*arguments)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    for word in words:
        assert word in done.stderr


def test_what_has_finished_is_kept_when_another_run_diverges(tmp_path):
    file = tmp_path / "r.jsonl"
    methods_ = ("--method", "gaussian", "--method", "polynomial-6", "--set", "incoherence_weight=0", "--set", "bias=9")
    done = zskl("run", "digits", *methods_, "--set", "learning_rate=0.4", "--json", str(file))
    assert done.returncode == 2
    assert "digits polynomial-6 seed 0: training diverged" in done.stderr
    assert "gaussian" in done.stdout
    assert [line["method"] for line in run_folder.read_log(file)] == ["gaussian"]


def test_a_target_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("zskl.experiments.unit.Unit.run", lambda *a: pytest.fail("work was done"))
    done = zskl("run", "digits", "--json", str(tmp_path))
    assert done.returncode == 2
    assert "is a folder" in done.stderr


def test_the_same_command_continues(tmp_path):
    arguments = ("run", "digits", "--method", "gaussian-ort", "--set", "epochs=1", "--out", str(tmp_path))
    assert "done before" not in zskl(*arguments).stdout
    more = zskl(*arguments, "--seeds", "2", "--json", str(tmp_path / "all.jsonl"))
    assert "1 of 2 units were done before" in more.stdout
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
    assert "sae, eszsl: run once, since every seed gives the same model" in done.stdout


def test_json_is_not_written_again_for_every_unit(tmp_path, monkeypatch):
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


def test_by_default_three_methods_are_run_and_with_shots_the_one_that_can_learn_from_them(tmp_path):
    file = tmp_path / "r.jsonl"
    assert zskl("run", "digits", "--json", str(file)).returncode == 0
    assert [line["method"] for line in run_folder.read_log(file)] == ["class-means", "gaussian-softmax", "gaussian-ort"]
    assert zskl("run", "digits", "--shots", "1", "--json", str(file)).returncode == 0
    assert [line["method"] for line in run_folder.read_log(file)] == ["class-means"]


def test_a_dataset_is_named_once(monkeypatch):
    """From its options to its source."""
    asked = []
    source_of = named.source_of
    monkeypatch.setattr(named, "source_of", lambda name, *rest: asked.append(name) or source_of(name, *rest))
    assert zskl("run", "digits", "--method", "gaussian-ort", "--set", "epochs=1").returncode == 0
    assert asked == ["digits"]


def test_choosing_shows_the_calibrated_figure(tmp_path, monkeypatch):
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


def test_root_and_features_are_about_the_benchmarks_alone(tmp_path):
    assert named.load_dataset("digits", tmp_path, ["res101"]).name == "digits"
    with pytest.raises(ValueError, match="takes none"):
        named.load_dataset("digits", None, ["digits=res101"])


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


def test_the_whole_command_works_without_pytorch():
    done = process("run", "digits", "--method", "gaussian-ort", "--set", "epochs=1", before=WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    assert "gaussian-ort" in done.stdout


def test_version_methods_datasets_and_help():
    assert zskl("--version").stdout.strip() == f"zskl {__version__}"
    listing = zskl("methods").stdout
    assert all(name in listing for name in methods.METHODS)
    assert "incoherence=False" in listing
    assert "digits" in zskl("datasets").stdout
    for command in ("run", "methods", "datasets"):
        text = zskl(command, "--help")
        assert text.returncode == 0
        assert f"Example: zskl {command}" in " ".join(text.stdout.split())


def test_the_settings_of_one_method_with_their_values():
    listing = zskl("methods", "Gaussian").stdout
    assert all(name in listing for name in methods.build("gaussian").get_params())
    assert zskl("methods", "gausian").returncode == 2


def test_python_dash_m():
    done = subprocess.run([sys.executable, "-m", "zskl", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, f"zskl {__version__}")


def test_an_output_that_is_also_an_input_is_refused_and_nothing_is_lost(tmp_path):
    model, rows, words = tmp_path / "m.zskl", tmp_path / "rows.csv", tmp_path / "words.txt"
    assert zskl("fit", "digits", "-o", str(model), "--no-tune").returncode == 0
    rows.write_text(",".join(f"p{k}" for k in range(64)) + "\n" + ",".join("1" for _ in range(64)) + "\n")
    words.write_text("bear 0.1 0.2\n")
    before = {file: file.read_bytes() for file in (model, rows, words)}
    for arguments in (
        ("predict", str(model), str(rows), "-o", str(rows)),
        ("predict", str(model), str(rows), "-o", str(model)),
        ("data", "words", str(words), "--vectors", str(words), "-o", str(words)),
    ):
        done = zskl(*arguments)
        assert done.returncode == 2
        assert "it is also what is read" in done.stderr
    assert {file: file.read_bytes() for file in before} == before


def test_a_folder_as_output_is_refused(tmp_path):
    done = zskl("fit", "digits", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "it is a folder" in done.stderr
