"""Features that are not complete yet, in a folder beside their file: shards, each written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from zskl.files import replacing, write_atomically

SUFFIX = ".partial"


class UnfinishedFeatures:
    """The finished part of `target`: for each picture's key a row of features, or the reason why there is none.

    Shards of another backbone, known by its key, are removed when the folder is opened.
    """

    def __init__(self, target: Path, backbone_key: str) -> None:
        self.folder = target.with_name(target.name + SUFFIX)
        self.target = target
        self.rows: dict[str, tuple[Path, int]] = {}
        self.reasons: dict[str, str] = {}
        note = self.folder / "maker.txt"
        if self.folder.exists() and not note.is_file() and not _is_empty(self.folder):
            raise ValueError(
                f"{self.folder} holds something else than unfinished features: move it, or name another file"
            )
        if note.is_file() and note.read_text(encoding="utf-8") != backbone_key:
            self.remove()
        self.folder.mkdir(exist_ok=True)
        write_atomically(note, backbone_key.encode())
        self._shards = 0
        for shard in sorted(self.folder.glob("shard-*.npz")):
            self._shards = int(shard.stem.removeprefix("shard-")) + 1
            self._register(shard)

    def add(self, keys: Sequence[str], features: NDArray[np.float32], reasons: Mapping[str, str]) -> None:
        """Keep a batch: `features` (len(keys), d), and the keys without features with their reasons."""
        shard = self.folder / f"shard-{self._shards:06d}.npz"
        self._shards += 1
        arrays = {"keys": keys, "bad_keys": list(reasons), "reasons": list(reasons.values())}
        _save(shard, features=features, **{name: np.array(texts, dtype=np.str_) for name, texts in arrays.items()})
        self._register(shard)

    def finish(self, keys: Sequence[str], **arrays: NDArray[np.generic]) -> int:
        """Write the target: `features`, whose row i belongs to keys[i], and further arrays. Returns the dimension d."""
        row_of = {key: row for row, key in enumerate(keys)}
        features: NDArray[np.float32] | None = None
        for shard in dict.fromkeys(self.rows[key][0] for key in keys):
            with np.load(shard, allow_pickle=False) as content:
                block, names = content["features"], content["keys"].tolist()
            if features is None:  # on disk: all shards together may not fit in memory
                shape = (len(keys), block.shape[1])
                features = np.lib.format.open_memmap(self.folder / "all.npy", mode="w+", dtype=np.float32, shape=shape)
            for row, name in enumerate(names):
                if name in row_of and self.rows[name] == (shard, row):
                    features[row_of[name]] = block[row]
        assert features is not None
        dimension = int(features.shape[1])
        _save(self.target, features=features, **arrays)
        del features
        self.remove()
        return dimension

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)

    def _register(self, shard: Path) -> None:
        try:
            with shard.open("rb") as file, np.load(file, allow_pickle=False) as content:
                names, shape = content["keys"].tolist(), content["features"].shape
                reasons = dict(zip(content["bad_keys"].tolist(), content["reasons"].tolist(), strict=True))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return  # damaged, for example by a full disk: its pictures are embedded again
        if len(shape) == 2 and shape[0] == len(names):
            self.rows.update({name: (shard, row) for row, name in enumerate(names)})
            self.reasons.update(reasons)


def _save(path: Path, **arrays: NDArray[np.generic]) -> None:
    with replacing(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
