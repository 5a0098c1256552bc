# SPDX-License-Identifier: Apache-2.0
"""`dew-profile summary --html`: the page as a browser shows it."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess

import pytest
from browser import Browser, find_browser
from recipes import traced

#: two devices, two regions, four steps of which the third is the slowest
RECIPE = """
host two-devices
window 0 100ms
plane /host:CPU
  line python
    event train 0 20ms step_num=0 _r=1
    event train 20ms 20ms step_num=1 _r=1
    event train 40ms 40ms step_num=2 _r=1
    event train 80ms 20ms step_num=3 _r=1
    event compute 2ms 10ms
    event input.wait 30ms 20ms
  line driver
    event cuLaunchKernel 3ms 1ms correlation_id=7
    event cuLaunchKernel 5ms 1ms correlation_id=8
plane /device:GPU:0
  line "Stream #1(Kernel)"
    event fusion_1 10ms 10ms correlation_id=7 hlo_op=fusion.1 hlo_module=jit_f
    event fusion_2 50ms 25ms correlation_id=8 hlo_op=fusion.2 hlo_module=jit_f
plane /device:GPU:1
  line "Stream #1(Kernel)"
    event fusion_1 60ms 5ms correlation_id=9 hlo_op=fusion.1 hlo_module=jit_f
"""

HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<b>bold</b><img src=x onerror=\"document.title='owned'\">",
    "\" onmouseover=\"document.title='owned'\" x='",
    "<!--<script>",
    "&lt;entity&gt; {{csp}} `code`",
    "separator\u2028paragraph\u2029 \u202ereversed",
    "line\nbreak\ttab\x07bell",
    "%s%n%d",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = find_browser()
    if not found:
        pytest.skip("no Chromium on this machine: the page cannot be shown")
    running = Browser(found, tmp_path_factory.mktemp("browser"))
    yield running
    running.close()


@pytest.fixture
def shown(browser):
    """The browser, with emulation back as it was and no complaint left behind."""
    browser.media()
    yield browser
    assert browser.complaints() == []


@pytest.fixture
def make(program, tmp_path):
    """Writes the page of a capture and returns it with what --json says."""

    def run(capture: pathlib.Path, *arguments: str, status: int = 0):
        page = tmp_path / "page.html"
        for out in (["--html", str(page)], ["--json"]):
            done = subprocess.run(
                [program, "summary", *arguments, *out, str(capture)],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == status, done.stderr
        return page, json.loads(done.stdout)

    return run


@pytest.fixture
def two_devices(tmp_path):
    return traced(tmp_path, RECIPE)


def column(browser: Browser, table: str, i: int) -> list[int]:
    """The exact values of a table's column, in the order shown."""
    return browser.value(
        f"[...document.querySelectorAll('#{table} tbody tr')].map(r => Number(r.cells[{i}].dataset.v))"
    )


def heads(browser: Browser, table: str) -> list[str]:
    return browser.value(
        f"[...document.querySelectorAll('#{table} tbody tr')].map(r => r.querySelector('th').innerText)"
    )


def readout(browser: Browser) -> tuple[float, float, float]:
    return tuple(
        browser.value(
            "(d => [d.from, d.to, d.busy].map(Number))(document.querySelector('#strip-readout').dataset)"
        )
    )


def strip_box(browser: Browser) -> tuple[float, float, float, float]:
    browser.value("document.querySelector('#timeline').scrollIntoView({behavior: 'instant'})")
    return tuple(
        browser.value(
            "(b => [b.left, b.top, b.width, b.height])"
            "(document.querySelector('#strip-rows svg').getBoundingClientRect())"
        )
    )


