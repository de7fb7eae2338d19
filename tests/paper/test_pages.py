"""The page that follows the paper: its tables in its layout, what stands beside them, and one command for all of it."""

from __future__ import annotations

import json

import pytest

from benchmark_files import CLASSES, UNSEEN, tiny, write_package, write_v5
from paper_runs import HERE, evaluation, paper, table
from zskl.paper import claims, pages, results, tables
from zskl.paper.results import Problem, Results

AWA = Problem("AWA1", "res101", "f", "d", published=True)
NONE = Problem("SUN", missing=True)


def made_up():
    """Two datasets of five: one kernel is above each baseline on one of them, and one as printed on both."""
    runs = {
        (HERE, "eszsl"): [evaluation(0, 0.50, 0.2, 0.30)],
        (HERE, "sync"): [evaluation(0, 0.55, 0.2, 0.20)],
        (HERE, "gaussian-ort-printed"): [evaluation(seed, 0.56, 0.2, 0.31, 900.0 + seed) for seed in range(5)],
        (HERE, "gaussian-ort"): [evaluation(0, 0.60, 0.2, 0.25, 700.0)],
        (AWA, "eszsl"): [evaluation(0, 0.50, 0.2, 0.30)],
        (AWA, "gaussian-ort-printed"): [evaluation(0, 0.51, 0.2, 0.31, 120.0)],
        (AWA, "gaussian-ort"): [evaluation(0, 0.40, 0.2, 0.29, 110.0)],
    }
    return Results((HERE, AWA, NONE), results.ALL, runs)


def layout(found, name):
    return next(one.table for one in tables.layout_tables(found, ("zsl", "gzsl", "incoherence")) if one.name == name)


def cell(row, column):
    figure = row.figures.get(column)
    return None if figure is None else (round(figure.mean, 1), figure.mark)


def line(shown, figures, method=""):
    """The first row of figures by that name, under the last method named above it."""
    above = ""
    for row in shown.rows:
        above = row.labels["method"] or above
        if row.labels["figures"] == figures and (not method or above == method):
            return row
    raise AssertionError(f"no row {figures}")


def test_table_2_has_methods_down_and_the_five_datasets_across():
    shown = layout(made_up(), "table-zsl")
    assert shown.figures == ("AWA1", "AWA2", "SUN", "CUB", "aPY", tables.BETTER)
    mine = line(shown, "gaussian-ort-printed")
    assert (cell(mine, "CUB"), cell(mine, "AWA1"), cell(mine, "SUN")) == ((56.0, ""), (51.0, "§"), None)
    assert cell(mine, tables.BETTER) == (2, " of 2")
    assert cell(line(shown, "gaussian-ort"), tables.BETTER) == (1, " of 2")
    theirs = line(shown, "published", "Gaussian-Ort")
    assert (cell(theirs, "aPY"), cell(theirs, tables.BETTER)) == ((45.3, ""), (4, " of 5"))
    assert cell(line(shown, "published", "ESZSL"), tables.BETTER) is None
    text = pages.compare.to_markdown(shown)
    assert text.count("| the paper's kernels, as printed |") == text.count("| the paper's kernels, improved |") == 1
    assert "| – |" in text  # an absent dataset


def test_the_paper_s_own_counts_follow_from_its_figures():
    """Its column "Better than SOA", of Tables 2 and 3."""
    printed = {"table-zsl": (4, 4, 3, 0, 4, 1, 4), "table-gzsl": (0, 1, 0, 0, 3, 0, 2)}
    for name, counts in printed.items():
        shown = layout(made_up(), name)
        found = [line(shown, "published", tables.paper_name(kernel)) for kernel in results.KERNELS]
        assert tuple(row.figures[tables.BETTER].mean for row in found) == counts


def test_table_3_marks_an_h_that_was_computed_again():
    shown = layout(made_up(), "table-gzsl")
    assert cell(line(shown, "published", "CMT"), "CUB H") == (12.9, "†")
    assert cell(line(shown, "published", "CMT"), "CUB tr") == (60.1, "")
    assert any("dap on APY, printed as 8.0" in note for note in shown.notes)


def test_table_4_has_published_and_measured_incoherence():
    shown = layout(made_up(), "table-incoherence")
    assert shown.figures == ("AWA1", "AWA2", "SUN", "CUB", "aPY")  # and no count
    assert cell(line(shown, "published", "Gaussian-Ort"), "SUN") == (59.1, "")
    mine = line(shown, "gaussian-ort-printed").figures["CUB"]
    assert (round(mine.mean), round(mine.deviation, 2)) == (902, 1.58)
    assert [one.name for one in tables.layout_tables(Results((HERE,), results.ALL, {}), ("incoherence",))] == []


def test_the_ablation_shows_what_each_change_brings(tmp_path):
    assert pages._ablation_blocks(tmp_path) == []
    steps = {"as printed": (0.50, 0.52), "balance: mean": (0.56, 0.58)}
    lines = [
        {"step": step, "features": "resnet50", "seed": seed, "zero-shot": one, "H": one / 2, "calibrated H": None}
        for step, values in steps.items()
        for seed, one in enumerate(values)
    ]
    (tmp_path / pages.ABLATION).write_text("\n".join(map(json.dumps, lines)), "utf-8")
    *_, shown = pages._ablation_blocks(tmp_path)
    first, second = shown.rows
    assert (first.labels["change"], first.seeds, "change of zero-shot" in first.figures) == ("as printed", 2, False)
    change = second.figures["change of zero-shot"]
    # By hand: variances of 2 points² over 2 seeds on each side give √2 points and 2 degrees of freedom, t = 4.3027.
    assert (change.mean, change.high - change.mean) == (pytest.approx(6.0), pytest.approx(4.3027 * 2**0.5, abs=1e-3))
    assert "calibrated H" not in second.figures


