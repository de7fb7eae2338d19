"""A user's own files, the dataset made of them, and a model fitted on it."""

import shutil

import pytest

import user_files
from command import invoke
from user_files import MAKE


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    user_files.write_birds(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the files, the dataset made of them, fox and gnu unseen, and a model fitted on it."""
    folder = tmp_path_factory.mktemp("made")
    user_files.write_birds(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu")
        invoke("fit", "birds", "-o", "birds.zskl", "--method", "gaussian-ort", "--set", "epochs=3")
    return folder


@pytest.fixture
def model(here, made):
    """The model in a copy of that folder, which a test may change."""
    shutil.copytree(made, here, dirs_exist_ok=True)
    return "birds.zskl"
