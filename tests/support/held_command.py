"""The command line with units and shards that wait: each leaves a file PLACE-PID in the folder that ZSKL_TEST_HELD
names, and goes on when that folder has a file `go`.
"""

import os
import signal

from held import FOLDER, hold
from zskl.batch import predict
from zskl.experiments import sweep, unit


class Unit(unit.Unit):
    """Waits, but for the first two seeds."""

    def run(self, data, report=None, engine=None):
        if self.seed > 1:
            hold(os.environ[FOLDER], self.seed)
        return super().run(data, report, engine)


class Job(predict.Job):
    """Waits at shards whose names begin with "held"."""

    def predictor(self):
        return Predictor(super().predictor())


class Predictor:
    def __init__(self, usual):
        self.usual = usual

    def lines(self, path):
        for line in self.usual.lines(path):
            yield line  # the file of predictions has been begun
            if os.path.basename(path).startswith("held"):
                hold(os.environ[FOLDER], os.path.basename(path))


def hear():
    """Heed signals also where the tests run in the background or under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def main():
    sweep.Unit, predict.Job = Unit, Job
    from zskl.cli import main

    main()
