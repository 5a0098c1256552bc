# SPDX-License-Identifier: Apache-2.0
"""What importing the module costs, against `import jax`: each in a fresh Python, timed inside it."""

from __future__ import annotations

import sys

from bench.harness import Line, Plan, in_turns, run

CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def seconds(module: str) -> float:
    return float(run([sys.executable, "-c", CODE.format(module)]).output)


def lines(plan: Plan) -> list[Line]:
    found = in_turns(
        plan.pick(11, 3),
        ours=lambda: seconds("dew.telemetry.profile"),
        theirs=lambda: seconds("jax"),
    )
    return [Line("import of the module", "import jax", "s", 0.01, found["ours"], found["theirs"])]
