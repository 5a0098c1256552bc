# SPDX-License-Identifier: Apache-2.0
"""What every measurement needs: lines, interleaved rounds, whole processes, the machine.

A line is one promise: what, against what, every sample of both sides, and the limit of the ratio.
Both sides are measured in turns within one run, so that a slow moment of the machine falls on both.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
POLL_S = 0.001
PACKAGES = ("dew-telemetry-profile", "jax", "jaxlib", "xprof", "numpy")


@dataclasses.dataclass
class Plan:
    """How much is measured, and where things lie."""

    quick: bool
    folder: pathlib.Path

    def pick(self, full: int, quick: int) -> int:
        return quick if self.quick else full


@dataclasses.dataclass
class Line:
    """One promise. Without `theirs` the limit is on ours itself, in its unit."""

    what: str
    against: str
    unit: str
    limit: float
    ours: list[float]
    theirs: list[float] = dataclasses.field(default_factory=list)
    by: str = "median"  # or "minimum": which of the samples stands for a side
    note: str = ""
    skipped: str = ""  # why there is no other side in this run
    more: dict[str, Any] = dataclasses.field(default_factory=dict)

    def of(self, samples: Sequence[float]) -> float:
        return min(samples) if self.by == "minimum" else statistics.median(samples)

    def value(self) -> float | None:
        """What is held against the limit."""
        if self.skipped or not self.ours:
            return None
        if not self.against:
            return self.of(self.ours)
        other = self.of(self.theirs)
        return self.of(self.ours) / other if other > 0 else None

    def passed(self) -> bool | None:
        value = self.value()
        return None if value is None else value <= self.limit

    def to_json(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        found["value"] = self.value()
        found["pass"] = self.passed()
        return found


def line_from_json(found: dict[str, Any]) -> Line:
    names = {field.name for field in dataclasses.fields(Line)}
    return Line(**{key: value for key, value in found.items() if key in names})


@dataclasses.dataclass(frozen=True)
class Ran:
    """A process from its start to its end."""

    seconds: float
    peak_rss_bytes: int
    output: str


def run(
    command: Sequence[str | os.PathLike[str]],
    keep_output: bool = True,
    temporary: pathlib.Path | None = None,
) -> Ran:
    """Wall time of the whole process and its peak of resident memory; raises where it failed."""
    env = {**os.environ, "TMPDIR": str(temporary)} if temporary else None
    begin = time.perf_counter()
    child = subprocess.Popen(
        [os.fspath(part) for part in command],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE if keep_output else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    output = child.stdout.read() if child.stdout else ""
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.stdout:
        child.stdout.close()
    if child.returncode != 0:
        raise RuntimeError(f"status {child.returncode} of: {' '.join(map(str, command))}")
    return Ran(seconds, usage.ru_maxrss * 1024, output)


def answer(ran: Ran) -> Any:
    """The JSON in the last line that a process printed."""
    return json.loads(ran.output.strip().splitlines()[-1])


def ask(module: str, *arguments: object) -> Any:
    """The JSON that `python -m bench.MODULE ARGUMENTS` prints last: a measurement in a fresh process."""
    return answer(run([sys.executable, "-m", f"bench.{module}", *map(str, arguments)]))


def in_turns(rounds: int, **sides: Callable[[], Any]) -> dict[str, list[Any]]:
    """Every side once a round; the order changes from round to round."""
    found: dict[str, list[Any]] = {name: [] for name in sides}
    for number in range(rounds):
        names = list(sides)
        for name in names if number % 2 else reversed(names):
            found[name].append(sides[name]())
    return found


def resident_without(pid: int, path: str) -> int:
    """Resident bytes of a process now, without those of the map of `path`; 0 once it has ended."""
    total, other = 0, True
    try:
        with open(f"/proc/{pid}/smaps") as smaps:
            for text in smaps:
                if text.startswith("Rss:"):
                    total += int(text.split()[1]) * 1024 if other else 0
                elif not text.split(maxsplit=1)[0].endswith(":"):
                    other = not text.rstrip().endswith(path)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return total


def peak_without(command: Sequence[str | os.PathLike[str]], path: pathlib.Path) -> int:
    """The highest resident_without() seen, looking every millisecond until the process ends."""
    child = subprocess.Popen(
        [os.fspath(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    peak = 0
    while child.poll() is None:
        peak = max(peak, resident_without(child.pid, str(path)))
        time.sleep(POLL_S)
    if child.returncode != 0:
        raise RuntimeError(f"status {child.returncode} of: {' '.join(map(str, command))}")
    return peak


def program(name: str = "dew-profile") -> pathlib.Path:
    """The program that belongs to this Python; DEW_PROFILE_PROGRAM names another dew-profile."""
    named = os.environ.get("DEW_PROFILE_PROGRAM") if name == "dew-profile" else None
    found = named or shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} is not installed beside {sys.executable}")
    return pathlib.Path(found).absolute()


def big_capture(plan: Plan, events: int) -> pathlib.Path:
    """A synthetic capture in the shape of a JAX CPU capture, made once for each size."""
    folder = plan.folder / "captures"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"big-{events}.xplane.pb"
    if not path.exists():
        sys.path.insert(0, str(ROOT / "tools"))
        import mktrace_big

        part = path.with_suffix(".part")
        mktrace_big.write_big(part, events)
        part.rename(path)
    path.read_bytes()  # both sides find it in memory
    return path


def fresh_copy(capture: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A copy that no converter has left its caches beside; returns the file."""
    run_folder = folder / "plugins" / "profile" / "run"
    shutil.rmtree(folder, ignore_errors=True)
    run_folder.mkdir(parents=True)
    return pathlib.Path(shutil.copy(capture, run_folder / "host.xplane.pb"))


def cpu_name() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    names = [row.split(":", 1)[1].strip() for row in text.splitlines() if "model name" in row]
    return names[0] if names else platform.machine()


def machine() -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
        "versions": versions,
    }
