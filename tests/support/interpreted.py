"""The fused step by Triton's interpreter, on the CPU: prints the largest relative differences from the plain step.

A process of its own, since Triton reads TRITON_INTERPRET when it is imported: python tests/support/interpreted.py
"""

import itertools
import json
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import torch

from zskl import kernels
from zskl.training import solver
from zskl.training._cuda import FusedStep, make_tape, square_rows, update_by_kernel
from zskl.training.objective import BALANCES, LOSSES, Objective, class_weights

K, N, SMOOTHING, EPSILON = 3, 50, 0.9, 1e-6
SIZES = ((10, 70, 37, 21), (3, 64, 16, 16), (17, 65, 5, 2), (5, 66, 20, 33))  # n, d, p, C: fill tiles or not; C > p


def column(values):
    return torch.tensor(values).reshape(-1, 1, 1)


def difference(found, expected, before=0.0):
    return float((found - expected).abs().max() / (expected - before).abs().max())


def check(kernel, loss, balance, incoherent, sizes, smoothing=SMOOTHING):
    n, d, p, C = sizes
    torch.manual_seed(0)
    X, Y = (torch.nn.functional.normalize(torch.randn(shape)) for shape in ((N, d), (C, p)))
    codes, counts = torch.randint(0, C, (N,)), torch.randint(1, 9, (C,)).float()
    W, V = 1.2 * torch.randn(K, d, p) / d**0.5, 1e-4 * torch.rand(K, d, p)
    V *= class_weights(balance, counts)[0].mean() ** 2  # second moments of gradients of this size
    objective = Objective(
        kernels.stack([kernels.build(kernel, {"sigma": sigma}) for sigma in (0.7, 1.0, 1.3)], column),
        loss=loss,
        balance=balance,
        incoherence=incoherent,
        repulsion=column([0.5, 1.0, 2.0]),
        temperature=column([0.05, 0.1, 0.2]),
    )
    tape = make_tape(W, 4, n)
    tape.order.copy_(torch.randint(0, N, (4, n)))
    tape.rates.copy_(1e-3 * (0.5 + torch.rand(4, K, 1, 1)))
    tape.place.fill_(2)
    w, v = W.clone(), V.clone()
    FusedStep(objective, X, Y, codes, counts, w, v, tape)(smoothing, EPSILON)
    rows = tape.order[2]
    plain = objective.evaluate(W, X[rows], Y, codes[rows], counts)
    w0, v0 = W.clone(), V.clone()
    solver.make_update(w0, v0, SMOOTHING, EPSILON)(plain.gradient.clone(), None, tape.rates[2])
    return [difference(tape.objectives[2], plain.objective), difference(w, w0, W), difference(v, v0, V)]


def check_squares(sizes, fault=1.0):
    """The squares of the gradients of single rows, against one matrix for each row."""
    n, d, p, C = sizes
    torch.manual_seed(0)
    X, U, Z, B, Y = (torch.randn(shape) for shape in ((n, d), (K, n, p), (K, d, C), (K, n, C), (C, p)))
    rows = [X[i][:, None] * U[:, i, None] + (Z * (fault * B[:, i, None])) @ Y for i in range(n)]
    return [difference(square_rows(X, U, Z, B, Y), 4 / n * sum(G * G for G in rows))]


def check_update(own, fault=1.0):
    """One kernel for RMSprop, against the update of three passes; squares of the gradient itself or others."""
    torch.manual_seed(0)
    W, V, G, squares = torch.randn(K, 37, 41), torch.rand(K, 37, 41), torch.randn(K, 37, 41), torch.rand(K, 37, 41)
    given, rate, w, v = None if own else squares, column([0.1, 0.2, 0.3]), W.clone(), V.clone()
    update_by_kernel(w, v, fault * SMOOTHING, EPSILON)(G.clone(), given, rate)
    w0, v0 = W.clone(), V.clone()
    solver.make_update(w0, v0, SMOOTHING, EPSILON)(G.clone(), given, rate)
    return [difference(w, w0, W), difference(v, v0, V)]


if __name__ == "__main__":
    weighted = [loss for loss in LOSSES if loss != "softmax"]  # which has no balance
    cases = [("gaussian", loss, balance, True) for loss, balance in itertools.product(weighted, BALANCES)]
    cases += [("gaussian", "softmax", "mean", True)]
    cases += [("gaussian", loss, "mean", False) for loss in LOSSES]
    cases += [("cauchy", loss, "mean", incoherent) for loss, incoherent in itertools.product(LOSSES, (True, False))]
    found = {" ".join(map(str, case)): check(*case, SIZES[0]) for case in cases}
    found |= {f"{loss} {sizes}": check("gaussian", loss, "mean", True, sizes) for loss in LOSSES for sizes in SIZES[1:]}
    found |= {f"squares {sizes}": check_squares(sizes) for sizes in SIZES}
    found |= {f"update {own}": check_update(own) for own in (True, False)}
    found["a third planted fault"] = check_update(False, 1.001)
    found["another planted fault"] = check_squares(SIZES[0], 1.001)
    found["a planted fault"] = check(*cases[0], SIZES[1], 1.001 * SMOOTHING)
    json.dump(found, sys.stdout)
