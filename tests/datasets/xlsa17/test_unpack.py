"""Zip files: truncated, damaged, and those that reach outside their folder."""

import io
import stat
import zipfile

import pytest

from package_server import CLEAN, names, refused, zipped
from zskl.datasets.xlsa17.fetch import fetch


def test_a_flat_zip(server, root):
    server.content = zipped({"CUB/att_splits.mat": b"1", "__MACOSX/CUB/x": b"2"})
    assert names(fetch(urls=[server.url], root=root)) == ["CUB"]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_zip(server, root, share):
    server.content = server.content[: int(share * len(server.content))] or b" "
    assert "this is not a whole zip file" in refused(server, root, ValueError)
    assert names(root) == CLEAN


def test_a_damaged_zip(server, root):
    place = server.content.index(b"xlsa17/code/noise.bin") + 500
    server.content = server.content[:place] + b"damage" + server.content[place + 6 :]
    assert "Bad CRC-32" in refused(server, root, ValueError)
    assert names(root) == CLEAN


OUTSIDE = [
    "../evil.txt",
    "xlsa17/../../evil.txt",
    "/evil.txt",
    "..\\evil.txt",
    "C:\\evil.txt",
    "c:evil.txt",
    "xlsa17/..",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_outside_the_folder(server, root, path):
    server.content = zipped({"xlsa17/data/CUB/att_splits.mat": b"1", path: b"evil"})
    assert "a path outside its folder; nothing was unpacked" in refused(server, root, ValueError)
    assert names(root) == CLEAN
    assert not list(root.parent.rglob("*evil*"))


def test_links(server, root):
    link = zipfile.ZipInfo("xlsa17/data/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO(zipped({"xlsa17/data/CUB/att_splits.mat": b"1"}))
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr(link, "/etc/passwd")
    server.content = buffer.getvalue()
    assert "'xlsa17/data/link', a link or a device" in refused(server, root, ValueError)
    assert names(root) == CLEAN


def test_the_same_file_twice(server, root):
    server.content = zipped({"xlsa17/CUB/att_splits.mat": b"1", "CUB/./att_splits.mat": b"2"})
    assert "without a name or twice" in refused(server, root, ValueError)


def test_a_zip_of_something_else_is_refused(server, root):
    server.content = zipped({"birds.csv": b"1"})
    assert "the zip file contains no att_splits.mat, so it is not this package" in refused(server, root, ValueError)
    assert names(root) == CLEAN
