# SPDX-License-Identifier: Apache-2.0
"""Real jax.distributed jobs on this machine's loopback, for tests of captures of many processes.

    job = run_processes(2, '''
        profiler.start()
        multihost_utils.sync_global_devices("ready")
        with region("mark"):
            say(time.time_ns())
        profiler.stop()
    ''', tmp_path)
    job.folders[1]    # tmp_path/root/process-00001
    job.said[1]       # [time of rank 1], as JSON carried it

Every process runs the body with these names: `rank`, `count`, `root`, `jax`, `jnp`, `time`,
`multihost_utils`, `profiler` (a Profiler on `root`, without reports), `region`, `say(value)` and
`die()`. The processes talk through gloo. A job is bounded in time; whatever happens, none of its
processes is left.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Collection, Mapping
from typing import Any

PRELUDE = """\
import json, os, signal, sys, time
import jax
rank, count, root = int(sys.argv[1]), int(sys.argv[2]), sys.argv[4]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{sys.argv[3]}", count, rank)
import jax.numpy as jnp
from jax.experimental import multihost_utils
from dew.telemetry.profile import Profiler, region
profiler = Profiler(root)

def say(value):
    with open(sys.argv[5], "a") as to:
        to.write(json.dumps(value) + "\\n")

def die():
    os.kill(os.getpid(), signal.SIGKILL)

"""

# The way out waits for every process, so with a dead one among them it would wait for ever.
POSTLUDE_WITHOUT_FAREWELL = """
sys.stdout.flush()
os._exit(0)
"""


@dataclasses.dataclass(frozen=True)
class Job:
    root: pathlib.Path
    folders: list[pathlib.Path]
    """root/process-NNNNN, by rank, whether or not the process made it."""
    said: list[list[Any]]
    """What each rank said, in order."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_processes(
    count: int,
    body: str | list[str],
    tmp_path: pathlib.Path,
    *,
    kill: Collection[int] = (),
    timeout_s: float = 60,
    environment: Mapping[str, str] = {},
) -> Job:
    """Runs `body` (or one body a rank) in `count` processes and waits for all of them.

    The ranks in `kill` are expected to end by `die()`, that is by SIGKILL; all others to end well.
    The coordinator, rank 0, must not be among them: jax ends the others with it. A job that does
    otherwise, or not in time, is an AssertionError with what the processes printed.
    """
    assert 0 not in kill
    bodies = [body] * count if isinstance(body, str) else body
    assert len(bodies) == count
    root = tmp_path / "root"
    port = free_port()
    environ = {
        **os.environ,
        "DEW_PROFILE_REPORTS": "off",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "",
        **environment,
    }
    processes: list[subprocess.Popen[bytes]] = []
    said = [tmp_path / f"said-{rank}.jsonl" for rank in range(count)]
    logs = [tmp_path / f"log-{rank}.txt" for rank in range(count)]
    try:
        for rank in range(count):
            script = tmp_path / f"body-{rank}.py"
            end = POSTLUDE_WITHOUT_FAREWELL if kill else ""
            script.write_text(PRELUDE + textwrap.dedent(bodies[rank]) + end)
            arguments = [str(a) for a in (rank, count, port, root, said[rank])]
            with logs[rank].open("wb") as log:
                started = subprocess.Popen(
                    [sys.executable, str(script), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=environ,
                )
            processes.append(started)
        expected = [-signal.SIGKILL if rank in kill else 0 for rank in range(count)]
        fault = wait_for_all(processes, expected, timeout_s)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if fault:
        words = [f"rank {r}:\n{log.read_text(errors='replace')}" for r, log in enumerate(logs)]
        raise AssertionError("\n".join([fault, *words]))
    return Job(
        root=root,
        folders=[root / f"process-{rank:05}" for rank in range(count)],
        said=[
            [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
            for path in said
        ],
    )


def wait_for_all(
    processes: list[subprocess.Popen[bytes]], expected: list[int], timeout_s: float
) -> str | None:
    """What went wrong, or None. A rank that fails is not waited for by the others in vain."""
    deadline = time.monotonic() + timeout_s
    while True:
        ended = [process.poll() for process in processes]
        for rank, code in enumerate(ended):
            if code is not None and code != expected[rank]:
                return f"rank {rank} ended with {code}, not {expected[rank]}"
        if None not in ended:
            return None
        if time.monotonic() > deadline:
            running = [rank for rank, code in enumerate(ended) if code is None]
            return f"ranks {running} still ran after {timeout_s} s"
        time.sleep(0.02)
