"""What operators see of a service: metrics for Prometheus, a line for each request, and logs as text or JSON."""

import importlib.util
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.types import Scope

from zskl.serve.classes import ClassSnapshot
from zskl.serve.limits import quote

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
GIVEN_ID = re.compile(rb"[!-~]{1,128}")  # what a client may call its request
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
MEMORY_SECONDS = 5.0  # between two looks at the memory of this process
STATM, PAGE = Path("/proc/self/statm"), os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where processes share what they count, if set before the first import
access = logging.getLogger("zskl.access")
if importlib.util.find_spec("prometheus_client") is None:  # it is imported once the folder is known
    raise ModuleNotFoundError("No module named 'prometheus_client'", name="prometheus_client")


class LogFormatter(logging.Formatter):
    """Lines of text, or of JSON, with the id of the request that they are about."""

    def __init__(self, as_json: bool) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        request_id = REQUEST_ID.get()
        if not self._as_json:
            line = super().format(record)
            return line if request_id is None else f"{line} [{request_id}]"
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        fields |= getattr(record, "fields", {}) | ({} if request_id is None else {"request_id": request_id})
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


def configure_logs(as_json: bool = False, every_request: bool = False) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(as_json))
    logging.basicConfig(handlers=[handler])
    access.setLevel(logging.INFO if every_request else logging.WARNING)


def choose_request_id(headers: dict[bytes, bytes]) -> str:
    """What the client, or a proxy before this service, calls the request; else a new name."""
    given = headers.get(b"x-request-id", b"")
    return given.decode() if GIVEN_ID.fullmatch(given) else secrets.token_hex(8)


class Metrics:
    """Counts for Prometheus. Processes that find the folder `PROMETHEUS_MULTIPROC_DIR` count together."""

    def __init__(self) -> None:
        import prometheus_client as prometheus

        self._prometheus, self._shared = prometheus, FOLDER in os.environ
        self._own = prometheus.CollectorRegistry()
        registry: Any = {"registry": None if self._shared else self._own}
        of_request = ("method", "path")
        self.requests = prometheus.Counter("zskl_requests", "Requests", [*of_request, "status"], **registry)
        self.seconds = prometheus.Histogram(
            "zskl_request_seconds", "Until a request was answered", of_request, buckets=SECONDS, **registry
        )
        self.rows = prometheus.Counter("zskl_rows", "Rows that were to be predicted", **registry)
        self.batches = prometheus.Histogram(
            "zskl_batch_rows", "Rows of different requests that were scored together", buckets=ROWS, **registry
        )
        self._memory = prometheus.Gauge("zskl_memory_bytes", "Memory in use", multiprocess_mode="livesum", **registry)
        self._looked = -MEMORY_SECONDS

    def note_request(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        path = scope["path"] if scope["path"] == "/predict" else getattr(route, "path", "other")
        labels = scope["method"], re.sub(r":\w+}", "}", path)
        self.requests.labels(*labels, status).inc()
        self.seconds.labels(*labels).observe(seconds)
        if time.monotonic() - self._looked > MEMORY_SECONDS:
            self._note_memory()

    def _note_memory(self) -> None:
        self._looked = time.monotonic()
        if STATM.exists():
            self._memory.set(int(STATM.read_text("ascii").split()[1]) * PAGE)

    def text(self, snapshot: ClassSnapshot) -> bytes:
        """All that was counted, by all processes, and what there is now."""
        self._note_memory()
        kinds = list(snapshot.kinds.values())

        from prometheus_client.core import GaugeMetricFamily, Metric
        from prometheus_client.registry import Collector

        class Present(Collector):
            def collect(self) -> Iterator[Metric]:
                classes = GaugeMetricFamily("zskl_classes", "Classes", labels=["kind"])
                for kind in ("seen", "unseen", "added"):
                    classes.add_metric([kind], kinds.count(kind))
                yield classes
                yield GaugeMetricFamily("zskl_examples", "Examples of classes", len(snapshot.taught.examples))
                yield GaugeMetricFamily("zskl_changes", "Changes of classes and examples", snapshot.version)

        every = self._prometheus.CollectorRegistry()
        every.register(Present())
        if self._shared:
            from prometheus_client.multiprocess import MultiProcessCollector

            MultiProcessCollector(every)  # type: ignore[no-untyped-call]
            return self._prometheus.generate_latest(every)
        return self._prometheus.generate_latest(self._own) + self._prometheus.generate_latest(every)


def log_request(scope: Scope, status: int, size: int, seconds: float) -> None:
    if access.isEnabledFor(logging.INFO):
        client = (scope.get("client") or ("unknown",))[0]
        path = scope.get("raw_path", b"").decode("ascii", "backslashreplace")  # as it was sent
        fields = {"client": client, "method": scope["method"], "path": path, "status": status, "bytes": size}
        about = f"{quote(client)} {scope['method']} {quote(path, 500)}"
        line = f"{about} {status} {size} bytes {1000 * seconds:.1f} ms"
        access.info("%s", line, extra={"fields": fields | {"ms": round(1000 * seconds, 3)}})


def forget_process(number: int) -> None:
    """A worker has ended: what it had in memory counts no more."""
    if FOLDER in os.environ:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(number)  # type: ignore[no-untyped-call]
