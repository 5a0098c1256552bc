# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom under src/: the layer table of docs/architecture.md, as code.

    python tools/check_layers.py [SOURCE_FOLDER]

Prints one line a fault and exits with 1 where there is one. It reads `#include` lines as text and
does not run the preprocessor.
"""

from __future__ import annotations

import pathlib
import re
import sys

# Folder -> the folders it may include besides itself.
LAYERS: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "wire": frozenset({"base"}),
    "xplane": frozenset({"wire", "base"}),
    "trace": frozenset({"xplane", "wire", "base"}),
    "xprof": frozenset({"base"}),
    "python": frozenset({"xprof", "wire", "base"}),
    "cli": frozenset({"trace", "xplane", "wire", "xprof", "base"}),
}

# Foreign header -> the only files or folders (relative to src/) that may include it.
OWNERS: dict[str, str] = {
    "Python.h": "python/py.h",
    "structmember.h": "python/",
    "dlfcn.h": "xprof/",
    "sys/mman.h": "base/map.c",
    "jansson.h": "cli/",
    "popt.h": "cli/",
    "libsmartcols/libsmartcols.h": "cli/",
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)


def faults_of(path: pathlib.Path, source: pathlib.Path) -> list[str]:
    name = path.relative_to(source).as_posix()
    layer = name.split("/", 1)[0]
    if layer not in LAYERS:
        return [f"{name}: '{layer}' is no layer; add it to the table or move the file"]
    faults = []
    includes = INCLUDE.findall(path.read_text(encoding="utf-8"))
    for quote, header in includes:
        if quote == '"':
            other = header.split("/", 1)[0]
            if not (source / header).is_file():
                faults.append(f'{name}: "{header}" is no header of this project')
            elif other != layer and other not in LAYERS[layer]:
                faults.append(f'{name}: the layer {layer} may not include "{header}"')
        else:
            owner = OWNERS.get(header)
            if owner and not (name == owner or (owner.endswith("/") and name.startswith(owner))):
                faults.append(f"{name}: <{header}> belongs to {owner} alone")
    if path.suffix == ".c" and (not includes or includes[-1][1] != "base/banned.h"):
        faults.append(f'{name}: "base/banned.h" must be the last include')
    return faults


def check(source: pathlib.Path) -> list[str]:
    files = sorted(p for p in source.rglob("*") if p.suffix in {".c", ".h"})
    if not files:
        return [f"{source}: no C files here"]
    return [fault for path in files for fault in faults_of(path, source)]


def main() -> int:
    default = pathlib.Path(__file__).resolve().parents[1] / "src"
    faults = check(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
