"""
Your own table
==============

You have a table of measurements and a table that describes each class. Two fruits
have no measurement at all: can they be recognised from their descriptions?
"""

# %%
# Two tables
# ----------
# The first table describes each fruit by four traits, from 0 to 10. In your work it
# comes from a person who knows the classes, or from a catalogue.

import io

import pandas as pd

text = """fruit,sweet,sour,firm,large
apple,8,3,8,4
orange,5,7,5,4
lemon,2,9,6,3
banana,9,1,3,5
pear,7,3,7,4
cherry,6,5,2,1
plum,7,4,4,2
pineapple,9,4,6,7
grapefruit,3,8,5,5
avocado,1,2,4,5
raspberry,6,6,2,1
quince,4,6,7,3
melon,8,2,9,8
kiwi,6,6,4,2
papaya,8,1,3,7
"""
traits = pd.read_csv(io.StringIO(text), index_col="fruit")
traits.head()

# %%
# The second table has a row per sample. Here a program stands in for an instrument
# with ten sensors.

import numpy as np

draw = np.random.default_rng(0)
response = draw.normal(size=(4, 10))
sensors = [f"sensor {k}" for k in range(10)]


def measured(fruit, times=40):
    """Some samples of one fruit."""
    values = traits.loc[fruit].to_numpy() @ response
    values = values + 4 * draw.normal(size=(times, 10))
    return pd.DataFrame(values, columns=sensors).assign(fruit=fruit)


samples = pd.concat([measured(fruit) for fruit in traits.index], ignore_index=True)
samples.sample(3, random_state=0).round(1)

# %%
# Train without two fruits
# ------------------------
# The model gets samples of thirteen fruits, and the descriptions of all fifteen. With
# ``standardize-l2`` each sensor counts the same, whatever its unit.

from zskl import ClassMeansClassifier

new = ["kiwi", "papaya"]
known = samples[~samples["fruit"].isin(new)]
unknown = samples[samples["fruit"].isin(new)]

scaling = {"feature_scaling": "standardize-l2", "signature_scaling": "standardize-l2"}
model = ClassMeansClassifier(**scaling)
model = model.fit(known[sensors], known["fruit"], traits)

# %%
# Predict the two
# ---------------

found = model.predict(unknown[sensors], candidates=new)
print(f"{np.mean(found == unknown['fruit']):.0%} are right; a guess would be at 50%")

# %%
# Add a class
# -----------
# You hear of a fruit that is not in the table. Describe it, and it takes part at once.
# Which samples are most like it?

lychee = {"lychee": [9, 3, 3, 1]}
scores = model.compatibility(samples[sensors], lychee)[:, 0]
samples.assign(score=scores).nlargest(20, "score")["fruit"].value_counts()

# %%
# How good is it in general?
# --------------------------
# Two fruits are few. A :class:`~zskl.Dataset` says which rows are for training and
# which for testing. With it you can hold out more classes and draw figures.
# :func:`zskl.datasets.make` makes one from files, and draws the parts for you.

from zskl import Dataset
from zskl.plots import ClassAccuracyDisplay

X, y = samples[sensors].to_numpy(), samples["fruit"].to_numpy()
unseen = np.isin(y, ["cherry", "pineapple", "lemon", "pear", *new])
row = np.arange(len(y))
parts = {
    "trainval": row[~unseen & (row % 5 > 0)],
    "test_seen": row[~unseen & (row % 5 == 0)],
    "test_unseen": row[unseen],
}
fruits = Dataset("fruits", X, y, traits, parts)

model = ClassMeansClassifier(**scaling)
model = model.fit(*fruits.samples("trainval"), fruits.signatures)
display = ClassAccuracyDisplay.from_estimator(model, fruits)
display

# %%
# Each bar is a fruit that the model was never trained on. The dashed line is a guess.
#
# **Next:** :doc:`Your own data </own-data>` does the same from files, on the command
# line. :doc:`plot_few_examples` shows what a few labelled samples of a new class add.
