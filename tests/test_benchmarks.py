"""What benchmarks compare computes the same, and the page of figures is what the records give."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import adapters
import blind_column
import decisions
import encode_texts
import engines
import kernels_and_subspaces
import letters_choices
import letters_page
import performance
import sparse_text
import step_cpu
from shapes import BATCH, problem, times
from zskl import methods
from zskl.kernels import Cauchy, Gaussian
from zskl.selection.grid_search import expand_grid

HERE = Path(__file__).parents[1]


def test_the_page_is_made_of_the_records():
    page = (HERE / "docs" / "performance.md").read_text("utf-8")
    assert page == performance.page(), "run: python benchmarks/performance.py"


def test_the_page_of_letters_is_made_of_its_record():
    page = (HERE / "docs" / "letters.md").read_text("utf-8")
    record = json.loads(letters_choices.RECORD.read_text("utf-8"))
    assert page == letters_page.page(record), "run: python benchmarks/letters_choices.py"


def test_the_tables_of_decisions_are_those_of_their_record():
    page = (HERE / "docs" / "decisions.md").read_text("utf-8")
    tables = decisions.make_tables(decisions.read(HERE / "benchmarks" / "results" / "decisions.jsonl"))
    assert page == decisions.put_into_page(page, tables), "run: python benchmarks/decisions.py tables ... --docs ..."
    assert set(tables) == {"sets", "shift", "none", "alarms", "tree", "speed"}


def test_the_figures_of_the_encoder_are_those_of_its_record():
    page = encode_texts.PAGE.read_text("utf-8")
    record = json.loads((HERE / "benchmarks" / "results" / "encode_texts.json").read_text("utf-8"))["figures"]
    assert page == encode_texts.put_into_page(page, record), "run: python benchmarks/encode_texts.py"
    assert encode_texts.paragraph(record) in page
    assert "**missed**" in encode_texts.paragraph({**record, "ratio": 1.31})
    texts = encode_texts.collect_texts(40)
    assert len(set(texts)) == 40


def test_the_figures_of_engines_are_those_of_their_records():
    page = engines.PAGE.read_text("utf-8")
    assert page == engines.put_into_page(page, engines.read_results()), "run: python benchmarks/engines.py FOLDER"
    assert {engines.count_lines(page, name) for name, recipe in engines.RECIPES.items() if recipe} <= set("123456789")


def test_a_record_that_is_missing_is_said_to_be(tmp_path):
    assert performance.page(tmp_path).count("Not measured: no `benchmarks/results/") == len(performance.PARTS)


@pytest.mark.parametrize("shape", [(6, 9), (12, 5)])
def test_automatic_differentiation_trains_the_same_model(shape):
    """The version that we are measured by, against ours: the same rows give the same steps."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the version with automatic differentiation")
    from autograd import Autograd
    from zskl import ZeroShotKernelClassifier
    from zskl.training import solver

    data = problem(*shape, d=20, rows=40)
    theirs = Autograd(*(torch.from_numpy(array) for array in (data.W, data.X, data.Y, data.codes)))
    objective = ZeroShotKernelClassifier(**step_cpu.KERNEL)._objective()
    W, V = data.W[None].copy(), np.zeros_like(data.W[None])
    sizes = np.bincount(data.codes, minlength=shape[0]).astype(np.float32)
    for first in range(0, 40, BATCH):
        rows = np.arange(first, first + BATCH)
        expected = objective.evaluate(W, data.X[rows], data.Y, data.codes[rows], sizes)
        loss = theirs.step(torch.from_numpy(rows)).detach()
        assert loss.item() == pytest.approx(float(expected.objective[0]), rel=1e-4)
        solver.make_update(W, V, 0.99, 1e-6)(expected.gradient, None, 3e-4)
    moved = np.abs(W[0] - data.W).max()
    assert moved > 1e-3
    np.testing.assert_allclose(theirs.W.detach().numpy(), W[0], atol=1e-2 * moved)


