"""The pages of the evaluation and their files: all results, the page that follows the paper, the README."""

import csv
import html
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from zskl import _files
from zskl.experiments import compare
from zskl.experiments.compare import Comparison, Row, mean_over_seeds
from zskl.experiments.uncertainty import Figure
from zskl.paper import claims, tables
from zskl.paper.claims import NO, UNDECIDED, UNTESTED, YES, Verdict, count_verdicts, welch_difference
from zskl.paper.results import FAMILIES, Output, Results
from zskl.paper.tables import (
    BELOW,
    MAIN_FIGURES,
    NOT_OWN_NOTE,
    choice_tables,
    describe_features,
    generalised_tables,
    incoherence_tables,
    layout_tables,
    main_table,
    name_families,
    zero_shot_tables,
)
from zskl.plots._base import Drawing
from zskl.report.sections import to_csv_text

# All of it as one page of Markdown: results.md, which lies beside the folder figures/

SECTIONS = {  # part → heading, tables on the page, figures on the page
    "differences": ("Paired differences to the best", True, False),
    "gzsl": ("Seen and unseen classes together", True, False),
    "incoherence": ("Incoherence", True, True),
    "gram": ("Gram matrices", False, True),
    "sensitivity": ("Sensitivity", False, True),
    "convergence": ("Convergence", False, True),
}
EXTRAPOLATED = "two_cores.json"  # written by benchmarks/two_cores.py
INTRODUCTION = """# The paper's evaluation, measured

Made by `zskl paper` from records; [what it does and what figures mean](paper.md). On other pages: [the paper's own
tables beside ours](paper-tables.md), [two networks and sentences](more-evidence.md). Mean per-class top-1 accuracy in
per cent, and in brackets its 95 % interval by bootstrap over seeds, classes and rows. Bold: the best of a column, and
all whose paired difference to it cannot be told from 0. Seeds are those of methods that have randomness; their figures
are means. Settings and calibration constants are chosen on class-disjoint validation folds of the training rows, for
each figure by that figure; "H, zero-shot setting" is H of the setting that was chosen by zero-shot accuracy. Grids,
defaults and our own methods were designed while test figures of CUB and AWA1 were in view, so figures of these two are
not blind.
"""
JUDGED = """Each case is a paired difference with its 95 % interval: **yes** or **no** where its p-value is below 0.05
after Holm's correction over all cases of all claims, **undecided** elsewhere; p is the corrected one. The interval is
not corrected. ‖WᵀW − I‖² varies over seeds alone, so its interval is Welch's. λ: test accuracy at the λ that validation
chose, less that at the end of the curve. σ: the inner value that is best on validation against both ends. Baselines:
the method that validation puts first, against every baseline; "no" where the baseline that validation puts first is
above every method ([more](uncertainty.md)).
"""


def results_page(
    results: Results, outputs: Sequence[Output], verdicts: Sequence[Verdict], further: Sequence[str] = ()
) -> str:
    parts = [INTRODUCTION, *_data_section(results)]
    parts += _format_table_section("Accuracy", [output for output in outputs if output.part == "zsl"], figures=False)
    parts += ["## Claims of the paper\n", *_claims_section(verdicts)]
    for part, (heading, *shown) in SECTIONS.items():
        parts += _format_table_section(heading, [output for output in outputs if output.part == part], *shown)
    charts = [replace(one, table=replace(one.table, notes=())) for one in outputs if one.part in ("zsl", "gzsl")]
    charts.sort(key=lambda one: one.title)
    parts += _format_table_section("Accuracies as figures", [one for one in charts if one.figures], tables=False)
    parts += _format_table_section("What validation chose", [output for output in outputs if output.part == "choices"])
    parts += [*_times_section(results.times), *further]
    return "\n".join(parts).rstrip("\n") + "\n"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def _data_section(results: Results) -> list[str]:
    found = []
    for problem in results.measured:
        count = sum(where == problem for where, _ in results.runs)
        features = (
            f"features `{problem.features}`, {describe_features(problem)}" if problem.features else "its own features"
        )
        found.append(f"- {problem.dataset}: {features}; {count} methods; data {problem.fingerprint[:12]}")
    missing = [problem.dataset for problem in results.problems if problem.missing]
    if missing:
        found.append(f"- {', '.join(missing)}: not measured, because data or features are missing")
    return [*found, ""]


