"""Records made by hand that keep the answers of rows: five unseen and four seen classes of six rows each."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np

from zskl.experiments.record import LEVELS, Record, pack_answers
from zskl.report import page

# Answered -------------------------------------------------------------------------------------------------------------

UNSEEN, SEEN, ROWS = 5, 4, 6


def rights(share, classes=UNSEEN, seed=0):
    """(classes, rows) which rows are right: about this share of each class."""
    return np.random.default_rng(seed).random((classes, ROWS)) < share


def answered(method="gaussian", seed=0, unseen=None, seen=None, **more):
    """A record whose figures follow from which rows of each class are right."""
    unseen = rights(0.6, UNSEEN, seed) if unseen is None else np.asarray(unseen, bool)
    seen = rights(0.7, SEEN, seed + 100) if seen is None else np.asarray(seen, bool)
    u, s = float(unseen.mean()), float(seen.mean())
    harmonic = 2 * u * s / (u + s) if u + s else 0.0
    answers = {"unseen": pack_answers(~unseen.ravel()), "seen": pack_answers(~seen.ravel())}
    levels = {f"{side}_levels": pack_answers(_levels(right)) for side, right in (("unseen", unseen), ("seen", seen))}
    part = {"unseen": u, "seen": s, "harmonic": harmonic, "ausuc": 0.3, "answers": answers}
    line = {
        "key": f"{method}/{seed}/{more}",
        "dataset": "birds",
        "fingerprint": "ab" * 32,
        "method": method,
        "seed": seed,
        "zsl": {"accuracy": u, "answers": {"unseen": answers["unseen"]}},
        "gzsl": {**part, "answers": answers | levels},
        "gzsl_calibrated": part,
        "seconds": {"fit": 1.0},
        "class_rows": {"unseen": pack_answers(np.full(UNSEEN, ROWS)), "seen": pack_answers(np.full(SEEN, ROWS))},
        **more,
    }
    return Record.from_json(line)


def _levels(right):
    """Rows that are right change sides one after another."""
    return np.where(right.ravel(), 1 + np.arange(right.size) % LEVELS, 0)


# Reported -------------------------------------------------------------------------------------------------------------
# Records made by hand for tests of the report, and a reader of the page.

VOID = {"meta"}
EVIL = """<b>"bird" & 'co'</b></script><script>alert(1)</script>"""


def plain(dataset="digits", method="gaussian", seed=0, accuracy=0.5, **more):
    """As little as a record can hold and still be compared."""
    return {
        "key": f"{dataset}/{method}/{seed}/{accuracy}",
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "zsl": {"accuracy": accuracy, "left_out": []},
        "gzsl": {"unseen": accuracy / 2, "seen": 0.6, "harmonic": accuracy / 1.5, "ausuc": 0.3, "left_out": []},
        "seconds": {"fit": 1.5, "evaluate": 0.25},
        **more,
    }


def full(method="gaussian", seed=0, accuracy=0.5, classes=("ant", "bee", EVIL), **more):
    """All that a record can hold, with class names out of a nightmare."""
    record = plain(method=method, seed=seed, accuracy=accuracy)
    curve = {
        "calibration": [-1.0, 0.0, 0.5, 1.0],
        "seen": [0.7, 0.6, 0.3, 0.0],
        "unseen": [0.0, accuracy / 2, 0.4, 0.5],
    }
    per_class = {name: accuracy + 0.4 * place / len(classes) for place, name in enumerate(classes)}
    confidence = {"ece": 0.1, "accuracy": 0.6, "mean_confidence": 0.7}
    confidence["coverage"] = [[0.0, 1.0, 0.6], [0.3, 0.8, 0.7], [0.5, 0.4, 0.9], [0.9, 0.0, None]]
    rows = [
        [s, e, "center-l2", 0.3 + s / 10 + e / 100, None if s > 1 else 0.4] for s in (0.5, 1.0, 2.0) for e in (1, 10)
    ]
    choice = {"setting": {"sigma": 1.0, "epochs": 10}, "score": 0.5, "fold_scores": [0.4, 0.6], "calibration": 0.12}
    choice |= {"figures": {"seen": [0.7, 0.2]}, "edges": [{"name": "epochs", "value": 10, "side": "highest"}]}
    return {
        **record,
        "features": "",
        "config": {"sigma": 1.0, "device": None},
        "settings": {"name": EVIL},
        "zsl": {
            **record["zsl"],
            "per_class": per_class,
            "mistaken": {
                name: [[classes[place - 1], 0.25], [classes[place - 2], 0.05]] for place, name in enumerate(classes)
            },
        },
        "gzsl": {**record["gzsl"], "curve": curve},
        "gzsl_calibrated": {**record["gzsl"], "unseen": 0.4, "seen": 0.3, "harmonic": accuracy * 1.1},
        "tune": {
            "scoring": "both",
            "choices": {"zsl": choice, "gzsl": choice},
            "table": {"names": ["sigma", "epochs", "feature_scaling"], "rows": rows},
        },
        "probabilities": {"zsl": confidence, "gzsl": confidence},
        "gram": [[1.0, -0.25, 0.5], [-0.25, 1.0, -0.001], [0.5, -0.001, 1.0]],
        "convergence": {"step": [10, 20, 30], "objective": [5.0, 4.0, 3.9]},
        "attributes": {name: [["wings", 0.9], [EVIL, 0.2]] for name in classes},
        "rows": {"trainval": 100, "test_seen": 20, "test_unseen": 30},
        "fingerprint": "abcdef0123456789",
        "versions": {"zskl": "0.1.0", "numpy": "2.4.0"},
        "finished": "2026-01-01T00:00:00Z",
        **more,
    }


def page_of(lines, *arguments, **options):
    """The text of the page that shows these lines of a run folder."""
    return page([Record.from_json(line) for line in lines], *arguments, **options)


class Page(HTMLParser):
    """The elements of a page; an element left open, or closed twice, is a fault."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.words, self.tables = [], [], [], {}
        self._row = self._table = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.elements.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._table = self.tables[found["id"]] = []
        if tag == "tr":
            self._row = []
            self._table.append(self._row)
        if tag in ("td", "th"):
            self._row.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self._row[-1] += data
        elif "script" not in self.open and "style" not in self.open:
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def drawings(text):
    """The figures as XML."""
    return [ElementTree.fromstring("<svg" + part.split("</svg>")[0] + "</svg>") for part in text.split("<svg")[1:]]
