"""One browser, and one service of each sort, for all tests of the page."""

import re
from contextlib import ExitStack, contextmanager

import numpy as np
import pandas as pd
import pytest

from browsing import DESKTOP, FEATURES, browser, new_page
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, datasets, methods, selection
from zskl.serve import gallery


def in_thread(*arguments, **options):
    """`services.in_thread`, imported when it is called: it needs the extra `serve`."""
    import services

    return services.in_thread(*arguments, **options)


@pytest.fixture(scope="package", autouse=True)
def kept():
    """The browser keeps the files of the page: to ask for each of them at every visit takes longer than most tests."""
    from zskl.serve.app import PAGE_HEADERS

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PAGE_HEADERS, "cache-control", "max-age=3600")
        yield


@pytest.fixture(scope="package")
def chromium():
    with browser() as found:
        yield found


@pytest.fixture(scope="session")
def demo():
    """A service of letters, as the demonstration has it."""
    with in_thread(demo=True) as (address, _):
        yield address


@pytest.fixture(scope="session")
def digits_file(tmp_path_factory):
    """A calibrated model of the digits, whose attributes are the segments of a display."""
    data = datasets.load("digits")
    X, y = data.samples("trainval")
    model = methods.build("gaussian-ort", {"random_state": 0}).fit(X, y, data.signatures)
    file = tmp_path_factory.mktemp("digits") / "digits.zskl"
    selection.calibrate(model, X, y, data.signatures, selection.folds(data)).save(file)
    return file


@pytest.fixture(scope="session")
def segments(digits_file):
    """A service of the digits."""
    with in_thread(digits_file, data="digits") as (address, _):
        yield address


@pytest.fixture(scope="session")
def means(tmp_path_factory):
    """A service of class means with the digits; it was taught what a three looks like."""
    data = datasets.load("digits")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    file = tmp_path_factory.mktemp("means") / "means.zskl"
    model.add_examples(data.X[data.y == 3][:3], [3, 3, 3]).save(file)
    with in_thread(file, data="digits") as (address, _):
        yield address


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A service without data: 312 attributes in groups, 3000 classes."""
    rng = np.random.default_rng(0)
    names = [f"has_part_{k // 12}_colour::shade_{k % 12}" for k in range(312)]
    table = pd.DataFrame(rng.random((3000, 312)), index=[f"{k:04d}.Bird_{k}" for k in range(3000)], columns=names)
    y = np.repeat(table.index[:4].to_numpy(str), 8)
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(rng.normal(size=(32, 16)), y, table)
    file = tmp_path_factory.mktemp("large") / "birds.zskl"
    model.save(file)
    with in_thread(file) as (address, _):
        yield address


@pytest.fixture(scope="session")
def machines(tmp_path_factory):
    """A service whose features have names and whose attributes have units: a speed in thousands, a load below 1."""
    rng = np.random.default_rng(7)
    names = ["motor: speed", "motor: load", "bearing: wear", "bearing: greased", "age"]
    rows = [[3000, 0.5, 0.2, 1, 4], [2400, 0.7, 0.4, 1, 9], [1500, 0.9, 0.6, 0, 12]]
    rows += [[1200, 0.2, 0.1, 0, 2], [400, 1.0, 0.8, 1, 25], [3600, 0.6, 0.7, 0, 7]]
    table = pd.DataFrame(rows, index=["lathe", "mill", "pump", "fan", "press", "saw"], columns=names)
    table["made"] = 1.0
    spread = ((table - table.mean()) / table.std()).fillna(0.0).to_numpy() @ rng.normal(size=(6, 4))
    X = pd.DataFrame(np.repeat(spread, 20, axis=0) + rng.normal(size=(120, 4)) / 4, columns=FEATURES)
    y = np.repeat(table.index.to_numpy(str), 20)
    place = tmp_path_factory.mktemp("machines")
    X.assign(machine=y).to_csv(place / "rows.csv", index_label="id")
    table.to_csv(place / "classes.csv", index_label="class")
    own = datasets.make(place / "own", place / "rows.csv", "machine", place / "classes.csv", unseen=["fan", "saw"])
    model = ZeroShotKernelClassifier(signature_scaling="standardize-l2", epochs=20, random_state=0)
    seen = ~np.isin(y, ["fan", "saw"])
    model.fit(X[seen], y[seen], own.signatures).save(place / "machines.zskl")
    with in_thread(place / "machines.zskl", data=str(place / "own")) as (address, _):
        yield address, place / "rows.csv"


@pytest.fixture(scope="session")
def pictured(tmp_path_factory):
    """A service of the user's own rows, of which four have pictures."""
    place = tmp_path_factory.mktemp("pictured")
    data = datasets.load("digits")
    few = np.concatenate([np.flatnonzero(data.y == digit)[:4] for digit in range(10)])
    rows = pd.DataFrame(data.X[few]).assign(label=data.y[few])
    rows.to_csv(place / "rows.csv", index_label="id")
    data.signatures.to_csv(place / "classes.csv", index_label="class")
    own = datasets.make(place / "own", place / "rows.csv", "label", place / "classes.csv", unseen=["3", "4"])
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(*own.samples("trainval"), own.signatures)
    model.save(place / "own.zskl")
    images = place / "images"
    images.mkdir()
    for row in (0, 8, 16, 39):
        (images / f"{row}.png").write_bytes(gallery.draw_digits(data.X[few]).read(row)[0])
    (images / "rows.csv").write_text("file,row\n" + "".join(f"{row}.png,{row}\n" for row in (0, 8, 16, 39)))
    with in_thread(place / "own.zskl", data=str(place / "own"), images=images) as (address, _):
        yield address


@pytest.fixture(scope="package")
def one_page(chromium):
    """One page for all tests: another one takes a second to open."""
    page = new_page(chromium)
    yield page
    page.context.close()


@contextmanager
def visited(page, address, faults):
    """The page of a service, whose console stays empty and which asks no other host. Nothing of it stays after."""
    said, hosts = [], set()
    heard = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: hosts.add(request.url.split("/")[2]),
    }
    for name, listener in heard.items():
        page.on(name, listener)
    page.goto(address)
    page.locator("main[aria-busy=false]").wait_for()
    yield
    page.unroute_all(behavior="ignoreErrors")
    page.evaluate("() => { try { sessionStorage.clear(); } catch {} }")  # where a service is gone, there is none
    for name, listener in heard.items():
        page.remove_listener(name, listener)
    page.goto("about:blank")
    assert [one for one in said if not faults or not re.search(faults, one)] == []
    assert hosts == {address.split("/")[2]}


@pytest.fixture
def visit(chromium, one_page):
    """Open the page of a service and leave the one before; `faults` are messages a test expects in its console.

    Only what a page has from its start, as `has_touch`, takes another page. Nothing moves, unless a test asks for it:
    each picture of a movement is drawn without a graphics card here.
    """
    with ExitStack() as last:

        def open_page(address, size=DESKTOP, faults="", color_scheme="null", reduced_motion="reduce", **from_its_start):
            last.close()
            page = one_page
            if from_its_start:
                page = new_page(chromium, **from_its_start)
                last.callback(page.context.close)
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
            last.enter_context(visited(page, address, faults))
            return page

        yield open_page
