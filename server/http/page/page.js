// SPDX-License-Identifier: Apache-2.0
// What an operator wants to see in ten seconds, from GET /v1/status every two. Nothing the server says becomes markup: all of it is set
// as text. A token that is typed in lives in this page's memory only, and is gone with the page.

const EVERY_MS = 2000;
const CLEAR_WAITS_MS = 30000;
const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);

let token = "";
let timer;
let clearing = ""; // the cache that the dialog is about

// ---- asking ----

async function ask(path, body) {
  const headers = {};
  if (body && token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method: body ? "POST" : "GET",
    headers,
    body: body && JSON.stringify(body),
    cache: "no-store",
    signal: AbortSignal.timeout(body ? CLEAR_WAITS_MS : 5000),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    const wrong = new Error(answer.error?.message ?? `the server answered ${response.status}`);
    wrong.status = response.status;
    throw wrong;
  }
  return answer;
}

async function look() {
  clearTimeout(timer);
  if (document.hidden) return; // visibilitychange looks again
  try {
    show(await ask("/v1/status"));
  } catch (wrong) {
    say(`no answer (${wrong.message}); what is below is old`, "bad");
  }
  clearTimeout(timer); // another look may have begun meanwhile
  timer = setTimeout(look, EVERY_MS);
}

// ---- words and figures ----

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const count = (n) => whole.format(n);
const rate = (n) => (n > 0 && n < 10 ? n.toFixed(1) : count(n));
const share = (part, all) => (all ? `${((100 * part) / all).toFixed(part === all || part === 0 ? 0 : 1)} %` : "–");

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
  return `${unit && n < 10 ? n.toFixed(1) : count(n)} ${units[unit]}`;
}

function milliseconds(n) {
  if (n >= 1000) return `${(n / 1000).toFixed(1)} s`;
  return `${n < 10 ? n.toFixed(1) : count(n)} ms`;
}