def _claims_section(verdicts: Sequence[Verdict]) -> list[str]:
    parts = [JUDGED, compare.to_markdown(_count_table(verdicts))]
    tested = [one for one in verdicts if one.answer != UNTESTED]
    for claim in dict.fromkeys(one.claim for one in tested):
        mine = [(one.where, f"**{one.answer}**", one.figure) for one in tested if one.claim == claim]
        title = claim[0].upper() + claim[1:] if claim[0].isascii() else claim  # λ stays λ
        parts += [f"### {title}\n", markdown_table(("case", "holds", "figures"), mine)]
    return parts


def _format_table_section(
    heading: str, outputs: Sequence[Output], tables: bool = True, figures: bool = True
) -> list[str]:
    parts = [f"## {heading}\n"] if outputs else []
    title = ""
    said: tuple[str, ...] = ()
    for output in outputs:
        parts += [f"### {output.title}\n"] if output.title != title else []
        title = output.title
        if output.table.notes != said:  # which may be the same for every dataset
            parts += [f"{' '.join(output.table.notes)}\n"] if output.table.notes else []
        said = output.table.notes
        if figures:
            parts += [f"![{output.title}, {name}](figures/{name}.svg)\n" for name in output.figures]
        if tables:
            parts.append(compare.to_markdown(output.table))
    return parts


def _times_section(times: Sequence[Mapping[str, Any]]) -> list[str]:
    if not times:
        return []
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    machines: dict[str, list[Mapping[str, Any]]] = {}
    for one in times:
        machine = one.get("machine") or one["device"]
        kinds.setdefault((one["stage"], machine), []).append(one)
        machines.setdefault(machine, []).append(one)
    lines = ["| stage | on | units | commands | seconds of all commands |", "| --- | --- | ---: | ---: | ---: |"]
    for (stage, machine), mine in kinds.items():
        units, seconds = sum(one["units"] for one in mine), sum(one["seconds"] for one in mine)
        lines.append(f"| {stage} | {machine} | {units} | {len(mine)} | {seconds:.0f} |")
    spent = ", ".join(f"{elapsed_seconds(mine) / 60:.0f} minutes on {machine}" for machine, mine in machines.items())
    said = f"Commands ran beside each other. On the clock all of it took {spent}.\n"
    return ["## Times\n", said, "\n".join(lines) + "\n"]


def elapsed_seconds(times: Sequence[Mapping[str, Any]]) -> float:
    """Seconds during which at least one of the stages ran: they may run beside each other, or on different days."""
    ends = [datetime.fromisoformat(one["finished"]).timestamp() for one in times]
    spent, last = 0.0, float("-inf")
    for start, end in sorted((end - float(one["seconds"]), end) for one, end in zip(times, ends, strict=True)):
        spent += max(0.0, end - max(start, last))
        last = max(last, end)
    return spent


def _extrapolation_section(folder: Path) -> list[str]:
    file = folder / EXTRAPOLATED
    found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    rows, missing = found.get("rows"), found.get("missing")
    if not rows:
        return []
    what = f"all but {', '.join(missing)}" if missing else "all of it"
    hours = sum(row["hours on two cores"] for row in rows)
    said = (
        f"On two cores ({found['processor']}) {what} would take {hours:.1f} hours: extrapolated from one method "
        f"of each family, run on {found['dataset']}.\n"
    )
    return [said, markdown_table(list(rows[0]), [list(row.values()) for row in rows])]


# The leading methods of each family, for the README: between two marks in it, never written by hand

BEGIN, END = "<!-- begin: results -->", "<!-- end: results -->"
LEADING = ("zero-shot", "calibrated H")  # the method of each family with the highest mean in one of these is shown


def write_readme(results: Results, file: Path, folder: Path | None = None) -> None:
    """Replace what is between the marks by a table for each problem; the blind column first, if there is one in the
    `folder` of the records. What is bold was decided among all methods."""
    try:
        before, rest = file.read_text("utf-8").split(BEGIN)
        after = rest.split(END)[1]
    except (ValueError, IndexError):
        raise ValueError(f"{file} has no place for results: expected a line {BEGIN} and, after it, {END}") from None
    blind = _blind_blocks(folder) if folder else []
    parts = ["**Blind**\n", blocks_to_markdown(blind[1:])] if blind else []
    for problem in results.measured:
        table = main_table(results, problem, results.methods)
        ranked = [results.ranked(problem, mine, column) for mine in FAMILIES.values() for column in LEADING]
        names = {found[0][0] for found in ranked if found}
        rows = tuple(row for row in table.rows if row.labels["method"] in names)
        parts += [f"**{problem.name}**\n", compare.to_markdown(name_families(replace(table, rows=rows)))]
        parts += [f"{NOT_OWN_NOTE}\n"] if NOT_OWN_NOTE in table.notes else []
    text = "\n".join(parts)
    _files.write_atomically(file, f"{before}{BEGIN}\n\n{text}\n{END}{after}".encode())


