"""Writes the files of this folder with whichever version of zskl is installed: python write.py FOLDER.

The files are kept so that later versions prove that they still read them. Run it with an earlier version only to add a
kind of file; never to make a failing test pass.
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd

import zskl

SEEN = ["ant", "bee", "cod", "dog", "emu", "fox"]
UNSEEN = ["gnu", "hen", "owl"]
SMALL = {"cnzsl": {"hidden": 8}}  # settings that keep files small
UNSORTED = ["class-means", "means-softmax", "gaussian-ort", "cmt-star", "eszsl", "sync"]


def make_problem():
    """60 rows of six seen classes, six rows of unseen ones, and the class table."""
    rng = np.random.default_rng(0)
    names = [*SEEN, *UNSEEN]
    table = pd.DataFrame(rng.integers(0, 2, (9, 5)) + 0.1 * rng.random((9, 5)), names, list("abcde")).round(3)
    means = table.to_numpy() @ rng.standard_normal((5, 5))
    X = np.repeat(means[:6], 10, axis=0) + 0.3 * rng.standard_normal((60, 5))
    new = np.repeat(means[6:], 2, axis=0) + 0.3 * rng.standard_normal((6, 5))
    return X.astype("float32"), np.repeat(SEEN, 10), table, new.astype("float32")


def write_models(folder):
    """A model file for every method, and its scores of rows of unseen classes."""
    X, y, table, new = make_problem()
    scores = {}
    for name in zskl.methods.METHODS:
        model = zskl.methods.build(name, {"random_state": 0, **SMALL.get(name, {})})
        model.fit(X, y, table)
        model.save(folder / f"{name}.zskl")
        scores[name] = np.asarray(model.compatibility(new), dtype=float).tolist()
        if hasattr(model, "add_examples"):
            taught = model.add_examples(new[:2], ["gnu", "gnu"])
            taught.save(folder / f"{name}-taught.zskl")
            scores[f"{name}-taught"] = np.asarray(taught.compatibility(new), dtype=float).tolist()
    (folder / "scores.json").write_text(json.dumps({"rows": new.tolist(), "scores": scores}), "utf-8")


def write_unsorted(folder):
    """Models of classes whose names do not sort as seen ones first: up to 0.2 that was the order of the columns."""
    X, y, table, new = make_problem()
    names = dict(zip([*SEEN, *UNSEEN], ["owl", "bee", "fox", "dog", "yak", "cod", "hen", "ant", "gnu"], strict=True))
    y, table = np.array([names[label] for label in y]), table.rename(index=names)
    (folder / "unsorted").mkdir()
    models = {name: zskl.methods.build(name, {"random_state": 0}).fit(X, y, table) for name in UNSORTED}
    models |= {f"{name}-taught": models[name].add_examples(new[:2], ["cat", "cat"]) for name in UNSORTED[:2]}
    for name, model in models.items():
        model.calibration_, model.temperatures_ = 0.125, {"seen": 0.5, "unseen": 0.25, "mixed": 0.375}
        model.save(folder / "unsorted" / f"{name}.zskl")
    columns = {name: [str(label) for label in model.candidates_] for name, model in models.items()}
    scores = {name: np.asarray(model.compatibility(new), dtype=float).tolist() for name, model in models.items()}
    answers = {name: model.predict(new).tolist() for name, model in models.items()}
    stored = {"rows": new.tolist(), "columns": columns, "scores": scores, "answers": answers}
    (folder / "unsorted" / "scores.json").write_text(json.dumps(stored), "utf-8")


def write_records(folder):
    command = ["run", "synthetic", "--method", "eszsl", "--method", "gaussian", "--calibrate", "--out"]
    subprocess.run([sys.executable, "-m", "zskl", *command, str(folder / "records")], check=True, capture_output=True)


def write_dataset(folder):
    X, y, table, _ = make_problem()
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(5)]).assign(kind=y)
    frame.to_csv(folder / "rows.csv", index=False)
    table.to_csv(folder / "classes.csv", index_label="class")
    made = [str(folder / "dataset"), "--features", str(folder / "rows.csv"), "--labels", "kind"]
    more = ["--signatures", str(folder / "classes.csv"), "--unseen", "emu", "--unseen", "fox"]
    subprocess.run([sys.executable, "-m", "zskl", "data", "make", *made, *more], check=True, capture_output=True)
    (folder / "rows.csv").unlink()
    (folder / "classes.csv").unlink()


def send(port, path, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def write_classes(folder, port=8765):
    """What a service keeps: two classes were added, one removed, and one has examples if this version has them."""
    name = "class-means" if "class-means" in zskl.methods.METHODS else "eszsl"
    _, _, _, new = make_problem()
    where = str(folder / "service.classes.jsonl")
    command = ["serve", str(folder / f"{name}.zskl"), "--classes", where, "--port", str(port)]
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen([sys.executable, "-m", "zskl", *command], **told) as service:
        while not service.stdout.readline().startswith("added classes are kept"):
            continue
        send(port, "/classes", {"name": "yak", "attributes": {"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.0, "e": 1.0}})
        send(port, "/classes", {"name": "zebu", "attributes": {"a": 0.0, "b": 1.0}})
        request = urllib.request.Request(f"http://127.0.0.1:{port}/classes/zebu", method="DELETE")
        urllib.request.urlopen(request).read()
        if name == "class-means":
            send(port, "/classes/yak/examples", {"features": new[0].tolist()})
            send(port, "/classes/hen/examples", {"features": new[2].tolist(), "right": False})
        service.terminate()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    write_models(target)
    write_unsorted(target)
    write_records(target)
    write_dataset(target)
    write_classes(target)
