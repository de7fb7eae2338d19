"""The commands, with the line that `zskl --help` shows of each. None of them is imported: tests compare the lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Entry(NamedTuple):
    """A command: the file and the function, and the first paragraph of its help."""

    home: str
    summary: str

    @property
    def name(self) -> str:
        """What you type."""
        return self.home.partition(".")[2].replace("_", "-")

    def function(self) -> Callable[..., None]:
        """The function, imported now."""
        from importlib import import_module

        module, _, function = self.home.partition(".")
        found: Callable[..., None] = getattr(import_module(f"zskl.cli.{module}"), function)
        return found


COMMANDS = (
    Entry("run.run", "Train and evaluate methods on datasets, by the zero-shot and the generalised protocol."),
    Entry(
        "compare.compare",
        "Compare what was run: mean over seeds with its 95 % interval, per dataset and method, the best in bold.",
    ),
    Entry(
        "report.report",
        "Write what was run as one page that needs nothing else: tables, figures, their data and commands.",
    ),
    Entry(
        "expect.expect",
        "Say what accuracy class means will reach on new classes, and which attributes carry it; no test row is read.",
    ),
    Entry(
        "model.fit",
        "Train a method on the trainval rows of a dataset, or class means on shards, and write the model to a file.",
    ),
    Entry(
        "model.predict",
        "Predict the class of each row of a file, or of a folder of files. A class needs a description, not training.",
    ),
    Entry(
        "teach.teach",
        "Give a model labelled examples of any classes, known or new, and write the new model. "
        "Nothing is trained again.",
    ),
    Entry("teach.adapt", "Let a model learn from rows whose classes nobody knows, and write the new model."),
    Entry("label.label_next", "Name the rows whose labels would help a model most, in the order in which to ask."),
    Entry(
        "explain.explain",
        "Show which attributes support the class of each row against the runner-up; they add up to the difference.",
    ),
    Entry(
        "export.export",
        "Write a model as an ONNX file, scaling included: features, and signatures of any classes, to raw scores.",
    ),
    Entry(
        "serve.serve", "Serve a model over HTTP, with a page to describe classes, classify rows and look at classes."
    ),
    Entry("paper.paper", "Measure the paper's tables and figures, and write them beside the published figures."),
    Entry(
        "catalogue.methods", "The methods by name, and what each sets other than the defaults; or all settings of one."
    ),
    Entry("catalogue.datasets", "The datasets by name."),
)
DATA_COMMANDS = (
    Entry(
        "fetch.fetch",
        "Download and unpack a package of benchmarks, or check the one that is there against its recorded checksums.",
    ),
    Entry(
        "embed.embed",
        "Compute the features of pictures. After an interruption, run it again; finished pictures are skipped.",
    ),
    Entry("words.words", "Describe classes by vectors of their names or of sentences about them."),
    Entry("own.make", "Make a dataset folder from your own files: features, labels and a description of each class."),
    Entry("own.check", "Show what is in a dataset and list what is wrong with it; exit code 1 if there are faults."),
)
