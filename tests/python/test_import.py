# SPDX-License-Identifier: Apache-2.0
"""Importing the module touches nothing, and it lives beside other `dew` distributions."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import dew.telemetry.profile as module

NAMES = [
    "require_profile_support",
    "capture_options",
    "active_profile",
    "Profiler",
    "region",
    "profile",
]


def run(source: str, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", source],
        env=os.environ | env,
        text=True,
        capture_output=True,
        timeout=120,
        check=True,
    )


def test_public_names() -> None:
    assert module.__all__ == NAMES
    public = {name for name in vars(module) if not name.startswith("_")}
    assert public == set(NAMES)


def test_imports_neither_jax_nor_xprof() -> None:
    done = run(
        "import sys; before = set(sys.modules)\n"
        "import dew.telemetry.profile\n"
        "print(sorted(set(sys.modules) - before))",
        "-X",
        "importtime",
    )
    assert done.stdout.strip() == "['dew', 'dew.telemetry', 'dew.telemetry.profile']"
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "dew.telemetry.profile" in imported
    assert not {name.split(".")[0] for name in imported} & {"jax", "jaxlib", "xprof", "numpy"}


def test_starts_no_thread_and_installs_no_hook() -> None:
    done = run("""
import atexit, gc, os, signal, sys, threading, warnings
def look():
    return (len(os.listdir('/proc/self/task')), threading.active_count(), atexit._ncallbacks(),
            [signal.getsignal(n) for n in signal.valid_signals()], list(sys.meta_path),
            list(sys.path_hooks), sys.excepthook, threading.excepthook, sys.unraisablehook,
            list(gc.callbacks), sys.gettrace(), sys.getprofile(), list(warnings.filters), dict(os.environ))
import dew.telemetry  # a namespace package, found by Python's own importer
before = look()
import dew.telemetry.profile as m
with m.region('x'): pass
m.profile('never-made')
assert look() == before
assert m.active_profile() is None
assert not os.path.exists('never-made')
""")
    assert done.stderr == ""


def test_reads_no_file_and_no_environment(tmp_path: pathlib.Path) -> None:
    """Nothing is opened but the extension itself: an audit hook sees every open()."""
    done = run("""
import sys
import dew.telemetry
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == 'open' else None)
import dew.telemetry.profile as m
print([name for name in opened if not str(name).endswith(('.so', '.pyi'))])
""")
    assert done.stdout.strip() == "[]"


def test_shares_the_namespace(tmp_path: pathlib.Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    (ours / "dew" / "telemetry").mkdir(parents=True)
    shutil.copy(module.__file__, ours / "dew" / "telemetry")
    (theirs / "dew" / "telemetry").mkdir(parents=True)
    (theirs / "dew" / "telemetry" / "other.py").write_text("here = 1\n")
    (theirs / "dew" / "third.py").write_text("here = 2\n")
    for first, second in ((ours, theirs), (theirs, ours)):
        done = run(
            "import dew.telemetry.other, dew.third, dew.telemetry.profile as m\n"
            "print(dew.telemetry.other.here, dew.third.here, m.__file__)",
            PYTHONPATH=f"{first}{os.pathsep}{second}",
        )
        assert done.stdout.split()[:2] == ["1", "2"]
        assert done.stdout.split()[2].startswith(str(ours))


def test_distributed_can_still_be_initialised() -> None:
    """Field note 9: import, profile() and region() touch no backend."""
    run(
        """
from dew.telemetry.profile import Profiler, active_profile, profile, region
p = profile('x')
with region('a'), p.region('b'): pass
active_profile()
import jax, socket
with socket.socket() as s:
    s.bind(('127.0.0.1', 0)); port = s.getsockname()[1]
jax.distributed.initialize(f'127.0.0.1:{port}', 1, 0)
assert jax.process_count() == 1
""",
        JAX_PLATFORMS="cpu",
    )


def test_unloading_leaves_nothing_behind() -> None:
    """Made again and again, the module is freed again and again."""
    run("""
import gc, importlib, sys, weakref
def make():
    sys.modules.pop('dew.telemetry.profile', None)
    module = importlib.import_module('dew.telemetry.profile')
    with module.region('x'): pass
    return weakref.ref(module)
dead = [make() for _ in range(20)]
sys.modules.pop('dew.telemetry.profile')
del sys.modules['dew.telemetry'].profile
gc.collect()
assert all(ref() is None for ref in dead), sum(ref() is not None for ref in dead)
""")
