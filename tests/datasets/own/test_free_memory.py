"""Memory that is free goes back to the system."""

import platform
import re
from pathlib import Path

import pytest

from zskl.datasets.own import free_memory
from zskl.datasets.own.free_memory import give_back

PIECES, SIZE = 20_000, 4096  # 80 MB, in blocks that the C library takes from its heap


def resident():
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text("utf-8"))[1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the C library of Linux gives back parts of a heap")
def test_free_blocks_below_one_that_is_in_use_are_given_back():
    blocks = [b"x" * SIZE for _ in range(PIECES)]
    last = blocks.pop()
    full = resident()
    del blocks
    give_back()
    assert full - resident() > PIECES * SIZE / 2
    assert len(last) == SIZE


@pytest.mark.parametrize("platform_name", ["darwin", "win32"])
def test_elsewhere_the_c_library_is_left_alone(platform_name, monkeypatch):
    monkeypatch.setattr(free_memory.sys, "platform", platform_name)
    monkeypatch.setattr(free_memory.ctypes, "CDLL", lambda _: pytest.fail("there is no such library to open"))
    assert give_back() is None
