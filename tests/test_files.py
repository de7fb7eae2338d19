"""Files and folders appear whole or not at all."""

import pytest

from zskl import files


def give_up(written):
    raise KeyboardInterrupt


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with files.replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.replacing(path) as file:
        give_up(file.write(b"half"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_replaced_whole_and_a_failure_leaves_the_old_one(tmp_path):
    path = tmp_path / "deep" / "a"
    with files.replacing_folder(path) as folder:
        (folder / "one").write_text("1")
        assert not path.exists()
    with pytest.raises(KeyboardInterrupt), files.replacing_folder(path) as folder:
        give_up((folder / "two").write_text("2"))
    assert [file.name for file in path.iterdir()] == ["one"]
    with files.replacing_folder(path) as folder:
        (folder / "three").write_text("3")
    assert [file.name for file in path.iterdir()] == ["three"]
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_left_is_found_by_the_name_of_its_target(tmp_path):
    with files.replacing(tmp_path / "a.csv"), files.replacing_folder(tmp_path / "b"):
        found = files.leftovers(tmp_path)
        assert len(found) == 2
        assert [path.name.split(".")[1] for path in files.leftovers(tmp_path, "*.csv")] == ["a"]
        assert files.leftovers(tmp_path, "b") == [path for path in found if path.is_dir()]
        assert files.leftovers(tmp_path, "c") == []
    assert files.leftovers(tmp_path) == []


def test_a_target_that_is_also_an_input_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.touch()
    files.check_target(path, tmp_path / "b.csv", None)
    with pytest.raises(ValueError, match=r"a\.csv: it is also what is read; name another file"):
        files.check_target(path, path)
    with pytest.raises(IsADirectoryError, match="name a file"):
        files.check_target(tmp_path)
    with pytest.raises(FileNotFoundError, match="create it first"):
        files.check_target(tmp_path / "none" / "a.csv")
