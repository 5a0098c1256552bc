# SPDX-License-Identifier: Apache-2.0
"""`dew-profile list`: the captures under a folder, of every shape."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest
from recipes import traced

RECIPE = """
host h
window 0 10ms
plane /host:CPU
  line python id=1
    repeat 3 every 2ms
      event train {i}ms 1ms step_num={i}
    end
"""


@pytest.fixture(scope="session")
def capture_bytes(tmp_path_factory) -> bytes:
    return traced(tmp_path_factory.mktemp("recipe"), RECIPE).read_bytes()


@pytest.fixture(scope="session")
def fewer_steps(tmp_path_factory) -> bytes:
    recipe = RECIPE.replace("repeat 3", "repeat 2")
    return traced(tmp_path_factory.mktemp("recipe"), recipe).read_bytes()


def run(program, *arguments, status=0):
    done = subprocess.run(
        [program, "list", *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    return done


def add(folder: pathlib.Path, run_name: str, content: bytes, state: str | None = None) -> None:
    inner = folder / "plugins" / "profile" / run_name
    inner.mkdir(parents=True)
    (inner / "host.xplane.pb").write_bytes(content)
    if state:
        (folder / "manifest.json").write_text(json.dumps({"schema": 1, "state": state}))


def test_every_shape(program, tmp_path, capture_bytes):
    add(tmp_path / "capture-0001", "r1", capture_bytes, "captured")
    add(tmp_path / "process-00001" / "capture-0001", "r2", capture_bytes, "captured")
    add(tmp_path, "plain", capture_bytes)
    failed = tmp_path / "capture-0002"
    failed.mkdir()
    (failed / "manifest.json").write_text(json.dumps({"schema": 1, "state": "failed"}))
    (tmp_path / "capture-0003").mkdir()
    rows = json.loads(run(program, tmp_path, "--json").stdout)["captures"]
    found = {
        str(pathlib.Path(r["capture"]).relative_to(tmp_path)): (r["state"], r["steps"], r["files"])
        for r in rows
    }
    assert found == {
        "capture-0001": ("captured", 3, 1),
        "capture-0002": ("failed", 0, 0),
        "plugins/profile/plain": ("captured", 3, 1),
        "process-00001/capture-0001": ("captured", 3, 1),
    }
    assert {r["bytes"] for r in rows} == {len(capture_bytes), 0}
    assert all(0 <= r["age_s"] < 3600 for r in rows)
    page = run(program, tmp_path).stdout
    assert "capture-0001" in page and "failed" in page


def test_hosts_of_a_run_share_their_steps(program, tmp_path, capture_bytes, fewer_steps):
    add(tmp_path, "run", capture_bytes)
    run_folder = tmp_path / "plugins" / "profile" / "run"
    (run_folder / "z.xplane.pb").write_bytes(capture_bytes)
    (run_folder / "a.xplane.pb").write_bytes(fewer_steps)
    (row,) = json.loads(run(program, tmp_path, "--json").stdout)["captures"]
    assert (row["files"], row["steps"]) == (3, 3)


def test_damaged_is_said(program, tmp_path, capture_bytes):
    add(tmp_path / "capture-0001", "r1", capture_bytes[:40], "captured")
    (row,) = json.loads(run(program, tmp_path, "--json").stdout)["captures"]
    assert row["damaged"] is True
    assert "damaged" in run(program, tmp_path).stdout


def test_nothing_found(program, tmp_path):
    done = run(program, tmp_path, status=5)
    assert str(tmp_path) in done.stderr
    assert run(program, tmp_path / "absent", status=3).stderr
    (tmp_path / "file").write_text("x")
    assert run(program, tmp_path / "file", status=2).stderr
