"""The published table is a fixed protocol: its grids, its record keys and its choice by highest mean do not change."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from zskl.experiments import run_folder
from zskl.experiments.record import Record
from zskl.paper import methods as paper_methods
from zskl.paper.run import unit_of

RECORDS = Path(__file__).parents[2] / "benchmarks" / "results" / "paper" / "records.jsonl"


def test_every_record_of_the_table_is_still_that_of_its_unit():
    records = list(run_folder.read(RECORDS, Record.from_json))
    assert len({(record.method, record.features) for record in records}) == 81  # some with several seeds
    for record in records:
        data = SimpleNamespace(
            name=record.dataset,
            features=record.features,
            fingerprint=record.fingerprint,
            features_digest=record.features_digest,
        )
        unit = unit_of(record.method, record.seed, None)
        assert unit.key(data) == record.key, record.method
        assert record.tune.grid == paper_methods.grid(record.method)
        assert record.tune.also is None
        assert not unit.compares_default  # nor is anything dropped after the first fold
        assert not any(name.endswith("batch_size") for name in record.tune.grid)  # the estimator's own, of 10
