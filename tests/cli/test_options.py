"""What several commands take: values of --set, and what the TAB key offers."""

import pytest
from typer.testing import CliRunner

from zskl.cli import _options, app


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
    assert _options.parse_setting(text) == expected


def completions(words):
    """What bash is told after these words, the last of them unfinished."""
    environment = {
        "_ZSKL_COMPLETE": "complete_bash",
        "COMP_WORDS": f"zskl {words}",
        "COMP_CWORD": str(words.count(" ") + 1),
    }
    return CliRunner().invoke(app, [], env=environment, prog_name="zskl").stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("data m", ["make"]),
        ("run digits --method gaussian-s", ["gaussian-softmax"]),
        ("methods cauchy-o", ["cauchy-ort"]),
        ("data check CU", ["CUB"]),
        ("predict m", []),  # the shell completes names of files by itself
    ],
)
def test_completion(words, expected):
    assert completions(words) == expected


def test_dataset_folders_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("birds", "bees", "deep/birds"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "birds" / "manifest.json").touch()
    (tmp_path / "deep" / "birds" / "att_splits.mat").touch()
    assert completions("fit b") == ["birds"]
    assert [one.replace("\\", "/") for one in completions("fit deep/")] == ["deep/birds"]


def test_completion_script_is_shown(monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # then the option takes the name of a shell
    done = CliRunner().invoke(app, ["--show-completion", "bash"], prog_name="zskl")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "complete -o default -F _zskl_completion zskl")
