"""The contract of a display: it holds the arrays that it draws, and draws them in any axes."""

import inspect
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from zskl.experiments.record import Record
from zskl.plots import _style

if TYPE_CHECKING:
    import matplotlib.axes
    from matplotlib.figure import Figure

HEADING = 16  # height of a line of a panel's heading
HEADING_LETTERS = 42  # in such a line
T = TypeVar("T")
Axes: TypeAlias = "matplotlib.axes.Axes"
ATTRIBUTES = {
    "ax_": """\
Attributes
----------
ax_, figure_ : matplotlib Axes and Figure
    The axes that it is drawn in, and the figure of these.""",
    "lines_": "lines_ : list of matplotlib Line2D\n    The lines.",
    "bars_": "bars_ : matplotlib BarContainer\n    The bars.",
    "mesh_": "mesh_ : matplotlib QuadMesh\n    The coloured cells.",
}
PARAMETERS = {  # of constructors of several displays, which describe only what is their own
    "model": "estimator\n    A fitted model, a kernel classifier or a baseline.",
    "data": "Dataset\n    The dataset whose test rows are scored.",
    "name": "str, default=None\n    The name of the line. By default the class of the model.",
    "protocol": '{"zsl", "gzsl"}, default="zsl"\n    Only unseen classes as candidates, or all classes.',
    "records": "list of record\n    Records of `zskl run`, see `zskl.collect`.",
    "names": "list of str, default=None\n"
    "    A name for each line. By default the method, with the seed where a method has several.",
    "ranks": "list of int, default=None\n    What the colours follow. By default the order of the records.",
    "ax": "matplotlib Axes, default=None\n    Axes to draw in. By default those of a new figure.",
}


def _split_sections(thing: Any) -> list[str]:
    """The sections of a docstring; nothing under python -OO, which has none."""
    return re.split(r"\n\n(?=[A-Z]\w+\n---)", inspect.cleandoc(thing.__doc__ or ""))


def _describe_constructor(made: Any, owner: str) -> None:
    """Complete a docstring: all parameters in their order, those of several displays as `PARAMETERS` has them."""
    summary, *sections = _split_sections(made)
    own = sections[0].split("---\n")[-1] if sections else ""
    told = PARAMETERS | dict(re.findall(r"^(\w+) : ((?:.*\n)(?: .*\n?)+)", f"{own}\n", re.MULTILINE))
    entries = [f"{name} : {told[name].rstrip()}" for name in inspect.signature(made).parameters if name in told]
    parts = "Parameters\n----------\n" + "\n".join(entries), f"Returns\n-------\n{owner}\n    The display, drawn."
    made.__doc__ = "\n\n".join([summary, *parts, *sections[1:]])


class Display(ABC):
    """What all displays share. A subclass writes `description`, `_height` and `_draw`."""

    ax_: Axes
    figure_: "Figure"

    def __init_subclass__(cls) -> None:
        """Add to docstrings what all have in common: `ax` and what constructors return, and attributes."""
        for made in (vars(cls)[name].__func__ for name in ("from_estimator", "from_records") if name in vars(cls)):
            _describe_constructor(made, cls.__name__)
        known = {name for kind in cls.__mro__ for name in vars(kind).get("__annotations__", ())}
        sections = _split_sections(cls)
        sections.insert(2, "\n".join(entry for name, entry in ATTRIBUTES.items() if name in known))
        cls.__doc__ = "\n\n".join(sections)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. By default those of a new figure.

        Returns
        -------
        Display
            The display itself, with the attributes `ax_` and `figure_`.
        """
        from matplotlib.figure import Figure

        if ax is None:
            with _style.open_panels(1, self._height()) as (ax,):
                self._draw(ax)
        else:  # with the user's settings of matplotlib
            self._draw(ax)
        figure = ax.figure
        self.ax_, self.figure_ = ax, figure if isinstance(figure, Figure) else figure.figure
        return self

    def _repr_png_(self) -> bytes:
        """Notebooks show this."""
        return _style.to_png(self.figure_ if hasattr(self, "figure_") else self.plot().figure_)

    @property
    @abstractmethod
    def description(self) -> str:
        """What the figure shows, in words."""

    @abstractmethod
    def _height(self) -> float:
        """Of a figure of its own, in points; see `_style.WIDTH` for the width."""

    @abstractmethod
    def _draw(self, ax: Axes) -> None: ...


class RecordDisplay(Display):
    """A display that records hold all of; a subclass writes `_read`."""

    @classmethod
    def from_records(cls, records: Sequence[Record], *, ax: "Axes | None" = None) -> Self:
        """Draw what records of `zskl run` hold, all of one dataset and one method."""
        return cls._read(records).plot(ax)

    @classmethod
    @abstractmethod
    def _read(cls, records: Sequence[Record]) -> Self:
        """The display of these records, not drawn yet."""


class LinesDisplay(Display):
    """A line for each model, which has a name and a rank that its colour follows."""

    lines_: list[Any]

    def __init__(self, names: Sequence[str], ranks: Sequence[int] | None) -> None:
        self.names = names
        self.ranks = list(range(len(names)) if ranks is None else ranks)

    def _height(self) -> float:
        return _style.lines_height(len(self.names))


@dataclass(frozen=True)
class Drawing:
    figure: "Figure"
    title: str
    description: str

    @cached_property
    def svg(self) -> str:
        return _style.to_svg(self.figure, self.title, self.description)

    def png(self) -> bytes:
        return _style.to_png(self.figure)


def draw_panels(title: str, parts: Sequence[tuple[str, Display]]) -> Drawing:
    rows = max(len(textwrap.wrap(heading, HEADING_LETTERS)) for heading, _ in parts)
    height = HEADING * rows + 6 + max(display._height() for _, display in parts)
    with _style.open_panels(len(parts), height) as axes:
        for ax, (heading, display) in zip(axes, parts, strict=True):
            display.plot(ax)
            ax.set_title(textwrap.fill(heading, HEADING_LETTERS))
    said = "; ".join(f"{heading}: {display.description}" for heading, display in parts)
    return Drawing(parts[0][1].figure_, title, parts[0][1].description if len(parts) == 1 else said)


def display_names(records: Sequence[Record], names: Sequence[str] | None) -> list[str]:
    """The names given, or those of the methods, with the seed where a method comes more than once."""
    if names is not None:
        return list(names)
    methods = [record.method for record in records]
    return [
        f"{method}, seed {record.seed}" if methods.count(method) > 1 else method
        for method, record in zip(methods, records, strict=True)
    ]


def read_required(records: Sequence[Record], read: Callable[[Record], T | None], what: str, remedy: str) -> list[T]:
    """What `read` finds in each record; a record without it is refused."""
    found = []
    for record in records:
        one = read(record)
        if one is None:
            who = f"{record.dataset} {record.method} seed {record.seed}"
            raise ValueError(f"the record {who} has no {what}: expected one that holds it; {remedy}")
        found.append(one)
    if not found:
        raise ValueError(f"records is empty: expected at least one with {what}; {remedy}")
    return found