def test_numbers_are_those_of_json(shown, make, two_devices):
    page, answer = make(two_devices, "--top", "0")
    shown.open(page)
    assert heads(shown, "devices-table") == ["gpu:0", "gpu:1"]
    assert column(shown, "devices-table", 1) == [d["busy_ps"] for d in answer["devices"]]
    assert column(shown, "devices-table", 3) == [d["idle_ps"] for d in answer["devices"]]
    for i, cause in enumerate(("host", "between", "edge", "unknown")):
        assert column(shown, "devices-table", 4 + i) == [
            d["idle_by_cause"][cause] for d in answer["devices"]
        ]
    assert heads(shown, "regions-table") == [r["name"] for r in answer["regions"]]
    keys = ("calls", "total_ps", "launched_ps", "idle_behind_ps", "mean_ps", "p50_ps", "p99_ps")
    for i, key in enumerate((*keys, "max_ps", "launched_ops")):
        assert column(shown, "regions-table", 1 + i) == [r[key] for r in answer["regions"]], key
    assert column(shown, "steps-table", 0) == [s["step"] for s in answer["steps"]["slowest"]]
    for i, key in enumerate(("duration_ps", "busy_ps", "idle_ps")):
        assert column(shown, "steps-table", 2 + i) == [s[key] for s in answer["steps"]["slowest"]]
    assert heads(shown, "ops-table") == [o["op"] for o in answer["ops"]]
    assert column(shown, "ops-table", 1) == [o["total_ps"] for o in answer["ops"]]
    assert heads(shown, "host-table") == [h["name"] for h in answer["host"]]
    assert column(shown, "host-table", 1) == [h["total_ps"] for h in answer["host"]]
    for key in ("launches", "executions", "executions_unmatched", "planes", "lines"):
        value = shown.value(f"Number(document.querySelector('#receipt-{key}').dataset.v)")
        assert value == answer["receipt"][key], key
    assert "80.0 % of the time" in shown.text("h1"), "idle 65 + 95 of 200 ms"


def test_idle_parts_make_up_the_window(shown, make, two_devices):
    page, answer = make(two_devices)
    shown.open(page)
    for i, device in enumerate(answer["devices"]):
        parts = shown.value(
            f"[...document.querySelectorAll('.stack')[{i}].querySelectorAll('rect')]"
            ".map(r => Number(r.dataset.v))"
        )
        assert parts[0] == device["busy_ps"]
        assert sum(parts) == answer["window_ps"]
        label = shown.value(
            f"document.querySelectorAll('.stack svg')[{i}].getAttribute('aria-label')"
        )
        assert label.startswith(device["name"] + ": busy ")
        # one column a device, behind key, what, all and share
        by_region = {part["region"]: part["idle_ps"] for part in device["idle_by_region"]}
        expected = {f"idle behind {name}": ps for name, ps in by_region.items()}
        expected["idle, no region open"] = expected.pop("idle behind (no region)")
        rows = dict(zip(heads(shown, "idle-table"), column(shown, "idle-table", 4 + i)))
        assert rows.pop("busy") == device["busy_ps"]
        assert {name: ps for name, ps in rows.items() if ps} == expected
    n_devices = len(answer["devices"])
    for i, cause in enumerate(("host", "between", "edge", "unknown")):
        expected = {
            f"idle behind {r['name']}": r["idle_behind_by_cause"][cause] for r in answer["regions"]
        }
        rows = dict(zip(heads(shown, "idle-table"), column(shown, "idle-table", 4 + n_devices + i)))
        assert {name: rows[name] for name in expected} == expected
        assert sum(rows.values()) == sum(d["idle_by_cause"][cause] for d in answer["devices"])


