"""`zskl methods` and `zskl datasets`."""

from command import zskl
from zskl import methods


def test_methods_and_datasets_are_listed():
    listing = zskl("methods").stdout
    assert all(name in listing for name in methods.METHODS)
    assert "incoherence=False" in listing
    assert "digits" in zskl("datasets").stdout


def test_the_settings_of_one_method_with_their_values():
    listing = zskl("methods", "Gaussian").stdout
    assert all(name in listing for name in methods.build("gaussian").get_params())
    assert zskl("methods", "gausian").returncode == 2
