# SPDX-License-Identifier: Apache-2.0
"""`dew-profile report` as a call, and what lies in the folders of reports that it makes."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import time


def report(program, *args, expect=0, env=None, **more):
    done = subprocess.run(
        [program, "report", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(env or {})},
        **more,
    )
    assert done.returncode == expect, done
    return done


def index_of(folder: pathlib.Path) -> dict:
    index = json.loads((folder / "reports.json").read_text())
    assert index["schema"] == 1
    return index


def by_key(index: dict) -> dict:
    return {(r["tool"], r.get("host"), r.get("module")): r for r in index["reports"]}


def snapshot(folder: pathlib.Path) -> dict:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.01)
