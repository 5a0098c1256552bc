# SPDX-License-Identifier: Apache-2.0
"""`dew-profile report`: the same bytes as xprof's own Python, and an index of them.

xprof's side runs in a Python process of its own, on a copy of the capture in a folder of its own.
"""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest
from captures import run_python
from reporting import by_key, index_of, report, snapshot

pytestmark = pytest.mark.usefixtures("scratch")

INTERACTIVE = {"trace_viewer", "trace_viewer@", "memory_viewer", "graph_viewer"}

# argv: folder for the results, then captures. Results: NUMBER files and index.json.
XPROF_SIDE = """
import json, os, pathlib, shutil, sys, tempfile
from xprof.convert import raw_to_tool_data as xprof

out = pathlib.Path(sys.argv[1])
captures = sorted(sys.argv[2:])
work = pathlib.Path(tempfile.mkdtemp(dir=out))
paths = [shutil.copy(path, work) for path in captures]
interactive = ("trace_viewer", "memory_viewer", "graph_viewer")
index = []

def save(tool, host, module, params, some):
    data, mime = xprof.xspace_to_tool_data(some, tool, params)
    data = data.encode() if isinstance(data, str) else data
    (out / str(len(index))).write_bytes(data)
    index.append({"tool": tool, "host": host, "module": module, "mime": mime})

names = xprof.xspace_to_tool_names(paths)
for tool in names:
    if tool == "memory_profile":
        for path in paths:
            host = os.path.basename(path).removesuffix(".xplane.pb") if len(paths) > 1 else None
            save(tool, host, None, {}, [path])
    elif tool == "trace_viewer@" or not tool.startswith(interactive):
        save(tool, None, None, {}, paths)
for file in sorted(work.glob("*.hlo_proto.pb")):
    module = file.name.removesuffix(".hlo_proto.pb")
    if module != "NO_MODULE":
        save("memory_viewer", None, module, {"module_name": module}, paths)
        options = {"module_name": module, "type": "long_txt"}
        save("graph_viewer", None, module, {"graph_viewer_options": options}, paths)
(out / "index.json").write_text(json.dumps(index))
"""


