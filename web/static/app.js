// The live page: one run, followed over the feed, or by polling without it.
"use strict";

const el = (id) => document.getElementById(id);
const view = { id: null, run: null, progress: null, metrics: {}, errors: [], rate: null, socket: null };
const charts = {
  rate: new Chart(el("chart-rate"), ["req/s"]),
  ttft: new Chart(el("chart-ttft"), ["p50", "p99"]),
  latency: new Chart(el("chart-latency"), ["p50", "p99"]),
};
const terminal = (state) => ["completed", "cancelled", "failed"].includes(state);

// request sends a request. If the server wants a token, the page asks for it.
async function request(path, options) {
  const response = await fetch(path, options);
  if (response.status === 401) el("login").hidden = false;
  return response;
}

async function get(path) {
  const response = await request(path, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(path + ": " + response.status);
  return response.json();
}

// chosen is the run in the address, else the selected run of the server.
async function chosen() {
  const named = location.hash.match(/^#\/runs\/([0-9a-f]{32})$/);
  if (named) return named[1];
  const response = await request("/api/run");
  return response.ok ? response.headers.get("X-Aiperfd-Run-Id") : null;
}

async function follow() {
  const id = await chosen().catch(() => null);
  if (id !== view.id) {
    Object.assign(view, { id, run: null, progress: null, metrics: {}, errors: [], rate: null });
    Object.values(charts).forEach((c) => c.clear());
  }
  await refresh();
}

// refresh loads everything about the run that is shown.
async function refresh() {
  if (!view.id) return render();
  const id = view.id, base = "/api/runs/" + id;
  try {
    const [run, progress, metrics] = await Promise.all([get(base), get(base + "/progress"), get(base + "/metrics")]);
    if (id !== view.id) return;
    Object.assign(view, { run, progress, metrics: metrics.metrics });
    sample();
    if (terminal(run.state)) await finish(base);
    else await liveErrors(base);
  } catch (problem) {
    if (id === view.id && String(problem).endsWith("404")) { view.id = null; view.run = null; }
  }
  render();
}

// finish loads what exists once a run is over.
async function finish(base) {
  const [results, files] = await Promise.all([get(base + "/results"), get(base + "/results/list")]);
  if (results.results) {
    view.errors = results.results.results.error_summary.map((e) => ({ name: e.error_details.class, note: e.error_details.message, count: e.count }));
  } else {
    await liveErrors(base);
  }
  showFiles(files.files);
}

// liveErrors reads the error counters by class, if there were errors at all.
async function liveErrors(base) {
  if (!Object.values(view.progress.phases).some((p) => p.request_errors > 0)) { view.errors = []; return; }
  const text = await (await request(base + "/metrics.prom")).text();
  const counts = new Map();
  for (const [, name, value] of text.matchAll(/^aiperf_request_errors_total\{class="(\w+)"[^}]*\} (\S+)$/gm)) {
    counts.set(name, (counts.get(name) || 0) + Number(value));
  }
  view.errors = [...counts].filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]).map(([name, count]) => ({ name, note: "", count }));
}

// profiling is the profiling phase that started last.
function profiling() {
  const phases = view.progress ? Object.values(view.progress.phases) : [];
  return phases.filter((p) => p.phase === "profiling").sort((a, b) => b.phase_index - a.phase_index)[0];
}

// sample puts the newest numbers into the charts.
function sample() {
  const phase = profiling();
  if (!phase || !phase.start_ns || !phase.last_update_ns) return;
  const t = (phase.last_update_ns - phase.start_ns) / 1e9;
  const before = view.rate;
  if (!before || before.name !== phase.phase_name || t < before.t) view.rate = { name: phase.phase_name, t, done: phase.requests_completed };
  else if (t - before.t >= 0.9) {
    charts.rate.add(t, [(phase.requests_completed - before.done) / (t - before.t)]);
    view.rate = { name: phase.phase_name, t, done: phase.requests_completed };
  }
  const of = (tag, stat) => (view.metrics[tag] && view.metrics[tag][stat] !== undefined ? view.metrics[tag][stat] : null);
  for (const [chart, tag] of [["ttft", "time_to_first_token"], ["latency", "request_latency"]]) {
    if (of(tag, "p50") !== null) charts[chart].add(Math.round(t), [of(tag, "p50"), of(tag, "p99")]);
  }
}

