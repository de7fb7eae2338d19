"""Figures as files: the same in every run, text as text, nothing that a page's policy forbids."""

import re
import warnings
from xml.etree import ElementTree

import pytest

from zskl import plots
from zskl.plots import _style
from zskl.plots._base import draw_panels

EVIL = """<b>"$5" & 'co'</b>"""


def display():
    return plots.SeenUnseenCurveDisplay(
        [[0.0, 0.4, 0.5], [0.0, 0.2, 0.6]], [[0.7, 0.5, 0.0]] * 2, names=[EVIL, "mine"], plain=[(0.1, 0.6), None]
    ).plot()


def test_two_runs_give_the_same_bytes():
    one, other = display().figure_, display().figure_
    assert _style.to_svg(one, "t", "d") == _style.to_svg(other, "t", "d") == _style.to_svg(one, "t", "d")
    assert _style.to_png(one) == _style.to_png(other)
    assert _style.to_svg(one, "t", "d") != _style.to_svg(one, "u", "d")


def test_svg_file_needs_nothing_else():
    root = ElementTree.fromstring(_style.to_svg(display().figure_, "A title", "What it shows"))
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert (root.find(f"{space}title").text, root.find(f"{space}desc").text) == ("A title", "What it shows")
    assert root.attrib["aria-label"] == "A title. What it shows"
    assert root.attrib["width"] == "400pt"
    words = [one.text for one in root.iter(f"{space}text")]
    assert {EVIL, "mine", "accuracy of seen classes (%)", "20"} <= set(words)
    assert any(one.get("fill") == _style.PAPER for one in root.iter(f"{space}path"))  # the ground is white


def test_a_figure_in_a_page_has_no_styles_and_no_ids_of_another():
    first, second = (_style.to_svg(display().figure_, title, "d", inline=True) for title in ("one", "two"))
    for text in (first, second):
        root = ElementTree.fromstring(text)
        assert root.tag == "svg"
        assert not any("style" in one.attrib or one.tag in ("style", "metadata") for one in root.iter())
        used = set(re.findall(r'(?:href="#|url\(#)(\w+)', text))
        assert used == set(re.findall(r' id="(\w+)"', text))
        assert used
        assert "font-family" not in text
    assert not set(re.findall(r' id="(\w+)"', first)) & set(re.findall(r' id="(\w+)"', second))


def test_only_known_colours_are_used():
    """The page turns each of them for dark screens."""
    known = {"none", *_style.COLOURS, _style.QUIET, _style.RULE, _style.PAPER, _style.PLUS, _style.MINUS}
    figures = [
        display(),
        plots.GramDisplay([[1.0, -0.5], [0.2, 1.0]]).plot(),
        plots.ClassAccuracyDisplay({"a": 0.5, "b": 0.1}).plot(),
        plots.ValidationTestDisplay([[0.1, 0.2]], [[0.2, 0.3]], names=["mine"]).plot(),
        plots.ValidationGridDisplay([[0.1, 0.2]], [1], [1, 2], settings=("a", "b"), chosen=(0, 1)).plot(),
    ]
    for one in figures:
        text = _style.to_svg(one.figure_, "t", "d", inline=True)
        assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', text)) <= known


def test_png_has_the_size_of_the_figure():
    found = _style.to_png(display().figure_)
    assert found.startswith(b"\x89PNG")
    assert int.from_bytes(found[16:20], "big") == pytest.approx(_style.WIDTH / 72 * _style.DPI, abs=1)
    assert b"Software" not in found


def test_letters_missing_from_the_font_raise_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = _style.to_svg(plots.ClassAccuracyDisplay({"\u4e2d\u6587": 0.5, "a\x00b": 0.2}).plot().figure_, "t", "d")
    words = [one.text for one in ElementTree.fromstring(text).iter()]
    assert "\u4e2d\u6587" in words
    assert "a\ufffdb" in words


def test_long_names_are_cut():
    assert _style.shorten("a" * 30, 10) == "a" * 9 + "…"
    assert _style.shorten("two\n lines", 10) == "two lines"


@pytest.mark.parametrize(("count", "size"), [(1, (1, 1)), (3, (2, 2))])
def test_panels_share_one_figure(count, size):
    parts = [(f"panel {k}", plots.GramDisplay([[1.0, 0.5], [0.5, 1.0]])) for k in range(count)]
    made = draw_panels("All of them", parts)
    assert [ax.get_title() for ax in made.figure.axes] == [heading for heading, _ in parts]
    wide, high = made.figure.get_size_inches() * 72
    assert wide == pytest.approx(size[0] * _style.WIDTH)
    assert high > size[1] * 100
    assert ("panel 0: Cosines" in made.description) == (count > 1)
    assert made.svg.startswith("<svg")
    assert made.png().startswith(b"\x89PNG")
