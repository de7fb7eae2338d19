"""Behind nginx, with the configuration of docs/service.md."""

import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import httpx

import served
from answers import refusal

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
SERVICE = Path(__file__).parents[2] / "docs" / "service.md"
DOCUMENTED = re.search(r"```nginx\n(.*?)```", SERVICE.read_text("utf-8"), re.DOTALL)[1]
AROUND = """
daemon off; pid {folder}/pid; error_log {folder}/log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
{server}}}
"""


@contextmanager
def proxied(folder, service):
    """A client of nginx before a service. nginx listens at a socket file, so that it needs no port."""
    socket = folder / "socket"
    server = DOCUMENTED.replace("listen 80", f"listen unix:{socket}").replace("127.0.0.1:8000", service)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, server=server), "utf-8")
    running = subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "log"])
    try:
        while not socket.exists():
            assert running.poll() is None, (folder / "log").read_text("utf-8")
            time.sleep(0.01)
        transport = httpx.HTTPTransport(uds=str(socket))
        with httpx.Client(transport=transport, base_url="http://birds.example/zskl", timeout=served.LIMIT) as client:
            yield client
    finally:
        running.terminate()
        running.wait(served.LIMIT)


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
@pytest.mark.parametrize("public", ["http://birds.example/zskl/", None])
def test_the_page_works_behind_nginx_once_its_address_is_known(tmp_path, toy_file, public):
    new = {"name": "new", "attributes": {"size": 1.0}}
    with (
        served.in_thread(toy_file, classes=tmp_path / "c.jsonl", public_url=public) as (address, _),
        proxied(tmp_path, address.removeprefix("http://")) as client,
    ):
        assert client.get("/").text.startswith("<!")
        assert client.get("/model").status_code == 200
        answer = client.post("/classes", json=new, headers={"origin": "http://birds.example"})
        if public is None:
            assert "--public-url" in refusal(answer, 403)
        else:
            assert answer.status_code == 201
        refusal(client.post("/classes", json=new, headers={"origin": "http://evil.example"}), 403)
