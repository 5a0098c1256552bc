# SPDX-License-Identifier: Apache-2.0
"""`dew-profile report`: the same bytes as xprof's own Python, and failures that cost little.

xprof's side runs in a Python process of its own, on a copy of the capture in a folder of its own.
Failures that the real converter does not produce are forced with tests/python/fake_converter.c.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

INTERACTIVE = {"trace_viewer", "trace_viewer@", "memory_viewer", "graph_viewer"}
FAKE_SOURCE = pathlib.Path(__file__).with_name("fake_converter.c")

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

JAX_SIDE = """
import sys, jax, jax.numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
x = jnp.ones((64, 64))
step(x).block_until_ready()
jax.profiler.start_trace(sys.argv[1])
for i in range(8):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        step(x).block_until_ready()
jax.profiler.stop_trace()
"""


def python(code: str, *args: object) -> None:
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=240,
        env=env,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def report(program, *args, expect=0, env=None, **more):
    done = subprocess.run(
        [program, "report", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(env or {})},
        **more,
    )
    assert done.returncode == expect, done
    return done


def index_of(folder: pathlib.Path) -> dict:
    index = json.loads((folder / "reports.json").read_text())
    assert index["schema"] == 1
    return index


def by_key(index: dict) -> dict:
    return {(r["tool"], r.get("host"), r.get("module")): r for r in index["reports"]}


def xprof_results(folder: pathlib.Path, *captures: pathlib.Path) -> dict:
    folder.mkdir()
    python(XPROF_SIDE, folder, *captures)
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


def snapshot(folder: pathlib.Path) -> dict:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory, monkeypatch):
    """A temporary folder of the program's own, which it must leave empty."""
    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="module")
def cpu_capture(tmp_path_factory):
    """A root as jax.profiler leaves it."""
    root = tmp_path_factory.mktemp("cpu")
    python(JAX_SIDE, root)
    (file,) = root.glob("plugins/profile/*/*.xplane.pb")
    # JAX's own gzipped trace is no part of what is tested.
    for other in file.parent.iterdir():
        if other != file:
            other.unlink()
    return file


