"""Memory of a service whose clients ask for the largest answers and read none: python benchmarks/unread.py 6 12 24

Prints the resident memory of the process in megabytes: before, at its peak, and once the clients are gone."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

SECONDS = 40  # for the service to work through the requests
COMMAND = (sys.executable, "-m", "zskl", "serve", "--demo", "--port", "0")  # the letters


def memory(process: subprocess.Popen[str], name: str) -> int:
    """VmRSS (now) or VmHWM (the peak), in MB; Linux only."""
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1]) // 1024


def unread(clients: int) -> None:
    """Start a service and measure it."""
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            at = next(found[0] for line in process.stdout if (found := re.search(r"http://[\w.:]+", line)))
            about = json.loads(urlopen(f"{at}/model").read())
            classes = about["seen"] + about["unseen"]
            rows = [k % about["data"]["rows"] for k in range(min(about["limits"]["answers"] // classes, 100_000))]
            body = json.dumps({"data_rows": rows, "top": classes}).encode()
            headers = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            before, held = memory(process, "VmRSS"), []
            for _ in range(clients):
                connection = socket.create_connection(("127.0.0.1", int(at.rpartition(":")[2])))
                connection.sendall(f"POST /predict HTTP/1.1\r\n{headers}".encode() + body)
                held.append(connection)
            time.sleep(SECONDS)
            during, peak = memory(process, "VmRSS"), memory(process, "VmHWM")
            began = time.monotonic()
            urlopen(f"{at}/health").read()
            waited = time.monotonic() - began
            for connection in held:
                connection.close()
            time.sleep(5)
            after = memory(process, "VmRSS")
            print(
                f"{clients:3} clients, {len(rows) * classes} classes each: {before} MB before, {during} while they "
                f"wait, {peak} at most, {after} five seconds later; GET /health {1000 * waited:.0f} ms",
                flush=True,
            )
        finally:
            process.terminate()


if __name__ == "__main__":
    for number in map(int, sys.argv[1:] or ("6", "12", "24")):
        unread(number)
