#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the C table of the summary page: page.html with its style and script put in.

    html_page.py page.html page.css page.js OUT.c

The page's slots: {{css}}, {{js}} and {{csp}} are filled here; any other {{name}} becomes a call of
html_slot_name (src/cli/html/page.h). The content security policy allows this very style and script,
by hash, and nothing else: no request of any kind, and no script that a name could smuggle in.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import sys

SLOT = re.compile(r"\{\{([a-z_]+)\}\}")


def digest(text: str) -> str:
    """As CSP names the text between <style> or <script> and its end."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(css: str, js: str) -> str:
    return (
        f"default-src 'none'; style-src {digest(css)}; script-src {digest(js)}; "
        "base-uri 'none'; form-action 'none'"
    )


def c_bytes(text: str) -> str:
    numbers = [str(byte) for byte in text.encode()]
    return ",\n".join(",".join(numbers[i : i + 32]) for i in range(0, len(numbers), 32))


def c_source(html: str, css: str, js: str) -> str:
    for name, text in (("page.css", css), ("page.js", js)):
        if SLOT.search(text) or "</s" in text.lower():
            sys.exit(f"html_page: {name} holds a slot or the end of an element")
    built = {"css": css, "js": js, "csp": policy(css, js)}
    # re.split() with one group: text, name, text, name, ..., text
    pieces: list[str] = SLOT.split(html)
    parts: list[tuple[str, str]] = []
    before = ""
    for i in range(0, len(pieces), 2):
        before += pieces[i]
        name = pieces[i + 1] if i + 1 < len(pieces) else ""
        if name in built:
            before += built[name]
        else:
            parts.append((before, name))
            before = ""
    lines = ['#include "cli/html/page.h"', ""]
    for i, (text, _) in enumerate(parts):
        # one byte more, so that a part without text is no empty array
        lines += [f"static const char part_{i}[] = {{", c_bytes(text + "\0") + "};"]
    lines += ["", "const struct html_part html_parts[] = {"]
    for i, (_, name) in enumerate(parts):
        slot = f"html_slot_{name}" if name else "0"
        lines.append(f"    {{part_{i}, sizeof(part_{i}) - 1, {slot}}},")
    lines += ["};", f"const size_t html_n_parts = {len(parts)};", ""]
    return "\n".join(lines)


def main() -> None:
    html, css, js = (pathlib.Path(name).read_text(encoding="utf-8") for name in sys.argv[1:4])
    pathlib.Path(sys.argv[4]).write_text(c_source(html, css, js), encoding="utf-8")


if __name__ == "__main__":
    main()
