# SPDX-License-Identifier: Apache-2.0
"""The lines as a table for a terminal and for a document."""

from __future__ import annotations

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


def cells(line: Line) -> tuple[str, ...]:
    value = line.value()
    verdict = {True: "yes", False: "NO", None: "-"}[line.passed()]
    what = f"{line.what} [{line.note}]" if line.note else line.what
    if not line.against:
        ratio, most = "-", f"{line.limit:g} {line.unit}"
    else:
        ratio, most = "-" if value is None else f"{value:.4f}", f"{line.limit:g}"
    theirs = f"skipped: {line.skipped}" if line.skipped else amount(line, line.theirs)
    return what, line.against or "-", amount(line, line.ours), theirs, ratio, most, verdict


def print_line(line: Line) -> None:
    what, against, ours, theirs, ratio, most, verdict = cells(line)
    print(f"{verdict:>4}  {what}\n      ours {ours}", end="")
    if line.against:
        print(f"  |  {against}: {theirs}\n      ratio {ratio}, at most {most}", flush=True)
    else:
        print(f", at most {most}", flush=True)


def markdown(result: dict[str, Any]) -> str:
    machine = result["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    rows = [
        f"Measured {result['when_utc']}{' with `--quick`' if result['quick'] else ''}: "
        f"{machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / (1 << 30):.0f} GiB, Linux {machine['kernel']}, "
        f"load {machine['load_before']:.2f} at the start; {versions}.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "|" + " --- |" * len(HEADER),
    ]
    rows += ["| " + " | ".join(cells(line_from_json(one))) + " |" for one in result["lines"]]
    rows += [f"\n`{name}` could not be measured: {why}" for name, why in result["errors"].items()]
    return "\n".join(rows)
