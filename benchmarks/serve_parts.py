"""The sections of docs/performance.md on the service, from records; see performance.py."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_tables import load, measured_on, table

ASKED = 2500  # JSON requests a second by two workers on two cores
P99 = 25.0  # milliseconds that 99 of 100 stay below


def serving(record: dict[str, Any]) -> Iterator[str]:
    """`record` is of one worker, that of two stands beside it."""
    pair = load("serve_2")
    f = record["figures"]
    first, batch = f["load"][0], f["batch"]
    yield "## The service\n"
    yield (
        f"`python benchmarks/serve_load.py --keep`, and the same with `--workers 2`: [`zskl serve`](service.md) with a model of "
        f"{f['features']} features and {f['attributes']} attributes and {f['classes']} classes. Clients in one process on the same machine "
        f"send one row each, again and again, for {first['seconds']:.0f} s; a JSON body has {first['body_bytes']:,} bytes. Rows that wait at the "
        "same time are scored together. The versions of the same run without that: *one at a time*, and *by FastAPI's route*, one at a time "
        "and by the way that every other request takes. Processor ms are those of all processes of the service for one request: the steadier "
        "figure where other work runs. Cores are the shares that the service and the clients took; memory is the service's in the first "
        "and the last third of the run.\n"
    )
    runs = [(one["figures"]["workers"], run) for one in (record, pair) if one for run in one["figures"]["load"]]
    head = "workers, version", "body", "clients", "requests a second", "p50, ms", "p99, ms", "worst, ms", "errors"
    yield table(
        (*head, "processor ms", "cores: service", "clients' cores", "memory, MB"),
        [
            [
                *(f"{workers}, {one['version']}", one["kind"], str(one["clients"]), f"{one['per_second']:,.0f}"),
                *(f"{one['p50_ms']:.1f}", f"{one['p99_ms']:.1f}", f"{one['worst_ms']:.0f}"),
                *(f"{one['errors']} of {one['requests']:,}", f"{one['service_ms']:.3f}", f"{one['service_cores']:.2f}"),
                f"{one['client_cores']:.2f}",
                " → ".join(f"{mb:.0f}" for mb in one["memory_mb"]),
            ]
            for workers, one in runs
        ],
    )
    yield (
        f"{batch['rows']:,} rows in one request of {batch['body_mb']:.0f} MB (`.npy`): {batch['seconds']:.2f} s; memory "
        f"afterwards {batch['memory_mb']:.0f} MB.\n"
    )
    ours = [
        one for workers, one in runs if workers == 2 and one["kind"] == "JSON" and one["version"] == first["version"]
    ]
    if ours:
        met = [str(one["clients"]) for one in ours if one["per_second"] >= ASKED and one["p99_ms"] < P99]
        how = f"met with {' and '.join(met)} clients" if met else "**missed**"
        yield (
            f"Asked for: {ASKED} JSON requests a second by two workers on two cores that they share with the clients, p99 below {P99:.0f} ms: "
            f"{how}.\n"
        )
    yield measured_on(record)


def profile(record: dict[str, Any]) -> Iterator[str]:
    f = record["figures"]
    yield "### Where the time of a one-row request goes\n"
    yield (
        "`python benchmarks/serve_profile.py --keep`: the same model and JSON bodies inside one process, without a socket. Microseconds of "
        "processor time for one request, the least of many runs. The whole is more than the sum: it also holds what is not listed, such as "
        "the guard and the event loop, and a step that is repeated alone runs faster than among others.\n"
    )
    rows = [[name, f"{value:.0f}"] for name, value in f["steps"].items()]
    rows += [[f"scoring, {n} together", f"{value:.0f}"] for n, value in f["scoring"].items()]
    rows += [[f"**the whole**, {n} together", f"{value:.0f}"] for n, value in f["whole"].items()]
    rows.append(["the whole, one at a time, by FastAPI's route", f"{f['before']:.0f}"])
    yield table(("step", "µs"), rows)
    yield measured_on(record)
