"""A model applied to whole files and folders of features, block by block."""
