"""Services that many tests ask. What needs the extra `serve` is imported when a fixture is used."""

import pytest

CASES = [
    "integers", "strings", "several_signatures", "unnamed_attributes", "named_columns", "uncalibrated",
    "not_explained", "bilinear", "class_means", "cauchy", "polynomial",
]  # of served_models  # fmt: skip


@pytest.fixture(scope="session", params=CASES)
def case(request):
    """A model, rows as the library takes them, and a client of a service of the model."""
    import services

    model, X = {one.__name__: one for one in services.CASES}[request.param]()
    return model, X, services.client_of(model)


@pytest.fixture(scope="session")
def plain():
    """A model, rows, and a client of a service that no test changes."""
    import services

    model, X = services.strings()
    return model, X, services.client_of(model)


@pytest.fixture
def fresh():
    """A model, rows, and a client of a service that a test may change."""
    import services

    model, X = services.strings()
    return model, X, services.client_of(model)


@pytest.fixture(scope="session")
def digits():
    """A model of the digits, the digits, and a client of a service with both."""
    import services

    model, data = services.digits()
    return model, data, services.client(services.with_data(model, data))


@pytest.fixture(scope="session")
def toy_file(tmp_path_factory):
    """A model file that is not written to."""
    import services

    path = tmp_path_factory.mktemp("models") / "toy.zskl"
    services.strings()[0].save(path)
    return path


@pytest.fixture(scope="session")
def over_a_socket(toy_file):
    """A service in a process of its own, where paths are decoded as in real life; `asking` is a client of it."""
    import services

    with (
        services.running(toy_file, "--classes", toy_file.with_name("odd.jsonl")) as service,
        service.client() as client,
    ):
        service.asking = client
        yield service


@pytest.fixture(scope="session")
def attacked(tmp_path_factory):
    """A service of the digits in a process of its own, which gets all malformed and large bodies, one after another."""
    import services
    from request_bodies import GOOD

    path = tmp_path_factory.mktemp("served") / "digits.zskl"
    services.digits()[0].save(path)
    with services.running(path, "--data", "digits") as service, service.client() as client:
        service.asking = client
        service.expected = client.post("/predict", json=GOOD["/predict"]).content
        yield service
        assert service.process.poll() is None
