# SPDX-License-Identifier: Apache-2.0
"""Fixtures that every test file may use: where the program is, captures to read, what
`summary` says of a recipe, and a converter that fails when asked to."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator

import pytest
from recipes import answer_about, traced

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHARED_CAPTURES = REPOSITORY.parent / "shared" / "captures"
FAKE_CONVERTER = pathlib.Path(__file__).with_name("fake_converter.c")

JAX_SIDE = """
import sys, jax, jax.numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
x = jnp.ones((64, 64))
step(x).block_until_ready()
jax.profiler.start_trace(sys.argv[1])
for i in range(8):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        step(x).block_until_ready()
jax.profiler.stop_trace()
"""


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell starts background jobs with Ctrl-C ignored, which every child would inherit."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """Where this process and its children make temporary folders: in one of pytest's."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def nothing_stays(temporary: pathlib.Path) -> Iterator[None]:
    """Nothing of ours is left there: an exporter in the background gets the time to end."""
    before = set(temporary.glob("dew-profile-*"))
    yield
    deadline = time.monotonic() + 10
    while left := set(temporary.glob("dew-profile-*")) - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


@pytest.fixture
def own_temporary(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A temporary folder of the test's own, for what is meant to stay."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def program_path() -> pathlib.Path:
    """The dew-profile under test: DEW_PROFILE_PROGRAM, else the one installed with this Python."""
    named = os.environ.get("DEW_PROFILE_PROGRAM")
    found = named or shutil.which("dew-profile", path=sysconfig.get_path("scripts"))
    if not found:
        pytest.fail("dew-profile is not installed beside this Python; run the tests by `make test`")
    return pathlib.Path(found)


@pytest.fixture(scope="session")
def program() -> pathlib.Path:
    return program_path()


@pytest.fixture(scope="session")
def shared_captures() -> pathlib.Path:
    """Real captures that are not part of the repository; a clone without them skips."""
    if not SHARED_CAPTURES.is_dir():
        pytest.skip("the shared captures are not beside this checkout")
    return SHARED_CAPTURES


@pytest.fixture
def scratch(tmp_path_factory, monkeypatch):
    """A temporary folder of the program's own, which it must leave empty."""
    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="session")
def cpu_capture(tmp_path_factory):
    """The .xplane.pb of eight steps, in a root as jax.profiler leaves it."""
    root = tmp_path_factory.mktemp("cpu")
    subprocess.run(
        [sys.executable, "-c", JAX_SIDE, root],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        check=True,
        timeout=240,
    )
    (file,) = root.glob("plugins/profile/*/*.xplane.pb")
    # JAX's own gzipped trace is no part of what is tested.
    for other in file.parent.iterdir():
        if other != file:
            other.unlink()
    return file


@pytest.fixture
def capture(tmp_path, cpu_capture):
    """A capture folder of ours with that capture in it."""
    run = tmp_path / "capture-0001" / "plugins" / "profile" / "run"
    run.mkdir(parents=True)
    shutil.copy(cpu_capture, run)
    return tmp_path / "capture-0001"


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    """A site-packages folder whose xprof is the fake converter."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("needs a C compiler for the fake converter")
    site = tmp_path_factory.mktemp("site")
    (site / "xprof" / "convert").mkdir(parents=True)
    (site / "xprof-2.24.2.dist-info").mkdir()
    library = site / "xprof" / "convert" / "profiler_plugin_c_api.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, FAKE_CONVERTER], check=True
    )
    return site


@pytest.fixture
def answer(program, tmp_path):
    """What `summary --json` says of a recipe."""

    def run(recipe: str, *arguments: str, status: int = 0) -> dict:
        return answer_about(program, traced(tmp_path, recipe), *arguments, status=status)

    return run
