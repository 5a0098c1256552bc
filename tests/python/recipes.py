# SPDX-License-Identifier: Apache-2.0
"""Captures made from recipes (tools/mktrace.py), parts of recipes, and what `summary` says of them."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
TOOLS = TESTS.parent / "tools"
MS = 1_000_000_000
US = 1_000_000
NO_REGION = "(no region)"


def traced(folder: pathlib.Path, recipe: str) -> pathlib.Path:
    (folder / "r.txt").write_text(recipe, encoding="utf-8")
    made = folder / "r.xplane.pb"
    command = [sys.executable, TOOLS / "mktrace.py", folder / "r.txt", made]
    subprocess.run(command, check=True)
    return made


def answer_about(program, capture: pathlib.Path, *arguments: str, status: int = 0) -> dict:
    """All of --json, in which each device's times make up the window."""
    done = subprocess.run(
        [program, "summary", "--json", "--top", "0", *arguments, capture],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    answer = json.loads(done.stdout)
    for device in answer["devices"]:
        parts = sum(p["idle_ps"] for p in device["idle_by_region"])
        assert device["busy_ps"] + parts == answer["window_ps"]
        assert sum(device["idle_by_cause"].values()) == parts == device["idle_ps"]
    return answer


def region(answer: dict, name: str) -> dict:
    (found,) = [r for r in answer["regions"] if r["name"] == name]
    return found


def idle(answer: dict, device: int = 0) -> dict:
    return {p["region"]: p["idle_ps"] for p in answer["devices"][device]["idle_by_region"]}


def recipe(name: str) -> str:
    return (TESTS / "recipes" / f"{name}.txt").read_text()


CPU = """
host h
window 0 {window}
plane /host:CPU
  line python id=1
{host}
  line tf_XLAEigen/1 id=2
{ops}
"""


def op(start, duration, name="dot.1", run=None, device=0, module="jit_f"):
    stats = f"hlo_op={name} hlo_module={module} device_ordinal={device}"
    return f"    event {name} {start}ms {duration}ms {stats}" + (f" run_id={run}" if run else "")


def launch(start, producer, function="f"):
    return f"""    event PjitFunction({function}) {start}ms 1ms
    event X::ExecuteHelperOnSingleDevice {start}ms 1ms
    event ThreadpoolListener::Record {start}.5ms 0 _p={producer}"""


def start(at, consumer):
    return f"    event ThreadpoolListener::StartRegion {at}ms 0 _c={consumer}"


def stop(at):
    return f"    event ThreadpoolListener::StopRegion {at}ms 0"
