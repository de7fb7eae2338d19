"""Zero-shot kernel learning: recognise classes without a training example, from a description of each.

`import zskl` is quick: each of these names is imported when it is first used.
"""

from zskl.version import __version__

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all this
if TYPE_CHECKING:
    from zskl import (
        baselines,
        datasets,
        engines,
        export,
        kernels,
        methods,
        metrics,
        plots,
        protocols,
        report,
        selection,
        signatures,
    )
    from zskl.batch.fit_folder import fit_shards
    from zskl.datasets import Dataset
    from zskl.estimators.class_means.classifier import ClassMeansClassifier
    from zskl.estimators.committee.classifier import Committee
    from zskl.estimators.estimator import UncalibratedWarning, ZeroShotClassifier
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
    from zskl.estimators.no_signatures import NoSignaturesWarning
    from zskl.experiments.collect import collect
    from zskl.experiments.compare import compare
    from zskl.experiments.record import Record
    from zskl.methods import load
    from zskl.protocols import Result
    from zskl.shown.progress import ProgressBar
    from zskl.signatures.doubts import SignatureWarning
    from zskl.training.solver import DivergenceError
else:
    _MODULES = {
        "baselines",
        "datasets",
        "engines",
        "export",
        "kernels",
        "methods",
        "metrics",
        "plots",
        "protocols",
        "report",
        "selection",
        "signatures",
    }
    _HOMES = {
        "ClassMeansClassifier": "estimators.class_means.classifier",
        "Committee": "estimators.committee.classifier",
        "Dataset": "datasets",
        "DivergenceError": "training.solver",
        "NoSignaturesWarning": "estimators.no_signatures",
        "ProgressBar": "shown.progress",
        "Record": "experiments.record",
        "Result": "protocols",
        "SignatureWarning": "signatures.doubts",
        "UncalibratedWarning": "estimators.estimator",
        "ZeroShotClassifier": "estimators.estimator",
        "ZeroShotKernelClassifier": "estimators.kernel_classifier",
        "collect": "experiments.collect",
        "compare": "experiments.compare",
        "fit_shards": "batch.fit_folder",
        "load": "methods",
    }

    def __getattr__(name):
        """Called where a name is not here yet."""
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"zskl.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'zskl' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"zskl.{_HOMES[name]}"), name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "ClassMeansClassifier",
    "Committee",
    "Dataset",
    "DivergenceError",
    "NoSignaturesWarning",
    "ProgressBar",
    "Record",
    "Result",
    "SignatureWarning",
    "UncalibratedWarning",
    "ZeroShotClassifier",
    "ZeroShotKernelClassifier",
    "__version__",
    "baselines",
    "collect",
    "compare",
    "datasets",
    "engines",
    "export",
    "fit_shards",
    "kernels",
    "load",
    "methods",
    "metrics",
    "plots",
    "protocols",
    "report",
    "selection",
    "signatures",
]