def test_timeline_zooms(shown, make, two_devices):
    page, answer = make(two_devices)
    window = answer["window_ps"]
    shown.open(page)
    whole = readout(shown)
    assert whole == (0, window, sum(d["busy_ps"] for d in answer["devices"]))
    assert "All of the window" in shown.text("#strip-readout")
    assert "20.0 %" in shown.text("#strip-readout")

    shown.value("document.querySelector('[data-zoom=in]').click()")
    assert readout(shown)[:2] == (window / 4, window * 3 / 4)
    # gpu:0 is busy from 50 to 75 ms, gpu:1 from 60 to 65 ms: 30 of 2 * 50 ms
    assert readout(shown)[2] == pytest.approx(30e9, rel=1e-3)
    assert "30.0 %" in shown.text("#strip-readout")
    assert "25.00 ms to 75.00 ms" in shown.text("#strip-readout")
    assert "busy 50.0 %" in shown.text("#strip-rows .row:first-child")
    shown.value("document.querySelector('[data-zoom=right]').click()")
    assert readout(shown)[:2] == (window * 3 / 8, window * 7 / 8)
    shown.value("document.querySelector('[data-zoom=all]').click()")
    assert readout(shown) == whole

    left, top, width, height = strip_box(shown)
    middle = top + height / 2
    for kind, x in (
        ("mouseMoved", 0.2),
        ("mousePressed", 0.2),
        ("mouseMoved", 0.4),
        ("mouseReleased", 0.4),
    ):
        shown.mouse(kind, left + width * x, middle, button="left", clickCount=1)
    dragged = readout(shown)
    assert dragged[:2] == pytest.approx((0.2 * window, 0.4 * window), abs=window / 400)

    shown.mouse("mouseWheel", left + width / 2, middle, deltaX=0, deltaY=-120)
    wheeled = readout(shown)
    assert dragged[0] < wheeled[0] < wheeled[1] < dragged[1]

    for clicks in (1, 2):
        shown.mouse("mousePressed", left + width / 2, middle, button="left", clickCount=clicks)
        shown.mouse("mouseReleased", left + width / 2, middle, button="left", clickCount=clicks)
    assert readout(shown) == whole

    shown.value("document.querySelector('#strip-view').focus()")
    shown.key("+", "+")
    assert readout(shown)[:2] == (window / 4, window * 3 / 4)
    shown.key("ArrowLeft")
    assert readout(shown)[0] < window / 4
    shown.key("0", "0")
    assert readout(shown) == whole
    for _ in range(30):
        shown.key("+", "+")
    start, end, _ = readout(shown)
    assert 0 < end - start <= window / 100, "it stops at a few buckets"


def test_steps_can_be_read_and_found_in_the_timeline(shown, make, two_devices):
    page, answer = make(two_devices)
    slowest = answer["steps"]["slowest"][0]
    shown.open(page)
    assert "40.00 ms" in shown.text("#plot-readout") and "slowest" in shown.text("#plot-readout")
    assert "step 2, 40.00 ms" in shown.text("#plot-view")
    shown.value("document.querySelector('#plot-view').focus()")
    shown.key("ArrowRight")
    first = shown.text("#plot-readout")
    # step 0: gpu:0 is busy for 10 of 20 ms, gpu:1 never
    assert "train 0: 20.00 ms, busy 5.000 ms (25.0 %), idle 15.00 ms" in first
    shown.value("document.querySelector('#steps-table .to-step').click()")
    start, end, _ = readout(shown)
    assert start < slowest["start_ps"]
    assert slowest["start_ps"] + slowest["duration_ps"] < end < answer["window_ps"]


def test_tables_sort_and_open(shown, make, tmp_path):
    ops = "\n".join(
        f"    event op{i} {i * 2 + 1}ms {i % 7 + 1}00us correlation_id={i} hlo_op=op.{i} hlo_module=jit_f"
        for i in range(30)
    )
    recipe = f'host h\nwindow 0 100ms\nplane /device:GPU:0\n  line "Stream #1(Kernel)"\n{ops}\n'
    page, _ = make(traced(tmp_path, recipe), "--top", "5")
    shown.open(page)
    visible = "[...document.querySelectorAll('#ops-table tbody tr')].filter(r => !r.hidden).length"
    assert shown.value(visible) == 5
    assert len(heads(shown, "ops-table")) == 30
    shown.value("document.querySelector('[aria-controls=ops-table]').click()")
    assert shown.value(visible) == 30
    total = "document.querySelectorAll('#ops-table thead th')[1]"
    shown.value(f"{total}.querySelector('button').click()")
    assert shown.value(f"{total}.ariaSort") == "descending"
    assert column(shown, "ops-table", 1) == sorted(column(shown, "ops-table", 1), reverse=True)
    shown.value(f"{total}.querySelector('button').click()")
    assert shown.value(f"{total}.ariaSort") == "ascending"
    assert column(shown, "ops-table", 1) == sorted(column(shown, "ops-table", 1))


