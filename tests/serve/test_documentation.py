"""The `sh` blocks of docs/service.md: every line is run against a service of letters."""

import inspect
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from doc_blocks import ROOT, execute

PAGE = ROOT / "docs" / "service.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
CURL = shutil.which("curl")
LIMIT = 300  # seconds that only a hang takes
pytestmark = [
    pytest.mark.skipif(CURL is None, reason="no curl here: install it to run the lines of the pages"),
    pytest.mark.xdist_group("documentation"),  # one service for both
]


@pytest.fixture(scope="module")
def address():
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    import services

    with services.in_thread(demo=True) as (address, _):
        yield address.rpartition(":")[2]


def lines(page: Path) -> list[str]:
    return [line for block in BLOCK.findall(page.read_text("utf-8")) for line in block.splitlines()]


def answers(page: Path, port: str, folder: Path) -> list[str]:
    """What each line prints; one that fails is an error."""
    found = []
    for line in lines(page):
        assert line.startswith("curl ")
        command = line.replace("localhost:8000", f"localhost:{port}").replace("curl ", "curl -sS --fail-with-body ", 1)
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, f"{page.name}: {line}: {done.stdout} {done.stderr}"
        found.append(done.stdout)
    return found


def test_commands_of_the_service_page_run(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(PAGE.read_text("utf-8"), PAGE.name)  # writes the rows that one of them sends
    found = [json.loads(answer or "null") for answer in answers(PAGE, address, tmp_path)]
    assert len(found) == 16
    first, rows, table, added, among, ranked = found[1], found[2], found[3], found[5], found[8], found[9]
    assert len(first["predictions"][0]["top"]) == 3
    assert first["predictions"][0]["explanation"]["attributes"]
    assert len(rows["predictions"]) == 3
    assert [one["class"] for one in table["predictions"]] == [one["class"] for one in rows["predictions"]]
    assert added == {"name": "q̊", "kind": "added", "defaulted": [], "version": added["version"]}
    assert {one["class"] for one in among["predictions"][0]["top"]} == {"q̊", "q", "å"}
    assert [row["class"] for row in ranked["rows"]] == ["å"] * 3
    marked, listed, to_label = found[10], found[11], found[13]
    assert [one["id"] for one in listed["examples"]] == [marked["id"]]
    assert len(to_label["rows"]) == 3


def test_failing_command_is_found(address, tmp_path):
    page = tmp_path / "planted.md"
    page.write_text("```sh\ncurl localhost:8000/predict --json '{}'\n```\n")
    with pytest.raises(AssertionError, match="expected either rows"):
        answers(page, address, tmp_path)


def block(kind, address):
    """The lines of docs/service.md for a language, which ask this service."""
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return found.replace("localhost:8000", f"localhost:{address}")


def test_python_lines_run(address, tmp_path, monkeypatch, capsys):
    pytest.importorskip("httpx", reason="the extra client is not installed")
    monkeypatch.chdir(tmp_path)
    execute(PAGE.read_text("utf-8"), PAGE.name)  # writes the rows
    capsys.readouterr()
    exec(block("py", address), {})
    said = capsys.readouterr().out.splitlines()
    assert len(said) > 5
    assert " rather than " in said[3]
    assert said[-1] == "3"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_lines_run(address, tmp_path):
    (tmp_path / "lines.mjs").write_text(block("js", address), "utf-8")
    done = subprocess.run(["node", "lines.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stderr


def test_variables_of_the_container_and_the_unit_are_options():
    from zskl.cli import inference

    options = {f"ZSKL_{name.upper()}" for name in inspect.signature(inference.serve).parameters}
    texts = [(ROOT / name).read_text("utf-8") for name in ("Dockerfile", "deploy/zskl.service", "docs/operators.md")]
    for text in texts:
        found = set(re.findall(r"ZSKL_[A-Z_]+", text))
        assert found
        assert found <= {*options, "ZSKL_DATASET"}
    dockerfile = texts[0]
    assert dockerfile.index("USER 10001") < dockerfile.index("ENTRYPOINT")  # not root
    assert "/v1/health" in dockerfile.partition("HEALTHCHECK")[2]
    for folder in re.findall(r"^COPY ([^-].*) \S+$", dockerfile, re.MULTILINE):
        assert all((ROOT / name).exists() for name in folder.split())
