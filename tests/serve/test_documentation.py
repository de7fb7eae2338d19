"""The `sh` blocks of the README and of docs/service.md: every line is run against a service of the digits."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from executed import ROOT, execute

PAGES = [ROOT / "README.md", ROOT / "docs" / "service.md"]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
CURL = shutil.which("curl")
LIMIT = 300  # seconds that only a hang takes
pytestmark = pytest.mark.skipif(CURL is None, reason="no curl here: install it to run the lines of the pages")


@pytest.fixture(scope="module")
def address():
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    import served

    with served.running("--demo") as service:
        yield str(service.port)


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


def test_the_five_lines_of_the_readme(address, tmp_path):
    predicted, added, ranked, among, deleted = answers(PAGES[0], address, tmp_path)
    first = json.loads(predicted)["predictions"][0]
    assert len(first["top"]) == 2
    assert first["explanation"]["attributes"]
    assert json.loads(added) == {
        "name": "hook",
        "kind": "added",
        "defaulted": ["lower left", "upper left", "middle"],
        "version": json.loads(added)["version"],
    }
    assert [row["class"] for row in json.loads(ranked)["rows"]] == ["7"] * 5
    assert {one["class"] for one in json.loads(among)["predictions"][0]["top"]} == {"hook", "7", "9"}
    assert deleted == ""


def test_the_lines_of_the_service_page(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(PAGES[1].read_text("utf-8"), PAGES[1].name)  # writes the rows that one of them sends
    found = [json.loads(answer or "null") for answer in answers(PAGES[1], address, tmp_path)]
    assert len(found) == 9
    assert len(found[2]["predictions"]) == 3
    assert found[5]["defaulted"] == ["lower left", "upper left", "middle"]


def test_a_line_that_is_refused_is_found(address, tmp_path):
    page = tmp_path / "planted.md"
    page.write_text("```sh\ncurl localhost:8000/predict --json '{}'\n```\n")
    with pytest.raises(AssertionError, match="expected either rows"):
        answers(page, address, tmp_path)
