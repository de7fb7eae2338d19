"""Datasets by name. To add one, write a function that returns a `Dataset` in a file here, and name it in `BUNDLED`."""

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path

from zskl._validation import suggest
from zskl.datasets import folder, letters, toy, xlsa17
from zskl.datasets.dataset import Dataset
from zskl.datasets.fetch import Roots
from zskl.datasets.folder import make
from zskl.datasets.health import Health, check
from zskl.datasets.toy import make_synthetic

__all__ = ["Dataset", "Health", "check", "letters", "load", "make", "make_synthetic", "names", "row_names", "xlsa17"]

BUNDLED: dict[str, tuple[Callable[[], Dataset], str]] = {
    "letters": (
        letters.load,
        "accented letters described by base letter and mark, drawn from fonts; letters:polish holds out a language",
    ),
    "digits": (toy.load_digits, "hand-written digits described by seven display segments (ships with scikit-learn)"),
    "synthetic": (make_synthetic, "random classes whose features are a linear map of their signatures"),
}


def load(
    name: str | PathLike[str],
    root: Roots | None = None,
    features: str | None = None,
    signatures: str | PathLike[str] | None = None,
    folds: str | None = None,
) -> Dataset:
    """Load a dataset by its name or its folder.

    Parameters
    ----------
    name : str or path-like
        "letters", "digits" or "synthetic", which come with the library; "letters:polish" and so on, where the letters
        of a language are unseen; a benchmark: "AWA1", "AWA2", "SUN", "CUB" or "APY"; or a folder that `make` or
        `zskl data make` wrote. Upper and lower case make no difference in names.
    root : path-like or list of these, default=None
        The folder with the files of a benchmark, or several; see `xlsa17.load`.
    features : str, default=None
        Which feature file of a benchmark, or "A+B" for two side by side; see `xlsa17.load`.
    signatures : str or path-like, default=None
        Which class signatures of a benchmark, or "A+B" for two tables side by side; see `xlsa17.load`.
    folds : {"file"}, default=None
        Which validation folds of a benchmark; see `xlsa17.load`.

    Returns
    -------
    Dataset
        The dataset, checked.

    Raises
    ------
    FileNotFoundError
        If the files of a benchmark are not on this machine.
    ValueError
        If there is no such dataset, if a file is damaged, or if an option does not apply to this dataset.

    Examples
    --------
    >>> from zskl import datasets
    >>> datasets.load("digits")
    Dataset('digits', 1797 rows × 64 features, 7 seen and 3 unseen classes, 7 attributes)
    """
    name = fspath(name)
    if folder.is_dataset(name):
        if any(choice is not None for choice in (root, features, signatures, folds)):
            advice = "leave out root, features, signatures and folds"
            raise ValueError(f"{name} is a dataset folder, with nothing to choose: {advice}")
        return folder.load_folder(name)
    if name.upper() in xlsa17.BENCHMARKS:
        return xlsa17.load(name, root, features, signatures, folds)
    if xlsa17.is_benchmark_name(name):
        if root is not None:
            raise ValueError(f"root is {str(root)!r}, but {name} is a folder itself: leave root out")
        return xlsa17.read_folder(Path(name), Path(name).resolve().name, features, signatures, folds)
    if name != Path(name).name and Path(name).exists():
        folder.read_manifest(Path(name))  # says what is missing there
    key, colon, language = name.lower().partition(":")
    if key not in BUNDLED or (colon and key != "letters"):
        known = [known for known, _ in names()]
        raise ValueError(
            f"no dataset is called {name!r}{suggest(name.lower(), known)}: expected the path of a dataset folder, "
            f"or one of {', '.join(known)}"
        )
    for argument, value in (("root", root), ("features", features), ("signatures", signatures), ("folds", folds)):
        if value is not None:
            raise ValueError(f"{argument} is {str(value)!r}, but the bundled dataset {key!r} takes none: leave it out")
    return letters.load(language) if colon else BUNDLED[key][0]()


def names() -> list[tuple[str, str]]:
    """List the datasets that `load` knows by name.

    Returns
    -------
    list of (str, str)
        The name and a one-line description of each.

    Examples
    --------
    >>> from zskl import datasets
    >>> dict(datasets.names())["CUB"]
    'birds, 200 classes, 312 attributes (xlsa17)'
    """
    return [(name, description) for name, (_, description) in BUNDLED.items()] + list(xlsa17.BENCHMARKS.items())


def row_names(name: str | PathLike[str], root: Roots | None = None, features: str | None = None) -> list[str] | None:
    """Give the name of each row of a dataset.

    Parameters
    ----------
    name : str or path-like
        The dataset, as for `load`.
    root : path-like, default=None
        Where a benchmark is; see `load`.
    features : str, default=None
        Which feature file of a benchmark; see `load`.

    Returns
    -------
    list of str or None
        One name per row of `load(name, root, features)`, in its order: the ids of your own data, the image files of a
        benchmark. None if the rows have no names.

    Examples
    --------
    >>> from zskl import datasets
    >>> datasets.row_names("digits") is None
    True
    """
    name = fspath(name)
    if folder.is_dataset(name):
        return folder.read_row_names(Path(name))
    if not xlsa17.is_benchmark_name(name):
        return None
    return xlsa17.read_image_names(xlsa17.choose_feature_files(xlsa17.find_folders(name, root), features)[0])
