"""The confusion of the generalised protocol, from the answers in a record."""

import numpy as np
import pytest

from zskl import datasets, methods
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit
from zskl.report import generalised_answers


def test_the_generalised_confusion_is_that_of_predictions():
    """Twice: from the packed answers of a record, and from the predictions of such a model, counted one by one."""
    data = datasets.load("digits")
    line = Unit("eszsl", 0, {}).run(data).to_json()
    found = generalised_answers.read(Record.from_json(line))
    model = methods.build("eszsl", {}).fit(*data.samples("trainval"), data.signatures)
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    answers = model.predict(data.X[rows])
    assert sum(name.startswith("○") for name in found.classes) == 3
    for i, name in enumerate(found.classes):
        mine = answers[data.y[rows] == int(name.strip("○ "))]
        for j, other in enumerate(found.answers):
            share = sum(answer == int(other.strip("○ ")) for answer in mine) / len(mine)
            assert found.shares[i, j] == pytest.approx(share, abs=2 / len(mine))  # a tie may fall either way
    assert found.right == {name: pytest.approx(found.shares[k, k]) for k, name in enumerate(found.classes)}
    del line["class_rows"]
    assert generalised_answers.read(Record.from_json(line)) is None