# The page that follows the paper: its tables and figures in its order, then its claims. Markdown and HTML are made from
# the same blocks.

EARLIER = "statements_before.csv"  # tables/statements.csv of an earlier version, in the folder of the records
ABLATION = "ablation.jsonl"  # written by benchmarks/printed_ablation.py
STATEMENT = ("statement", "case", "holds")
ANSWERS = (YES, NO, UNDECIDED, UNTESTED, "not measured")
BLIND = "blind/column.json"  # written by benchmarks/blind_column.py
PAPER_PAGE = "paper-tables"
PAPER_TITLE = "The paper's tables, printed and measured"
PAPER_INTRODUCTION = (
    "The paper's tables and figures in its own order and layout, its figures above ours. Made by `zskl paper` from "
    "records. Accuracies are means over classes in per cent, with 95 % intervals over seeds, classes and rows. Bold: "
    "the best of ours in a column, and all that cannot be told from it. Grids, defaults and our own methods were "
    "designed while test figures of CUB and AWA1 were in view, so figures of these two are not blind."
)
FAMILIES_SAID = (
    'Two families of the paper\'s kernels stand apart. Those "as printed" follow the text, and only σ, λ, c, the rate '
    'and the epochs are chosen. Those "improved" have another balance of classes, start, second moment and scaling.'
)


ABLATED = (
    "gaussian-ort. Each line keeps the changes of the lines above it. Settings are chosen on the folds by the first "
    "seed. Means ± standard deviation over seeds; a change is to the line above, with its 95 % interval over seeds "
    "alone, by Welch's t."
)


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    drawing: Drawing


Block: TypeAlias = Heading | Picture | Comparison | str | tuple[str, ...]  # a text, or the items of a list


def paper_page(
    results: Results, outputs: Sequence[Output], verdicts: Sequence[Verdict], folder: Path
) -> tuple[list[Block], list[tuple[str, str, str]]]:
    """The blocks of the page, and the statements that a later version is compared with."""
    stated = list_statements(results, outputs, verdicts)
    blocks: list[Block] = [PAPER_INTRODUCTION, FAMILIES_SAID]
    for part, heading in (
        ("layout", ""),
        ("gram", "Gram matrices"),
        ("sensitivity", "Figure 3, columns 1 to 3. Sensitivity"),
        ("convergence", "Figure 3, column 4. Convergence"),
    ):
        mine = [output for output in outputs if output.part == part]
        blocks += [Heading(heading)] if heading and mine else []
        for output in mine:
            blocks += [] if heading else [Heading(output.title)]
            blocks += [output.table] if part == "layout" else []
            blocks += [Picture(name, output.title, drawing) for name, drawing in output.figures.items()]
    said = JUDGED.replace("\n", " ").partition(" ([more]")[0].replace("**", "")
    counted = f"{said}. Each case is on the page of all results.", _count_table(verdicts)
    blocks += [*_blind_blocks(folder), *_ablation_blocks(folder), Heading("Claims of the paper"), *counted]
    names = {problem.name for problem in results.measured}
    told = tuple(f"{statement}, {where}: {holds}" for statement, where, holds in stated if where in names)
    return [*blocks, Heading("In words"), told, *_earlier_blocks(folder, stated, verdicts)], stated


def list_statements(
    results: Results, outputs: Sequence[Output], verdicts: Sequence[Verdict]
) -> list[tuple[str, str, str]]:
    """(statement, case, what holds): who is best, who is below the published figure, and every verdict."""
    found = []
    for problem in results.measured:
        for output in (one for one in outputs if one.name == f"zsl-{problem.stem}"):
            for column in MAIN_FIGURES:
                rows = [row for row in output.table.rows if column in row.figures and row.figures[column].best]
                rows.sort(key=lambda row: -row.figures[column].mean)
                said = ", ".join(row.labels["method"] for row in rows) or "none, since every method may be the best"
                found.append((f"best in {column}", problem.name, said))
            scored = [(row.labels["method"], row.figures.get("zero-shot")) for row in output.table.rows]
            low = [name for name, figure in scored if figure is not None and BELOW in figure.mark]
            if problem.near:
                found.append(("below the published zero-shot accuracy", problem.name, ", ".join(low) or "none"))
    return [*found, *((one.claim, one.where, one.answer) for one in verdicts if one.where)]