@pytest.mark.parametrize("shape", [(6, 9), (12, 5)])
def test_what_is_timed_runs(shape):
    data = problem(*shape, d=20, rows=40)
    ways = {"ours": step_cpu.ours(data), "plain": step_cpu.ours(data, plain=True), "floor": step_cpu.floor(data)}
    ways["floor by columns"] = step_cpu.floor(data, by_columns=True)
    assert set(times(ways, steps=4, rounds=1)) == set(ways)


def test_a_planted_exponent_is_found():
    import growth

    sizes = np.array([1, 2, 4, 8, 16])
    assert growth.exponent(sizes, 3e-6 * sizes**1.5) == pytest.approx(1.5)
    curves = {"d": {"sizes": sizes.tolist(), "seconds": (1e-6 * sizes).tolist(), "exponent": 1.0}}
    assert "exponent 1.00" in growth.figure(curves)


def test_the_page_of_sparse_tables_has_the_figures_of_its_record():
    record = json.loads((HERE / "benchmarks" / "results" / "sparse_text.json").read_text("utf-8"))["figures"]
    page = (HERE / "docs" / "sparse.md").read_text("utf-8")
    assert sparse_text.markdown(record["methods"]) in page, "run: python benchmarks/sparse_text.py --dense"
    assert (record["size"]["rows"], record["size"]["words"]) == (20_000, 50_000)
    ours = [one for one in record["methods"] if one["method"] in sparse_text.METHODS]
    assert sum(one["fit"] + one["predict"] for one in ours) < 60
    assert max(one["megabytes"] for one in ours) < 2000


def test_the_sparse_benchmark_measures_what_it_says():
    texts = sparse_text.draw(rows=300, words=400, classes=12)
    assert set(texts.y_new) <= set(texts.unseen)
    assert not set(texts.y) & set(texts.unseen)
    for dense in (False, True):
        assert sparse_text.measure("cosine", texts, dense)["accuracy"] > 1 / len(texts.unseen)


def test_what_a_version_does_not_have_is_said_and_not_compared():
    import before_after_parts

    now = {"seconds": 2.0, "processor_seconds": 1.0}
    line = before_after_parts._line
    assert line("fit", {"before": None, "now": now})[1:4] == ["not there", "2.00", ""]
    assert line("fit", {"before": {"seconds": 3.0, "processor_seconds": 4.0}, "now": now})[3::3] == ["1.50", "4.00"]
    assert line("fit", {"now": now})[1] == ""  # no history: nothing was looked for


