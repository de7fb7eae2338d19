"""
Texts as counts of words
========================

You have texts, and a text about each class. Counted words make a table with a column
for every word. Nearly all of its entries are zero: it is *sparse*. Three methods take
such a table as it is.
"""

# %%
# Texts and descriptions
# ----------------------
# A class is a module of Python's standard library. Its samples are the docstrings of
# its functions and classes. Its description is the docstring of the module itself.

import importlib
import inspect

NAMES = [
    *("argparse", "ast", "calendar", "configparser", "csv", "datetime", "decimal"),
    *("difflib", "fractions", "heapq", "http.client", "itertools", "json", "logging"),
    *("math", "pathlib", "pickle", "random", "re", "shutil", "socket", "statistics"),
    *("string", "subprocess", "tarfile", "tempfile", "threading", "unittest.mock"),
    *("urllib.parse", "uuid", "weakref", "zipfile", "zoneinfo"),
]


def docstrings(module):
    """Of public functions and classes, and of the methods of these classes."""
    for name, member in sorted(vars(module).items()):
        if not name.startswith("_") and inspect.getmodule(member) is module:
            inside = vars(member).values() if inspect.isclass(member) else []
            for part in [member, *inside]:
                text = getattr(part, "__doc__", None)
                if isinstance(text, str) and len(text.split()) > 5:
                    yield text


about, texts, labels = {}, [], []
for name in NAMES:
    module = importlib.import_module(name)
    found = sorted(set(docstrings(module)))[:60]
    if module.__doc__ and len(found) >= 5:
        about[name] = f"{name} {module.__doc__}"
        texts += found
        labels += [name] * len(found)
print(f"{len(texts)} texts of {len(about)} classes")

# %%
# Every third class is *unseen*: we do not train on any of its texts.

import numpy as np

classes = np.array(sorted(about))
unseen = classes[1::3].tolist()
y = np.array(labels)
is_new = np.isin(y, unseen)

# %%
# From words to a sparse table
# ----------------------------
# TF-IDF counts the words of a text, and lets rare words count more. The same columns
# describe the classes. The words come from training texts and descriptions alone.

from sklearn.feature_extraction.text import TfidfVectorizer

words = TfidfVectorizer(stop_words="english", sublinear_tf=True)
words.fit([*np.array(texts)[~is_new], *about.values()])
X = words.transform(texts)
signatures = dict(zip(about, words.transform(about.values()), strict=True))
share = X.nnz / (X.shape[0] * X.shape[1])
print(f"{X.shape[0]} rows, {X.shape[1]} words; {share:.2%} of the entries are not 0")

# %%
# Train and test
# --------------
# Hand the table over as it is. *Cosine* compares a text with a description, word by
# word. *ESZSL* learns which words of texts go with which words of descriptions.
# *Class means* can do both: validation classes choose among three ways to begin.

from zskl import ClassMeansClassifier, baselines, selection

seen = X[~is_new], y[~is_new], signatures
ways = {"prior": ["zero", "identity", "cosine"]}
tuned = selection.tune(ClassMeansClassifier(), *seen, ways, engine=None)
models = {
    "cosine": baselines.Cosine().fit(*seen),
    "eszsl": baselines.ESZSL().fit(*seen),
    f"class means ({tuned.best['prior']})": tuned.model,
}
right = {}
for name, model in models.items():
    found = model.predict(X[is_new], candidates=unseen)
    right[name] = np.mean(found == y[is_new])
    print(f"{right[name]:.0%} of new texts right with {name}")
print(f"a guess among {len(unseen)} classes would be at {1 / len(unseen):.0%}")
assert right["cosine"] > 0.3

# %%
# Texts and descriptions share their words here, so a plain comparison goes far. Twenty
# classes are too few to learn which *other* words go together, and ESZSL does little
# else. With hundreds of classes this changes. Which classes are hard?

from zskl.metrics import per_class_accuracy
from zskl.plots import ClassAccuracyDisplay

answers = tuned.model.predict(X[is_new], candidates=unseen)
accuracy = per_class_accuracy(y[is_new], answers)
display = ClassAccuracyDisplay(accuracy).plot()
display

# %%
# Describe a class of your own
# ----------------------------
# A few words are a description too.

mine = {"a new module": words.transform(["read and write compressed archive files"])}
scores = models["cosine"].compatibility(X, mine)[:, 0]
for row in scores.argsort()[::-1][:3]:
    print(f"{y[row]}: {' '.join(texts[row].split())[:60]}")

# %%
# Other methods
# -------------
# Other methods need dense rows, and say so. ``TruncatedSVD`` makes them: it keeps the
# directions in which texts vary most.

from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from zskl import methods

small = TruncatedSVD(50, random_state=0).fit(X[~is_new])
table = {name: small.transform(row)[0] for name, row in signatures.items()}
pipeline = make_pipeline(small, methods.build("sae"))
pipeline.fit(*seen[:2], sae__signatures=table)
found = pipeline.predict(X[is_new], candidates=unseen)
print(f"{np.mean(found == y[is_new]):.0%} of new texts right with 50 columns and SAE")

# %%
# **Next:** :doc:`Texts and other sparse tables </sparse>` says what works and how large
# tables may be. :doc:`Sentence vectors <plot_sentences>` describe classes by meaning,
# not by words.
