"""Model files → what wrote them: estimators, pipelines, classifiers of texts and of pictures."""

import os
from typing import Any

from zskl import methods
from zskl.methods import refuse_damage

__all__ = ["load"]


def load(path: str | os.PathLike[str], device: str | None = None) -> Any:
    """Read the model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The model file.
    device : str, default=None
        Where the model computes. None computes where its input lies.

    Returns
    -------
    ZeroShotClassifier, ZeroShotPipeline, TextClassifier or ImageClassifier
        The fitted model.

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged, or needs a kernel that is not registered; or if the encoder of a
        `TextClassifier` is not installed, or gives other vectors than when the model was fitted.

    Examples
    --------
    >>> import tempfile, zskl
    >>> data = zskl.datasets.make_synthetic()
    >>> model = zskl.methods.build("eszsl").fit(*data.samples("trainval"), data.signatures)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.zskl")
    ...     zskl.load(f"{folder}/model.zskl")
    ESZSL()
    """
    model: Any = methods.load(path, device)
    record = getattr(model, "encoder_", None)
    if record is None:
        return model
    with refuse_damage(path):
        kind = record["kind"]
        if kind == "texts":
            from zskl.texts import TextClassifier as Classifier
        elif kind == "pictures":
            from zskl.pictures import ImageClassifier as Classifier  # type: ignore[assignment]
        else:
            raise ValueError(f"its rows are {kind!r}, which this zskl does not know: upgrade it")
        found = Classifier._from_model(model)
    found._check_encoder()
    return found