def test_without_history_there_is_no_version_before(tmp_path, monkeypatch):
    import before_after

    monkeypatch.setattr(before_after, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert before_after.unpacked(tmp_path) is None


def test_time_counts_for_the_part_whose_code_calls():
    import profile_left

    at = str(HERE / "src" / "zskl" / "training" / "solver.py")
    assert profile_left.part_of(at, "minimise") == "zskl.training.solver"
    assert profile_left.part_of("/a/lib/site-packages/rich/console.py", "print") == "rich.console"
    assert profile_left.part_of("<frozen importlib._bootstrap>", "_load") == profile_left.IMPORTING

    calls = {
        (at, 1, "minimise"): (1, 1, 3.0, 4.0, {}),
        ("~", 0, "<built-in dot>"): (1, 1, 1.0, 1.0, {(at, 1, "minimise"): (1, 1, 1.0, 1.0)}),
    }
    assert profile_left.shares(SimpleNamespace(stats=calls)) == {"zskl.training.solver": 1.0}


def test_arithmetic_of_class_means_has_the_exponents_of_its_largest_terms():
    import growth

    large = np.array([1e5, 2e5, 4e5])
    assert growth.exponent(large, [growth.arithmetic(n=n, d=10, C=2, p=2) for n in large]) == pytest.approx(1, abs=0.1)
    assert growth.exponent(large, [growth.arithmetic(n=9, d=d, C=2, p=2) for d in large]) == pytest.approx(3, abs=0.01)


def test_shards_of_both_kinds_hold_the_same_rows_and_give_the_sums_of_a_fit_in_memory(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # which the benchmark sets
    import million_fit
    import million_rows

    monkeypatch.setattr(million_rows, "SEEN", 5)
    found = {}
    for kind in ("npy", "parquet"):
        million_rows.write(tmp_path / kind, rows=90, shards=2, kind=kind)
        names = sorted(path.name for path in (tmp_path / kind / "rows").iterdir())
        found[kind] = million_fit.in_memory(tmp_path / kind, names)
        same = million_fit.apart(tmp_path / kind, shards=2)
        assert same["rows"] == 90
        assert max(same["apart"].values()) < 1e-10
    assert np.array_equal(found["npy"][0], found["parquet"][0].astype(np.float16))
    assert np.array_equal(found["npy"][1], found["parquet"][1])


def test_each_kind_of_shards_has_a_line_of_its_own():
    import million_parts

    record = json.loads((HERE / "benchmarks" / "results" / "million_fit.json").read_text("utf-8"))
    npy = record["figures"]["npy"]
    both = {"figures": {"parquet": {**npy, "rows": 7e6, "worker_seconds": 1000.0}, "npy": npy}}
    page = "\n".join(million_parts.fitting(both))
    assert "| Parquet, float32 columns | 7,000,000 | " in page
    assert "| 7,000 |" in page
    assert page.index("| `.npy`, float16 |") < page.index("| Parquet")
    assert page.count("measured on") == 2


def test_the_table_of_ideas_is_that_of_their_lines():
    page, lines = kernels_and_subspaces.PAGE.read_text("utf-8"), kernels_and_subspaces.read(kernels_and_subspaces.LINES)
    assert page == kernels_and_subspaces.put_into_page(page, lines), "run: kernels_and_subspaces.py show FILE"


def test_slopes_of_sums_and_of_distances_without_subspaces_are_those_of_differences():
    kernel = kernels_and_subspaces.KernelSum((Gaussian(sigma=0.7), Cauchy(sigma=2.0)))
    t, h = np.array([0.3, 1.7]), 1e-6
    np.testing.assert_allclose(kernel.slope(t), (kernel.value(t + h) - kernel.value(t - h)) / (2 * h), rtol=1e-6)
    rng = np.random.default_rng(0)
    P, Y = rng.normal(size=(2, 5)), rng.normal(size=(3, 5))
    U = np.stack([np.linalg.qr(rng.normal(size=(5, 2)))[0] for _ in Y])
    found = kernels_and_subspaces.subspace_distances(P, Y, U, 0.5)[0]
    for i, j in np.ndindex(found.shape):
        e = P[i] - Y[j]
        inside = U[j] @ (U[j].T @ e)
        np.testing.assert_allclose(found[i, j], e @ e - 0.5 * (inside @ inside), rtol=1e-12)


# The blind column


def write_problem(path, noise_in=()):
    """A file like those of the zoo: 18 classes of 8 rows; rows of the places named are noise."""
    draw = np.random.default_rng(3)
    table = draw.random((18, 5)).astype(np.float32)
    y = np.repeat(np.arange(18), 8)
    X = (table[y] - 0.5) @ draw.normal(size=(5, 12)) + 0.2 * draw.normal(size=(len(y), 12))
    X[list(noise_in)] = draw.normal(size=(len(noise_in), 12))
    names = np.array([f"place {code}" for code in range(18)])
    what = np.array("Made up.")
    np.savez(path, X=X.astype(np.float16), y=y, names=names, S=table, shared=np.array(False), what=what)
    return path


def make_blind_column(path, out, capsys):
    labels = ["eszsl", "class-means, default"]
    blind_column.main([str(path), "--out", str(out), "--splits", "2", "--workers", "1", "--only", *labels])
    return json.loads((out / "column.json").read_text("utf-8")), capsys.readouterr()


def test_the_blind_column_is_what_its_records_say(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(blind_column, "DRAWS", 40)
    path, out = write_problem(tmp_path / "made_up.npz"), tmp_path / "out"
    column, said = make_blind_column(path, out, capsys)
    lines = (out / "records.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(one) for one in lines]
    assert (column["unseen"], column["classes"], column["samples"], len(records)) == (4, 18, 144, 4)
    tuned = [record for record in records if record["method"] == "eszsl"]
    row = column["rows"][0]
    assert row["method"] == "eszsl"
    parts = {"zero-shot": ("zsl", "accuracy"), "H": ("gzsl_own", "harmonic")}
    parts |= {"calibrated H": ("gzsl_calibrated", "harmonic")}
    for name, (part, key) in parts.items():
        assert row[name]["mean"] == pytest.approx(100 * np.mean([one[part][key] for one in tuned]), abs=0.006)
        assert row[name]["low"] <= row[name]["mean"] <= row[name]["high"]
        assert f"{row[name]['mean']:.1f} [{row[name]['low']:.1f}, {row[name]['high']:.1f}]" in said.out
    assert max(one["zero-shot"]["mean"] for one in column["rows"] if one["zero-shot"]["best"]) == max(
        one["zero-shot"]["mean"] for one in column["rows"]
    )
    again, said = make_blind_column(path, out, capsys)  # nothing is measured again
    assert said.err == ""
    assert again["rows"] == column["rows"]
    assert (out / "records.jsonl").read_text("utf-8").splitlines() == lines


def test_draws_of_the_blind_column_are_means_over_the_classes_drawn(tmp_path, monkeypatch):
    """Against loops over splits, classes and rows."""
    monkeypatch.setattr(blind_column, "DRAWS", 6)
    path = write_problem(tmp_path / "made_up.npz")
    label = "class-means, default"
    found = {}
    for split in (0, 1):
        data = blind_column.make_dataset(path, split)
        found[split] = data, {label: blind_column.measure(path, split, label)}
    draws = blind_column.draw_figures(found)[label, "zero-shot"]
    (counts,) = blind_column.uncertainty.draw_counts(np.full(18, 8), 0, 6)  # rows lie class by class in the file
    for draw, drawn in enumerate([np.ones(144), *counts]):
        means = []
        for data, mine in found.values():
            rows = blind_column.rows_by_class(data, "test_unseen")
            right = blind_column.right_rows(mine[label])["zero-shot"][0]
            sums, classes = 0.0, 0.0
            for code in np.unique(data.codes[rows]):
                of_class = [(place, row) for place, row in enumerate(rows) if data.codes[row] == code]
                sums += sum(drawn[row] * right[place] for place, row in of_class) / len(of_class)
                classes += sum(drawn[row] for _, row in of_class) / len(of_class)
            means.append(100 * sums / max(classes, 1e-9))
        assert draws[draw] == pytest.approx(np.mean(means), rel=1e-5)


def test_the_blind_column_chooses_nothing_on_test_rows(tmp_path):
    """Rows of unseen classes and kept rows may be anything: settings and constants stay."""
    path = write_problem(tmp_path / "made_up.npz")
    data = blind_column.make_dataset(path, 0)
    held = np.concatenate([data.parts["test_unseen"], data.parts["test_seen"]])
    other = write_problem(tmp_path / "noise.npz", noise_in=held)
    one, two = (blind_column.measure(file, 0, "eszsl").tune.choices for file in (path, other))
    assert one == two
    planted = write_problem(tmp_path / "planted.npz", noise_in=data.parts["trainval"])  # what is trained on matters
    assert blind_column.measure(planted, 0, "eszsl").tune.choices != one


def test_each_line_of_the_blind_column_can_be_run():
    """A value that a method does not know would only be seen when the file has been opened."""
    for entry in blind_column.METHODS.values():
        assert entry.unit.method in methods.METHODS
        if entry.grid is not None:  # default grids have tests of their own
            assert expand_grid(entry.grid, methods.build(entry.method))
    with pytest.raises(ValueError, match="loss is 'struct'"):
        expand_grid({"loss": ["struct"]}, methods.build("sync"))


def test_a_file_without_its_arrays_or_with_a_split_is_read_so(tmp_path):
    np.savez(tmp_path / "rows.npz", X=np.ones((3, 2)))
    with pytest.raises(
        ValueError, match=r"rows\.npz has no y, names, S: expected an \.npz file with X, y, names and S"
    ):
        blind_column.read_problem(tmp_path / "rows.npz")
    path = write_problem(tmp_path / "made_up.npz")
    with np.load(path) as file:
        kept = dict(file)
    parts = {"trainval": np.arange(0, 96), "test_seen": np.arange(96, 96), "test_unseen": np.arange(96, 144)}
    np.savez(tmp_path / "official.npz", **kept, **parts)
    assert list(blind_column.make_dataset(tmp_path / "official.npz", 0).unseen_classes) == sorted(kept["names"][12:])


# Adapters


def test_a_draw_of_adapters_nests_its_examples_and_has_wrong_descriptions(tmp_path):
    rng = np.random.default_rng(0)
    names, y = np.array([f"class {k:02}" for k in range(24)]), np.repeat(np.arange(24), 7)
    S = rng.normal(size=(24, 3)).astype(np.float32)
    np.savez(tmp_path / "toy.npz", X=rng.normal(size=(168, 4)), y=y, names=names, S=S, shared=False)
    draw = adapters.Draw(tmp_path / "toy.npz", 1)
    assert len(draw.unseen) == 6
    assert not set(draw.labels) & set(draw.unseen)
    found = draw.examples()
    assert list(found) == [1, 2, 4]  # 8 would leave fewer than two rows of a class
    assert set(found[1]) < set(found[2]) < set(found[4])
    wrong = draw.table.loc[[f"{one}{adapters.WRONG}" for one in draw.unseen]].to_numpy()
    right = draw.table.loc[draw.unseen].to_numpy()
    assert not (wrong == right).all(axis=1).any()  # each has another's
    assert sorted(map(tuple, wrong)) == sorted(map(tuple, right))


def test_methods_are_measured_again_in_the_draws_that_are_there(tmp_path, monkeypatch):
    """Lines of the others stay; a mark says which draws are through, until all are."""
    monkeypatch.setattr("logging.disable", lambda level: None)  # which would silence all tests that follow
    rng = np.random.default_rng(0)
    names, y = np.array([f"class {k:02}" for k in range(24)]), np.repeat(np.arange(24), 7)
    S = rng.normal(size=(24, 3)).astype(np.float32)
    folder, out = tmp_path / "packed", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    np.savez(folder / "toy.npz", X=S[y] + rng.normal(size=(168, 3)), y=y, names=names, S=S, shared=False)
    cell = {"problem": "toy", "seed": 1, "part": "examples", "variant": "chosen", "k": 1, "accuracy": -1.0}
    lines = [{"problem": "toy", "seed": 1, "part": "times", "times": {"gda fit": 1.0, "logistic fit": -1.0}}]
    lines += [{**cell, "method": "gda"}, {**cell, "method": "logistic"}]
    file = out / "toy-01.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    adapters.measure(folder, out, 3, 1, float("inf"), None, ["logistic"])
    found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert found[0]["times"]["gda fit"] == 1.0
    assert found[0]["times"]["logistic fit"] > 0
    assert [line for line in found if line.get("method") == "gda"] == [lines[1]]
    mine = [line for line in found if line.get("method") == "logistic"]
    assert {line["variant"] for line in mine} == {"published", "chosen", "loose", "examples alone"}
    assert all(line["accuracy"] >= 0 for line in mine)
    assert sorted(one.name for one in out.iterdir()) == ["toy-01.jsonl"]  # no draw more, and no mark
    (out / "toy-01.again").touch()
    assert adapters.is_done(file, ["logistic"])
    assert adapters.is_done(file, None)


def test_the_record_of_adapters_is_a_source_and_newer_lines_replace_its_own(tmp_path, monkeypatch):
    kept = json.loads(adapters.RECORD.read_text("utf-8"))
    again = adapters.to_record(adapters.collect([adapters.RECORD]))
    assert {name: again[name] for name in ("accuracies", "times")} == {
        name: kept[name] for name in ("accuracies", "times")
    }
    cell = {"problem": "toy", "part": "rows", "method": "zlap", "variant": "chosen", "presence": "all", "batch": 64}
    old = {**cell, "accuracy": [50.0, 60.0], "seeds": [0, 1], "accepted": 2, "seconds": 1.0}
    other = {**old, "part": "examples", "method": "stata", "k": 1}
    source, folder = tmp_path / "record.json", tmp_path / "new"
    source.write_text(json.dumps({"accuracies": [old, other], "times": {"toy": {"zlap fit": 1.0, "stata fit": 2.0}}}))
    folder.mkdir()
    new = {**cell, "accepted": False, "seconds": 3.0}
    lines = [{**new, "seed": 1, "accuracy": 70.0}, {**new, "seed": 2, "accuracy": 80.0}]
    lines.append({"problem": "toy", "seed": 1, "part": "times", "times": {"zlap fit": 5.0}})
    (folder / "toy-01.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = adapters.to_record(adapters.collect([source, folder]))
    mine = {one["method"]: one for one in found["accuracies"]}
    assert mine["stata"] == other
    assert mine["zlap"] == {**old, "accuracy": [50.0, 70.0, 80.0], "seeds": [0, 1, 2], "accepted": 1, "seconds": 3.0}
    assert found["times"] == {"toy": {"zlap fit": 5.0, "stata fit": 2.0}}
    # One method alone can be measured again in draws whose lines only the record has.
    monkeypatch.setattr(adapters, "RECORD", source)
    assert not adapters.is_done(folder / "toy-00.jsonl", ["zlap"])
    assert adapters.is_done(folder / "toy-07.jsonl", ["zlap"])
    times, lines = adapters.replace_lines(folder / "toy-00.jsonl", ["zlap"], {"zlap fit": 4.0}, lines)
    assert (times, len(lines)) == ({"zlap fit": 4.0}, 3)


def test_regret_is_the_distance_to_the_best_of_a_cell():
    def line(problem, method, accuracy):
        cell = {"part": "examples", "problem": problem, "k": 1, "method": method, "variant": "chosen"}
        return {**cell, "accuracy": accuracy, "seeds": [0, 1]}

    lines = [line("a", "gda", [60.0, 70.0]), line("a", "class-means", [61.0, 73.0])]
    lines += [line("b", "gda", [50.0, 50.0]), line("b", "class-means", [49.0, 48.0])]
    cells = adapters.Cells({"accuracies": lines}, "examples", ("problem", "k"))
    regrets = cells.regrets()
    assert regrets["class-means", "chosen"].tolist() == [0.0, 1.5]
    assert regrets["gda", "chosen"].tolist() == [2.0, 0.0]
    # Draws that one of them lacks do not count.
    more = [{**lines[0], "accuracy": [60.0, 70.0, 0.0], "seeds": [0, 1, 2]}, *lines[1:]]
    assert adapters.Cells({"accuracies": more}, "examples", ("problem", "k")).regrets().equals(regrets)
    assert cells.difference(("class-means", "chosen"), ("gda", "chosen")).startswith("+0.2 (")  # mean of 2 and −1.5
    text = adapters.put_into_page("x <!-- begin a -->old<!-- end a --> y", {"a": ["new"]})
    assert text == "x <!-- begin a -->\n\nnew\n\n<!-- end a --> y"


def test_the_page_of_adapters_is_made_of_its_record():
    """Of the parts without intervals, which take long to draw."""
    page = adapters.PAGE.read_text("utf-8")
    record = json.loads(adapters.RECORD.read_text("utf-8"))
    cells = adapters.Cells(record, "examples", ("problem", "k"))
    parts = {
        "problems": adapters.problem_table(cells),
        "control": adapters.control_table(record),
        "times": adapters.times_table(record),
    }
    assert page == adapters.put_into_page(page, parts), "run: python benchmarks/adapters.py show RESULTS"
    means = cells.regrets().mean()
    for name in cells.rivals():
        assert f"| {adapters.named(name)} | " in page
        assert f" | {means[name]:.2f} (" in page
