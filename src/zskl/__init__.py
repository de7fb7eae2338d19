"""Zero-shot kernel learning: recognise classes without a training example, from a description of each.

`import zskl` is quick: each of these names is imported when it is first used.
"""

from zskl.version import __version__

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all this
if TYPE_CHECKING:
    from zskl import (
        adapters,
        baselines,
        datasets,
        decisions,
        engines,
        export,
        kernels,
        methods,
        metrics,
        models,
        pictures,
        plots,
        protocols,
        report,
        selection,
        signatures,
        texts,
    )
    from zskl._display import ProgressBar
    from zskl.batch.fit import fit_shards
    from zskl.client import Client, ServiceError
    from zskl.datasets import Dataset
    from zskl.estimators._candidates import NoSignaturesWarning, UncalibratedWarning
    from zskl.estimators.base import ZeroShotClassifier
    from zskl.estimators.class_means import ClassMeansClassifier
    from zskl.estimators.committee import Committee
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
    from zskl.experiments.compare import compare
    from zskl.experiments.record import Record
    from zskl.experiments.run_folder import collect
    from zskl.models import load
    from zskl.pictures import ImageClassifier
    from zskl.pipelines import ZeroShotPipeline, make_pipeline
    from zskl.protocols import Result
    from zskl.scorer import Scorer
    from zskl.signatures.table import SignatureWarning
    from zskl.texts import TextClassifier, WeakEncoderWarning
    from zskl.training.solver import DivergenceError
else:
    _HOMES = {  # all other names are modules
        "ClassMeansClassifier": "estimators.class_means",
        "Client": "client",
        "Committee": "estimators.committee",
        "Dataset": "datasets",
        "DivergenceError": "training.solver",
        "ImageClassifier": "pictures",
        "NoSignaturesWarning": "estimators._candidates",
        "ProgressBar": "_display",
        "Record": "experiments.record",
        "Result": "protocols",
        "Scorer": "scorer",
        "ServiceError": "client",
        "SignatureWarning": "signatures.table",
        "TextClassifier": "texts",
        "UncalibratedWarning": "estimators.base",
        "WeakEncoderWarning": "texts",
        "ZeroShotClassifier": "estimators.base",
        "ZeroShotKernelClassifier": "estimators.kernel_classifier",
        "ZeroShotPipeline": "pipelines",
        "collect": "experiments.run_folder",
        "compare": "experiments.compare",
        "fit_shards": "batch.fit",
        "load": "models",
        "make_pipeline": "pipelines",
    }

    def __getattr__(name):
        """Called where a name is not here yet."""
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module 'zskl' has no attribute {name!r}")
        if name not in _HOMES:
            return import_module(f"zskl.{name}")
        found = globals()[name] = getattr(import_module(f"zskl.{_HOMES[name]}"), name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})

    import sys
    from types import ModuleType

    # What the documentation of 0.2 imported from modules that are gone. Until 0.4 the old names work and warn.
    _MOVED = {
        "zskl.arrays": {"namespace": "zskl.kernels"},
        "zskl.estimators.estimator": {"UncalibratedWarning": "zskl", "ZeroShotClassifier": "zskl"},
    }

    class _MovedModule(ModuleType):
        def __getattr__(self, name):
            from importlib import import_module
            from warnings import warn

            home = _MOVED[self.__name__].get(name)
            if home is None:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            told = f"{self.__name__}.{name} has moved: import {name} from {home}; the old name goes in zskl 0.4"
            warn(told, FutureWarning, stacklevel=2)
            return getattr(import_module(home), name)

    for _name in _MOVED:
        sys.modules[_name] = _MovedModule(_name)


__all__ = [
    "ClassMeansClassifier",
    "Client",
    "Committee",
    "Dataset",
    "DivergenceError",
    "ImageClassifier",
    "NoSignaturesWarning",
    "ProgressBar",
    "Record",
    "Result",
    "Scorer",
    "ServiceError",
    "SignatureWarning",
    "TextClassifier",
    "UncalibratedWarning",
    "WeakEncoderWarning",
    "ZeroShotClassifier",
    "ZeroShotKernelClassifier",
    "ZeroShotPipeline",
    "__version__",
    "adapters",
    "baselines",
    "collect",
    "compare",
    "datasets",
    "decisions",
    "engines",
    "export",
    "fit_shards",
    "kernels",
    "load",
    "make_pipeline",
    "methods",
    "metrics",
    "models",
    "pictures",
    "plots",
    "protocols",
    "report",
    "selection",
    "signatures",
    "texts",
]
