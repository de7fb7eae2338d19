"""CNZSL: objective and gradient by hand, Adam, the statistics inside the layers, and damaged files."""

import math
from dataclasses import replace

import numpy as np
import pytest

import zskl
from baseline_problems import TRAINING, double_training, finite_differences
from tolerances import DIFFERENCES, FORMULA, SUMS, assert_close
from zskl.baselines import CNZSL
from zskl.baselines.cnzsl import Adam, ClassNormalisedNetwork


def standardised_by_hand(rows):
    """Each column minus its mean over the classes, over its standard deviation."""
    columns = []
    for column in zip(*rows, strict=True):
        mean = sum(column) / len(column)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in column) / len(column) + 1e-5)
        columns.append([(value - mean) / deviation for value in column])
    return [list(row) for row in zip(*columns, strict=True)]


def layer_by_hand(rows, W, b):
    return [[sum(value * W[i][j] for i, value in enumerate(row)) + b[0][j] for j in range(len(b[0]))] for row in rows]


def positive_part(rows):
    return [[max(0.0, value) for value in row] for row in rows]


def prototypes_by_hand(Y, layers, rectified):
    A, a, B, b, C, c = layers
    rows = [[math.sqrt(len(y)) * value for value in y] for y in Y]
    rows = positive_part(layer_by_hand(rows, A, a))
    rows = positive_part(standardised_by_hand(layer_by_hand(rows, B, b)))
    rows = layer_by_hand(standardised_by_hand(rows), C, c)
    return positive_part(rows) if rectified else rows


def loss_by_hand(X, codes, Y, layers, scale, rectified):
    prototypes, total = prototypes_by_hand(Y, layers, rectified), 0.0
    for x, own in zip(X, codes, strict=True):
        logits = [
            scale**2 * sum(u * v for u, v in zip(x, mu, strict=True)) / math.hypot(*x) / math.hypot(*mu)
            for mu in prototypes
        ]
        total += math.log(sum(math.exp(value) for value in logits)) - logits[own]
    return total / len(X)


def training_with(rectified):
    """A training set in float64, whose features are ≥ 0 or not."""
    training = double_training()
    return replace(training, X=np.abs(training.X)) if rectified else training


@pytest.mark.parametrize("rectified", [True, False])
def test_objective_and_gradient_of_a_batch(rectified):
    training = training_with(rectified)
    network = ClassNormalisedNetwork(training, 0, CNZSL(hidden=3, scale=2.0))
    rows = np.array([0, 2, 3, 7, 8])
    W = network.weights[0]

    def loss():
        return loss_by_hand(training.X[rows], training.codes[rows], training.Y, network.layers(W), 2.0, rectified)

    value, gradient = network.gradient(rows)
    assert float(value) == pytest.approx(loss(), rel=FORMULA.double)
    assert_close(gradient, finite_differences(loss, W), DIFFERENCES)
    assert all(np.abs(layer).max() > 1e-4 for layer in (network.layers(gradient)[k] for k in (0, 2, 4, 5)))


@pytest.mark.parametrize("rectified", [True, False])
def test_the_statistics_of_the_seen_classes_are_inside_the_layers(rectified):
    training = training_with(rectified)
    model = CNZSL(hidden=3)
    network = ClassNormalisedNetwork(training, 0, model)
    vars(model).update(network.learned_arrays())
    assert model.rectified_ is rectified
    expected = np.array(prototypes_by_hand(training.Y, network.layers(network.weights[0]), rectified))
    cosines = expected / np.linalg.norm(expected, axis=1, keepdims=True)  # with each axis of feature space
    assert_close(model._scores(np.eye(4), training.Y).T, cosines, SUMS.single)
    one = model._scores(np.eye(4), training.Y[1:2])
    assert_close(one[:, 0], cosines[1], SUMS.single)  # whatever the other candidates are


def test_the_size_of_the_output_at_the_start():
    """Weights of variance 1/(h d): prototypes of standardised units have about unit length, biases aside."""
    training = double_training(d=40)
    network = ClassNormalisedNetwork(training, 0, CNZSL(hidden=50))
    C = network.layers(network.weights[0])[4]
    assert C.var() == pytest.approx(1 / (50 * 40), rel=0.1)
    assert np.abs(C).max() <= math.sqrt(3 / (50 * 40))


def test_adam_by_hand():
    W, gradients = np.array([0.5, -2.0]), [np.array([1.0, -3.0]), np.array([0.2, 4.0]), np.array([-5.0, 0.1])]
    adam = Adam(W, 0.01)
    m, v = [0.0, 0.0], [0.0, 0.0]
    for t, gradient in enumerate(gradients, start=1):
        found = adam.direction(W, gradient.copy())
        for k in range(2):
            g = gradient[k] + 0.01 * W[k]
            m[k], v[k] = 0.9 * m[k] + 0.1 * g, 0.999 * v[k] + 0.001 * g * g
            expected = (m[k] / (1 - 0.9**t)) / (math.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)
            assert found[k] == pytest.approx(expected, rel=1e-12)
        W -= 0.1 * found


def test_weights_decay_once():
    """A fit is steps of Adam on the whole set, whose gradients have the penalty, and nothing besides."""
    model = CNZSL(hidden=3, weight_decay=0.5, learning_rate=0.1, epochs=3, batch_size=9)
    training = double_training()
    [(_, learned)] = model._train(training, 0, [3])
    network = ClassNormalisedNetwork(training, 0, model)
    adam, W = Adam(network.weights[0], 0.5), network.weights[0]
    for _ in range(3):
        W -= 0.1 * adam.direction(W, network.gradient(np.arange(9))[1])
    for name, layer in network.learned_arrays().items():
        assert_close(learned[name], layer, SUMS.single)


def test_the_rate_drops_to_a_tenth():
    network = ClassNormalisedNetwork(double_training(), 0, CNZSL(hidden=3, drop_every=2))
    rates = []
    for epoch in range(1, 6):
        rates.append(network.rate)
        network.end_epoch(epoch)
    assert rates == pytest.approx([1, 1, 0.1, 0.1, 0.01])


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("second_", np.ones((4, 5), dtype=np.float32), r"second_ has shape \(4, 5\), expected \(h, h\)"),
        ("output_bias_", np.ones((2, 12), dtype=np.float32), r"output_bias_ has shape \(2, 12\), expected \(1, d\)"),
        ("rectified_", "yes", "rectified is 'yes': expected True or False"),
    ],
)
def test_damaged_model_files(name, value, sentence, tmp_path):
    model = CNZSL(hidden=5, epochs=1, random_state=0).fit(*TRAINING)
    setattr(model, name, value)
    model.save(tmp_path / "model.zskl")
    with pytest.raises(ValueError, match=f"is damaged: .*{sentence}"):
        zskl.load(tmp_path / "model.zskl")
