"""`zskl export`: what it writes, prints and refuses."""

from command import zskl
from exported_models import TOLERANCE, both_precisions, opened
from zskl import methods


def test_the_command(toy, tmp_path):
    model, saved, file = toy.fitted(), tmp_path / "toy.zskl", tmp_path / "toy.onnx"
    model.save(saved)
    done = zskl("export", str(saved), "-o", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert "features (n, 6) and signatures (c, 4) to scores, by default of the 5 classes of" in done.stdout
    assert both_precisions(model, opened(file), toy.X_new, toy.table) < TOLERANCE
    done = zskl("export", str(saved), "--out", str(file), "--fixed")
    assert "features (n, 6) to scores of the 5 classes of" in done.stdout
    assert [one.name for one in opened(file).get_inputs()] == ["features"]
    assert not opened(file).get_overridable_initializers()
    assert both_precisions(model, opened(file), toy.X_new) < TOLERANCE


def test_what_the_command_refuses(toy, tmp_path):
    saved, file = tmp_path / "toy.zskl", tmp_path / "toy.onnx"
    toy.fitted().save(saved)
    before = saved.read_bytes()
    (tmp_path / "text.txt").write_text("no model")
    methods.build("cmt-star", {"epochs": 1, "random_state": 0}).fit(toy.X, toy.y, toy.table).save(
        tmp_path / "star.zskl"
    )
    for source, target, sentence in [
        (saved, saved, "it is also what is read"),
        (tmp_path / "text.txt", file, "is not a readable zskl model file"),
        (tmp_path / "none.zskl", file, "no model file at"),
        (saved, tmp_path / "nowhere" / "toy.onnx", "does not exist; create it first"),
        (saved, tmp_path, "it is a folder; name a file"),
        (tmp_path / "star.zskl", file, "fix the classes, by signatures=False or --fixed"),
    ]:
        done = zskl("export", str(source), "-o", str(target))
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    assert saved.read_bytes() == before
    assert not file.exists()
