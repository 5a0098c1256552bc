
/* SPDX-License-Identifier: Apache-2.0 */
/* page.js - the timeline and the step plot, sorting, and the theme.
 *
 * Draws from the JSON block; the tables stand in the HTML already. Names reach the page only through
 * textContent. Times are picoseconds; a double holds them exactly up to 2.5 hours. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function makeSvg(tag, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  /* As format_ps() in output.c, so that one time reads the same everywhere on the page. */
  const UNITS = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"]];
  function time(ps) {
    if (ps === 0) return "0";
    for (const [unit, name] of UNITS) {
      if (ps < unit * 0.99995) continue;
      const value = ps / unit;
      return value.toFixed(value < 9.9995 ? 3 : value < 99.995 ? 2 : 1) + " " + name;
    }
    return ps + " ps";
  }
  const share = (part, whole) => (whole ? ((100 * part) / whole).toFixed(1) + " %" : "-");
  const count = (n) => n.toLocaleString("en-US");

  /* Round values for an axis: 1, 2 or 5 times a power of ten, about `n` of them. */
  function ticks(from, to, n) {
    const raw = Math.max((to - from) / n, 1), power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
    const unit = UNITS.find(([size]) => to >= size * 0.99995) || [1, "ps"];
    const digits = Math.max(0, Math.round(Math.log10(unit[0]) - Math.floor(Math.log10(step) + 1e-9)));
    const all = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step)
      all.push([at, at ? (at / unit[0]).toFixed(digits) + " " + unit[1] : "0"]);
    return all;
  }

  /* --- theme --- */
  const THEMES = ["system", "light", "dark"];
  const themeButton = byId("theme");
  function setTheme(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    themeButton.textContent = "Theme: " + theme;
    try { localStorage.setItem("dew-profile-theme", theme); } catch { /* a page without storage */ }
  }
  let kept = null;
  try { kept = localStorage.getItem("dew-profile-theme"); } catch { /* likewise */ }
  setTheme(THEMES.includes(kept) ? kept : "system");
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "system";
    setTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  });

  /* --- tip --- */
  const tip = byId("tip");
  function showTip(event, text) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = clamp(event.clientX + 14, 4, innerWidth - box.width - 4) + "px";
    tip.style.top = clamp(event.clientY - box.height - 12, 4, innerHeight - box.height - 4) + "px";
  }
  function hideTip() { tip.hidden = true; }

  /* --- tables --- */
  function sortable(table) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const top = Number(table.dataset.top);
    let open = !top || body.rows.length <= top + 3;
    const shorten = () => [...body.rows].forEach((row, i) => { row.hidden = !open && i >= top; });
    const value = (row, i) => {
      const cell = row.cells[i];
      return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
    };
    heads.forEach((head, i) => {
      if (!head.textContent || body.rows.length < 2) return;
      const button = make("button", "", head.textContent);
      button.type = "button";
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("n");
        const was = head.getAttribute("aria-sort");
        const down = was ? was === "ascending" : number;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [value(row, i), row]);
        rows.sort(([a], [b]) => (number ? a - b : a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
        body.append(...rows.map(([, row]) => row));
        shorten();
      });
    });
    if (!open) {
      const all = make("button", "all");
      all.type = "button";
      const label = () => { all.textContent = open ? "Show fewer" : `Show all ${count(body.rows.length)}`; };
      label();
      all.setAttribute("aria-controls", table.id);
      all.addEventListener("click", () => { open = !open; shorten(); label(); });
      table.parentElement.after(all);
      addEventListener("beforeprint", () => [...body.rows].forEach((row) => { row.hidden = false; }));
      addEventListener("afterprint", shorten);
    }
    shorten();
  }
  document.querySelectorAll("table[data-top]").forEach(sortable);

  /* --- steps --- */
  const unpack = (groups) => groups.flatMap(({ name, rows }) =>
    rows.map(([number, start, duration, busy, idle, cut]) => ({ name, number, start, duration, busy, idle, cut })));
  const steps = unpack(data.steps.groups);
  const slowest = unpack(data.steps.slowest)[0];
  const same = (a, b) => a && b && a.start === b.start && a.number === b.number && a.name === b.name;
  if (slowest && !steps.some((step) => same(step, slowest))) {
    /* Only every kth step is here, and the slowest belongs into the picture. */
    steps.push(slowest);
    steps.sort((a, b) => a.start - b.start);
  }
  const stepName = (step) => `${step.name} ${step.number}`.trim();
  function stepWords(step) {
    return `step ${stepName(step)}: ${time(step.duration)}` +
      (data.devices.length ? `, busy ${time(step.busy)} (${share(step.busy, step.duration)}), idle ${time(step.idle)}` : "") +
      (step.cut ? ", cut by the window" : "") + (same(step, slowest) ? ", the slowest" : "");
  }

  /* --- timeline --- */
  const strip = makeStrip();
  function makeStrip() {
    const n = data.n_strip, devices = data.devices;
    if (!devices.length || !n || !data.window_ps) return null;
    const LEAST = Math.min(8, n); /* buckets; closer there is nothing more to see */
    const view = byId("strip-view"), rows = byId("strip-rows"), lane = byId("strip-steps");
    const axis = byId("strip-axis"), where = byId("strip-where").firstElementChild;
    const thin = devices.length > 4;
    const height = thin ? (devices.length > 16 ? 14 : 22) : devices.length > 1 ? 44 : 72;
    rows.classList.toggle("thin", thin);
    /* sums[i]: busy time before bucket i, so that any range costs one subtraction */
    const tracks = devices.map(({ name, busy }) => {
      const row = make("div", "row"), label = make("div", "row-name"), figure = make("span");
      label.append(make("bdi", "", name), figure);
      const svg = makeSvg("svg", { class: "chart", viewBox: `0 0 1000 ${height}`, preserveAspectRatio: "none", height, "aria-hidden": "true" });
      const path = makeSvg("path", { class: "area" });
      svg.append(path);
      row.append(label, svg);
      rows.append(row);
      const sums = new Float64Array(n + 1);
      for (let i = 0; i < n; i++) sums[i + 1] = sums[i] + (busy[i] || 0);
      return { name, svg, path, figure, sums };
    });
    let from = 0, to = n; /* buckets, fractions while zooming; drawn as whole ones */
    const cursor = make("div", "cursor"), select = make("div", "select");
    cursor.hidden = select.hidden = true;
    view.append(cursor, select);
    byId("strip").hidden = false;

    const psOf = (bucket) => (data.window_ps * bucket) / n;
    const busyOf = (track, a, b) => track.sums[b] - track.sums[a];

    function range() {
      let a = clamp(Math.floor(from + 1e-6), 0, n - LEAST);
      return [a, clamp(Math.ceil(to - 1e-6), a + LEAST, n)];
    }

    function drawTrack(track, a, b, columns) {
      const parts = [`M0 ${height}`];
      for (let i = 0; i < columns; i++) {
        const left = a + ((b - a) * i) / columns, right = a + ((b - a) * (i + 1)) / columns;
        const first = Math.floor(left), last = Math.max(first + 1, Math.floor(right));
        const ratio = busyOf(track, first, last) / (psOf(last) - psOf(first));
        const y = height - (ratio > 0 ? Math.max(ratio * height, 1.5) : 0);
        parts.push(`L${((1000 * i) / columns).toFixed(2)} ${y.toFixed(2)}L${((1000 * (i + 1)) / columns).toFixed(2)} ${y.toFixed(2)}`);
      }
      track.path.setAttribute("d", parts.join("") + `L1000 ${height}Z`);
      const ratio = share(busyOf(track, a, b), psOf(b) - psOf(a));
      track.figure.textContent = thin ? ratio : `busy ${ratio}`;
    }

    function drawSteps(start, end) {
      lane.textContent = "";
      const inside = steps.filter((step) => step.start < end && step.start + step.duration > start);
      lane.hidden = !steps.length;
      if (inside.length > lane.clientWidth / 12) {
        lane.append(make("em", "", `${count(inside.length)} steps: zoom in to tell them apart`));
        return;
      }
      for (const step of inside) {
        const left = Math.max(step.start, start), right = Math.min(step.start + step.duration, end);
        const box = make("span", same(step, slowest) ? "slowest" : "");
        const wide = ((right - left) / (end - start)) * lane.clientWidth;
        if (wide > 26) box.textContent = wide > 90 ? stepName(step) : step.number;
        box.style.left = (100 * (left - start)) / (end - start) + "%";
        box.style.width = (100 * (right - left)) / (end - start) + "%";
        lane.append(box);
      }
    }

    function draw() {
      const [a, b] = range(), start = psOf(a), end = psOf(b);
      const width = tracks[0].svg.clientWidth || 1000;
      const columns = Math.max(1, Math.min(b - a, Math.ceil(width)));
      tracks.forEach((track) => drawTrack(track, a, b, columns));
      drawSteps(start, end);
      axis.textContent = "";
      for (const [at, label] of ticks(start, end, clamp(width / 100, 3, 10))) {
        const mark = make("span", "", label);
        const left = (at - start) / (end - start);
        if (left > 1 - 60 / width) continue;
        mark.style.left = 100 * left + "%";
        axis.append(mark);
      }
      where.style.left = (100 * a) / n + "%";
      where.style.width = (100 * (b - a)) / n + "%";
      const busy = tracks.reduce((sum, track) => sum + busyOf(track, a, b), 0);
      const all = a === 0 && b === n;
      const readout = byId("strip-readout");
      readout.textContent = (all ? `All of the window, ${time(data.window_ps)}: `
        : `${time(start)} to ${time(end)}, ${time(end - start)} of ${time(data.window_ps)}: `) +
        `${devices.length > 1 ? "devices" : "device"} busy ${share(busy, (end - start) * tracks.length)}`;
      readout.dataset.from = start;
      readout.dataset.to = end;
      readout.dataset.busy = busy;
      document.querySelectorAll("[data-zoom]").forEach((button) => {
        const kind = button.dataset.zoom;
        button.disabled = (kind === "left" && a === 0) || (kind === "right" && b === n) ||
          (kind === "in" && b - a <= LEAST) || ((kind === "out" || kind === "all") && all);
      });
    }

    function set(a, b) {
      const size = clamp(b - a, LEAST, n);
      from = clamp(a + (b - a - size) / 2, 0, n - size);
      to = from + size;
      draw();
    }
    function zoom(factor, at) {
      const size = clamp((to - from) * factor, LEAST, n), ratio = (at - from) / (to - from);
      set(at - size * ratio, at - size * ratio + size);
    }
    const move = (share) => set(from + (to - from) * share, to + (to - from) * share);
    const actions = {
      in: () => zoom(0.5, (from + to) / 2), out: () => zoom(2, (from + to) / 2),
      left: () => move(-0.25), right: () => move(0.25), all: () => set(0, n),
    };
    document.querySelectorAll("[data-zoom]").forEach((button) =>
      button.addEventListener("click", () => actions[button.dataset.zoom]()));
    const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "all" };
    view.addEventListener("keydown", (event) => {
      const action = KEYS[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[action]();
    });

    /* The pointer's place as a share of the drawn range, from 0 to 1. */
    function placeOf(event) {
      const box = tracks[0].svg.getBoundingClientRect();
      return clamp((event.clientX - box.left) / box.width, 0, 1);
    }
    const bucketAt = (place) => { const [a, b] = range(); return a + (b - a) * place; };
    const pixelsAt = (place) => {
      const box = tracks[0].svg.getBoundingClientRect();
      return box.left - view.getBoundingClientRect().left + place * box.width;
    };
    view.addEventListener("wheel", (event) => {
      const out = event.deltaY > 0;
      if (event.deltaX && Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 1000);
      else if (out && to - from >= n) return; /* all is shown: the page may scroll on */
      else zoom(Math.exp(clamp(event.deltaY, -240, 240) / 400), bucketAt(placeOf(event)));
      event.preventDefault();
    }, { passive: false });
    let drag = null;
    view.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.clientX < tracks[0].svg.getBoundingClientRect().left) return;
      drag = { x: event.clientX, place: placeOf(event), from, to, pan: event.shiftKey || event.pointerType === "touch" };
      view.setPointerCapture(event.pointerId);
    });
    view.addEventListener("pointermove", (event) => {
      const place = placeOf(event);
      cursor.hidden = false;
      cursor.style.left = pixelsAt(place) + "px";
      if (drag && drag.pan) {
        const shift = (drag.place - place) * (drag.to - drag.from);
        set(drag.from + shift, drag.to + shift);
      } else if (drag) {
        select.hidden = false;
        select.style.left = pixelsAt(Math.min(place, drag.place)) + "px";
        select.style.width = Math.abs(pixelsAt(place) - pixelsAt(drag.place)) + "px";
      }
      const bucket = clamp(Math.floor(bucketAt(place)), 0, n - 1), at = psOf(bucketAt(place));
      const step = steps.find((one) => one.start <= at && at < one.start + one.duration);
      const row = tracks.find((track) => {
        const box = track.svg.getBoundingClientRect();
        return event.clientY >= box.top && event.clientY <= box.bottom;
      });
      showTip(event, [`at ${time(at)}`, row && `${row.name} busy ${share(busyOf(row, bucket, bucket + 1), psOf(bucket + 1) - psOf(bucket))}`,
        step && `step ${stepName(step)}`].filter(Boolean).join("\n"));
    });
    view.addEventListener("pointerup", (event) => {
      if (drag && !drag.pan && Math.abs(event.clientX - drag.x) > 4) {
        const [a, b] = [drag.place, placeOf(event)].sort((x, y) => x - y).map(bucketAt);
        set(a, b);
      }
      drag = null;
      select.hidden = true;
    });
    view.addEventListener("pointercancel", () => { drag = null; select.hidden = true; });
    view.addEventListener("pointerleave", () => { cursor.hidden = true; hideTip(); });
    view.addEventListener("dblclick", () => actions.all());
    addEventListener("resize", draw);
    addEventListener("beforeprint", draw);
    draw();
    return {
      show(start, duration) {
        const margin = duration * 0.25;
        set(((start - margin) / data.window_ps) * n, ((start + duration + margin) / data.window_ps) * n);
        byId("timeline").scrollIntoView({ block: "start" });
        view.focus({ preventScroll: true });
      },
    };
  }

  /* --- step plot --- */
  makePlot();
  function makePlot() {
    if (!steps.length) return;
    const HEIGHT = 224;
    const view = byId("plot-view"), scale = byId("plot-scale"), readout = byId("plot-readout");
    const most = steps.reduce((high, step) => Math.max(high, step.duration), 1);
    const usual = data.steps.p90_ps * 1.5;
    let cut = false, columns = [], at = -1;
    byId("plot").hidden = false;
    scale.hidden = most < usual * 2 || !usual;

    /* One column a step; where there are more steps than room, the slowest of each few. */
    function choose(width) {
      const room = Math.max(20, Math.floor(width / 3));
      if (steps.length <= room) return steps;
      return Array.from({ length: room }, (_, i) =>
        steps.slice(Math.floor((i * steps.length) / room), Math.floor(((i + 1) * steps.length) / room))
          .reduce((slow, step) => (step.duration > slow.duration ? step : slow)));
    }

    function draw() {
      view.textContent = "";
      const svg = makeSvg("svg", { class: "chart", viewBox: `0 0 1000 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
      view.append(svg);
      const width = svg.clientWidth || 1000, top = (cut ? usual : most) * 1.12;
      columns = choose(width);
      const each = 1000 / columns.length, gap = each * width / 1000 > 4 ? each * 0.15 : 0;
      const y = (ps) => HEIGHT - (Math.min(ps, top) / top) * HEIGHT;
      const bars = { busy: [], idle: [] };
      columns.forEach((step, i) => {
        const x = (i * each + gap / 2).toFixed(2), w = (each - gap).toFixed(2);
        const busy = data.devices.length ? y(step.busy) : HEIGHT, all = y(step.duration);
        bars.busy.push(`M${x} ${HEIGHT}V${busy.toFixed(2)}h${w}V${HEIGHT}Z`);
        bars.idle.push(`M${x} ${busy.toFixed(2)}V${all.toFixed(2)}h${w}V${busy.toFixed(2)}Z`);
      });
      svg.append(makeSvg("path", { class: "step-busy", d: bars.busy.join("") }), makeSvg("path", { class: "step-idle", d: bars.idle.join("") }));
      for (const [ps, label] of ticks(0, top, 4)) {
        const line = make("div", "grid");
        line.style.top = y(ps) + "px";
        line.append(make("span", "", label));
        view.append(line);
      }
      if (data.steps.p50_ps) {
        const line = make("div", "grid median");
        line.style.top = y(data.steps.p50_ps) + "px";
        view.append(line);
      }
      const pixels = (i) => svg.getBoundingClientRect().left - view.getBoundingClientRect().left + ((i + 0.5) * width) / columns.length;
      const slow = columns.findIndex((step) => same(step, slowest));
      if (slow >= 0 && columns.length > 1) {
        const x = pixels(slow), place = x < 140 ? "left" : x > width - 80 ? "right" : "";
        const mark = make("div", "mark " + place, `▾ step ${slowest.number}, ${time(slowest.duration)}`);
        if (!place) mark.textContent = `step ${slowest.number}, ${time(slowest.duration)} ▾`;
        mark.style.left = x + "px";
        mark.style.top = Math.max(y(slowest.duration), 14) + "px";
        view.append(mark);
        svg.append(makeSvg("rect", { class: "step-slow", x: slow * each, width: each, y: y(slowest.duration), height: HEIGHT - y(slowest.duration) }));
      }
      const labels = [...new Set([0, 0.25, 0.5, 0.75, 1].map((f) => Math.round(f * (columns.length - 1))))];
      labels.forEach((i, k) => {
        const label = make("span", "under" + (k === 0 ? " first" : k === labels.length - 1 ? " last" : ""), (k === 0 ? "step " : "") + columns[i].number);
        label.style.left = (k === 0 ? pixels(-0.5) : k === labels.length - 1 ? pixels(i + 0.5) : pixels(i)) + "px";
        view.append(label);
      });
      const help = byId("plot-help");
      help.textContent = "";
      if (data.devices.length) help.append(make("span", "key busy"), "device busy (lower part) ", make("span", "key idle"), "device idle (upper part). ");
      if (data.steps.p50_ps) help.append(`Dashed line: median, ${time(data.steps.p50_ps)}. `);
      help.append((columns.length < data.steps.count ? `${count(data.steps.count)} steps; each column is the slowest of about ${count(Math.round(data.steps.count / columns.length))}. ` : "") +
        "Point at a step, or press ← →, to read it" + (strip ? "; click or Enter shows it in the timeline." : "."));
      at = Math.min(at, columns.length - 1);
      point(at);
    }

    function point(i) {
      at = i;
      view.querySelectorAll(".step-at").forEach((old) => old.remove());
      readout.textContent = "";
      const step = columns[i] || slowest;
      if (!step) return;
      readout.textContent = stepWords(step).replace(/^s/, "S");
      readout.dataset.step = step.number;
      if (columns[i])
        view.querySelector("svg").append(makeSvg("rect", { class: "step-at", x: (i * 1000) / columns.length, width: 1000 / columns.length, y: 0, height: HEIGHT }));
    }
    function indexOf(event) {
      const box = view.querySelector("svg").getBoundingClientRect();
      const place = (event.clientX - box.left) / box.width;
      return place < 0 || place >= 1 ? -1 : Math.floor(place * columns.length);
    }
    const show = (step) => { if (strip && step) strip.show(step.start, step.duration); };
    view.addEventListener("pointermove", (event) => {
      const i = indexOf(event);
      point(i);
      if (i >= 0) showTip(event, stepWords(columns[i]).replace(": ", "\n").replaceAll(", ", "\n"));
      else hideTip();
    });
    view.addEventListener("pointerleave", () => { hideTip(); point(-1); });
    view.addEventListener("click", (event) => { hideTip(); show(columns[indexOf(event)]); });
    view.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) point(clamp(at < 0 && by < 0 ? columns.length - 1 : at + by, 0, columns.length - 1));
      else if (event.key === "Enter") show(columns[at]);
      else return;
      event.preventDefault();
    });
    scale.addEventListener("click", () => {
      cut = !cut;
      scale.setAttribute("aria-pressed", cut);
      draw();
    });
    addEventListener("resize", draw);
    addEventListener("beforeprint", draw);
    draw();
    if (!strip) return;
    for (const row of document.querySelectorAll("#steps-table tbody tr")) {
      const button = make("button", "to-step", row.cells[0].textContent);
      button.type = "button";
      button.title = "show in the timeline";
      button.addEventListener("click", () => strip.show(Number(row.dataset.start), Number(row.dataset.duration)));
      row.cells[0].textContent = "";
      row.cells[0].append(button);
    }
  }
})();
