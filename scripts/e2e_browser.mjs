// The dashboard in a real browser:
// node e2e_browser.mjs BASE_URL TARGET_URL CHROMIUM SCREENSHOTS RESTART
// The command RESTART kills the daemon and starts it again with its data.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const [base, target, executablePath, screenshots, restart] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120_000 });
const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
page.setDefaultTimeout(60_000);
const requests = [], problems = [], frames = [];
page.on("request", (r) => requests.push(r.url()));
page.on("pageerror", (e) => problems.push(String(e)));
page.on("console", (m) => { if (m.type() === "error") problems.push(m.text()); });
page.on("websocket", (ws) => {
  requests.push(ws.url());
  ws.on("framereceived", (f) => frames.push(JSON.parse(f.payload)));
});

const shows = (selector, text) => page.waitForFunction(
  ([s, t]) => new RegExp(t).test(document.querySelector(s)?.textContent ?? ""), [selector, text]);

/** judge fails for what axe-core finds, for a page wider than the window, in both themes. */
async function judge(name) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 400]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 1000 });
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${screenshots}/${name}-${colorScheme}-${width}.png`, fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${name} is ${wide} px wide in a window of ${width} px`);
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await window.axe.run()).violations);
      assert.deepEqual(found.map((v) => `${v.id}: ${v.nodes[0].html}`), [], `${name}, ${colorScheme}, ${width} px`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 1000 });
}

