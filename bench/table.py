# SPDX-License-Identifier: Apache-2.0
"""The lines as a table for a terminal and for a document."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from bench.harness import Line, line_from_json

HEADER = ("what", "against", "ours", "theirs", "ratio", "at most", "pass")
SCALES = {"s": ((1, "s", 1), (1e-3, "ms", 1e3), (0, "us", 1e6))}


def amount(line: Line, samples: Sequence[float]) -> str:
    """The figure that stands for a side, and how far its samples spread."""
    if not samples:
        return "-"
    factor, unit = 1.0, line.unit
    for least, name, times in SCALES.get(line.unit, ()):
        if line.of(samples) >= least:
            factor, unit = times, name
            break
    text = f"{line.of(samples) * factor:.4g} {unit}"
    if len(samples) > 1:
        text += f" ({min(samples) * factor:.3g}..{max(samples) * factor:.3g})"
    return text


def ratio_of(line: Line) -> str:
    value = line.value()
    return "-" if value is None or not line.against else f"{value:.4f}"


def cells(*runs: Line) -> tuple[str, ...]:
    """Of one line in each run: all samples together, every run's ratio, and whether all passed."""
    line = dataclasses.replace(
        runs[-1],
        ours=[sample for run in runs for sample in run.ours],
        theirs=[sample for run in runs for sample in run.theirs],
    )
    passed = {run.passed() for run in runs}
    verdict = "NO" if False in passed else "-" if None in passed else "yes"
    what = f"{line.what} [{line.note}]" if line.note else line.what
    most = f"{line.limit:g}" if line.against else f"{line.limit:g} {line.unit}"
    theirs = f"skipped: {line.skipped}" if line.skipped else amount(line, line.theirs)
    ratios = ", ".join(dict.fromkeys(ratio_of(run) for run in runs))
    return what, line.against or "-", amount(line, line.ours), theirs, ratios, most, verdict


def print_line(line: Line) -> None:
    what, against, ours, theirs, ratio, most, verdict = cells(line)
    print(f"{verdict:>4}  {what}\n      ours {ours}", end="")
    if line.against:
        print(f"  |  {against}: {theirs}\n      ratio {ratio}, at most {most}", flush=True)
    else:
        print(f", at most {most}", flush=True)


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """One table of one or several runs of the same lines on the same machine."""
    machine = results[-1]["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    rows = [
        "Measured "
        + ", ".join(
            f"{result['when_utc']}{' with `--quick`' if result['quick'] else ''} "
            f"(load {result['machine']['load_before']:.2f} at the start)"
            for result in results
        )
        + f": {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / (1 << 30):.0f} GiB, Linux {machine['kernel']}; {versions}.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "|" + " --- |" * len(HEADER),
    ]
    lines = zip(*(map(line_from_json, result["lines"]) for result in results), strict=True)
    for runs in lines:
        if len({(run.what, run.against) for run in runs}) != 1:
            raise ValueError("the runs measured different lines; give runs of the same command")
        rows.append("| " + " | ".join(cells(*runs)) + " |")
    rows += [
        f"\n`{name}` could not be measured: {why}"
        for result in results
        for name, why in result["errors"].items()
    ]
    return "\n".join(rows)