def _ablation_blocks(folder: Path) -> list[Block]:
    """From the algorithm as printed to the improved one: one line for each change, and what it brings."""
    file = folder / ABLATION
    lines = [json.loads(one) for one in file.read_text("utf-8").splitlines()] if file.is_file() else []
    blocks: list[Block] = [Heading("From printed to improved, one change at a time"), ABLATED] if lines else []
    for features in dict.fromkeys(one["features"] for one in lines):
        rows: list[Row] = []
        before: list[float] = []
        for step in dict.fromkeys(one["step"] for one in lines):
            mine = [one for one in lines if (one["features"], one["step"]) == (features, step)]
            shown = {name: [100 * one[name] for one in mine if one.get(name) is not None] for name in MAIN_FIGURES}
            cells = {name: mean_over_seeds(values) for name, values in shown.items() if values}
            change = welch_difference(shown["zero-shot"], before) if before else None
            if change is not None:
                cells["change of zero-shot"] = Figure(change.mean, low=change.low, high=change.high)
            before = shown["zero-shot"]
            rows += [Row({"change": step}, len(mine), cells)] if mine else []
        columns = ("zero-shot", "change of zero-shot", "H", "calibrated H")
        blocks += [f"CUB ({features}):", Comparison(("change",), columns, tuple(rows))]
    return blocks


def _blind_blocks(folder: Path) -> list[Block]:
    """Figures of data that nobody had opened before code and grids were fixed."""
    file = folder / BLIND
    if not file.is_file():
        return []
    found = json.loads(file.read_text("utf-8"))
    parts = ("mean", "low", "high", "best")
    rows = []
    for row in found["rows"]:
        cells = {name: Figure(**{part: row[name][part] for part in parts}) for name in MAIN_FIGURES}
        rows.append(Row({"method": row["method"]}, None, cells))
    splits = len(found["splits"])
    said = (
        f"`{found['file']}`: {found['what'].rstrip('.')}. {found['samples']} rows of {found['features']} features, "
        f"{found['attributes']} attributes; {found['unseen']} of {found['classes']} classes are unseen. Means over "
        f"{splits} split{'s' * (splits > 1)}. The file was opened once, after code and grids were fixed, so nothing "
        "was designed with these figures in view."
    )
    return [Heading("A blind column"), said, Comparison(("method",), MAIN_FIGURES, tuple(rows))]


def _text_table(rows: Sequence[Mapping[str, object]]) -> Comparison:
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    made = (Row({name: str(row.get(name, "")) for name in columns}, None, {}) for row in rows)
    return Comparison(columns, (), tuple(made))


def _count_table(verdicts: Sequence[Verdict]) -> Comparison:
    counted = (
        (claim, *(numbers if any(numbers) else (UNTESTED, "", ""))) for claim, *numbers in count_verdicts(verdicts)
    )
    return _text_table([dict(zip(("claim", YES, NO, UNDECIDED), one, strict=True)) for one in counted])


def _earlier_blocks(
    folder: Path, stated: Sequence[tuple[str, str, str]], verdicts: Sequence[Verdict] = ()
) -> list[Block]:
    """Which statements of an earlier version change: in words by statement, and every case."""
    text = (folder / EARLIER).read_text("utf-8") if (folder / EARLIER).is_file() else ""
    before = {(one["statement"], one["case"]): one["holds"] for one in csv.DictReader(io.StringIO(text))}
    now = {(statement, where): holds for statement, where, holds in stated}
    changed = {place: now.get(place, ANSWERS[-1]) for place in before if now.get(place) != before[place]}
    if not before:
        return []
    why = {(one.claim, one.where): one.figure for one in verdicts}
    said = []
    for statement in dict.fromkeys(name for name, _ in changed if name in claims.CLAIMS):
        mine = [place for place in before if place[0] == statement]
        counts = (Counter(found[place] for place in mine) for found in (before, {**before, **changed}))
        old, new = (", ".join(f"{one[answer]} {answer}" for answer in ANSWERS if one[answer]) for one in counts)
        lacking = sum(claims.LACKING in why.get(place, "") for place in mine)
        rest = f"; of {lacking} the records allow no interval" if lacking else ""
        said.append(f"{statement}: before {old}; now {new}{rest}")
    columns = ("statement", "case", "before", "now", "figures")
    cases = ((*place, before[place], holds, why.get(place, "")) for place, holds in changed.items())
    rows = [dict(zip(columns, case, strict=True)) for case in cases]
    total = (
        f"Of {len(before)} statements of the version before, {len(changed)} change. That version had no intervals of "
        "curves, no variance of seeds and no correction for many cases."
    )
    blocks: list[Block] = [Heading("Which earlier statements change"), total]
    return blocks + ([tuple(said)] if said else []) + ([_text_table(rows)] if rows else [])