// connect listens to the feed and reconnects when it is lost.
function connect() {
  const socket = new WebSocket((location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/ws");
  view.socket = socket;
  socket.onopen = () => socket.send(JSON.stringify({
    type: "subscribe", run: "*",
    message_types: ["run_queued", "run_state_changed", "run_deleted", "credit_phase_start", "credit_phase_progress",
      "credit_phase_sending_complete", "credit_phase_complete", "realtime_metrics", "client_verdict", "results_exported", "benchmark_complete"],
  }));
  socket.onmessage = (message) => receive(JSON.parse(message.data));
  socket.onclose = () => { view.socket = null; status(false); setTimeout(connect, 3000); };
}

function status(live) {
  el("feed").textContent = live ? "live" : "polling";
  el("feed").classList.toggle("live", live);
}

function receive(event) {
  if (event.type === "subscribed") { status(true); return; }
  const kind = event.message_type;
  if (["run_queued", "run_state_changed", "run_deleted", "benchmark_complete"].includes(kind)) {
    follow();
    listRuns();
    return;
  }
  if (event.run_id !== view.id || !view.progress) return;
  if (event.stats) view.progress.phases[event.stats.phase_name] = event.stats;
  if (kind === "client_verdict" && view.run) view.run.client = event.client;
  if (event.metrics) view.metrics = Object.fromEntries(event.metrics.map((m) => [m.tag, m]));
  sample();
  render();
}

function render() {
  const run = view.run;
  el("state").textContent = run ? run.state : "idle";
  el("state").className = "pill " + (run ? run.state : "");
  el("cancel").hidden = !run || terminal(run.state);
  showClient(run && run.client);
  el("link-results").href = view.id ? `/api/runs/${view.id}/results` : "/api/results";
  el("alert").hidden = !run || !run.error;
  // There are no points of a run that ended before the page was opened.
  el("charts").hidden = Boolean(run) && terminal(run.state) && charts.ttft.points.length < 2 && charts.rate.points.length < 2;
  el("run-name").textContent = run ? run.name || run.models.join(", ") || run.id : "No run yet";
  document.title = run ? `${run.state} · ${el("run-name").textContent} · aiperfd` : "aiperfd";
  if (!run) {
    el("run-about").replaceChildren("Start a benchmark with ", make("code", {}, "POST /api/runs"), " or ", make("code", {}, "aiperfd profile --api-port"));
    for (const id of ["phases", "tiles", "files"]) el(id).replaceChildren();
    return;
  }
  if (run.error) el("alert").textContent = `${run.error.code}: ${run.error.message}`;
  const load = [run.concurrency ? "concurrency " + run.concurrency : "", run.request_rate ? format.number(run.request_rate) + " req/s" : ""];
  el("run-about").textContent = [run.models.join(", "), run.targets.join(", "), run.endpoint_type + (run.streaming ? ", streaming" : ""),
    load.filter(Boolean).join(", "), run.id].filter(Boolean).join(" · ");
  showPhases();
  showTiles();
  showPercentiles();
  showErrors();
}

// showClient shows the verdict on the load generator.
function showClient(client) {
  const badge = el("client");
  badge.hidden = !client;
  if (!client) return;
  badge.textContent = "load generator " + client.verdict;
  badge.className = "pill client-" + client.verdict;
  badge.title = client.reasons.map((r) => r.message).join("; ") || "no distortion found";
}

function showPhases() {
  const phases = Object.values(view.progress.phases).sort((a, b) => a.phase_index - b.phase_index);
  el("phases").replaceChildren(...phases.map((p) => {
    const done = `${format.count(p.requests_completed)}${p.total_expected_requests ? " of " + format.count(p.total_expected_requests) : ""} requests`;
    const figures = [done, `${format.count(p.in_flight_requests)} in flight`,
      p.requests_eta_sec !== null && p.requests_eta_sec !== undefined ? format.seconds(p.requests_eta_sec) + " left" : p.state];
    const fill = make("i");
    fill.style.width = (p.progress_percent === null || p.progress_percent === undefined ? 0 : p.progress_percent) + "%";
    const bar = make("div", { class: "bar", role: "progressbar", "aria-valuenow": Math.round(p.progress_percent || 0), "aria-label": p.phase_name }, fill);
    return make("div", { class: `phase ${p.phase} ${p.state}` },
      make("span", { class: "name" }, p.phase_name), bar, make("span", { class: "figures" }, figures.join(" · ")));
  }));
}

function tile(label, value, unit, sub, bad) {
  const figure = make("b", {}, value);
  if (unit) figure.append(make("small", {}, unit));
  const box = make("div", { class: bad ? "tile bad" : "tile" }, make("span", {}, label), figure);
  if (sub) box.append(make("span", { class: "sub" }, sub));
  return box;
}

function showTiles() {
  const of = (tag, stat) => (view.metrics[tag] ? view.metrics[tag][stat] : undefined);
  const spread = (tag) => `p90 ${format.number(of(tag, "p90"))} · p99 ${format.number(of(tag, "p99"))}`;
  const phase = profiling();
  const errors = phase ? phase.request_errors : 0;
  const share = phase && phase.requests_completed ? (100 * errors) / phase.requests_completed : 0;
  const cached = of("overall_usage_prompt_cache_read_pct", "avg");
  const unique = of("unique_prompt_ratio", "avg");
  el("tiles").replaceChildren(
    tile("Requests", format.number(of("request_throughput", "avg")), "req/s", phase ? format.count(phase.requests_completed) + " completed" : ""),
    tile("Output", format.number(of("output_token_throughput", "avg")), "tok/s", `${format.number(of("output_token_throughput_per_user", "p50"))} per user (median)`),
    tile("TTFT p50", format.number(of("time_to_first_token", "p50")), "ms", spread("time_to_first_token")),
    tile("ITL p50", format.number(of("inter_token_latency", "p50")), "ms", spread("inter_token_latency")),
    tile("Latency p50", format.number(of("request_latency", "p50")), "ms", spread("request_latency")),
    tile("Prompts cached", format.number(cached), cached === undefined ? "" : "%",
      unique === undefined ? "" : `${format.number(100 * (1 - unique))} % of prompts repeated`),
    tile("Errors", format.count(errors), "", `${format.number(share)} % of requests`, errors > 0),
  );
}

function showPercentiles() {
  const tags = ["time_to_first_token", "time_to_second_token", "inter_token_latency", "request_latency", "output_token_throughput_per_user",
    "input_sequence_length", "output_sequence_length"];
  el("percentiles").tBodies[0].replaceChildren(...tags.filter((t) => view.metrics[t]).map((t) => {
    const m = view.metrics[t];
    return make("tr", {}, make("td", {}, m.header), ...["avg", "p50", "p90", "p99", "max"].map((s) => make("td", {}, format.number(m[s]))), make("td", {}, m.unit));
  }));
}

function showErrors() {
  const rows = view.errors.slice(0, 8).map((e) => make("tr", {}, make("td", { class: "text" }, make("strong", {}, e.name), e.note ? " " + e.note.slice(0, 160) : ""), make("td", {}, format.count(e.count))));
  if (!rows.length) rows.push(make("tr", {}, make("td", { class: "empty" }, "no errors")));
  el("errors").tBodies[0].replaceChildren(...rows);
  if (!terminal(view.run.state)) showFiles([]);
}

function showFiles(files) {
  const rows = files.map((f) => make("li", {}, make("a", { href: f.href }, f.name), make("span", { class: "muted" }, format.bytes(f.size))));
  el("files").replaceChildren(...(rows.length ? rows : [make("li", { class: "empty" }, "available after the run")]));
}

async function listRuns() {
  const list = await get("/api/runs?limit=15").catch(() => null);
  if (!list) return;
  const rows = list.items.map((run) => {
    const s = run.summary || {};
    const took = run.started_at ? ((run.ended_at ? new Date(run.ended_at) : new Date()) - new Date(run.started_at)) / 1000 : null;
    const done = run.summary ? s.requests : run.progress ? run.progress.requests_completed : null;
    const cells = [run.models.join(", "), format.time(run.started_at), format.seconds(took), format.count(done),
      format.number(s.request_throughput_per_sec), format.number(s.time_to_first_token_p50_ms), format.number(s.request_latency_p99_ms),
      format.count(run.summary ? s.errors : run.progress ? run.progress.request_errors : null)];
    return make("tr", run.id === view.id ? { class: "shown" } : {},
      make("td", {}, make("span", { class: "pill " + run.state }, run.state)),
      make("td", {}, make("a", { href: "/dashboard#/runs/" + run.id }, run.name || run.id.slice(0, 12))), ...cells.map((c) => make("td", {}, c)));
  });
  if (!rows.length) rows.push(make("tr", {}, make("td", { class: "empty", colspan: "10" }, "no runs yet")));
  el("runs").tBodies[0].replaceChildren(...rows);
}

el("cancel").addEventListener("click", async () => {
  if (!view.id || !confirm("Cancel this run? The results measured so far are kept.")) return;
  el("cancel").disabled = true;
  await request(`/api/runs/${view.id}/cancel`, { method: "POST" }).catch(() => null);
  el("cancel").disabled = false;
  refresh();
});
// The token becomes a session, whose cookie no script can read.
el("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = el("token").value.trim();
  el("token").value = "";
  const response = await fetch("/api/session", { method: "POST", headers: { Authorization: "Bearer " + token } }).catch(() => null);
  const good = Boolean(response && response.ok);
  el("login").hidden = good;
  el("login-problem").hidden = good;
  if (good) follow().then(listRuns);
});
addEventListener("hashchange", () => { follow().then(listRuns); });
// With a feed the page polls rarely, for what the feed does not contain.
let tick = 0;
setInterval(() => {
  tick++;
  if (!view.run || !terminal(view.run.state)) { if (!view.socket || tick % 2 === 0) follow(); }
  if (tick % 3 === 0) listRuns();
}, 2000);
follow().then(listRuns);
connect();
