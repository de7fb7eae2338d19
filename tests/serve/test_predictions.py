"""Predictions over HTTP are the library's own."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from services import explained, refusal, same, strings, values
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets, selection
from zskl.serve import app, predictions
from zskl.serve.limits import QUICK_OPERATIONS, Limits, Refusal
from zskl.serve.schemas import PredictionOptions
from zskl.serve.service import Service


def test_predictions_equal_those_of_the_model(case):
    model, X, client = case
    c = len(model.candidates_)
    same(client.post("/predict", json={"rows": values(X).tolist()}), model, X, min(5, c))
    same(client.post("/predict", json={"rows": values(X).tolist(), "top": 2, "calibrated": False}), model, X, 2,
         calibrated=False)  # fmt: skip
    same(client.post("/predict", json={"rows": values(X).tolist(), "top": 1000}), model, X, c)
    labels = model.candidates_[[0, -1, 1]]
    wanted = [str(label) for label in labels]
    answer = client.post("/predict", json={"rows": values(X).tolist(), "candidates": wanted, "top": 3})
    same(answer, model, X, 3, candidates=labels)
    answer = client.post("/predict", params={"candidates": wanted, "top": 3}, json={"rows": values(X).tolist()})
    same(answer, model, X, 3, candidates=labels)


def test_calibration_option_replaces_the_models_constant(case):
    model, X, client = case
    answer = client.post("/predict", json={"rows": values(X).tolist(), "calibration": 0.7}).json()
    assert answer["calibration"] == 0.7
    seen = np.isin(model.candidates_, model.seen_classes_)
    expected = (model.compatibility(X) - 0.7 * seen).max(axis=1)
    assert_close([row["top"][0]["score"] for row in answer["predictions"]], expected, SUMS.single)
    alone = client.post(
        "/predict",
        json={"rows": values(X).tolist(), "calibration": 0.7, "candidates": list(map(str, model.seen_classes_))},
    ).json()
    assert alone["calibration"] == 0  # among seen classes alone nothing is subtracted


def test_explanations_equal_those_of_the_model(case):
    model, X, client = case
    body = {"rows": values(X).tolist(), "explain": True, "attributes": 2}
    if not client.get("/model").json()["explains"]:
        assert "cannot be explained" in refusal(client.post("/predict", json=body), 422)
        return
    explained(client.post("/predict", json=body), model.explain(X, 2), top=5)
    for how in ({"raw": True}, {"by": "attributes"}):  # `raw` is how 0.2 said it
        explained(client.post("/predict", json={**body, **how}), model.explain(X, 2, by="attributes"), top=5)
    explained(client.post("/predict", json={**body, "by": "scaled"}), model.explain(X, 2, by="scaled"), top=5)
    against = model.candidates_[1]
    named = client.post("/predict", json={**body, "against": str(against), "top": 1})
    explained(named, model.explain(X, 2, against=against), top=1)
    lead = str(model.predict(X)[0])  # against the answer itself, the runner-up is explained, as in the library
    found = client.post("/predict", json={**body, "against": lead}).json()["predictions"][0]
    assert (found["class"], found["explanation"]["against"]) == (lead, lead)
    assert found["explanation"]["class"] == found["top"][1]["class"]


def test_loaded_rows_are_predicted_by_number(digits):
    model, data, client = digits
    rows = [5, 1796, 5]
    same(client.post("/predict", json={"data_rows": rows}), model, np.asarray(data.X[rows], np.float32), 5)
    assert "1797 rows" in refusal(client.post("/predict", json={"data_rows": [1797]}), 422)
    refusal(client.post("/predict", json={"data_rows": [-1]}), 422)
    refusal(client.post("/predict", json={"data_rows": []}), 422)


def test_added_classes_count_as_unseen(fresh):
    _, X, client = fresh
    client.put("/classes/new", json={"attributes": {"size": 1.0}})
    health, about = client.get("/health").json(), client.get("/model").json()
    assert (health["status"], health["classes"]) == ("ok", 6)
    assert [about[kind] for kind in ("seen", "unseen", "added")] == [3, 2, 1]
    raw = client.post("/predict", json={"rows": X[:1].tolist(), "calibrated": False}).json()["predictions"][0]["top"]
    answer = client.post("/predict", json={"rows": X[:1].tolist()}).json()
    off = {one["class"]: one["score"] for one in answer["predictions"][0]["top"]}
    for one in raw:
        if one["class"] in off:
            lower = answer["calibration"] if one["kind"] == "seen" else 0
            assert off[one["class"]] == pytest.approx(one["score"] - lower, abs=SUMS.single * raw[0]["score"])


def test_overflowing_scores_are_refused():
    X, y, table = services.toy()
    model = services.kernel("polynomial", degree=6, feature_scaling="none", signature_scaling="none").fit(X, y, table)
    client = services.client_of(model)
    assert "so large" in refusal(client.post("/predict", json={"rows": [[1e15] * 6]}), 422)


def test_concurrent_requests_get_their_own_answers(over_a_socket):
    body = {"rows": strings()[1].tolist(), "candidates": services.SEEN}

    def ask(_):
        with over_a_socket.client() as client:
            return [client.post("/predict", json=body).json()["predictions"] for _ in range(5)]

    expected = ask(0)[0]
    with ThreadPoolExecutor(8) as pool:
        assert all(answer == expected for answers in pool.map(ask, range(8)) for answer in answers)


PLAIN = PredictionOptions()


@pytest.fixture
def scored(monkeypatch):
    """How many rows each call has scored."""
    heights, predict = [], predictions.predict_rows

    def counted(snapshot, X, options):
        heights.append(len(X))
        return predict(snapshot, X, options)

    monkeypatch.setattr(predictions, "predict_rows", counted)
    return heights


def together(application, bodies):
    """The answers to requests that arrive at once."""

    async def ask():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.post("/predict", json=body) for body in bodies))

    return asyncio.run(ask())


def of_service():
    model, X = strings()
    return Service(model, "toy.zskl", Limits()), X


def test_batched_rows_get_the_answers_of_single_rows(case, scored):
    """Only rounding differs: one product of matrices adds in another order than many of a matrix and a row."""
    _, X, client = case
    bodies = [{"rows": [row]} for row in values(X)[:5].tolist()]
    alone = [client.post("/predict", json=body).json() for body in bodies]
    assert scored == [1] * 5
    found = [answer.json() for answer in together(client.app, bodies)]
    assert scored[5:] == [5]
    for one, its in zip(alone, found, strict=True):
        assert list(one) == list(its)
        (row,), (mine,) = one["predictions"], its["predictions"]
        assert {**one, "predictions": []} == {**its, "predictions": []}
        assert (list(row), row["class"]) == (list(mine), mine["class"])
        assert_close([mine["average"]], [row["average"]], SUMS.single)
        for name in ("score", "probability"):
            expected = [each[name] or 0.0 for each in row["top"]]
            assert_close([each[name] or 0.0 for each in mine["top"]], expected, SUMS.single)


def test_only_rows_with_equal_options_are_batched(plain, scored):
    _, X, client = plain
    rows = [{"rows": [row]} for row in X[:3].tolist()]
    options = [{}, {"top": 1}, {"candidates": ["emu", "ant"]}, {"calibration": 0.5}, {"min_probability": 0.9}]
    options.append({"features": True})
    bodies = [row | some for row in rows for some in options]
    answers = [answer.json() for answer in together(client.app, bodies)]
    assert sorted(scored) == [3] * len(options)
    assert [len(answer["predictions"][0]["top"]) for answer in answers] == [5, 1, 2, 5, 5, 5] * 3
    assert [answer["calibration"] for answer in answers[3::6]] == [0.5] * 3
    assert [one["predictions"][0]["none_of_these"] is None for one in answers] == [k % 6 != 4 for k in range(18)]
    assert [one["features"] for one in answers] == [body["rows"] if "features" in body else None for body in bodies]
    together(client.app, [row | {"explain": True} for row in rows] + [{"rows": X[:4].tolist()}])
    assert sorted(scored[6:]) == [1, 1, 1, 4]  # explanations, and several rows, are on their own


def test_bad_row_fails_alone(scored):
    X, y, table = services.toy()
    model = services.kernel("polynomial", degree=6, feature_scaling="none", signature_scaling="none").fit(X, y, table)
    client = services.client_of(model)
    good = [{"rows": [row]} for row in X[:2].tolist()]
    nan = '{"rows": [[NaN, 1, 1, 1, 1, 1]]}'
    bad = [{"rows": [[1e15] * 6]}, {"rows": [[1.0] * 5]}, {"rows": [[1e39, *[1.0] * 5]]}, {"rows": [["1", *[1.0] * 5]]}]
    found = together(client.app, [good[0], *bad, good[1]])
    assert [answer.status_code for answer in found] == [200, 422, 422, 422, 422, 200]
    assert scored == [3, 1, 1, 1]  # what cannot be scored is found out, then each is tried alone
    for answer, words in zip(found[1:5], ("so large", "has 5 numbers", "feature 0", "rows.0.0"), strict=True):
        assert words in refusal(answer, 422)
    alone = [client.post("/predict", json=body).json() for body in good]
    assert [found[0].json(), found[5].json()] == alone
    answer = client.post("/predict", content=nan, headers={"content-type": "application/json"})
    assert "feature 0 of row 0 is nan" in refusal(answer, 422)


def test_unknown_candidate_fails_only_its_own_request(plain):
    _, X, client = plain
    bodies = [{"rows": [row]} for row in X[:4].tolist()]
    for body in bodies[1:3]:
        body["candidates"] = ["ant", "unicorn"]
    found = together(client.app, bodies)
    assert [answer.status_code for answer in found] == [200, 422, 422, 200]
    assert all("unicorn" in refusal(answer, 422) for answer in found[1:3])


def test_single_row_is_scored_at_once():
    """It is scored in the next turn of the loop, which asks no clock."""
    service, X = of_service()

    async def ask():
        task = asyncio.create_task(predictions.Batcher(lambda: service.snapshot).predict_one(X[:1], PLAIN, 5, 1))
        for _ in range(3):  # asks, is scored, takes its answer
            await asyncio.sleep(0)
        return task.done()

    assert asyncio.run(ask())


def test_batch_uses_the_classes_at_scoring_time():
    service, X = of_service()

    async def ask():
        task = asyncio.create_task(predictions.Batcher(lambda: service.snapshot).predict_one(X[:1], PLAIN, 5, 1))
        await asyncio.sleep(0)
        service.classes.put("new", {"size": 1.0}, again=False)
        return await task

    assert asyncio.run(ask())["version"] == 1


def test_cancelled_rows_are_not_scored(scored):
    service, X = of_service()

    async def ask():
        waiting = predictions.Batcher(lambda: service.snapshot)
        tasks = [asyncio.create_task(waiting.predict_one(X[k : k + 1], PLAIN, 5, 1)) for k in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[2].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        last = asyncio.create_task(waiting.predict_one(X[:1], PLAIN, 5, 1))
        await asyncio.sleep(0)
        last.cancel()
        await asyncio.wait([last])
        return found, await waiting.predict_one(X[3:4], PLAIN, 5, 1)

    found, after = asyncio.run(ask())
    assert [isinstance(one, asyncio.CancelledError) for one in found] == [False, True, True, False]
    assert scored == [2, 1]
    assert found[3]["predictions"][0]["class"] == after["predictions"][0]["class"]


def test_cancelled_answer_does_not_affect_others():
    """Cancelled in the very turn in which its batch is scored, or fails."""
    service, X = of_service()

    async def ask(row):
        futures = [asyncio.get_running_loop().create_future() for _ in range(2)]
        group = [
            predictions.PendingRow(each, PLAIN, 9, future) for each, future in zip((row, X[:1]), futures, strict=True)
        ]
        futures[0].cancel()
        predictions._predict_group(service.snapshot, group)
        return await futures[1]

    for row in (X[1:2], np.zeros((1, 3), np.float32)):  # the second has another width: no array holds both
        assert asyncio.run(ask(row))["predictions"][0]["top"]


def test_batches_are_limited_in_size(scored):
    """Five rows of which two fit: then others have their turn."""
    service, X = of_service()
    order = []

    async def ask():
        waiting = predictions.Batcher(lambda: service.snapshot)

        async def one(name, row, options):
            await waiting.predict_one(row, options, 5, QUICK_OPERATIONS // 2)
            order.append(name)

        tasks = [asyncio.create_task(one("many", X[k : k + 1], PLAIN)) for k in range(5)]
        tasks.append(asyncio.create_task(one("other", X[:1], PredictionOptions(top=1))))
        await asyncio.gather(*tasks)

    asyncio.run(ask())
    assert sorted(scored) == [1, 1, 2, 2]
    assert order.index("other") < 5  # not after all the others


def test_fast_path_answers_as_the_route_does(plain, monkeypatch):
    """Predictions without parameters in their address pass FastAPI by."""
    _, X, client = plain
    requests = [
        {"json": {"rows": X[:1].tolist()}},
        {"json": {"rows": X[:2].tolist(), "top": 1}},
        {"json": {"rows": X[:1].tolist(), "tops": 1}},
        {"json": {}},
        {"content": b"{", "headers": {"content-type": "application/json"}},
        {"content": b"1,2", "headers": {"content-type": "text/plain"}},
        {"content": b""},
    ]
    requests = [{**one, "headers": {"x-request-id": "same", **one.get("headers", {})}} for one in requests]
    short = [client.post("/predict", **request) for request in requests]
    monkeypatch.setattr(app, "PREDICT_REQUEST", None)
    for one, request in zip(short, requests, strict=True):
        route = client.post("/predict", **request)
        assert (one.status_code, one.content, one.headers) == (route.status_code, route.content, route.headers)


def test_internal_error_reaches_every_waiting_request(plain, monkeypatch):
    _, X, client = plain

    def fails(*_):
        raise KeyError("secret")

    monkeypatch.setattr(predictions, "predict_rows", fails)
    for answer in together(client.app, [{"rows": [row]} for row in X[:3].tolist()]):
        assert "secret" not in refusal(answer, 500)
    monkeypatch.setattr(
        predictions, "predict_rows", lambda *_: (_ for _ in ()).throw(Refusal(422, "refused for a reason"))
    )
    assert {answer.status_code for answer in together(client.app, [{"rows": X[:1].tolist()}] * 2)} == {422}


def asks(client, **body):
    return client.post("/predict", json=body)


@pytest.fixture(scope="module")
def shown():
    model, data = services.small()
    return model, data, services.client(services.with_data(model, data))


def test_nearest_rows_of_each_class_are_listed(shown):
    model, data, client = shown
    X = model.feature_scaling_.apply(data.X.astype(np.float64))
    (one,) = asks(client, data_rows=[7], top=3, nearest=2).json()["predictions"]
    assert [near["class"] for near in one["nearest"]] == [best["class"] for best in one["top"]]
    for near in one["nearest"]:
        of_class = [k for k in range(len(X)) if data.y[k] == near["class"] and k != 7]
        away = {k: np.sqrt(sum((X[k, j] - X[7, j]) ** 2 for j in range(X.shape[1]))) for k in of_class}
        assert [row["row"] for row in near["rows"]] == sorted(away, key=away.get)[:2]
        assert_close([row["distance"] for row in near["rows"]], sorted(away.values())[:2], SUMS.double)
        assert {row["class"] for row in near["rows"]} == {near["class"]}
    own = asks(client, rows=data.X[7:8].tolist(), top=1, nearest=2, features=True).json()
    assert own["predictions"][0]["nearest"] == one["nearest"][:1]  # it is row 7, whoever sends it
    assert own["features"] == data.X[7:8].tolist()
    assert asks(client, data_rows=[7]).json()["features"] is None


def test_too_large_answers_are_refused(shown, plain):
    _, _, client = shown
    assert "lower top" in refusal(asks(client, data_rows=[1] * 1001, top=1, nearest=1), 413)
    assert "--data" in refusal(asks(plain[2], rows=[[0.0] * 6], nearest=1), 409)


def test_sets_none_of_these_and_parents_are_those_of_the_model():
    data = datasets.make_synthetic(16, 5, 20, 12, 8, noise=0.9)
    X, y = data.samples("trainval")
    parents = {name: f"group {k // 4}" for k, name in enumerate(data.class_names.tolist())}
    model = ClassMeansClassifier().fit(X, y, data.signatures, hierarchy=parents)
    selection.calibrate(model, X, y, data.signatures, few_shot=False)
    client = services.client_of(model)
    assert client.get("/model").json()["decides"]
    rows = data.samples("test_unseen")[0][:40]
    options = {"coverage": 0.8, "reject": 0.2, "risk": 0.3, "top": 1}
    found = asks(client, rows=rows.tolist(), **options).json()["predictions"]
    assert [tuple(one["set"]) for one in found] == model.predict_set(rows, 0.8)
    assert [one["none_of_these"] for one in found] == (model.predict(rows, reject=0.2) == "unknown").tolist()
    assert [one["node"] for one in found] == model.predict(rows, risk=0.3).tolist()
    again = asks(client, rows=rows.tolist(), **options, calibration=0.9).json()["predictions"]
    assert [one["set"] for one in again] == [one["set"] for one in found]  # whatever constant is tried out
    model.decisions_ = None
    assert "zskl fit --calibrate" in refusal(asks(services.client_of(model), rows=rows.tolist(), coverage=0.9), 422)


def test_none_of_these_below_a_probability(shown):
    model, data, client = shown
    best = model.predict_proba(data.X, candidates=model.candidates_).max(axis=1)
    limit = float(np.median(best)) + 1e-9
    found = asks(client, data_rows=list(range(12)), min_probability=limit).json()["predictions"]
    assert [one["none_of_these"] for one in found] == (best < limit).tolist()
    assert 0 < sum(one["none_of_these"] for one in found) < 12
    scores = model.top_k(data.X, 5, return_scores=True)[1]
    assert_close([one["average"] for one in found], scores.mean(axis=1), SUMS.single)
    plain = services.client_of(services.kernel().fit(data.X[:6], data.y[:6], data.signatures))
    assert "zskl fit --calibrate" in refusal(asks(plain, rows=data.X[:1].tolist(), min_probability=0.5), 422)


@pytest.mark.parametrize("features", [False, True])
def test_large_answer_is_computed_in_parts(features, digits, monkeypatch):
    """It is what one part would be, while few classes are in memory as objects."""
    client = digits[2]
    body = {"data_rows": list(range(40)), "top": 3, "features": features, "nearest": 1}
    whole = client.post("/predict", json=body).json()
    made, predict = [], predictions.predict_rows

    def counted(snapshot, X, options):
        made.append(len(X))
        return predict(snapshot, X, options)

    monkeypatch.setattr(predictions, "QUICK_CLASSES", 60)
    monkeypatch.setattr(predictions, "predict_rows", counted)
    found = client.post("/predict", json=body).json()
    pairs = list(zip(found.pop("predictions"), whole.pop("predictions"), strict=True))
    assert found == whole
    for one, other in pairs:
        assert (one["class"], one["nearest"]) == (other["class"], other["nearest"])
        scores = [[each["score"] for each in answer["top"]] for answer in (one, other)]
        assert_close(scores[0], scores[1], SUMS.single)
    assert sum(made) == 40
    assert max(made) <= 20


def test_largest_calibration_constant_keeps_the_order(case):
    """Single precision would round the scores of seen classes away."""
    model, X, client = case
    rows = X.tolist() if hasattr(X, "tolist") else X.to_numpy().tolist()
    seen = [str(label) for label in model.seen_classes_]
    plain = client.post("/predict", json={"rows": rows, "top": 1000, "calibrated": False}).json()["predictions"]
    for constant in (1e6, -1e6):
        far = client.post("/predict", json={"rows": rows, "top": 1000, "calibration": constant}).json()["predictions"]
        for one, other in zip(plain, far, strict=True):
            order = [[pick["class"] for pick in row["top"] if pick["class"] in seen] for row in (one, other)]
            assert order[0] == order[1]
            assert (other["class"] in seen) == (constant < 0)
    refusal(client.post("/predict", json={"rows": rows, "calibration": -1e20}), 422)