def test_a_blind_column_stands_on_the_page_and_in_the_readme(tmp_path):
    assert pages._blind_blocks(tmp_path) == []
    figure = {"mean": 61.23, "low": 58.0, "high": 64.0, "best": True, "below the best": 0.0}
    column = {"file": "x.npz", "what": "Rows of x.", "samples": 9, "features": 5, "attributes": 3, "classes": 8}
    column |= {
        "unseen": 2,
        "splits": [0, 1],
        "rows": [{"method": "eszsl", **dict.fromkeys(tables.MAIN_FIGURES, figure)}],
    }
    (tmp_path / "blind").mkdir()
    (tmp_path / pages.BLIND).write_text(json.dumps(column), "utf-8")
    blocks, _ = pages.paper_page(made_up(), [], [], tmp_path)
    text = pages.blocks_to_markdown(blocks)
    assert "## A blind column\n\n`x.npz`: Rows of x. 9 rows of 5 features" in text
    assert "| eszsl | **61.2 [58.0, 64.0]** |" in text
    readme = tmp_path / "README.md"
    readme.write_text(f"{pages.BEGIN}{pages.END}", "utf-8")
    pages.write_readme(made_up(), readme, tmp_path)
    assert readme.read_text("utf-8").index("**Blind**") < readme.read_text("utf-8").index("**CUB (res101)**")


def test_statements_that_change_are_listed(tmp_path):
    small = claims.SMALL
    lines = ["statement,case,holds", f"{small},CUB,yes", f"{small},AWA1,yes", f"{small},SUN,yes", "best in H,CUB,sae"]
    (tmp_path / pages.EARLIER).write_text("\n".join(lines), "utf-8")
    stated = [(small, "CUB", "yes"), (small, "AWA1", "undecided"), ("best in H", "CUB", "eszsl")]
    verdicts = [claims.Verdict(small, "AWA1", "undecided", f"1.0 at λ = 0; {claims.NO_ANSWERS}")]
    _, total, said, changed = pages._earlier_blocks(tmp_path, stated, verdicts)
    assert total.startswith("Of 4 statements of the version before, 3 change.")
    assert said == (
        f"{small}: before 3 yes; now 1 yes, 1 undecided, 1 not measured; of 1 the records allow no interval",
    )
    assert [tuple(row.labels.values()) for row in changed.rows] == [
        (small, "AWA1", "yes", "undecided", f"1.0 at λ = 0; {claims.NO_ANSWERS}"),
        (small, "SUN", "yes", "not measured", ""),
        ("best in H", "CUB", "sae", "eszsl", ""),
    ]


def test_what_is_said_is_escaped():
    assert "<b>" not in pages.blocks_to_html("a <b>", ["x <b>", ("y <b>",), pages.Heading("z <b>")]).split("<body>")[1]


# One command on a folder like that of the package


def write_all(root):
    """xlsa17/data with all five datasets, and beside each matrix the lists that the package has."""
    splits, features = tiny()
    seen = [name for name in CLASSES if name not in UNSEEN]
    lists = {"allclasses": CLASSES, "trainvalclasses": seen, "testclasses": UNSEEN}
    for k in (1, 2, 3):
        held = seen[2 * k - 2 : 2 * k]
        lists |= {f"valclasses{k}": held, f"trainclasses{k}": [name for name in seen if name not in held]}
    for name in results.DATASETS:
        folder = write_package(root / "xlsa17" / "data" / name, splits, features)
        write_v5(folder / "binaryAtt_splits.mat", splits)
        for file, classes in lists.items():
            (folder / f"{file}.txt").write_text("".join(f"{one}\n" for one in classes), "utf-8")
    return root / "xlsa17"


@pytest.mark.usefixtures("undrawn")
def test_one_command_writes_everything_for_all_five_datasets(tmp_path):
    names = ("eszsl", "gaussian-printed", "gaussian-ort-printed", "gaussian", "gaussian-ort", "class-means")
    chosen = [word for name in names for word in ("--method", name)]
    done = paper("all", tmp_path / "out", "--root", write_all(tmp_path), *chosen, seeds="1")
    assert done.returncode == 0, done.stderr
    assert f"{5 * (len(names) + 2)} units run" in done.stderr  # a sensitivity and a course each
    out = tmp_path / "out"
    found = table(out, "table-zsl")
    assert [row["figures"] for row in found if row["figures"] != "published"] == list(names)
    for row in found:
        mine = [row[f"{name} mean"] for name in ("AWA1", "AWA2", "SUN", "CUB", "aPY")]
        assert all(mine), row  # no dash: all five are there, published and measured
    page = (out / "paper-tables.md").read_text("utf-8")
    heads = [text.removeprefix("## ") for text in page.splitlines() if text.startswith("## ")]
    assert [head.partition(".")[0] for head in heads[:3]] == ["Table 2", "Table 3", "Table 4"]
    assert heads[3:] == [
        *("Gram matrices", "Figure 3, columns 1 to 3. Sensitivity", "Figure 3, column 4. Convergence"),
        *("Claims of the paper", "In words"),
    ]
    assert page.count("![") == 5 * (1 + 1 + 1) + 5  # of each dataset; and Gram matrices of both families
    whole = (out / "paper-tables.html").read_text("utf-8")
    assert whole.count("<svg") == page.count("![")
    assert "src=" not in whole
    assert whole.count("href=") == whole.count('href="#')  # within a figure
