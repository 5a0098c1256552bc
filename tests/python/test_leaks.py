# SPDX-License-Identifier: Apache-2.0
"""Nothing leaks and nothing crashes: loops over every public call and its errors, out of memory too.

Each loop runs in a child process under Python's debug allocator, which finds writes past a block's
end and uses after free. Growth is measured between two equal loops, after a first one that fills
the caches.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from captures import run_python

PRELUDE = """
import gc, os, sys, warnings
warnings.simplefilter("ignore")
import dew.telemetry.profile as m
from dew.telemetry.profile import *

class Odd:
    def __fspath__(self): raise ZeroDivisionError

class OddText(str):
    pass

def fails(call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except Exception as error:
        error.__traceback__ = None
        return
    raise AssertionError((call, arguments, keywords))

def entered(context):
    with context:
        pass

def raised(context):
    try:
        with context:
            1 / 0
    except ZeroDivisionError:
        pass

def blocks():
    # The interpreter's cache of attributes holds up to 4096 names that C code looked up.
    sys._clear_type_cache()
    gc.collect()
    return sys.getallocatedblocks()

def growth(loop, rounds):
    for _ in range(rounds):
        loop()
    before = blocks()
    for _ in range(rounds):
        loop()
    return blocks() - before
"""


def run_child(code: str, *arguments: object, allocator: str = "debug") -> None:
    done = run_python(
        PRELUDE + code,
        *arguments,
        PYTHONMALLOC=allocator,
        DEW_PROFILE_REPORTS="off",
        JAX_PLATFORMS="cpu",
    )
    assert done.returncode == 0, done.stdout + done.stderr


WITHOUT_JAX = """
shared = Profiler("x")
lent = ["a name", "x" * 70000, OddText("y"), {}, b"z"]

def loop():
    entered(region("a")); raised(region("a")); entered(region(lent[0])); entered(region(lent[1]))
    entered(region(lent[2]))
    entered(shared.region("a")); entered(region(name="a"))
    fails(region); fails(region, 1); fails(region, "a#"); fails(region, "a\\0b")
    fails(region, "\\ud800"); fails(region, lent[3]); fails(region, "a", "b"); fails(region, nam="a")
    fails(shared.region, 1); fails(shared.region, "a#"); fails(shared.region)
    active_profile(); fails(active_profile, 1)
    p = Profiler(); p.directory; p.capture; p.reports; repr(p)
    p.reports = "wait"; p.reports = "off"
    fails(setattr, p, "reports", "x"); fails(setattr, p, "reports", 1)
    fails(delattr, p, "reports"); fails(setattr, p, "directory", "y"); fails(setattr, p, "capture", 1)
    fails(p.stop); fails(p.start, 1)
    fails(Profiler, options=lent[3]); fails(Profiler, "a", "b"); fails(Profiler, nope=1)
    fails(Profiler("gs://x").start); fails(Profiler("").start)
    for bad in (b"x", 1, Odd()):
        fails(lambda: Profiler(bad).start())
    profile("x"); profile("x", options=None); fails(profile, options=1)
    q = Profiler("again"); q.__init__("other"); q.directory
    cycle = Profiler(); lent[3]["p"] = cycle; lent[3].clear()

growth(loop, 200)  # a short name is kept, to be known again
counts = [sys.getrefcount(each) for each in lent]
assert growth(loop, 500) < 60, "blocks grow"
assert [sys.getrefcount(each) for each in lent] == counts, (
    [sys.getrefcount(each) for each in lent], counts)
assert "jax" not in sys.modules
"""


def test_calls_without_a_capture_grow_nothing() -> None:
    run_child(WITHOUT_JAX)


def test_the_converter_object_grows_nothing(tmp_path: pathlib.Path) -> None:
    damaged = tmp_path / "damaged.xplane.pb"
    damaged.write_bytes(b"\xff" * 64)
    run_child(
        """
path = sys.argv[1]
converter = require_profile_support()
lent = [path, [path], "overview_page", {"a": 1}]
counts = [sys.getrefcount(each) for each in lent]

def loop():
    require_profile_support(); fails(require_profile_support, 1)
    converter.library; converter.version; repr(converter)
    fails(type(converter)); fails(setattr, converter, "version", "1")
    fails(converter.xspace_to_tool_names, []); fails(converter.xspace_to_tool_names, 1)
    fails(converter.xspace_to_tool_names, [1]); fails(converter.xspace_to_tool_names, ["a\\0b"])
    fails(converter.xspace_to_tool_names, ["/nowhere"]); fails(converter.xspace_to_tool_names)
    fails(converter.xspace_to_tool_names, lent[1])
    fails(converter.xspace_to_tool_data, lent[1], 1); fails(converter.xspace_to_tool_data, lent[1])
    fails(converter.xspace_to_tool_data, lent[1], lent[2], 1)
    fails(converter.xspace_to_tool_data, lent[1], lent[2], {1: 1})
    fails(converter.xspace_to_tool_data, lent[1], lent[2], {"a": object()})
    fails(converter.xspace_to_tool_data, lent[1], lent[2], {"a": 1 << 80})
    fails(converter.xspace_to_tool_data, lent[1], lent[2], lent[3])
    fails(converter.xspace_to_tool_data, lent[1], "no such tool")

growth(loop, 10)
grown = growth(loop, 20)
assert grown < 20, grown
assert [sys.getrefcount(each) for each in lent] == counts, (
    [sys.getrefcount(each) for each in lent], counts)
""",
        damaged,
    )


def test_captures_and_their_errors_grow_nothing(tmp_path: pathlib.Path) -> None:
    run_child(
        """
import pathlib
import jax, jax.numpy as jnp
root = pathlib.Path(sys.argv[1])
(root / "file").write_text("mine")
x = jnp.ones(8)
options = capture_options()
path = str(root / "captures")
profiler = Profiler(path, options=options)
lent = [options, path, profiler]

def loop():
    with profiler, region("a"):
        (x + x).block_until_ready()
        fails(profiler.start); fails(Profiler(path).start)
        with profiler.region("b"): pass
        active_profile(); profiler.capture
    raised(profiler)
    fails(profiler.stop)
    fails(Profiler(root / "file").start)
    fails(Profiler(path, options=options).stop)
    with profiler: profiler.stop()

growth(loop, 5)
counts = [sys.getrefcount(each) for each in lent]
grown = growth(loop, 10)
assert [sys.getrefcount(each) for each in lent] == counts, (
    [sys.getrefcount(each) for each in lent], counts)
# 30 captures in the second half: one object a capture would be 30 and more.
assert grown < 15, grown
""",
        tmp_path,
    )


NO_MEMORY = """
import _testcapi
profiler = Profiler("x")
names = iter(range(1 << 30))

def calls():
    yield lambda: region(f"name {next(names)}")
    yield lambda: region("bad#")
    yield lambda: region(1)
    yield lambda: entered(region("same"))
    yield lambda: profiler.region("a")
    yield lambda: Profiler("a" * 99)
    yield lambda: Profiler(options=1)
    yield lambda: profile("b")
    yield lambda: profiler.directory
    yield lambda: profiler.reports
    yield lambda: profiler.stop()
    yield lambda: Profiler("gs://x").start()
    yield lambda: Profiler(b"x").start()
    yield lambda: setattr(profiler, "reports", "sometimes")
    yield lambda: repr(profiler)
    yield active_profile

allow = _testcapi.remove_mem_hooks

def attempt(call, nth):
    # The allocation that fails may be one of the interpreter's own, in between.
    try:
        _testcapi.set_nomemory(nth, nth + 1)
        try:
            call()
        finally:
            allow()
    except (MemoryError, ValueError, TypeError, RuntimeError):
        return False
    except SystemError as error:
        # So does int("x") answer when its traceback cannot be made.
        assert str(error) == "error return without exception set", error
        return False
    return True

whole = 0
for call in calls():
    for nth in range(1, 60):
        whole += attempt(call, nth)
        allow()
        gc.collect()
assert whole > 0
entered(region("after")); assert active_profile() is None
"""


def test_every_allocation_may_fail() -> None:
    """The nth allocation fails, for each n: an exception or the right answer, and no crash."""
    pytest.importorskip("_testcapi")
    run_child(NO_MEMORY, allocator="malloc_debug")


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_under_valgrind(tmp_path: pathlib.Path) -> None:
    """Memory errors whose stack goes through the extension; leaks are what the loops measure.

    Objects come from malloc, one by one, so that valgrind sees each. The interpreter's own
    reports, of which uninstrumented Pythons have some, are not ours."""
    log = tmp_path / "valgrind.txt"
    code = PRELUDE + WITHOUT_JAX.replace("growth(loop, 200)", "growth(loop, 3)").replace(
        "growth(loop, 500)", "growth(loop, 5)"
    )
    done = subprocess.run(
        ["valgrind", "--leak-check=no", f"--log-file={log}", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONMALLOC": "malloc"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    blocks = log.read_text().split("== \n")
    assert "ERROR SUMMARY" in blocks[-1]
    ours = [block for block in blocks if "profile.abi3.so" in block]
    assert not ours, "\n".join(ours)
