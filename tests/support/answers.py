"""What answers of the service must say, and how to send bodies to it."""

import numpy as np
import pytest

from tolerances import FORMULA, SUMS, assert_close


def sends(client, body, kind, **options):
    return client.post("/predict", content=body, headers={"content-type": kind}, params=options)


def refusal(answer, status):
    """The sentence of a refusal."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert 10 < len(answer.json()["error"]) < 500
    return answer.json()["error"]


def same(answer, model, X, k, kinds=("seen", "unseen"), candidates=None, calibrated=True):
    """An answer says what `top_k` and `predict_proba` say."""
    assert answer.status_code == 200, answer.text
    every = len(model.candidates_ if candidates is None else candidates)
    labels, scores = model.top_k(X, every, candidates=candidates, calibrated=calibrated, return_scores=True)
    found = answer.json()["predictions"]
    assert len(found) == len(labels)
    told = [[one["score"] for one in row["top"]] for row in found]
    assert_close(told, scores[:, :k], SUMS.single)  # the best scores, best first
    own = [dict(zip(map(str, names), mine, strict=True)) for names, mine in zip(labels, scores, strict=True)]
    assert_close(
        told, [[mine[one["class"]] for one in row["top"]] for row, mine in zip(found, own, strict=True)], SUMS.single
    )
    assert {len({one["class"] for one in row["top"]}) for row in found} == {k}
    assert [row["class"] for row in found] == [row["top"][0]["class"] for row in found]
    assert {one["kind"] for row in found for one in row["top"]} <= set(kinds)
    if model.temperatures_ is None:
        assert {one["probability"] for row in found for one in row["top"]} == {None}
        return
    chosen = model.candidates_ if candidates is None else candidates
    likely = -np.sort(-model.predict_proba(X, candidates=chosen, calibrated=calibrated), axis=1)[:, :k]
    assert_close([[one["probability"] for one in row["top"]] for row in found], likely, SUMS.single)


def explained(answer, expected, top, rows=None):
    assert answer.status_code == 200, answer.text
    found = answer.json()["predictions"]
    found = found if rows is None else [found[row] for row in rows]
    for row, one in zip(found, expected, strict=True):
        assert len(row["top"]) == top
        mine = row["explanation"]
        assert (mine["class"], mine["against"]) == (str(one.label), str(one.against))
        size = np.abs(
            [*one.contributions, *one.terms.values()]
        ).max()  # a difference carries the rounding of what it is a sum of
        assert abs(mine["difference"] - one.difference) <= SUMS.single * size
        assert mine["calibration"] == pytest.approx(one.calibration, rel=FORMULA.single)
        assert [part["attribute"] for part in mine["attributes"]] == [name for name, _ in one.top]
        for part, m in zip(mine["attributes"], one.order, strict=True):
            assert abs(part["contribution"] - one.contributions[m]) <= SUMS.single * size
            values = [None if np.isnan(each[m]) else each[m] for each in (one.values, one.values_against)]
            assert [part["value"], part["value_against"]] == values
            assert part["like"] == (None if one.likeness is None else bool(one.likeness[m] > 0))
        assert mine["by"] == ("attributes" if one.likeness is None else "classes")
        assert (list(mine["terms"]), mine["others"]) == (list(one.terms), len(one.contributions) - len(one.top))
        for name, value in one.terms.items():
            assert abs(mine["terms"][name] - value) <= SUMS.single * size
        total = sum(part["contribution"] for part in mine["attributes"]) + mine["rest"] + sum(mine["terms"].values())
        assert abs(total - mine["difference"]) <= FORMULA.single * size
