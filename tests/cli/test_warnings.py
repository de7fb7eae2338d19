"""Warnings and log messages are shown once by a command, from this process, its threads or its workers."""

import logging
import warnings
from operator import add

import pytest

from command import zskl
from zskl import engines
from zskl.cli._warnings import collect_messages
from zskl.engines import Engine

pytestmark = pytest.mark.filterwarnings("default:odd rows")  # elsewhere in tests a warning is an error
LOG = logging.getLogger("zskl.selection.calibration")


def noisy(shared, task):
    LOG.warning("few %s", "classes")
    LOG.warning("few %s", "classes")
    LOG.info("not of interest")
    warnings.warn("odd rows", UserWarning, stacklevel=1)
    return shared + task


@pytest.fixture
def workers(monkeypatch):
    """Engines whose workers are calls in this process, as a worker makes them."""

    def run(function, tasks, shared, engine, started):
        for position, task in tasks.items():
            with monkeypatch.context() as elsewhere:
                elsewhere.setattr(logging.getLogger("zskl"), "handlers", [])
                value = function(shared, task)
            yield position, value

    monkeypatch.setattr("zskl.engines.run_in_processes", run)
    return Engine(workers=2)


def test_each_message_is_shown_once_with_its_count(workers, capsys):
    with collect_messages():
        assert dict(engines.each(noisy, [1, 2, 3], 10, workers)) == {0: 11, 1: 12, 2: 13}
        LOG.warning("alone")
        assert capsys.readouterr().err == ""  # nothing while a display is there
    lines = capsys.readouterr().err.splitlines()
    assert sorted(lines) == ["note: alone", "note: few classes (3 times)", "note: odd rows (3 times)"]


def test_messages_are_shown_when_a_command_is_interrupted(capsys):
    def stopped():
        with collect_messages():
            LOG.warning("few classes")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert capsys.readouterr().err == "note: few classes\n"


def test_messages_of_a_worker_travel_to_the_main_process(workers, caplog):
    value, heard = engines.call_and_capture(noisy, 1, 2)
    assert value == 3
    assert [one.text for one in heard] == ["few classes", "odd rows"]
    assert caplog.messages == []
    with pytest.warns(UserWarning, match="odd rows"):
        engines.repeat_remarks(heard)
    assert caplog.messages == ["few classes"]
    assert engines.call_and_capture(add, 1, 2) == (3, ())
    assert logging.getLogger("zskl").propagate is True


def test_run_shows_a_warning_once_for_all_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
    settings = ("--set", "epochs=1", "--method", "gaussian", "--calibrate", "--seeds", "2")
    monkeypatch.setattr("zskl.selection.calibration.RANGE", (1e-4, 1e-3))  # the best is beyond the range
    done = zskl("run", "synthetic", *settings)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("probabilities among unseen classes will be nearly equal") == 1
    assert " (2 times)" in done.stderr
    assert [line for line in done.stderr.splitlines() if line and not line.startswith("note: ")] == []
