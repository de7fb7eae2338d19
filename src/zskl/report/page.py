"""The report: one HTML page from records, its sections put into the template with its style and script."""

import base64
import hashlib
import os
import shlex
from collections.abc import Sequence
from functools import cache
from importlib import resources
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from zskl import _files as files
from zskl._display import count_noun
from zskl.experiments import compare
from zskl.experiments.record import Record
from zskl.experiments.run_folder import Runs, collect
from zskl.plots._style import remove_unprintable
from zskl.report import sections
from zskl.report.sections import Case, Problem, Section, run_commands
from zskl.version import __version__

SAFE = ",. -:;=()'/"  # in the address of data
METHODS = 24  # whose classes are drawn in a problem: a page of more would be too large to open


def page(found: Sequence[Record], title: str = "Zero-shot report", runs: Sequence[str] = ()) -> str:
    """Make one HTML page from records.

    The page holds its style, script, figures and their numbers. It loads nothing from outside.

    Parameters
    ----------
    found : list of record
        What `zskl.collect` read.
    title : str, default="Zero-shot report"
        The title of the page.
    runs : list of str, default=()
        Where the records were read from, for the commands that the page shows.

    Returns
    -------
    str
        The page. Write it to a file in UTF-8.

    Examples
    --------
    >>> from zskl import report
    >>> from zskl.experiments.record import Record
    >>> line = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.75}, "gzsl": {}}
    >>> one = Record.from_json(line)
    >>> report.page([one]).splitlines()[0]
    '<!DOCTYPE html>'
    """
    if not found:
        raise ValueError("no record to report on: expected at least one; run zskl run ... --out DIR first")
    table = sections.sort_best_first(compare.compare(found))
    here = sections.group_problems(found, table)
    shown = [
        *sections.protocol_tables(table),
        *sections.difference_tables(compare.compare(found, differences=True), table),
    ]
    out = runs[0] if runs and not runs[0].endswith(".jsonl") else "runs"
    told = ["zskl", "compare", *(runs or ["runs"])], ["zskl", "report", *(runs or ["runs"]), "-o", "report.html"]
    commands = [*run_commands(found, out), *map(shlex.join, told)]
    parts = [
        Section("tables", "Results", tables=shown, words=[sections.explain_results(table)]),
        *map(_problem_section, here),
        Section("times-all", "Times", tables=[sections.time_table(here)]),
        Section("again", "Where this comes from", tables=[sections.source_table(here)], commands=commands),
    ]
    style, script = (resources.files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    return _load_template().render(
        title=title,
        style=style,
        script=script,
        summary=sections.summary_sentences(here, table),
        sections=parts,
        version=__version__,
        count=count_noun(len(found), "record"),
    )


@cache
def _load_template() -> Template:
    return _make_page_environment().get_template("page.html")


def _make_page_environment(escape: bool = True) -> Environment:
    """Every word that a template shows is escaped, and has no character that a page cannot hold."""
    environment = Environment(
        loader=PackageLoader("zskl", "report"),
        autoescape=escape,
        undefined=StrictUndefined,
        finalize=lambda value: (
            remove_unprintable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
        ),
        keep_trailing_newline=True,
    )
    environment.filters |= {
        # A source of the page's policy: this very text and no other.
        "digest": lambda text: f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}",
        # The data in the page itself, as the address of a link that saves them.
        "data_address": lambda data: f"data:text/csv;charset=utf-8,{quote(remove_unprintable(data), safe=SAFE)}",
    }
    return environment


def _problem_section(problem: Problem) -> Section:
    figures = [
        *sections.curve_figure(problem),
        *sections.confidence_figures(problem),
        *sections.objective_figure(problem),
    ]
    listed = [*sections.choice_table(problem), *sections.calibration_error_table(problem)]
    cases = problem.ranked("zero-shot")
    folds = [fold for place, case in enumerate(cases[:METHODS]) if (fold := _case_fold(problem, case, place == 0))]
    words = [] if figures or listed or folds else ["The records hold nothing beyond the tables above."]
    if len(cases) > METHODS:
        words.append(f"Figures of single classes: of the {METHODS} methods of highest zero-shot accuracy.")
    return Section(problem.address, problem.name, figures, listed, words, folds)


def _case_fold(problem: Problem, case: Case, shown: bool) -> Section | None:
    figures = [
        *sections.class_accuracy_figure(problem, case),
        *sections.confusion_figures(problem, case),
        *sections.grid_figures(problem, case),
        *sections.gram_figure(problem, case),
    ]
    listed = sections.attribute_table(problem, case)
    if not figures and not listed:
        return None
    return Section(
        f"method-{problem.place(case)}",
        f"{case.name} on {problem.name}",
        figures,
        listed,
        commands=run_commands(case.records),
        shown=shown,
    )


def write(runs: Runs, out: str | os.PathLike[str] = "report.html", title: str = "Zero-shot report") -> int:
    """Write what was run as one HTML page that needs nothing else: tables, figures, their data and commands.

    Parameters
    ----------
    runs : path, Record, or sequence of these
        Run folders that `zskl run --out` wrote, .jsonl files, or records.
    out : path, default="report.html"
        The file to write. It is replaced in one step.
    title : str, default="Zero-shot report"
        The title of the page.

    Returns
    -------
    int
        The number of records on the page.

    Examples
    --------
    >>> import tempfile, zskl
    >>> from zskl.experiments.unit import Unit
    >>> record = Unit("eszsl", 0).run(zskl.datasets.load("digits"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zskl.report.write(record, f"{folder}/report.html")
    1
    """
    files.check_target(out)
    given = [runs] if isinstance(runs, str | os.PathLike | Record) else list(runs)
    found = collect(given)
    paths = [str(run) for run in given if not isinstance(run, Record)]
    files.write_atomically(out, page(found, title, paths).encode())
    return len(found)
