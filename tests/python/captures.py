# SPDX-License-Identifier: Apache-2.0
"""Programs that capture, run in a process of their own, and what lies in the captures they leave."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import jax


def event_names(place: pathlib.Path) -> list[str]:
    """The name of every event of a .xplane.pb file, or of the only one below a folder."""
    (file,) = [place] if place.is_file() else place.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(file))
    return [event.name for plane in data.planes for line in plane.lines for event in line.events]


def run_python(
    code: str, *arguments: object, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**os.environ, **environment},
    )