def test_hostile_names_are_text(shown, make, tmp_path):
    def quoted(name: str) -> str:
        return json.dumps(name).replace("{", "\\u007b")  # a recipe's own braces count rounds

    def event(i: int, name: str) -> str:
        return f"    event {quoted(name)} {i * 5 + 1}ms 3ms"

    names = [*HOSTILE, "long" * 17_500]
    host = "\n".join(event(i, name) for i, name in enumerate(names))
    steps = f"    event {quoted(HOSTILE[0])} 60ms 10ms step_num=1 _r=1"
    device = f"    event k 5ms 10ms correlation_id=1 hlo_op={quoted(HOSTILE[1])} hlo_module={quoted(HOSTILE[2])}"
    recipe = (
        f"host h\nwindow 0 100ms\nplane /host:CPU\n  line python\n{host}\n{steps}\n"
        f'plane /device:GPU:0\n  line "Stream #1(Kernel)"\n{device}\n'
    )
    page, answer = make(traced(tmp_path, recipe), "--region", "*", "--top", "0")
    text = page.read_text(encoding="utf-8")
    assert "long" * 101 not in text, "a name is cut, not repeated at full length"
    shown.open(page)
    assert shown.value("document.title") != "owned"
    assert shown.value("document.querySelectorAll('script').length") == 2
    assert shown.value("document.querySelectorAll('b, img, i').length") == 0
    assert shown.value("document.querySelectorAll('[onmouseover], [onerror]').length") == 0
    raw = shown.value(
        "[...document.querySelectorAll('#regions-table tbody th bdi')].map(b => b.textContent)"
    )
    for name in HOSTILE:
        plain = re.sub(r"[\x00-\x1f]", lambda m: f"\\x{ord(m[0]):02x}", name)
        assert plain in raw, name
    (cut,) = [name for name in heads(shown, "host-table") if name.startswith("longlong")]
    assert cut.endswith("… (70000 bytes)") and len(cut) < 450
    assert heads(shown, "ops-table") == [HOSTILE[1]]
    assert shown.value("document.documentElement.scrollWidth") <= 1280
    assert HOSTILE[0] in shown.text("#plot-readout")


def test_bytes_that_are_not_utf8(shown, make, tmp_path):
    made = traced(tmp_path, RECIPE)
    data = made.read_bytes()
    assert b"input.wait" in data
    made.write_bytes(data.replace(b"input.wait", b"input\xff\xc0ait"))
    page, answer = make(made)
    page.read_text(encoding="utf-8", errors="strict")
    shown.open(page)
    assert "input\ufffd\ufffdait" in heads(shown, "regions-table")
    assert [r["name"] for r in answer["regions"]] == heads(shown, "regions-table")


def test_nothing_is_loaded(shown, make, two_devices):
    page, _ = make(two_devices)
    shown.open(page)
    shown.key("Tab")
    assert shown.requests() == [page.resolve().as_uri()]
    text = page.read_text(encoding="utf-8")
    allowed = {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) <= allowed
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    # what the policy forbids is forbidden: a script and a request that were not there at build time
    shown.value(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))"
    )
    shown.value(
        "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))"
    )
    assert shown.value("window.ran === undefined")
    assert "violates the following Content Security Policy" in " ".join(shown.complaints())
    shown.events.clear()


@pytest.mark.parametrize("width", [1280, 400])
def test_dark_and_light_and_narrow(shown, make, two_devices, width):
    page, _ = make(two_devices)

    def colours() -> tuple[float, float]:
        return tuple(
            shown.value(
                "['backgroundColor', 'color'].map(c => getComputedStyle(document.body)[c]"
                ".match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + Number(b) / 765, 0))"
            )
        )

    for scheme, lighter in (("light", 0), ("dark", 1)):
        shown.media(scheme=scheme)
        shown.open(page, width=width)
        both = colours()
        assert both[lighter] > 0.8 and both[1 - lighter] < 0.2
        assert shown.value("document.documentElement.scrollWidth") <= width, "no sideways scrolling"
    # the button: system, light, dark
    shown.value("document.querySelector('#theme').click()")
    assert shown.text("#theme") == "Theme: light" and colours()[0] > 0.8
    shown.value("document.querySelector('#theme').click()")
    assert shown.text("#theme") == "Theme: dark" and colours()[0] < 0.2
    shown.media(scheme="light", kind="print")
    assert colours()[0] > 0.8, "paper is white"
    shown.media()
    shown.value("document.querySelector('#theme').click()")
    assert shown.text("#theme") == "Theme: system"


