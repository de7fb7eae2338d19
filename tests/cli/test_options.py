"""What several commands take: values of --set, and what the TAB key offers."""

import re

import pytest
import typer
from typer.testing import CliRunner

import user_files
from command import zskl
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
        ("methods cauchy-o", ["cauchy-ort", "cauchy-ort-printed"]),
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


# Tables in other encodings, and with decimal commas -------------------------------------------------------------------

WRITTEN = ("--encoding", "cp1252", "--decimal", ",")


@pytest.fixture
def european(model, here):
    """The files and the model of the birds, and eu-features.csv and eu-traits.csv, the same as a spreadsheet writes."""
    for name in ("features.csv", "traits.csv"):
        text = (here / name).read_text("utf-8").replace("bee", "béé")
        (here / name).write_text(text, "utf-8")
        user_files.write_european(here / name, here / f"eu-{name}")
    assert b";" in (here / "eu-traits.csv").read_bytes()
    assert b"b\xe9\xe9" in (here / "eu-features.csv").read_bytes()
    return model


def test_commands_read_decimal_commas_and_other_encodings_as_plain_tables(european, here):
    make = ("--labels", "label", "--unseen", "béé")
    plain = zskl("data", "make", "plain", "--features=features.csv", "--signatures=traits.csv", *make)
    other = zskl("data", "make", "other", "--features=eu-features.csv", "--signatures=eu-traits.csv", *make, *WRITTEN)
    assert (plain.returncode, other.returncode) == (0, 0), other.stderr
    for file in ("features.npy", "labels.csv", "signatures.csv", "splits.json"):
        assert (here / "plain" / file).read_bytes() == (here / "other" / file).read_bytes(), file
    for data in ("plain", "other"):
        assert zskl("fit", data, "-o", f"{data}.zskl", "--method", "class-means", "--no-tune").returncode == 0
    table = ("--signatures", "traits.csv")
    for before, after in (
        (("predict", "plain.zskl", "features.csv"), ()),
        (("predict", "plain.zskl", "features.csv", *table), ()),
        (("explain", "plain.zskl", "features.csv", *table, "--json"), ()),
        (("label-next", "plain.zskl", "features.csv", *table), ()),
        (("teach", "plain.zskl", "--features=features.csv", "--labels=label"), ("-o", "taught.zskl")),
        (("adapt", "plain.zskl", "features.csv", "--force"), ("-o", "adapted.zskl")),
    ):
        usual = zskl(*before, *after)
        others = [re.sub(r"(features|traits)\.csv", r"eu-\1.csv", one) for one in before]
        found = zskl(*others, *after, *WRITTEN)
        assert (found.returncode, found.stdout) == (0, usual.stdout), (before, found.stderr)
        refused = zskl(*others, *after)
        assert refused.returncode == 2, before
        assert "(--encoding cp1252)" in refused.stderr or "--encoding cp1252" in refused.stderr, before


def test_commands_that_read_tables_say_how_text_is_written():
    root = typer.main.get_command(app)
    data = root.commands["data"]
    for name in ("predict", "explain", "teach", "adapt", "label-next", "fit", "run", "expect", "serve", "export"):
        assert {"encoding", "decimal"} <= {one.name for one in root.commands[name].params}, name
    assert {"encoding", "decimal"} <= {one.name for one in data.commands["make"].params}
    assert "encoding" in {one.name for one in data.commands["words"].params}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ((), "eu-features.csv is not UTF-8 text"),
        (("--encoding", "cp1252"), "found '0,126'"),
        (("--encoding", "cp1252"), "--decimal ,"),
        (("--encoding", "latim"), "encoding is 'latim': expected the name of a text encoding, such as 'utf-8'"),
        (("--decimal", ","), "--encoding cp1252"),
    ],
)
def test_an_error_names_the_option_that_reads_a_table(european, more, sentence):
    files = ("--features=eu-features.csv", "--labels=label", "--signatures=eu-traits.csv")
    done = zskl("data", "make", "again", *files, *more)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_wrong_choice_is_told_without_the_name_of_an_error():
    done = CliRunner().invoke(app, ["export", "x.zskl", "--to", "banana"], prog_name="zskl", env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "'banana' is not one of 'onnx'" in done.stderr
    assert "Value error" not in done.stderr