def blocks_to_markdown(blocks: Sequence[Block]) -> str:
    parts = []
    for block in blocks:
        match block:
            case Heading(text):
                parts.append(f"## {text}\n")
            case Picture(name, words, _):
                parts.append(f"![{words}, {name}](figures/{name}.svg)\n")
            case Comparison():
                parts += [compare.to_markdown(block), *([f"{' '.join(block.notes)}\n"] if block.notes else [])]
            case str():
                parts.append(f"{block}\n")
            case _:
                parts.append("".join(f"- {item}\n" for item in block))
    return "\n".join(parts)


def blocks_to_html(title: str, blocks: Sequence[Block]) -> str:
    """One page that loads nothing: its style and figures are inside, and every word is escaped."""
    parts = []
    for block in blocks:
        match block:
            case Heading(text):
                parts.append(f"<h2>{html.escape(text)}</h2>")
            case Picture(_, words, drawing):
                parts.append(f"<figure>{drawing.svg}<figcaption>{html.escape(words)}</figcaption></figure>")
            case Comparison():
                head, *body = compare.table_cells(block, html.escape, "<b>%s</b>")
                rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in body)
                heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
                table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
                parts.append(f'<div class="box" tabindex="0">{table}</div>')
                parts += [f"<p>{html.escape(note)}</p>" for note in block.notes]
            case str():
                parts.append(f"<p>{html.escape(block)}</p>")
            case _:
                parts.append(f"<ul>{''.join(f'<li>{html.escape(item)}</li>' for item in block)}</ul>")
    style = resources.files("zskl.report").joinpath("page.css").read_text("utf-8")
    inside = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>\n'
        f"<body><main><h1>{html.escape(title)}</h1>\n{inside}\n</main></body></html>\n"
    )


# Files: each table as Markdown, CSV and LaTeX, each figure as SVG and PNG, the claims, the page

MAKERS: Mapping[str, Callable[[Results], Iterable[Output]]] = {
    "zsl": zero_shot_tables,
    "gzsl": generalised_tables,
    "incoherence": incoherence_tables,
    "gram": tables.gram_figures,
    "sensitivity": tables.sensitivity_figures,
    "convergence": tables.convergence_figures,
}
ENDINGS = {"markdown": "md", "csv": "csv", "latex": "tex"}
CASES = ("claim", "case", "holds", "figures")


def write_paper(
    results: Results, parts: Sequence[str], out: Path, docs: Path | None = None, readme: Path | None = None
) -> tuple[list[Path], list[Verdict]]:
    """Everything under `out`; page and figures also under `docs`, the leading methods also in the file `readme`."""
    made = [output for part in parts for output in MAKERS[part](results)]
    made += [*(choice_tables(results) if {"zsl", "gzsl"} & set(parts) else ()), *layout_tables(results, parts)]
    verdicts = claims.judge_claims(results)
    rows = [(one.claim, one.where, one.answer, one.figure) for one in verdicts]
    contents = {
        f"tables/{output.name}.{ending}": compare.FORMATS[name](output.table).encode()
        for output in made
        for name, ending in ENDINGS.items()
    }
    contents |= {
        "tables/claims.csv": to_csv_text(CASES, rows).encode(),
        "tables/claims.md": markdown_table(CASES, rows).encode(),
    }
    for output in made:
        for name, figure in output.figures.items():
            contents |= {f"figures/{name}.svg": figure.svg.encode(), f"figures/{name}.png": figure.png()}
    blocks, stated = paper_page(results, made, verdicts, out)
    contents["tables/statements.csv"] = to_csv_text(STATEMENT, stated).encode()
    contents[f"{PAPER_PAGE}.md"] = f"# {PAPER_TITLE}\n\n{blocks_to_markdown(blocks)}".encode()
    contents[f"{PAPER_PAGE}.html"] = blocks_to_html(PAPER_TITLE, blocks).encode()
    page = results_page(results, made, verdicts, _extrapolation_section(out))
    contents["results.md"] = page.encode()
    for name, content in contents.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        _files.write_atomically(out / name, content)
    if readme is not None:
        write_readme(results, readme, out)
    if docs is not None:
        (docs / "figures").mkdir(parents=True, exist_ok=True)
        for name in contents:
            if not name.startswith("tables/") and not name.endswith(".html"):
                shutil.copyfile(out / name, docs / name)
    return [out / name for name in contents], verdicts
