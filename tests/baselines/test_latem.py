"""LatEm: the best of several maps scores, and maps that serve few rows are left out."""

import numpy as np

from baseline_problems import DATA, NEW, TRAINING, double_training
from tolerances import SUMS, assert_close
from zskl.baselines import LatEm
from zskl.baselines.bilinear import LatentProblem


def test_the_best_map_scores():
    model = LatEm(n_maps=3, random_state=0, epochs=2, feature_scaling="none", signature_scaling="none")
    model.fit(*TRAINING)
    x, Y = DATA.X[0].astype(np.float64), DATA.signatures.loc[NEW].to_numpy(np.float64)
    expected = [max(float(x @ W.astype(np.float64) @ y) for W in model.projections_) for y in Y]
    assert len(model.projections_) == 3
    assert_close(model.compatibility(DATA.X[:1], candidates=NEW)[0], expected, SUMS.single)


def test_maps_that_serve_few_rows_are_left_out():
    problem = LatentProblem(double_training(), 0, LatEm(n_maps=4, prune_every=2, prune_below=0.2))
    problem.chosen[:] = [30, 5, 19, 46]
    assert problem.end_epoch(1) is None
    assert problem.end_epoch(2).tolist() == [0, 3]
    assert problem.chosen.tolist() == [0, 0]
    problem.chosen[:] = [1, 1]
    assert problem.end_epoch(4) is None  # all that are left are used
    greedy = LatentProblem(double_training(), 0, LatEm(n_maps=4, prune_every=1, prune_below=0.9))
    greedy.chosen[:] = [1, 2, 3, 2]
    assert greedy.end_epoch(1).tolist() == [2]  # one always stays


def test_a_step_counts_the_maps_of_own_classes():
    problem = LatentProblem(double_training(), 0, LatEm(n_maps=3))
    rows = np.arange(9)
    S = np.stack([problem.X @ W @ problem.Z.T for W in problem.weights[0]])
    expected = np.bincount([S[:, i, code].argmax() for i, code in enumerate(problem.codes)], minlength=3)
    problem.step(rows)
    np.testing.assert_array_equal(problem.chosen, expected)


def test_pruning_along_a_run():
    def sizes(**settings):
        found = {}
        LatEm(n_maps=8, random_state=0, batch_size=16, **settings)._fit_together(
            [{"epochs": epochs} for epochs in (1, 2, 3, 6)],
            *TRAINING,
            lambda place, model: found.setdefault(model.epochs, len(model.projections_)),
        )
        return found

    assert set(sizes(prune_below=0.0).values()) == {8}
    pruned = sizes(prune_every=3, prune_below=0.15)
    assert pruned[1] == pruned[2] == 8
    assert 1 <= pruned[6] <= pruned[3] < 8
