"""Datasets of your own: made from your files, kept in a folder."""
