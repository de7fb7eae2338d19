"""Units of a sweep as tests run them, and what of their records must be equal."""

import json

from zskl.experiments import jsonl_log, sweep
from zskl.experiments.source import Source
from zskl.experiments.sweep import Piece

QUICK = {"epochs": 1}


def pieces(data, units, name="digits"):
    return [Piece(Source(name), data, unit) for unit in units]


def timeless(record):
    """What must be equal between engines, as it is after a round trip through JSON."""
    plain = json.loads(jsonl_log.to_line(record.to_json()))
    return {name: value for name, value in plain.items() if name not in ("seconds", "finished", "versions")}


def outcomes(*arguments):
    return dict(sweep.run(*arguments))
