"""Larger spaces: Optuna proposes settings and gives up on hopeless ones early (extra `optuna`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl.estimator import ZeroShotClassifier
from zskl.parameters import count, one_of
from zskl.selection.examination import Task, examine
from zskl.selection.folding import Fold
from zskl.selection.grid import as_values, expand
from zskl.selection.margins import Margins, best_constant
from zskl.selection.searching import SCORINGS, judge, material
from zskl.selection.tuning import Tuned, finish

Report = Callable[[int, int], object]


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, even on a logarithmic scale with `log`, whole ones with `integer`."""

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def __post_init__(self) -> None:
        numbers = all(isinstance(end, int | float) for end in (self.low, self.high))
        if not numbers or not self.low < self.high or (self.log and self.low <= 0):
            raise ValueError(f"{self}: expected low < high, and low > 0 on a logarithmic scale")


def optimise(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    signatures: Any,
    space: Mapping[str, Range | Sequence[Any]],
    folds: Sequence[Fold] | int | None = None,
    scoring: str = "zsl",
    trials: int = 50,
    seed: int = 0,
    report: Report | None = None,
) -> Tuned:
    """`tune` over a space of ranges and lists, `trials` settings proposed one after the other by Optuna (TPE).

    Values of a free setting in a list, such as epochs, are all tried in each trial. A trial that falls behind the
    median of the earlier ones, looked at after each fold, is pruned.
    """
    one_of("scoring", scoring, SCORINGS)
    count("trials", trials)
    optuna = _optuna()
    space = {name: values if isinstance(values, Range) else as_values(name, values) for name, values in space.items()}
    shared = material(estimator, X, y, signatures, folds)
    free = {
        name: list(values)
        for name, values in space.items()
        if name in estimator._free(X) and not isinstance(values, Range)
    }
    proposed = {name: values for name, values in space.items() if name not in free}
    expand({name: [v.low] if isinstance(v, Range) else v for name, v in space.items()}, estimator)  # bad names, values
    settings: list[dict[str, Any]] = []
    found: dict[tuple[int, int], Margins | int] = {}

    def trial_value(trial: Any) -> float:
        fixed = {name: _propose(trial, name, values) for name, values in proposed.items()}
        mine = expand([{**{name: [value] for name, value in fixed.items()}, **free}], estimator)
        answers: list[dict[int, Margins | int]] = []
        best = -np.inf
        for fold in range(len(shared.folds)):
            answers.append(dict(examine(shared, Task(fold, tuple(range(len(mine))), tuple(mine)))))
            best = max(_score([one[i] for one in answers], scoring) for i in range(len(mine)))
            trial.report(max(best, -1.0), fold)
            if fold < len(shared.folds) - 1 and trial.should_prune():
                raise optuna.TrialPruned
        for i, setting in enumerate(mine):
            found.update({(len(settings), fold): one[i] for fold, one in enumerate(answers)})
            settings.append(setting)
        return max(best, -1.0)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    done = [] if report is None else [lambda study, trial: report(trial.number + 1, trials)]
    study.optimize(trial_value, n_trials=trials, callbacks=done)
    pruned = sum(trial.state == optuna.trial.TrialState.PRUNED for trial in study.trials)
    return finish(estimator, judge(settings, shared.folds, found, pruned), scoring, X, y, signatures)


def _score(answers: Sequence[Margins | int], scoring: str) -> float:
    """Mean over the folds so far; −∞ after a divergence."""
    whole = [answer for answer in answers if isinstance(answer, Margins)]
    if len(whole) < len(answers):
        return -np.inf
    return float(np.mean([one.zsl for one in whole] if scoring == "zsl" else best_constant(whole)[1]))


def _propose(trial: Any, name: str, values: Range | Sequence[Any]) -> Any:
    if isinstance(values, Range):
        if values.integer:
            return trial.suggest_int(name, int(values.low), int(values.high), log=values.log)
        return trial.suggest_float(name, values.low, values.high, log=values.log)
    return trial.suggest_categorical(name, list(values))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ValueError(
            "selection.optimise needs Optuna, which is not installed: pip install 'zskl[optuna]'"
        ) from None
    return optuna