def xprof_results(folder: pathlib.Path, *captures: pathlib.Path) -> dict:
    folder.mkdir()
    quiet = {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = run_python(XPROF_SIDE, folder, *captures, timeout=240, **quiet)
    assert done.returncode == 0, done.stderr[-4000:]
    index = json.loads((folder / "index.json").read_text())
    return {
        (r["tool"], r["host"], r["module"]): ((folder / str(i)).read_bytes(), r["mime"])
        for i, r in enumerate(index)
    }


def as_sets(value, without=()):
    """Lists in no order, and without some keys."""
    if isinstance(value, dict):
        return {key: as_sets(one, without) for key, one in value.items() if key not in without}
    if isinstance(value, list):
        ones = [as_sets(one, without) for one in value]
        return sorted(ones, key=lambda one: json.dumps(one, sort_keys=True))
    return value


def comparable(tool: str, data: bytes):
    """The part of a result that xprof itself gives twice.

    In a GPU's memory_profile the order of lists varies, and which of several snapshots of one size
    is kept: they differ in address and time. In trace_viewer@ the numbers that bind two events
    together are drawn by each process, and the order of the tracks varies. In a GPU's memory_viewer
    buffers of one size come in any order.
    """
    value = json.loads(data)
    if tool == "memory_profile":
        return as_sets(value, without=("address", "timeOffsetPs"))
    if tool == "memory_viewer":
        return as_sets(value)
    assert tool == "trace_viewer@"
    bound: dict = {}
    for event in value["traceEvents"]:
        if "bind_id" in event:
            name = f"{event['ts']} {event['name']}"
            bound.setdefault(event["bind_id"], []).append(name)
    for event in value["traceEvents"]:
        if "bind_id" in event:
            event["bind_id"] = sorted(bound[event["bind_id"]])
    return as_sets(value)


VARYING = {"memory_profile", "memory_viewer", "trace_viewer@"}


def check_same(folder: pathlib.Path, expected: dict, again: dict | None = None) -> None:
    """Every report made is in `expected`, and the same bytes.

    `again` is a second result of xprof's own, of a capture for which it varies: those tools are
    compared by what its two results have in common.
    """
    made = {k: r for k, r in by_key(index_of(folder)).items() if r["status"] in ("ok", "empty")}
    assert made
    for key, entry in made.items():
        data, mime = expected[key]
        got = (folder / entry["file"]).read_bytes()
        assert entry["bytes"] == len(got)
        assert entry["mime"] == mime
        assert entry["error"] is None
        if again is None or key[0] not in VARYING:
            assert got == data, key
        elif not got == data == again[key][0]:
            common = comparable(key[0], data)
            assert comparable(key[0], again[key][0]) == common, key
            assert comparable(key[0], got) == common, key


def test_a_cpu_capture_byte_for_byte(program, capture, tmp_path):
    before = snapshot(capture)
    report(program, capture)
    file = next(capture.rglob("*.xplane.pb"))
    expected = xprof_results(tmp_path / "xprof", file)
    folder = capture / "reports"
    check_same(folder, expected)
    index = index_of(folder)
    entries = by_key(index)
    # Nothing is left out: each tool that xprof names is in the index, in xprof's order.
    tools = {key[0] for key in expected} | {"memory_viewer", "graph_viewer"}
    assert {key[0] for key in entries} == tools
    for (tool, _, _), entry in entries.items():
        assert (entry["status"] == "interactive") == (tool in INTERACTIVE)
    assert index["state"] == "done"
    assert index["converter"]["version"]
    assert pathlib.Path(index["converter"]["library"]).is_file()
    assert index["captures"] == [file.name]
    # Only reports/ is new, and in it only what the index names.
    after = snapshot(capture)
    assert {name: after[name] for name in before} == before
    made = {f"reports/{r['file']}" for r in index["reports"] if r["file"]}
    assert set(after) - set(before) == made | {"reports/reports.json", "reports/export.log"}


def test_a_cpu_capture_has_empty_reports_and_says_why(program, capture):
    done = report(program, capture)
    entries = by_key(index_of(capture / "reports"))
    for tool in (
        "overview_page",
        "memory_profile",
        "op_profile",
        "hlo_stats",
        "roofline_model",
        "framework_op_stats",
    ):
        assert entries[tool, None, None]["status"] == "empty", tool
        assert entries[tool, None, None]["why"], tool
    # This one has the eight steps in it.
    assert entries["input_pipeline_analyzer", None, None]["status"] == "ok"
    assert "with no rows on this platform" in done.stdout


def test_interactive_ones_say_how_to_open_them(program, capture):
    done = report(program, capture)
    entries = by_key(index_of(capture / "reports"))
    entry = entries["trace_viewer@", None, None]
    assert entry["file"] is None
    assert entry["open"] == f"xprof --logdir '{capture}'"
    assert entry["open"] in done.stdout


def test_all_exports_the_interactive_ones_too(program, capture, tmp_path):
    report(program, "--all", capture)
    file = next(capture.rglob("*.xplane.pb"))
    expected = xprof_results(tmp_path / "xprof", file)
    folder = capture / "reports"
    check_same(folder, expected, xprof_results(tmp_path / "again", file))
    entries = by_key(index_of(folder))
    assert set(entries) == set(expected)
    assert all(r["status"] in ("ok", "empty") for r in entries.values())
    trace = json.loads((folder / entries["trace_viewer@", None, None]["file"]).read_text())
    assert trace["traceEvents"]
    modules = [key[2] for key in entries if key[0] == "graph_viewer"]
    assert any("lambda" in module for module in modules)
    for (tool, _, module), entry in entries.items():
        if tool == "graph_viewer":
            assert (folder / entry["file"]).read_text().startswith("HloModule")
        if module:
            assert not set(entry["file"]) & set("/<> '\"")


def test_a_gpu_capture_byte_for_byte(program, shared_captures, tmp_path):
    source = shared_captures / "gpu-mi300-conv.xplane.pb"
    file = tmp_path / source.name
    shutil.copy(source, file)
    report(program, "--all", file)
    folder = tmp_path / "reports" / "gpu-mi300-conv"
    expected = xprof_results(tmp_path / "xprof", source)
    check_same(folder, expected, xprof_results(tmp_path / "again", source))
    entries = by_key(index_of(folder))
    assert set(entries) == set(expected)
    assert entries["kernel_stats", None, None]["status"] == "ok"
    assert entries["overview_page", None, None]["status"] == "ok"
    assert entries["input_pipeline_analyzer", None, None]["status"] == "empty"


def test_two_hosts(program, shared_captures, tmp_path):
    run = tmp_path / "root" / "plugins" / "profile" / "run"
    run.mkdir(parents=True)
    names = ["gpu-mi300-conv-2025", "gpu-mi300-conv"]  # in the order of the files' names
    for name in names:
        shutil.copy(shared_captures / f"{name}.xplane.pb", run)
    report(program, tmp_path / "root")
    folder = tmp_path / "root" / "reports" / "run"
    expected = xprof_results(tmp_path / "xprof", *run.iterdir())
    check_same(folder, expected, xprof_results(tmp_path / "again", *run.iterdir()))
    entries = by_key(index_of(folder))
    assert [key[1] for key in entries if key[0] == "memory_profile"] == names
    assert entries["memory_profile", names[1], None]["file"] == f"memory_profile.{names[1]}.json"
    assert sorted(path.name for path in run.iterdir()) == sorted(f"{n}.xplane.pb" for n in names)


def test_only_the_tools_asked_for(program, capture):
    done = report(program, "--tool", "hlo_stats", "--tool", "trace_viewer@", "--json", capture)
    index = json.loads(done.stdout)
    assert [r["tool"] for r in index["reports"]] == ["trace_viewer@", "hlo_stats"]
    assert {r["status"] for r in index["reports"]} == {"ok", "empty"}
    left = {path.name for path in (capture / "reports").iterdir()}
    assert left == {"trace_viewer@.json", "hlo_stats.json", "reports.json", "export.log"}
    assert index_of(capture / "reports")["reports"] == index["reports"]


def test_reports_not_asked_for_stay(program, capture):
    report(program, capture)
    folder = capture / "reports"
    before, first = snapshot(folder), index_of(folder)
    (folder / "hlo_stats.json").write_text("old")
    edited = {**first, "converter": {**first["converter"], "version": "2.22.3"}}
    (folder / "reports.json").write_text(json.dumps(edited))
    report(program, "--tool", "hlo_stats", capture)
    after, second = snapshot(folder), index_of(folder)
    changing = {"reports.json", "export.log"}
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    others = [r for r in first["reports"] if r["tool"] != "hlo_stats"]
    kept = [r for r in second["reports"] if r["tool"] != "hlo_stats"]
    assert kept == [{**r, "xprof": "2.22.3"} for r in others]
    assert [r["tool"] for r in second["reports"]].count("hlo_stats") == 1
    # Made of another capture they are not about this one.
    moved = {**first, "run": "/elsewhere"}
    (folder / "reports.json").write_text(json.dumps(moved))
    report(program, "--tool", "hlo_stats", capture)
    assert {path.name for path in folder.iterdir()} == {"hlo_stats.json", *changing}


def test_a_tool_that_the_capture_has_not(program, capture):
    report(program, capture)
    before = snapshot(capture)
    done = report(program, "--tool", "kernel_statistics", capture, expect=5)
    assert "no 'kernel_statistics' for this capture" in done.stderr
    assert "overview_page" in done.stderr
    assert snapshot(capture) == before


def test_files_of_others_in_the_folder_stay(program, capture, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.json").write_text("mine")
    report(program, "-o", out, capture)
    report(program, "--output", out, "--all", capture)
    assert (out / "mine.json").read_text() == "mine"
    assert not (capture / "reports").exists()


def test_an_index_that_names_files_elsewhere_removes_nothing(program, capture, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("still here")
    folder = capture / "reports"
    folder.mkdir()
    for text in ('{"reports": [{"file": "../../precious"}, {"file": 3}, 4]}', "[]", "{", "\0"):
        (folder / "reports.json").write_text(text)
        report(program, "--tool", "hlo_stats", capture)
        assert precious.read_text() == "still here"
        assert len(index_of(folder)["reports"]) == 1


def test_the_log_takes_what_the_library_prints(program, capture, fake):
    done = report(program, "--converter", fake, capture)
    log = (capture / "reports" / "export.log").read_text()
    for tool in ("tool_names", "overview_page", "kernel_stats", "hlo_stats"):
        assert f"stdout of {tool}" in log
        assert f"stderr of {tool}" in log
    assert "std" not in done.stderr
    assert "std" not in done.stdout


def test_quiet_and_plain_lines(program, capture, fake):
    done = report(program, "--converter", fake, capture)
    assert len(done.stderr.splitlines()) == 3
    assert "kernel_stats: ok, 24 B" in done.stderr
    assert "\033" not in done.stderr
    done = report(program, "--quiet", "--converter", fake, capture)
    assert (done.stdout, done.stderr) == ("", "")


def test_names_from_the_converter_become_safe_file_names(program, capture, fake):
    tools = ["../up", ".hidden", "a b'c", "x" * 240]
    report(program, "--converter", fake, capture, env={"FAKE_TOOLS": ",".join(tools)})
    folder = capture / "reports"
    entries = by_key(index_of(folder))
    files = [entries[tool, None, None]["file"] for tool in tools]
    assert files[:3] == ["%2E.%2Fup.json", "%2Ehidden.json", "a%20b%27c.json"]
    assert len(files[3]) < 230
    for tool, file in zip(tools, files, strict=True):
        assert json.loads((folder / file).read_text()) == {"tool": tool}
    assert sorted(path.name for path in capture.iterdir()) == ["plugins", "reports"]
