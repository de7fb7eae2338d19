"""What the TAB key offers: commands, methods and datasets by name, and files where a file is wanted."""

import pytest
from typer.testing import CliRunner

from zskl import datasets, methods
from zskl.cli import app, completion


def test_the_names_are_those_of_the_registries():
    where = "METHODS in src/zskl/cli/completion.py must list what zskl.methods.METHODS has, in its order"
    assert list(completion.METHODS) == list(methods.METHODS), where
    assert list(completion.DATASETS) == [name for name, _ in datasets.names()]


def offered(words):
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
        ("run digits --method gaussian-", ["gaussian-ort", "gaussian-softmax"]),
        ("methods cauchy-o", ["cauchy-ort"]),
        ("data check CU", ["CUB"]),
        ("predict m", []),  # the shell completes names of files by itself
    ],
)
def test_what_tab_offers(words, expected):
    assert offered(words) == expected


def test_dataset_folders_are_offered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("birds", "bees", "deep/birds"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "birds" / "manifest.json").touch()
    (tmp_path / "deep" / "birds" / "att_splits.mat").touch()
    assert offered("fit b") == ["birds"]
    assert [one.replace("\\", "/") for one in offered("fit deep/")] == ["deep/birds"]


def test_the_script_for_a_shell_is_shown(monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # then the option takes the name of a shell
    done = CliRunner().invoke(app, ["--show-completion", "bash"], prog_name="zskl")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "complete -o default -F _zskl_completion zskl")
