"""Which pictures are embedded, and how an interrupted run continues."""

from __future__ import annotations

import os

import numpy as np
import pytest

from drawn import colours, draw_birds, picture
from zskl.datasets.images.backbones.backbone import Backbone
from zskl.datasets.images.embed import embed
from zskl.datasets.images.find import find_pictures

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra images)")


@pytest.fixture
def birds(tmp_path):
    return draw_birds(tmp_path / "birds")


def test_folder_per_class(birds, tmp_path):
    network, _ = colours()
    done = embed(birds, tmp_path / "f.npz", network)
    with np.load(done.path, allow_pickle=False) as saved:
        assert saved["features"].dtype == np.float32
        np.testing.assert_allclose(saved["features"][:, 0], [10, 11, 12, 0, 1, 2], rtol=1e-6)
        assert saved["labels"].tolist() == ["owl"] * 3 + ["wren"] * 3
        assert saved["files"].tolist() == [
            (birds / kind / f"{number}.png").as_posix() for kind in ("owl", "wren") for number in range(3)
        ]
        assert str(saved["backbone"]) == "colours"
    assert (done.rows, done.dimension, done.skipped, done.resumed) == (6, 3, (), 0)
    assert done.labels is not None
    assert done.labels.tolist() == ["owl"] * 3 + ["wren"] * 3
    assert sorted(os.listdir(tmp_path)) == ["birds", "f.npz"]


def test_flat_folder_and_files_have_no_labels(birds, tmp_path):
    done = embed(birds / "owl", tmp_path / "f.npz", colours()[0])
    assert done.labels is None
    with np.load(done.path) as saved:
        assert sorted(saved.files) == ["backbone", "features", "files"]
    files = [birds / "wren" / "2.png", birds / "wren" / "0.png", birds / "wren" / "2.png"]
    embed(files, tmp_path / "g.npz", colours()[0])
    with np.load(tmp_path / "g.npz") as saved:
        np.testing.assert_allclose(saved["features"][:, 0], [0, 2], rtol=1e-6)  # sorted, each file once


def test_linked_folders_are_followed_and_circles_end(birds):
    (birds / "dove").symlink_to(birds / "owl")
    assert {one.label for one in find_pictures(birds)} == {"dove", "wren"}  # each file once, under the first path
    (birds / "wren" / "round").symlink_to(birds)
    with pytest.raises(ValueError, match="folders deep"):
        find_pictures(birds)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda birds: birds / "nowhere", "no picture or folder at"),
        (lambda birds: birds.parent, "is 2 folders deep in .*: expected .*CLASS/PICTURE; name .* such as .*birds$"),
        (
            lambda birds: [birds, birds / "extra.png"],
            "wren.* is in the folder of a class and|owl.* is in the folder",
        ),
        (lambda birds: [], "no pictures in an empty list"),
        (lambda birds: birds / "empty", "no pictures in .*empty: expected files that end in .avif"),
    ],
)
def test_wrong_sources_are_refused(birds, make, sentence):
    (birds / "empty").mkdir()
    source = make(birds)
    if isinstance(source, list) and source:
        picture(birds.parent / "extra.png")
        source[1] = birds.parent / "extra.png"
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        find_pictures(source)


@pytest.mark.parametrize("out", ["f.npy", "nowhere/f.npz", "folder.npz"])
def test_a_target_that_cannot_be_written_is_refused_before_any_work(birds, tmp_path, out):
    (tmp_path / "folder.npz").mkdir()
    network, seen = colours()
    with pytest.raises(ValueError, match=r"ends in .npz|does not exist|it is a folder"):
        embed(birds, tmp_path / out, network)
    assert seen == []


def interrupted_after(pictures):
    def progress(done, total):
        if done >= pictures:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_run_continues(birds, tmp_path):
    (birds / "owl" / "9-broken.png").write_bytes(b"x")
    out = tmp_path / "f.npz"
    with pytest.raises(KeyboardInterrupt):
        embed(birds, out, colours()[0], batch_size=2, progress=interrupted_after(4))
    assert not out.exists()
    network, seen = colours()
    calls = []
    done = embed(birds, out, network, batch_size=2, progress=lambda *state: calls.append(state))
    assert sum(seen) == 3
    assert calls[0] == (4, 7)
    assert calls[-1] == (7, 7)
    assert (done.resumed, done.rows, len(done.skipped)) == (4, 6, 1)
    with np.load(out) as saved:
        np.testing.assert_allclose(saved["features"][:, 0], [10, 11, 12, 0, 1, 2], rtol=1e-6)
    assert sorted(os.listdir(tmp_path)) == ["birds", "f.npz"]


@pytest.mark.parametrize("change", ["touched", "other backbone", "shard damaged", "shard of another kind", "removed"])
def test_only_features_of_unchanged_files_and_the_same_backbone_are_reused(birds, tmp_path, change):
    out = tmp_path / "f.npz"
    with pytest.raises(KeyboardInterrupt):
        embed(birds, out, colours()[0], batch_size=2, progress=interrupted_after(4))
    first = tmp_path / "f.npz.partial" / "shard-000000.npz"
    if change == "touched":
        picture(birds / "owl" / "0.png", (99, 0, 0))
        os.utime(birds / "owl" / "0.png", (1, 1))
    elif change == "shard damaged":
        first.write_bytes(first.read_bytes()[:100])
    elif change == "shard of another kind":
        np.savez(first, other=np.ones(3))
    elif change == "removed":
        (birds / "owl" / "0.png").unlink()
    network, seen = colours("colours 2" if change == "other backbone" else "colours 1")
    embed(birds, out, network, batch_size=2)
    fresh = {"touched": 3, "other backbone": 6, "removed": 2}.get(change, 4)
    assert sum(seen) == fresh
    with np.load(out) as saved:
        expected = [99 if change == "touched" else 10, 11, 12, 0, 1, 2][1 if change == "removed" else 0 :]
        np.testing.assert_allclose(saved["features"][:, 0], expected, rtol=1e-6)


def test_a_folder_of_the_user_is_not_touched(birds, tmp_path):
    (tmp_path / "f.npz.partial").mkdir()
    (tmp_path / "f.npz.partial" / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="something else than unfinished features"):
        embed(birds, tmp_path / "f.npz", colours()[0])
    assert (tmp_path / "f.npz.partial" / "thesis.txt").exists()


def test_wrong_output_of_a_network_is_refused(birds, tmp_path):
    network, _ = colours()
    flat = Backbone("flat", "flat", network.prepare, lambda batch: batch.mean(axis=(1, 2, 3)))
    with pytest.raises(ValueError, match=r"'flat' returned an array of shape \(6,\) for 6 pictures: expected \(6, d\)"):
        embed(birds, tmp_path / "f.npz", flat)
    divides = Backbone("0/0", "0/0", network.prepare, lambda batch: np.where(batch > 11, np.nan, batch)[:, :, 0, 0])
    done = embed(birds, tmp_path / "g.npz", divides)
    assert [one.reason for one in done.skipped] == ["the network returned NaN or infinity"]
    assert done.rows == 5
