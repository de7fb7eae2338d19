"""Tests of the page. The folder is a package, so that one browser serves all its tests and then ends."""
