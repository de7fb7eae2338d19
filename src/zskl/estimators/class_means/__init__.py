"""Class means: a class is a direction in feature space; its description and its rows are evidence about it."""
