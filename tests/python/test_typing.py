# SPDX-License-Identifier: Apache-2.0
"""What type checkers say of programs that use the module, in the layout in which it is installed."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import venv

import pytest

import dew.telemetry.profile as module
from conftest import REPOSITORY

ACCEPTED = """
import contextlib
import pathlib
import jax
from dew.telemetry.profile import (
    Profiler, active_profile, capture_options, profile, region, require_profile_support)

with profile("runs", options=capture_options()) as p:
    p.reports = "background"
    with region("a"), p.region(name="b") as nothing:
        reveal_type(nothing)  # REVEAL: None
    manager: contextlib.AbstractContextManager[None] = region("x")
reveal_type(p)  # REVEAL: Profiler
reveal_type(p.start())  # REVEAL: Profiler
reveal_type(p.directory)  # REVEAL: Path | None
reveal_type(p.capture)  # REVEAL: Path | None
reveal_type(active_profile())  # REVEAL: Profiler | None
class Mine(Profiler): ...
reveal_type(Mine(pathlib.Path("runs")).start())  # REVEAL: Mine
converter = require_profile_support()
reveal_type(converter.library)  # REVEAL: str
reveal_type(converter.xspace_to_tool_names([pathlib.Path("h.xplane.pb")]))  # REVEAL: list[str]
reveal_type(converter.xspace_to_tool_data(["h.xplane.pb"], "overview_page"))  # REVEAL: tuple[bytes, str]
options: jax.profiler.ProfileOptions = capture_options()
"""

REJECTED = [
    "profile(b'runs')",
    "profile('runs', None)",
    "profile(options=3)",
    "region()",
    "region(3)",
    "region(b'x')",
    "region(label='x')",
    "Profiler().reports = 'never'",
    "Profiler().capture = None",
    "Profiler().stop(1)",
    "require_profile_support('x')",
    "require_profile_support().xspace_to_tool_data(['x'])",
    "require_profile_support().version = '3'",
]
HEAD = "from dew.telemetry.profile import Profiler, profile, region, require_profile_support\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder as site-packages is: `dew` and `dew.telemetry` without __init__, and a second
    distribution with another module in the same namespace."""
    folder = tmp_path_factory.mktemp("site") / "dew" / "telemetry"
    folder.mkdir(parents=True)
    for name in ("profile.pyi", "py.typed"):
        shutil.copy(REPOSITORY / "dew" / "telemetry" / name, folder)
    shutil.copy(module.__file__, folder)
    return folder.parents[1]


def check(
    tool: list[str], site: pathlib.Path, folder: pathlib.Path, source: str
) -> tuple[int, str]:
    (folder / "program.py").write_text(source)
    env = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [*tool, "program.py"],
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


MYPY = [sys.executable, "-m", "mypy", "--strict", "--show-error-codes"]


@pytest.fixture(scope="module")
def pyright(site: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """pyright is a program of Node.js; its Python package may have to fetch it first."""
    pytest.importorskip("pyright")
    tool = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    folder = tmp_path_factory.mktemp("pyright")
    try:
        code, text = check(tool, site, folder, "import pathlib\n")
    except subprocess.TimeoutExpired:
        pytest.skip("pyright does not start here: it gave no answer in 300 s")
    if code != 0:
        pytest.skip(f"pyright does not run here: {text.strip()[-300:]}")
    return tool


def reveals(text: str) -> list[str]:
    """The types in the tool's own words, without module paths and quotes."""
    found = []
    for line in text.splitlines():
        if "Revealed type is" in line or ' is "' in line and "Type of" in line:
            shown = line.rsplit(" is ", 1)[1].strip().strip('"')
            for prefix in (
                "dew.telemetry.profile.",
                "program.",
                "pathlib.",
                "builtins.",
                "_local.",
            ):
                shown = shown.replace(prefix, "")
            found.append(shown)
    return found


EXPECTED = [line.split("# REVEAL: ")[1] for line in ACCEPTED.splitlines() if "# REVEAL: " in line]


def test_mypy_accepts(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code, text = check(MYPY, site, tmp_path, ACCEPTED)
    assert code == 0, text
    assert reveals(text) == EXPECTED


def test_mypy_rejects(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code, text = check(MYPY, site, tmp_path, HEAD + "\n".join(REJECTED) + "\n")
    refused = {int(line.split(":")[1]) for line in text.splitlines() if ": error:" in line}
    assert code == 1, text
    assert refused == set(range(2, len(REJECTED) + 2)), text


def test_mypy_needs_the_marker(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The folder that holds the module is where py.typed must stand; without it mypy reads nothing.
    Seen from an environment of its own: this one may hold the installed module, marker and all."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    bare = tmp_path / "bare"
    shutil.copytree(site, bare)
    (bare / "dew" / "telemetry" / "py.typed").unlink()
    code, text = check([*MYPY, "--python-executable", str(python)], bare, tmp_path, HEAD)
    assert code == 1, text
    assert "import-untyped" in text


def test_pyright_accepts(pyright: list[str], site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code, text = check(pyright, site, tmp_path, ACCEPTED)
    assert code == 0, text
    assert reveals(text) == EXPECTED


def test_pyright_rejects(pyright: list[str], site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code, text = check(pyright, site, tmp_path, HEAD + "\n".join(REJECTED) + "\n")
    refused = {
        int(line.split("program.py:")[1].split(":")[0])
        for line in text.splitlines()
        if " - error:" in line
    }
    assert code == 1, text
    assert refused == set(range(2, len(REJECTED) + 2)), text


def test_stub_matches_the_module(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    env = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--ignore-disjoint-bases", "dew.telemetry.profile"],
        cwd=tmp_path,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
