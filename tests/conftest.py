"""What every test may ask for, and how Hypothesis draws its examples."""

import functools
import gc
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

if os.environ.get("ZSKL_DATA"):  # some tests change the working folder
    os.environ["ZSKL_DATA"] = os.path.abspath(os.environ["ZSKL_DATA"])

# Commands start processes only where a test asks for some by --workers: each imports everything again.
os.environ["LOKY_MAX_CPU_COUNT"] = "1"

# The same examples on every machine, however long it takes over them.
settings.register_profile("any machine", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


ONCE = {"whole", "attacked", "over_a_socket", "digits_records", "tuned_means"}  # fixtures that take seconds
LONG = {"test_signals.py", "test_results_page.py", "test_memory.py", "test_command.py"}  # so do single tests in these
MANY = 20  # tests of one file that are handed out at once: one by one, this would take seconds

# The same checks as others, once more: by another signal, on another screen, at another size; a minute together.
FURTHER = {
    "test_ended_command_leaves_no_worker_and_continues[run-loky-term]",
    "test_ended_command_leaves_no_worker_and_continues[run-loky-kill]",
    "test_a_csv_file_goes_through_all_steps_in_blocks",
    "test_teaching_a_description_and_undoing_it[phone]",
    "test_number_fields_are_accessible",
    "test_classes_survive_every_kind_of_stop",
    "test_folders_merge_and_the_device_does_not_matter",
    "test_large_json_takes_little_memory",
    "test_class_views_are_accessible",
    "test_records_suffice_where_the_data_are_gone",
    "test_ten_thousand_rows_of_many_features",
}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks
def pytest_collection_modifyitems(items):
    """Tests that share such a fixture run in one process, so that it is made once; so do the many of one file.

    pytest-xdist begins with what most tests share, then takes the others in this order: long ones first, so that in the
    end no process is at work alone.
    """
    items.sort(key=lambda item: item.path.name not in LONG)
    of_file = Counter(item.path for item in items)
    skipped = pytest.mark.skip(reason="checked by other tests in less time: run where ZSKL_DATA has the data")
    for item in items:
        if item.name in FURTHER and not os.environ.get("ZSKL_DATA"):
            item.add_marker(skipped)
        for name in ONCE.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(name))
        if of_file[item.path] >= MANY and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported stays: looking for garbage among it, now or between tests, would take seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once():
    """Typer builds all commands anew for each call, which takes longer than most of them do here."""
    import typer.main
    import typer.testing

    anew = typer.main.get_command
    once = functools.cache(anew)

    def built(app):  # that variable changes an option
        return (anew if "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION" in os.environ else once)(app)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", built)
        patch.setattr(typer.testing, "_get_command", built)
        yield


@pytest.fixture
def toy():
    from toy import (
        Toy,
        make_toy,  # the process that hands out the tests needs none of what it imports
    )

    made = make_toy()
    return Toy(made.X.copy(), made.y.copy(), made.X_new.copy(), made.y_new.copy(), made.table.copy())


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """A cache of the test's own, and no real data."""
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ZSKL_DATA", raising=False)


@pytest.fixture
def package(tmp_path):
    """A folder with a small CUB in it."""
    from benchmark_files import (
        tiny,
        write_package,  # needs h5py, which a machine that runs other tests may lack
    )

    write_package(tmp_path / "package" / "CUB", *tiny())
    return tmp_path / "package"