def test_text_stands_out(shown, make, two_devices):
    """WCAG's contrast of 4.5 for every text colour on its background, in both themes."""
    page, _ = make(two_devices)
    pairs = [("text", "page"), ("soft", "page"), ("link", "page"), ("slow", "page")]
    pairs += [("soft", "card"), ("text", "card"), ("slow", "card"), ("alert", "alert-bg")]
    pairs += [("on-busy", "busy")] + [("on-part", f"p{i}") for i in range(1, 9)]

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    for scheme in ("light", "dark"):
        shown.media(scheme=scheme)
        shown.open(page)
        for one, other in pairs:
            values = shown.value(
                f"['--{one}', '--{other}'].map(n => "
                "getComputedStyle(document.documentElement).getPropertyValue(n).trim())"
            )
            low, high = sorted(map(luminance, values))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, one, other, values)


def test_everything_has_a_name(shown, make, two_devices):
    page, _ = make(two_devices)
    shown.open(page)
    assert shown.value("document.querySelectorAll('h1').length") == 1
    levels = shown.value(
        "[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))"
    )
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:]))
    nodes = shown.call("Accessibility.getFullAXTree")["nodes"]
    named = {"button", "link", "table", "heading", "region", "toolbar", "navigation", "image"}
    seen = set()
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in named and not node.get("ignored"):
            seen.add(role)
            assert node.get("name", {}).get("value", "").strip(), node
    assert named <= seen
    ids = shown.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_tables_without_javascript(shown, make, two_devices):
    page, answer = make(two_devices)
    shown.open(page, script=False)
    try:
        # DevTools may still evaluate; the page's own script has not run
        assert shown.value("document.querySelector('#theme').hidden")
        assert "Without JavaScript" in shown.text("body")
        assert column(shown, "regions-table", 2) == [r["total_ps"] for r in answer["regions"]]
        assert "compute" in shown.text("#regions-table")
        assert shown.value("document.querySelectorAll('tr[hidden]').length") == 0
    finally:
        shown.call("Emulation.setScriptExecutionDisabled", value=False)


def test_empty_tables_say_why(shown, make, tmp_path):
    recipe = "host h\nwindow 0 10ms\nplane /host:CPU\n  line python\n    event alone 1ms 2ms\n"
    page, answer = make(traced(tmp_path, recipe))
    shown.open(page)
    assert "No device work" in shown.text("h1")
    for section, key in (("timeline", "devices"), ("steps", "steps"), ("ops", "ops")):
        said = shown.text(f"#{section}")
        assert "None:" in said
        assert answer["empty"][key].replace("`", "") in said
    assert not shown.value("document.querySelector('#strip').checkVisibility()")


def test_real_captures(shown, make, shared_captures):
    for capture in sorted(shared_captures.glob("*.xplane.pb")):
        page, answer = make(capture, "--top", "0")
        shown.open(page)
        assert readout(shown)[:2] == (0, answer["window_ps"])
        assert readout(shown)[2] == sum(d["busy_ps"] for d in answer["devices"])
        assert column(shown, "devices-table", 1) == [d["busy_ps"] for d in answer["devices"]]
        assert column(shown, "ops-table", 1) == [o["total_ps"] for o in answer["ops"]]
        if answer["steps"]["count"]:
            drawn = shown.value(
                "document.querySelector('.step-busy').getAttribute('d').split('M').length"
            )
            assert drawn - 1 == answer["steps"]["count"]
        assert shown.requests() == [page.resolve().as_uri()]
        assert shown.complaints() == []


def test_damaged_captures_make_a_page_that_says_so(shown, make, two_devices):
    data = two_devices.read_bytes()
    two_devices.write_bytes(data[: len(data) * 3 // 4])
    page, answer = make(two_devices, status=3)
    assert answer["receipt"]["damaged"]
    shown.open(page)
    assert "damaged at byte" in shown.text("[role=alert]")
