"""The pieces of `zskl run`, one after another or through an engine, and their figures."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path

from zskl.cli.bars import Display
from zskl.cli.consoles import console
from zskl.cli.heard import told_once
from zskl.cli.layout import show
from zskl.cli.signals import STOPS, told
from zskl.cli.tables import drawn
from zskl.cli.terminal import fail, mention, say
from zskl.engines import Engine
from zskl.experiments import run_folder, summary, sweep
from zskl.experiments.record import Record
from zskl.experiments.sweep import Failure, SweepTask


def run_pieces(pieces: list[SweepTask[Record]], engine: Engine | None, out: Path | None, json_: Path | None) -> None:
    """Run them; what is finished is kept, in the folder `out` and the file `json_`."""
    found: dict[int, Record] = {}
    failures = []
    with (
        run_folder.open_run_folder(out, Record.from_json) if out is not None else nullcontext() as folder,
        run_folder.replace_log(json_) if json_ is not None else nullcontext() as append,
    ):
        before = sum(piece.key in folder.done for piece in pieces) if folder is not None else 0
        if before:
            mention(f"{before} of {len(pieces)} units were done before")
        try:
            with (
                told_once(),
                Display([piece.name for piece in pieces], before) as display,
                closing(sweep.run_sweep(pieces, engine, folder, display)) as outcomes,
            ):
                for place, outcome in outcomes:
                    display.finished(place)
                    if isinstance(outcome, Failure):
                        failures.append(outcome.sentence)
                        continue
                    found[place] = outcome
                    if append is not None:
                        append(outcome.to_json())
        except STOPS as stop:
            how, code = told(stop)
            if folder is None:
                fail(f"{how}: {len(found)} of {len(pieces)} done; with --out DIR you could continue it", code)
            folder.refresh()
            done = sum(piece.key in folder.done for piece in pieces)
            fail(f"{how}: {done} of {len(pieces)} done; the same command continues", code)
    results = [found[place] for place in sorted(found)]
    for data in dict.fromkeys(map(_data, results)):
        _show([record for record in results if _data(record) == data])
    for target in filter(None, (json_, folder and folder.path)):
        mention(f"{len(results)} record{'' if len(results) == 1 else 's'} written to {target}")
    if failures:
        fail("; ".join(failures), 2)


def _data(record: Record) -> tuple[object, ...]:
    """What must be equal for figures to be compared; two datasets may share a name."""
    return record.dataset, record.features, record.fingerprint, record.features_digest


def _show(results: list[Record]) -> None:
    """The figures of one dataset, and what they mean."""
    table = summary.run_table(results)
    say(f"\n{results[0].dataset}: per cent right, the mean over classes, with its 95 % interval below")
    bold = console.is_terminal and any(figure.best for row in table.rows for figure in row.figures.values())
    best = {"bold": "the highest, and what cannot be told apart from it"} if bold else {}
    for name, words in {**summary.column_legend(results, table.figures), **best}.items():
        say(f" {name:<13} {words}")
    show(drawn(table, below=True))
    for sentence in table.notes:
        say(f"{sentence}\n", wrapped=True)
    for sentence in summary.summarise(results):
        mention(sentence, wrapped=True)
    first = results[0]
    left_out = sorted({*(() if first.zsl.alone else first.zsl.left_out), *first.gzsl.left_out})
    if left_out:
        say(f"left out of the means, having no test rows: {', '.join(left_out)}")