@pytest.fixture
def capture(tmp_path, cpu_capture):
    """A capture folder of ours with that capture in it."""
    run = tmp_path / "capture-0001" / "plugins" / "profile" / "run"
    run.mkdir(parents=True)
    shutil.copy(cpu_capture, run)
    return tmp_path / "capture-0001"


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    """A site-packages folder whose xprof is the fake converter."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("needs a C compiler for the fake converter")
    site = tmp_path_factory.mktemp("site")
    (site / "xprof" / "convert").mkdir(parents=True)
    (site / "xprof-2.24.2.dist-info").mkdir()
    library = site / "xprof" / "convert" / "profiler_plugin_c_api.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, FAKE_SOURCE], check=True
    )
    return site


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


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("FAKE_CRASH", "signal 6"),
        ("FAKE_EXIT", "status 7"),
        ("FAKE_HANG", "timeout"),
        ("FAKE_ERROR", "fake words about kernel_stats"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_costs_its_own_report_only(program, capture, fake, variable, words, jobs):
    args = ["--converter", fake, "--timeout", 1, "--jobs", jobs, capture]
    done = report(program, *args, expect=1, env={variable: "kernel_stats"})
    folder = capture / "reports"
    entries = by_key(index_of(folder))
    assert [r["status"] for r in entries.values()] == ["ok", "failed", "ok"]
    failed = entries["kernel_stats", None, None]
    assert words in failed["error"]
    assert failed["file"] is None
    assert not (folder / "kernel_stats.json").exists()
    assert json.loads((folder / "hlo_stats.json").read_text()) == {"tool": "hlo_stats"}
    assert words in done.stderr
    assert words in (folder / "export.log").read_text()
    assert "1 failed" in done.stdout


def test_every_report_failing_still_leaves_an_index(program, capture, fake):
    env = {"FAKE_TOOLS": "kernel_stats", "FAKE_CRASH": "kernel_stats"}
    report(program, "--converter", fake, capture, expect=1, env=env)
    assert [r["status"] for r in index_of(capture / "reports")["reports"]] == ["failed"]


def test_a_crash_while_listing_keeps_the_old_reports(program, capture, fake):
    report(program, capture)
    before = snapshot(capture)
    for variable, words in (("FAKE_CRASH", "signal 6"), ("FAKE_HANG", "timeout")):
        done = report(
            program,
            "--converter",
            fake,
            "--timeout",
            1,
            capture,
            expect=1,
            env={variable: "tool_names"},
        )
        assert words in done.stderr
        assert snapshot(capture) == before


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


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.01)


def is_unlocked(folder: pathlib.Path) -> bool:
    """No exporter works in it any more."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def read_if_there(path: pathlib.Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted(program, capture, fake, scratch, number):
    env = {**os.environ, "FAKE_HANG": "kernel_stats"}
    child = subprocess.Popen(
        [program, "report", "--converter", fake, "--jobs", "1", capture],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = capture / "reports" / "export.log"
    wait_for(lambda: log.exists() and "stderr of kernel_stats" in log.read_text())
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode == -number
    index = index_of(capture / "reports")
    assert index["state"] == "interrupted"
    entries = by_key(index)
    assert entries["overview_page", None, None]["status"] == "ok"
    for tool in ("kernel_stats", "hlo_stats"):
        assert "interrupted" in entries[tool, None, None]["error"]
    assert list(scratch.iterdir()) == []
    assert not any(name.endswith(".tmp") for name in snapshot(capture))


def test_no_worker_outlives_a_killed_exporter(program, capture, fake, scratch):
    env = {**os.environ, "FAKE_HANG": "kernel_stats"}
    child = subprocess.Popen([program, "report", "-q", "--converter", fake, capture], env=env)
    log = capture / "reports" / "export.log"
    wait_for(lambda: log.exists() and "stderr of kernel_stats" in log.read_text())
    children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
    if not children.exists():
        child.kill()
        pytest.skip("needs /proc/PID/task/PID/children")
    workers = children.read_text().split()
    assert workers
    child.kill()
    child.wait()

    def gone(pid: str) -> bool:
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        return state == "Z"

    wait_for(lambda: all(gone(pid) for pid in workers))
    for left in scratch.iterdir():  # a killed exporter cannot remove it
        assert left.name.startswith("dew-profile-scratch-")
        shutil.rmtree(left)
    # And the next one is not kept out by a stale lock.
    report(program, "-q", "--converter", fake, capture)
    assert index_of(capture / "reports")["state"] == "done"


def test_two_exporters_do_not_mix(program, capture, fake):
    env = {**os.environ, "FAKE_HANG": "kernel_stats"}
    child = subprocess.Popen([program, "report", "-q", "--converter", fake, capture], env=env)
    log = capture / "reports" / "export.log"
    wait_for(lambda: log.exists() and "stderr of kernel_stats" in log.read_text())
    done = report(program, "--converter", fake, capture, expect=1)
    assert "being made" in done.stderr
    child.terminate()
    child.wait(timeout=60)


def test_detach_returns_and_the_work_goes_on(program, capture):
    done = report(program, "--detach", capture)
    assert (done.stdout, done.stderr) == ("", "")
    index = capture / "reports" / "reports.json"
    wait_for(lambda: index.exists() and index_of(index.parent)["state"] == "done")
    assert by_key(index_of(index.parent))["overview_page", None, None]["file"]
    # The scratch folder goes after the index is written.
    folder = pathlib.Path(os.environ["TMPDIR"])
    wait_for(lambda: list(folder.iterdir()) == [])


def test_detach_leaves_word_of_a_failure(program, capture, fake):
    args = ["--converter", fake, "--timeout", 1, "--detach", capture]
    folder = capture / "reports"
    for variable, words in [
        ("FAKE_CRASH", "signal 6"),
        ("FAKE_HANG", "timeout"),
        ("FAKE_ERROR", "fake words about tool_names"),
    ]:  # each takes the place of the one before
        report(program, *args, env={variable: "tool_names"})
        wait_for(lambda: is_unlocked(folder))
        index = index_of(folder)
        assert (index["state"], index["reports"]) == ("failed", [])
        assert words in index["error"]
        log = (folder / "export.log").read_text()
        assert words in log
        assert "stderr of tool_names" in log
        assert {path.name for path in folder.iterdir()} == {"reports.json", "export.log"}
    report(program, "--converter", fake, capture)
    assert (index_of(folder)["state"], index_of(folder)["error"]) == ("done", None)
    # Reports that are there are worth more than the word of a failure.
    before = snapshot(folder)
    report(program, *args, env={"FAKE_CRASH": "tool_names"})
    wait_for(lambda: is_unlocked(folder))
    after = snapshot(folder)
    added = after.pop("export.log").removeprefix(before.pop("export.log")).decode()
    assert "signal 6" in added and added.count("\n") == 1
    assert after == before


def test_detach_leaves_word_of_a_damaged_capture(program, capture):
    next(capture.rglob("*.xplane.pb")).write_bytes(b"\xff" * 3000)
    report(program, "--detach", capture)
    folder = capture / "reports"
    wait_for(lambda: is_unlocked(folder))
    index = index_of(folder)
    assert index["state"] == "failed"
    assert "tool_names" in index["error"]


def no_bytes() -> None:
    """Files can be made and not written to, as on a full disk: so no scratch folder is any good."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def test_without_any_scratch_folder(program, capture):
    for args in ([], ["--detach"]):
        done = report(program, *args, capture, expect=1, preexec_fn=no_bytes, restore_signals=False)
        assert "no folder for temporary files" in done.stderr
        assert os.environ["TMPDIR"] in done.stderr


def test_temporary_folders_that_are_not_there(program, capture, tmp_path):
    env = {"TMPDIR": str(tmp_path / "gone"), "TEMP": os.environ["TMPDIR"]}
    report(program, capture, env=env)
    assert index_of(capture / "reports")["state"] == "done"


def test_a_failure_after_the_first_report_is_in_the_index(program, capture, fake):
    """A place for the index is taken away while a report is made."""
    env = {**os.environ, "FAKE_HANG": "kernel_stats"}
    args = [program, "report", "-q", "-j", "1", "--timeout", "3", "--converter", fake, capture]
    child = subprocess.Popen(args, env=env, stderr=subprocess.PIPE, text=True)
    folder = capture / "reports"
    wait_for(lambda: "stderr of kernel_stats" in read_if_there(folder / "export.log"))
    (folder / "overview_page.json").unlink()  # the flush at the end does not find it
    _, words = child.communicate(timeout=60)
    assert child.returncode == 1
    index = index_of(folder)
    assert index["state"] == "failed"
    assert index["error"] and index["error"] in words
    assert index["error"] in (folder / "export.log").read_text()


@pytest.mark.parametrize("limit", [12, 16])
def test_too_few_open_files(program, capture, limit):
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    done = report(program, "-j", 2, capture, expect=1, preexec_fn=few)
    assert f"only {limit} files may be open at once (ulimit -n)" in done.stderr
    assert "ulimit -n 256" in done.stderr
    assert not (capture / "reports").exists()


def test_a_low_limit_of_open_files_is_raised_where_that_is_allowed(program, capture, fake):
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 4096))

    report(program, "-j", 16, "--converter", fake, capture, preexec_fn=few)
    assert index_of(capture / "reports")["state"] == "done"


# argv: program, converter, capture, temporary folder, signal, delays in microseconds. A process of
# its own, small enough that the signal follows its child closely.
HUNTER = """
import json, os, signal, subprocess, sys, time
program, converter, capture, tmp, number, *delays = sys.argv[1:]
reports = os.path.join(capture, "reports")
left = {}
for delay in map(int, delays):
    subprocess.run(["rm", "-rf", reports])
    child = subprocess.Popen([program, "report", "-q", "--converter", converter, capture],
                             stderr=subprocess.DEVNULL)
    if delay < 0:
        while not os.listdir(tmp) and child.poll() is None:
            pass
    else:
        time.sleep(delay / 1e6)
    child.send_signal(int(number))
    status = child.wait()
    found = os.listdir(reports) if os.path.isdir(reports) else []
    state = ""
    if "reports.json" in found:
        state = json.load(open(os.path.join(reports, "reports.json")))["state"]
    odd = os.listdir(tmp) + [name for name in found if name.endswith(".tmp")]
    if state not in ("done", "interrupted") and found:
        odd += ["index: " + state]
    if odd or (state == "interrupted" and status != -int(number)):
        left[delay] = [status, odd]
    for name in os.listdir(tmp):
        subprocess.run(["rm", "-rf", os.path.join(tmp, name)])
print(json.dumps(left))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_at_any_time_leaves_nothing(program, capture, fake, scratch, number):
    """-1: right after the scratch folder appeared."""
    start = time.monotonic()
    report(program, "-q", "--converter", fake, capture)
    whole_us = int((time.monotonic() - start) * 1e6)
    delays = [-1] * 12 + [whole_us * i // 24 for i in range(30)]
    done = subprocess.run(
        [sys.executable, "-S", "-c", HUNTER]
        + [str(a) for a in (program, fake, capture, scratch, int(number), *delays)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


def test_detach_reports_what_is_wrong_at_once(program, tmp_path, capture):
    report(program, "--detach", tmp_path / "absent", expect=3)
    report(program, "--detach", "--converter", tmp_path, capture, expect=4)


@pytest.mark.parametrize("kind", ["garbage", "half", "empty"])
def test_damaged_input(program, tmp_path, cpu_capture, kind):
    data = cpu_capture.read_bytes()
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(
        {"garbage": b"\xff" * 3000, "half": data[: len(data) // 2], "empty": b""}[kind]
    )
    done = report(program, file, expect=3)
    assert "host.xplane.pb" in done.stderr
    assert ("0 bytes" if kind == "empty" else "tool_names") in done.stderr
    assert kind == "empty" or "xprof 2." in done.stderr
    assert list(tmp_path.rglob("*")) == [file]


def test_a_damaged_capture_keeps_the_old_reports(program, capture):
    report(program, capture)
    before = snapshot(capture / "reports")
    next(capture.rglob("*.xplane.pb")).write_bytes(b"\xff" * 100)
    report(program, capture, expect=3)
    assert snapshot(capture / "reports") == before


def test_one_damaged_host_of_two(program, capture):
    (next(capture.rglob("*.xplane.pb")).parent / "z.xplane.pb").write_bytes(b"")
    done = report(program, capture, expect=3)
    assert "z.xplane.pb" in done.stderr


def test_no_converter(program, capture, tmp_path):
    done = report(program, "--converter", tmp_path, capture, expect=4)
    assert "pip install" in done.stderr
    assert not (capture / "reports").exists()


def test_an_old_converter(program, capture, fake, tmp_path):
    site = tmp_path / "old"
    shutil.copytree(fake, site)
    (site / "xprof-2.24.2.dist-info").rename(site / "xprof-2.20.0.dist-info")
    done = report(program, "--converter", site, capture, expect=4)
    assert "2.20.0 is too old" in done.stderr
    assert "pip install" in done.stderr


def test_a_broken_converter(program, capture, tmp_path):
    folder = tmp_path / "xprof" / "convert"
    folder.mkdir(parents=True)
    (folder / "profiler_plugin_c_api.so").write_bytes(b"no library")
    (tmp_path / "xprof-2.24.2.dist-info").mkdir()
    done = report(program, "--converter", tmp_path, capture, expect=4)
    assert "cannot be opened" in done.stderr
    assert not (capture / "reports").exists()


def test_a_newer_converter_is_tried_first(program, capture, fake, tmp_path):
    site = tmp_path / "new"
    shutil.copytree(fake, site)
    (site / "xprof-2.24.2.dist-info").rename(site / "xprof-99.0.0.dist-info")
    report(program, "--converter", site, capture)
    assert index_of(capture / "reports")["converter"]["version"] == "99.0.0"
    done = report(program, "--converter", site, capture, expect=4, env={"FAKE_CRASH": "tool_names"})
    assert "99.0.0" in done.stderr


def test_a_read_only_capture_is_left_alone(program, capture, tmp_path):
    run = next(capture.rglob("*.xplane.pb")).parent
    before = snapshot(capture)
    for folder in (run, capture):
        folder.chmod(0o500)
    try:
        if os.geteuid() != 0:
            done = report(program, capture, expect=1)
            assert "--output" in done.stderr
        report(program, "--output", tmp_path / "out", capture)
    finally:
        for folder in (run, capture):
            folder.chmod(0o700)
    assert snapshot(capture) == before
    assert by_key(index_of(tmp_path / "out"))["hlo_stats", None, None]["file"]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small tmpfs is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(program, capture, small_disk):
    folder = small_disk / "reports"
    done = report(program, "--all", "-o", folder, capture, expect=1)
    assert "No space left" in done.stderr
    # What is there is whole, and no temporary file is left.
    for path in folder.iterdir():
        if path.name != "export.log":
            json.loads(path.read_text()) if path.suffix == ".json" else path.read_text()
        assert not path.name.endswith(".tmp")


def test_a_place_that_cannot_be_written(program, capture, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = report(program, "-o", tmp_path / "file" / "out", capture, expect=1)
    assert str(tmp_path / "file") in done.stderr
