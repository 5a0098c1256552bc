# SPDX-License-Identifier: Apache-2.0
"""The other side of reports.py, as a user would write it: `python -m bench.reports_xprof FILE`.

It imports nothing of the harness: what that costs would count against xprof.
"""

import json
import sys
import time

INTERACTIVE = ("trace_viewer", "trace_viewer@", "memory_viewer", "graph_viewer")


def main() -> None:
    file = sys.argv[1]
    begin = time.perf_counter()
    from xprof.convert import raw_to_tool_data

    imported = time.perf_counter()
    made = []
    for name in raw_to_tool_data.xspace_to_tool_names([file]):
        tool = name.rstrip("^")
        if tool not in INTERACTIVE:
            raw_to_tool_data.xspace_to_tool_data([file], tool, {})
            made.append(tool)
    end = time.perf_counter()
    print(json.dumps({"tools": made, "loop_s": end - imported, "import_s": imported - begin}))


if __name__ == "__main__":
    main()