/** start fills in the form and starts the run; it returns its id. */
async function start(name, concurrency, duration) {
  await page.goto(base + "/#/new");
  await page.waitForSelector(".cm-content");
  await page.fill("label:has-text('Name') input", name);
  await page.fill("label:has-text('Server') input", target);
  await page.fill("label:has-text('Model') input", "m");
  await page.fill("label:has-text('Concurrency') input", String(concurrency));
  await page.fill("label:has-text('Duration') input", String(duration));
  await page.fill("label:has-text('Input tokens') input", "32");
  await page.fill("label:has-text('Output tokens') input", "16");
  await page.waitForSelector("text=The document is valid.");
  await page.waitForTimeout(600);
  await page.click("text=Start the run");
  await page.waitForURL(/#\/runs\/[0-9a-f]{32}$/);
  return page.url().match(/[0-9a-f]{32}$/)[0];
}

/** report opens a report from a file: it requests nothing, and is whole, accessible and printable. */
async function report(path, name, text) {
  const file = `${screenshots}/${name}.html`;
  const body = await (await fetch(base + path)).text();
  assert.ok(body.length < 3 << 20, `${name} has ${body.length} bytes`);
  writeFileSync(file, body);
  const asked = requests.length;
  await page.goto("file://" + file);
  await page.waitForSelector(".chart canvas");
  await shows("main", text);
  await judge(name);
  const metric = "[aria-label=Distributions] label:has-text('Metric') select";
  for (const value of ["", ...await page.$$eval(metric + " option", (all) => all.map((o) => o.value))]) {
    if (value) await page.selectOption(metric, value);
    await page.waitForTimeout(100);
    assert.ok(!(await page.innerText("main")).includes("not in this report"), `${name} lacks data (${value})`);
  }
  await page.pdf({ path: `${screenshots}/${name}.pdf`, format: "A4" });
  const beyond = requests.splice(asked).filter((u) => u !== "file://" + file && !u.startsWith("data:"));
  assert.deepEqual(beyond, [], `${name} requests something`);
}

/** said checks what the page of a run says of its server, whose first tokens took ttft ms from the starts of requests. */
async function said(id, ttft, three) {
  const { server } = await json(`/api/runs/${id}/telemetry`);
  const phase = server.phases.find((p) => p.kind === "profiling");
  if (!phase.time_budget) { // a busy machine may answer the first reading too late
    console.log("browser: the page of metrics was read too late at the start of the phase, so there is no time budget");
    return;
  }
  const { corrected_ttft_ms: whole, segments } = phase.time_budget;
  const sum = (names) => segments.filter((s) => names.includes(s.name)).reduce((ms, s) => ms + s.ms, 0);
  const all = sum(segments.map((s) => s.name));
  assert.ok(Math.abs(all - whole) < 1e-6 * whole, `the segments add up to ${all} of ${whole} ms`);
  assert.ok(Math.abs(whole - sum(["client"]) - ttft) < 0.01 * ttft, `the time budget has ${whole} ms, the metrics ${ttft} ms`);
  await shows(".server h2", "^Server: vLLM$");
  // The page reads the telemetry once more when the run has ended, a moment after this.
  const has = (text) => page.waitForFunction((t) => document.querySelector(".server")?.textContent.includes(t), text)
    .catch(async () => assert.fail(`the page does not say: ${text}; it says: ${await page.textContent(".server")}`));
  await has(three(whole) + " ms");
  for (const f of phase.findings) await has(f.message.slice(1));
  // Without the kernel's counts, the network is not told apart.
  const names = segments.map((s) => s.name);
  const trip = names.includes("path");
  const parts = await page.$$eval(".budget li", (list) => list.map((e) => e.textContent.replace(/[0-9].*/, "").trim()));
  assert.deepEqual(parts, ["client", ...(trip ? ["network", "frontend"] : ["network and frontend"]), "queue", "prefill"]);
  await page.locator(".charts .chart:has-text('Requests in the server')").scrollIntoViewIfNeeded();
  await page.waitForSelector(".charts .chart:has-text('Requests in the server') canvas");
}

const json = async (path) => (await fetch(base + path)).json();

try {
  // A problem of the document is shown where it is, and the run cannot be started.
  await page.goto(base + "/#/new");
  await page.waitForSelector(".cm-content");
  await page.fill("label:has-text('Concurrency') input", "-3");
  await shows(".problems", "/benchmark/phases/1/concurrency");
  assert.ok(await page.isDisabled("text=Start the run"), "an invalid document can be started");
  await judge("invalid");
  await page.fill("label:has-text('Concurrency') input", "8");

  // A run is started from the form and watched to its end.
  const first = await start("e2e one", 4, 8);
  await shows("#feed", "^live$");
  await shows(".actions .pill", "^running$");
  await shows(".tiles", "TTFT p50\\D*[0-9]");
  await page.waitForSelector(".chart canvas");
  const before = await page.textContent(".tiles");
  await page.waitForFunction((was) => document.querySelector(".tiles").textContent !== was, before);
  await page.screenshot({ path: `${screenshots}/live.png`, fullPage: true });

  // Its live numbers are those of the API.
  const three = (v) => (v >= 99.95 ? Math.round(v).toLocaleString("en-US") : v >= 9.995 ? v.toFixed(1) : v >= 0.995 ? v.toFixed(2) : v.toPrecision(2));
  let same = false;
  for (let i = 0; i < 100 && !same; i++) {
    const [shown, { metrics: live }] = [await page.textContent(".tiles"), await json(`/api/runs/${first}/metrics`)];
    same = ["time_to_first_token", "request_latency"].every((tag) => shown.includes(three(live[tag].p50) + "ms"));
    await page.waitForTimeout(100);
  }
  assert.ok(same, "the live numbers are never those of /api/runs/{id}/metrics");
  await shows(".actions .pill", "^completed$");
  await page.waitForSelector("text=profile_export_aiperf.json");
  const ended = frames.filter((f) => f.message_type === "benchmark_complete" && f.run_id === first);
  assert.equal(ended.length, 1, "benchmark_complete came " + ended.length + " times");

  // The page shows the numbers of the API.
  const { metrics } = await json(`/api/runs/${first}/metrics`);
  await shows(".tiles", "TTFT p50\\D*" + three(metrics.time_to_first_token.p50));
  // What the server says of itself is that of the API, and the parts of the time to the first token add up to it.
  await said(first, metrics.time_to_first_token.avg, three);
  // Histogram, cumulative distribution, heat map and single requests come into view, with the
  // numbers of the API; a slow request shows its timeline.
  await page.locator("[aria-label=Distributions]").scrollIntoViewIfNeeded();
  await page.waitForSelector("[aria-label=Distributions] .plot canvas");
  const { distributions } = await json(`/api/runs/${first}/distributions?metric=time_to_first_token`);
  await shows("[aria-label=Distributions] .facts", `^${distributions.time_to_first_token.count} values`);
  await page.waitForFunction(() => document.querySelectorAll("[aria-label=Distributions] .plot canvas").length === 4);
  await page.selectOption("[aria-label=Distributions] select", "request_latency");
  await shows("[aria-label=Distributions] .charts figcaption", "^Request latency");
  // The heat map stands above the lines, and shares the zoom with them.
  const over = "[aria-label='Over time']";
  await page.locator(`${over} .plot.tall`).scrollIntoViewIfNeeded();
  await page.hover(`${over} .plot.tall .u-over`);
  await shows(`${over} .charts.whole .legend`, "[0-9] (of [0-9]|requests)");
  assert.equal(await page.locator(`${over} .reset-zoom`).count(), 0, "a reset of the zoom without a zoom");
  const box = await page.locator(`${over} .plot.tall .u-over`).boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 50, { steps: 5 });
  await page.mouse.up();
  await page.click(`${over} .reset-zoom`);
  await page.waitForFunction(() => !document.querySelector(".reset-zoom"));
  // A line of a legend is shown alone, and with the others again.
  const key = page.locator(`${over} .key`).first();
  await key.click();
  assert.equal(await key.getAttribute("aria-pressed"), "true");
  await key.click();
  assert.equal(await key.getAttribute("aria-pressed"), "false");
  await page.locator(".card:has-text('Slowest requests')").scrollIntoViewIfNeeded();
  await page.waitForSelector(".slowest tbody tr:nth-child(20)");
  const { slowest } = await json(`/api/runs/${first}/samples`);
  await page.click(".slowest button");
  await page.waitForSelector(".timeline svg .gaps");
  await shows(".slowest .detail", slowest.request_latency[0].request_id);
  // No number of the table of metrics is cut off.
  for (const width of [1280, 1920]) {
    await page.setViewportSize({ width, height: 1000 });
    const cut = await page.$eval("[aria-label=Metrics]", (e) => e.scrollWidth - e.clientWidth);
    assert.ok(cut <= 0, `the table of metrics lacks ${cut} px in a window of ${width} px`);
  }
  await judge("run");

  // A file is downloaded as it is on the daemon.
  const [download] = await Promise.all([page.waitForEvent("download"), page.click('text="profile_export_aiperf.json"')]);
  let size = 0;
  for await (const chunk of createReadStream(await download.path())) size += chunk.length;
  const listed = (await json(`/api/runs/${first}/results/list`)).files.find((f) => f.name === "profile_export_aiperf.json");
  assert.equal(size, listed.size, "the download is not the file");
  const file = await json(`/api/runs/${first}/results/files/profile_export_aiperf.json`);
  assert.equal(metrics.time_to_first_token.p50, file.time_to_first_token.p50, "the API and the file differ");

  // On a page that is slowed six times while the run streams, no key is lost in the editor
  // and a problem of the syntax is at its line.
  const background = "{metadata: {name: e2e typing}, benchmark: {model: m, endpoint: {url: '" + target + "', type: chat, streaming: true}, " +
    "dataset: {type: synthetic, isl: 16, osl: 16}, phases: [{name: profiling, type: poisson, rate: 200, duration: 120}]}}";
  const busy = await (await fetch(base + "/api/runs", { method: "POST", body: background, headers: { "Content-Type": "application/yaml" } })).json();
  const typist = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  const cdp = await typist.context().newCDPSession(typist);
  // The part of the charts that the reader chose stays while points are added, and the page does not work without end.
  // (What watching costs is measured on a machine that does nothing else, by looks/speed.mjs.)
  await typist.goto(`${base}/#/runs/${busy.id}`);
  const lines = typist.locator(".charts .chart:has-text('Requests, per second') .u-over");
  await lines.scrollIntoViewIfNeeded();
  await typist.waitForFunction(() => /heat map from [^,]* to ([4-9]|\d\d|\d+:)/.test(document.querySelector(".chart .plot.tall")?.getAttribute("aria-label") ?? ""));
  // What appears above the chart moves it, so where it is is asked before each movement.
  const at = async (part) => {
    await lines.scrollIntoViewIfNeeded();
    const area = await lines.boundingBox();
    return [area.x + area.width * part, area.y + 40];
  };
  const until = async (what, act) => {
    for (let tries = 0; tries < 20; tries++) {
      const result = await act();
      if (result) return result;
      await typist.waitForTimeout(500);
    }
    throw new Error(`not seen on the page of a live run: ${what}`);
  };
  await until("a part of the chart that was chosen", async () => {
    await typist.mouse.move(...(await at(0.2)));
    await typist.mouse.down();
    await typist.mouse.move(...(await at(0.5)), { steps: 5 });
    await typist.mouse.up();
    return typist.locator(".reset-zoom").count();
  });
  const seen = () => until("the time at the pointer", async () => {
    await typist.mouse.move(...(await at(0.9)), { steps: 2 });
    return typist.locator(".charts .chart:has-text('Requests, per second') .legend .muted").first().textContent({ timeout: 500 }).catch(() => "");
  });
  const chosen = await seen();
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const worked = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
  const began = [await worked(), performance.now()];
  await typist.waitForTimeout(4000);
  const share = (await worked() - began[0]) / (performance.now() - began[1]) * 1000;
  assert.ok(share <= 0.5, `the page of a live run takes ${(100 * share).toFixed(1)} % of a thread`);
  assert.equal(await seen(), chosen, "the zoom was lost while points were added");
  await typist.goto(base + "/#/new");
  await typist.waitForSelector(".cm-content");
  await typist.click(".cm-content");
  await typist.keyboard.press("Control+End");
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 6 });
  const typed = "# The quick brown fox jumps over the lazy dog, twice, and every key is kept: 0123456789";
  await typist.keyboard.type(typed, { delay: 20 });
  await typist.waitForFunction((end) => document.querySelector(".editor").shadowRoot.textContent.includes(end), typed);
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 1 });
  await typist.waitForSelector("text=The document is valid.");
  await typist.keyboard.type("\n\t: [");
  await typist.waitForSelector("text=Checking …");
  assert.ok(await typist.isDisabled("text=Start the run"), "a document that was not checked can be started");
  await typist.waitForFunction(() => /line [0-9]+/.test(document.querySelector(".problems")?.textContent ?? ""));
  await typist.waitForFunction(() => document.querySelector(".editor").shadowRoot.querySelector(".cm-lint-marker-error"));
  await typist.evaluate(() => sessionStorage.clear());
  await typist.close();
  assert.equal((await json("/api/runs/" + busy.id)).state, "running", "the run ended while keys were typed");
  const stopped = await fetch(`${base}/api/runs/${busy.id}/cancel`, { method: "POST" });
  assert.equal(stopped.status, 202, "the run cannot be cancelled");
  for (let i = 0; i < 100 && (await json("/api/runs/" + busy.id)).state !== "cancelled"; i++) await page.waitForTimeout(200);
  await fetch(`${base}/api/runs/${busy.id}`, { method: "DELETE" });

  // A second run is compared with the first.
  const second = await start("e2e two", 8, 4);
  await shows(".actions .pill", "^completed$");
  await page.goto(base + "/#/");
  for (const name of ["e2e one", "e2e two"]) await page.check(`[aria-label="Compare ${name}"]`);
  await shows(".chosen-bar", "2 runs to compare: e2e one, e2e two");
  await judge("runs");
  // Every number is inside the window, whatever its width, and a long name is cut.
  await fetch(`${base}/api/runs/${first}`, {
    method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" },
    body: JSON.stringify({ name: "e2e one " + "with a long name ".repeat(5), labels: { team: "inference", gpu: "h100", nightly: "yes" } }),
  });
  await page.reload();
  await shows(".runs tbody", "with a long name with");
  for (const width of [400, 800, 1024, 1280, 1366, 1920]) {
    await page.setViewportSize({ width, height: 1000 });
    await page.waitForTimeout(200);
    const outside = await page.$$eval(".runs td.number, .runs td.count", (cells) => cells.filter((c) => {
      const box = c.getBoundingClientRect();
      return box.width === 0 || box.right > innerWidth || c.scrollWidth > c.clientWidth + 1;
    }).map((c) => c.textContent));
    assert.deepEqual(outside, [], `numbers outside a window of ${width} px`);
  }
  await page.setViewportSize({ width: 1280, height: 1000 });
  await fetch(`${base}/api/runs/${first}`, {
    method: "PATCH", headers: { "Content-Type": "application/merge-patch+json" },
    body: JSON.stringify({ name: "e2e one", labels: { team: null, gpu: null, nightly: null } }),
  });
  // A header sorts on the daemon, and the order is remembered.
  await page.click("th.number:has-text('TTFT p99') button");
  const ascending = (await json("/api/runs?state=completed&sort=time_to_first_token_p99_ms")).items.map((r) => r.name);
  await page.waitForFunction((names) => [...document.querySelectorAll(".runs td.name a:first-child")].map((a) => a.textContent).join() === names, ascending.join());
  await page.reload();
  await page.waitForSelector("th[aria-sort=ascending]");
  await page.selectOption("label:has-text('Sort') select", "");
  // Pages of one run: the next one has another run, and the previous one leads back.
  await page.route(/api\/runs\?limit=50/, (route) => route.continue({ url: route.request().url().replace("limit=50", "limit=1") }));
  await page.goto(base + "/#/?kind=run");
  const only = async () => (await page.locator(".runs td.name a:first-child").allTextContents()).join();
  const turn = async (text, was) => {
    await page.click(`.pager >> text=${text}`);
    await page.waitForFunction((name) => ![name, ""].includes(document.querySelector(".runs td.name a")?.textContent ?? ""), was);
    return only();
  };
  await page.waitForFunction(() => document.querySelectorAll(".runs tbody tr").length === 1);
  const newest = await only();
  assert.equal(newest, "e2e two");
  assert.equal(await turn("Next page", newest), "e2e one");
  assert.equal(await turn("Previous page", "e2e one"), newest);
  assert.equal(await page.locator(".pager >> text=Previous page").count(), 0, "the first page has one before it");
  await page.unroute(/api\/runs\?limit=50/);
  await page.goto(base + "/#/");
  await page.reload();
  await page.click("text=Trends of these runs");
  await page.waitForSelector(".charts canvas");
  await shows(".trend-table tbody", "e2e (one|two)");
  await judge("trends");
  await page.goto(base + "/#/nowhere");
  await shows("main h1", "no such page");
  await judge("missing");
  await page.goto(base + "/#/");
  for (const name of ["e2e one", "e2e two"]) await page.check(`[aria-label="Compare ${name}"]`);
  await page.click(".chosen-bar a");
  await page.waitForSelector("text=Values beside the baseline");
  await shows("main", "/phases/1/concurrency");
  await page.locator("[aria-label=Distributions]").scrollIntoViewIfNeeded();
  await page.waitForSelector("[aria-label=Distributions] .charts.three .chart:nth-child(3) canvas");
  assert.ok(page.url().includes(first) && page.url().includes(second), "the address does not name the runs");
  await judge("compare");

  // The reports of both are files that work without the daemon.
  await report(`/api/runs/${first}/report.html`, "report", "e2e one");
  await report(`/api/compare/report.html?ids=${first},${second}`, "report-compare", "e2e two");

  // The name, the labels and the pin of a run are changed; the list has them.
  await page.goto(`${base}/#/runs/${second}`);
  await page.click("text=Edit");
  await page.fill("form.edit textarea >> nth=0", "gpu=h100\nteam=infra");
  await page.fill("form.edit textarea >> nth=1", "A note of two words.");
  await page.check("form.edit input[type=checkbox]");
  await judge("edit");
  await page.click("form.edit button.primary");
  await shows("#main", "A note of two words");
  await page.goto(base + "/#/?label=gpu%3Dh100");
  await shows(".runs tbody", "e2e two.*pinned");
  assert.equal(await page.locator(".runs tbody tr").count(), 1, "the filter by label");

  // The simulator, a template with objectives, and the last seconds beside the whole run.
  await page.goto(base + "/#/new?from=simulator");
  await page.waitForSelector("text=The document is valid.");
  assert.match(await page.inputValue("label:has-text('Server') input"), /^http:\/\/127\.0\.0\.1:\d+$/);
  await page.fill("label:has-text('Name') input", "e2e simulator");
  await page.fill("label:has-text('Duration') input", "25");
  await page.waitForTimeout(600);
  await judge("new");
  await page.waitForSelector("text=The document is valid.");
  await page.click("text=Start the run");
  await page.waitForURL(/#\/runs\/[0-9a-f]{32}$/);
  const third = page.url().match(/[0-9a-f]{32}$/)[0];
  await shows(".tiles", "Goodput\\D*[0-9]");

  // Two runs wait: the second is put first. A paused queue says so.
  await fetch(base + "/api/queue/pause", { method: "POST" });
  const document = (name) => `{metadata: {name: ${name}}, benchmark: {model: m, endpoint: {url: '${target}', type: chat, streaming: true}, ` +
    "dataset: {type: synthetic, isl: 16, osl: 4}, phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 2}]}}";
  for (const name of ["e2e wait one", "e2e wait two"]) {
    const answer = await fetch(base + "/api/runs", { method: "POST", body: document(name), headers: { "Content-Type": "application/yaml" } });
    assert.equal(answer.status, 201);
  }
  await page.goto(base + "/#/");
  await shows(".card", "The queue is paused");
  await page.click("li:has-text('e2e wait two') >> text=Start next");
  await page.waitForSelector("li:has-text('e2e wait two') >> text=queued, 1");
  await page.click("text=Resume the queue");
  await page.waitForSelector("text=Pause the queue");

  // The daemon is killed and started again under the page of an active run: the page says so,
  // catches up, and shows how the run has ended.
  await page.goto(`${base}/#/runs/${third}`);
  await page.waitForSelector(".card label:has-text('Of') select");
  await page.selectOption(".card label:has-text('Of') select", "recent");
  await shows("[aria-label=Metrics] table", "Time to First Token");
  const noise = problems.length;
  await promisify(execFile)(restart);
  await shows("#feed", "^live$");
  await shows(".actions .pill", "^(failed|completed)$");
  await page.waitForSelector(".chart canvas");
  const during = problems.splice(noise).filter((p) => !/WebSocket|ERR_CONNECTION_REFUSED|Failed to load resource/.test(p));
  assert.deepEqual(during, [], "errors of the page while the daemon was away");
  await judge("restarted");

  await page.goto(base + "/docs");
  await page.waitForFunction(() => document.body.textContent.includes("/api/runs/{id}/cancel"));
  await page.click("#postApiRuns summary");
  await shows("#postApiRuns", '"gracePeriod": number ≥ 0 \\| string such as "30s"');
  assert.ok(!/url_strategy|adaptiveScale|config\.Null/.test(await page.textContent("#postApiRuns pre")), "the schema lists second spellings");
  await judge("docs");

  const host = new URL(base).host;
  const strangers = requests.filter((u) => !/^(data|blob):/.test(u) && new URL(u).host !== host);
  assert.deepEqual(strangers, [], "requests to other hosts");
  assert.deepEqual(problems, [], "errors on the page");
  console.log(`browser: a live page takes ${(100 * share).toFixed(1)} % of a thread`);
  console.log(`browser: ${requests.length} requests, ${frames.length} frames, all with ${host}`);
} finally {
  await page.screenshot({ path: `${screenshots}/last.png`, fullPage: true }).catch(() => undefined);
  await browser.close();
}