function duration(ms) {
  const minutes = Math.floor(ms / 60000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 60) return `${minutes} min`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1440)} days`;
}

const reads_of = (step) => step.hits + step.stale + step.negative + step.misses;

// ---- drawing ----

// A screen reader speaks what changes, so nothing is set anew that says the same.
function set(node, text, manner = "") {
  if (node.textContent !== text) node.textContent = text;
  if (node.className !== manner) node.className = manner;
}

const say = (text, manner) => set(at("server"), text, manner);

// The rows stay, so that what has the focus keeps it; only what they say changes.
function rows(table, names, make) {
  const body = at(table).tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.name, row]));
  const wanted = names.map((name) => old.get(name) ?? make(name));
  if (body.rows.length !== wanted.length || wanted.some((row, i) => body.rows[i] !== row)) body.replaceChildren(...wanted);
  return wanted;
}

// A row with a head and a cell for each column, named after it for where the columns have no heads.
function make_row(table, name) {
  const row = document.createElement("tr");
  row.dataset.name = name;
  [...at(table).tHead.rows[0].cells].forEach((column, i) => {
    const cell = document.createElement(i ? "td" : "th");
    if (i) cell.dataset.label = column.textContent;
    else cell.scope = "row";
    row.append(cell);
  });
  row.cells[0].textContent = name;
  return row;
}

function make_cache_row(name) {
  const row = make_row("caches", name);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Clear…";
  button.setAttribute("aria-label", `Clear ${name}`);
  button.addEventListener("click", () => open_clear(name));
  const line = row.cells[1];
  line.className = "line";
  line.append(make_chart());
  const last = row.cells[row.cells.length - 1];
  delete last.dataset.label;
  last.className = "clear";
  last.append(button);
  return row;
}

function make_chart() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  for (const manner of ["reads", "loads"]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", manner);
    svg.append(path);
  }
  return svg;
}

function draw(svg, steps, step_s) {
  const reads = steps.map((step) => reads_of(step) / step_s);
  const loads = steps.map((step) => step.loads / step_s);
  const most = Math.max(...reads, ...loads, 1 / step_s);
  const first = 90 - steps.length; // the newest at the right, however short the history is
  svg.setAttribute("viewBox", "0 0 89 1");
  svg.setAttribute(
    "aria-label",
    steps.length ? `reads a second: ${rate(reads.at(-1))} now, ${rate(most)} at most; loads a second: ${rate(loads.at(-1))} now` : "nothing yet",
  );
  [reads, loads].forEach((line, i) => {
    const points = line.map((n, step) => `${first + step} ${(0.97 - (0.94 * n) / most).toFixed(4)}`);
    svg.children[i].setAttribute("d", points.length ? `M${points.join("L")}h0` : ""); // h0: the only point is a dot
  });
}

function show_cache(row, cache) {
  const { steps, step_ms, load_ms } = cache.history;
  const sum = (name) => steps.reduce((all, step) => all + step[name], 0);
  const reads = steps.reduce((all, step) => all + reads_of(step), 0);
  const errors = sum("load_errors");
  const latest = steps.at(-1);
  const has_loads = load_ms.count > 0;
  const figures = [
    [latest ? rate(reads_of(latest) / (step_ms / 1000)) : "–"],
    [share(reads - sum("misses"), reads)],
    [count(sum("stale"))],
    [count(cache.entries)],
    [bytes(cache.bytes)],
    [count(sum("loads"))],
    [count(errors), errors ? "bad" : ""],
    [count(cache.in_flight)],
    [has_loads ? milliseconds(load_ms.p50) : "–"],
    [has_loads ? milliseconds(load_ms.p99) : "–"],
  ];
  draw(row.cells[1].firstElementChild, steps, step_ms / 1000);
  figures.forEach(([text, manner], i) => set(row.cells[i + 2], text, manner));
}

function show_loader(row, loader) {
  const is_well = loader.state === "running";
  const figures = [
    [loader.state, is_well ? "text good" : "text bad"],
    [loader.version, "text"],
    [loader.pid ? String(loader.pid) : "–"],
    [count(loader.in_flight)],
    [count(loader.queued)],
    [count(loader.started)],
    [count(loader.deaths), loader.deaths ? "bad" : ""],
  ];
  figures.forEach(([text, manner], i) => set(row.cells[i + 1], text, manner));
}

const deeds = { clear: "cleared", invalidate: "invalidated in", put: "put into", loader: "loader" };

function show_events(events) {
  const list = at("changes");
  const newest = String(events.at(-1)?.number ?? "");
  if (list.dataset.newest === newest && list.children.length) return;
  list.dataset.newest = newest;
  list.replaceChildren(
    ...events.toReversed().map((event) => {
      const item = document.createElement("li");
      const time = document.createElement("time");
      const when = new Date(event.at_ms);
      time.dateTime = when.toISOString();
      time.textContent = when.toLocaleTimeString();
      item.append(time, `${event.one_key ? "one key " : ""}${deeds[event.kind] ?? event.kind} ${event.name}`);
      return item;
    }),
  );
  if (!events.length) {
    const item = document.createElement("li");
    item.textContent = "None since the server was started.";
    list.append(item);
  }
}

function show(status) {
  const snapshot = status.snapshot === null ? "no snapshot" : status.snapshot.degraded ? "the snapshot is degraded, see the log" : "snapshot well";
  const is_well = status.state === "serving" && !status.snapshot?.degraded;
  say(`${status.version}, ${status.state} for ${duration(status.uptime_ms)}, ${count(status.server.connections_open)} connections, ${snapshot}`, is_well ? "" : "bad");
  at("figures").hidden = false;
  rows("caches", status.caches.map((cache) => cache.name), make_cache_row).forEach((row, i) => show_cache(row, status.caches[i]));
  rows("loaders", status.loaders.map((loader) => loader.name), (name) => make_row("loaders", name)).forEach((row, i) => show_loader(row, status.loaders[i]));
  at("loaders").hidden = !status.loaders.length;
  show_events(status.events);
}

// ---- clearing ----

function open_clear(name) {
  clearing = name;
  at("clear-title").textContent = `Clear ${name}?`;
  at("clear-report").textContent = "";
  at("clear-token-line").hidden = true;
  at("clear-yes").hidden = false;
  at("clear-yes").disabled = false;
  at("clear-no").textContent = "Keep it";
  at("clear").showModal();
}

async function clear_it() {
  at("clear-yes").disabled = true;
  if (!at("clear-token-line").hidden) token = at("clear-token").value.trim();
  set(at("clear-report"), "clearing …");
  try {
    const [report] = (await ask("/v1/clear", { cache: clearing })).reports;
    set(
      at("clear-report"),
      `Done: ${count(report.dropped)} entries dropped, ${count(report.fenced)} running loads overtaken, ${count(report.released)} waiting requests let go.`,
      "good",
    );
    at("clear-token-line").hidden = true;
    at("clear-yes").hidden = true;
    at("clear-no").textContent = "Close";
    at("clear-no").focus();
    look();
  } catch (wrong) {
    const needs_token = wrong.status === 401 || wrong.status === 403;
    set(at("clear-report"), needs_token && !token ? "A token is needed for that." : `Not cleared: ${wrong.message}.`, "bad");
    at("clear-yes").disabled = false;
    if (needs_token) {
      at("clear-token-line").hidden = false;
      at("clear-token").focus();
    }
  }
  at("clear-token").value = "";
}

at("clear-yes").addEventListener("click", clear_it);
at("clear-token").addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault(); // the form's own answer would be to close
    clear_it();
  }
});
document.addEventListener("visibilitychange", look);
look();
