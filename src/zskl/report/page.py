"""The page: sections in order, with its style and script inside, and a policy that lets it load nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from zskl.experiments import compare
from zskl.experiments.record import Record
from zskl.report import classes, seen_unseen, summary, tables, training, tuning
from zskl.report.commands import compare_command, report_command, run_commands
from zskl.report.groups import Problem, problems
from zskl.report.pieces import Section, command_lines
from zskl.report.svg import element, escape
from zskl.version import __version__


def page(found: Sequence[Record], title: str = "Zero-shot report", runs: Sequence[str] = ()) -> str:
    """One HTML page from records.

    Parameters
    ----------
    found : sequence of Record
        What the page shows.
    title : str, default="Zero-shot report"
        The title of the page.
    runs : sequence of str, default=()
        Where the records were read from, for the commands that the page shows.

    Returns
    -------
    str
        The page. Its style, script and data are inside; it loads nothing.

    Raises
    ------
    ValueError
        If there is no record.

    Examples
    --------
    >>> from zskl import datasets
    >>> from zskl.experiments.unit import Unit
    >>> from zskl.report.page import page
    >>> record = Unit("eszsl", 0).run(datasets.load("digits"))
    >>> page([record], title="Digits")[:15]
    '<!DOCTYPE html>'
    """
    if not found:
        raise ValueError("no record to report on: expected at least one; run zskl run ... --out DIR first")
    table = compare.compare(found)
    here = problems(found, table)
    sections = [
        Section("tables", "Both protocols", tables.protocols(table), commands=[compare_command(runs)]),
        *(_of(problem) for problem in here),
        Section("times-all", "Times", [tables.times(here)], commands=run_commands(found)),
        Section("again", "Where this comes from", [tables.sources(here)], commands=_again(found, runs)),
    ]
    links = [("summary", "Summary"), *((one.name, one.title) for one in sections)]
    body = [
        element("h1", escape(title)),
        element("nav", *(element("a", escape(words), href=f"#{name}") for name, words in links), aria_label="Sections"),
        _summary(summary.sentences(here, table), runs),
        *(one.html() for one in sections),
        element(
            "footer", escape(f"Made by zskl {__version__} from {len(found)} record(s). Nothing is loaded from outside.")
        ),
    ]
    return _document(title, element("main", *body))


def _of(problem: Problem) -> Section:
    figures = [
        *seen_unseen.curves(problem),
        *classes.accuracies(problem),
        *classes.confusions(problem),
        *tuning.grids(problem),
        *seen_unseen.confidence(problem),
        *training.convergence(problem),
        *training.grams(problem),
    ]
    listed = [*tuning.choices(problem), *classes.attributes(problem), *seen_unseen.errors(problem)]
    words = [] if figures or listed else ["The records hold nothing beyond the tables above."]
    mine = [record for case in problem.cases for record in case.records]
    return Section(problem.address, problem.name, [*figures, *listed], words, run_commands(mine))


def _summary(sentences: Sequence[str], runs: Sequence[str]) -> str:
    paragraphs = (element("p", escape(words)) for words in sentences)
    inside = (element("h2", "Summary"), *paragraphs, command_lines([report_command(runs)]))
    return element("section", *inside, id="summary")


def _again(found: Sequence[Record], runs: Sequence[str]) -> list[str]:
    out = runs[0] if runs and not runs[0].endswith(".jsonl") else "runs"
    return [*run_commands(found, out), compare_command(runs), report_command(runs)]


def _document(title: str, body: str) -> str:
    style, script = (resources.files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    sources = f"style-src {_digest(style)}; script-src {_digest(script)}"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style>"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}<script>{script}</script></body></html>\n'
    )


def _digest(text: str) -> str:
    """A source of the policy: this very text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
