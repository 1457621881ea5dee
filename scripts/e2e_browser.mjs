// The live page in a real browser:
// node e2e_browser.mjs BASE_URL RUN_ID CHROMIUM SCREENSHOT
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [base, id, executablePath, screenshot] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  const requests = [], problems = [], frames = [];
  page.on("request", (r) => requests.push(r.url()));
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") problems.push(m.text()); });
  page.on("websocket", (ws) => {
    requests.push(ws.url());
    ws.on("framereceived", (f) => frames.push(JSON.parse(f.payload)));
  });

  await page.goto(base + "/");
  const shows = (selector, text) => page.waitForFunction(
    ([s, t]) => new RegExp(t).test(document.querySelector(s).textContent), [selector, text], { timeout: 30_000 });
  await shows("#state", "^running$");
  await shows("#feed", "^live$");
  assert.match(await page.textContent("#run-name"), /e2e/);
  assert.match(await page.textContent("#run-about"), new RegExp(id));

  // The numbers move, and it is the feed that moves them.
  await shows("#tiles", "TTFT p50\\s*[0-9]");
  const messages = (type) => frames.filter((f) => f.message_type === type).length;
  const before = { tiles: await page.textContent("#tiles"), metrics: messages("realtime_metrics"), progress: messages("credit_phase_progress") };
  await page.waitForFunction((was) => document.querySelector("#tiles").textContent !== was, before.tiles, { timeout: 10_000 });
  const moving = Date.now() + 10_000;
  while (messages("realtime_metrics") <= before.metrics || messages("credit_phase_progress") <= before.progress) {
    assert.ok(Date.now() < moving, "no messages over the WebSocket");
    await page.waitForTimeout(100);
  }
  await page.screenshot({ path: screenshot, fullPage: true });

  await shows("#state", "^completed$");
  await shows("#files", "profile_export_aiperf\\.json");
  await shows("#percentiles", "Time to First Token");
  await shows("#errors", "no errors");
  await shows("#runs", "completed");
  const ended = frames.filter((f) => f.message_type === "benchmark_complete" && f.run_id === id);
  assert.equal(ended.length, 1, "benchmark_complete came " + ended.length + " times");

  await page.goto(base + "/docs");
  await page.waitForFunction(() => document.body.textContent.includes("/api/runs/{id}/cancel"), null, { timeout: 10_000 });
  // The schema of documents is there, and it does not widen the page.
  await page.setViewportSize({ width: 700, height: 1000 });
  await page.click("#postApiRuns summary");
  assert.match(await page.textContent("#postApiRuns"), /"gracePeriod": number ≥ 0 \| string such as "30s"/);
  assert.ok(!/url_strategy|adaptiveScale|config\.Null/.test(await page.textContent("#postApiRuns pre")), "the schema lists second spellings");
  const [wide, view] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= view, `the page of the API is ${wide} px wide in a window of ${view} px`);

  const host = new URL(base).host;
  const strangers = requests.filter((u) => !u.startsWith("data:") && new URL(u).host !== host);
  assert.deepEqual(strangers, [], "requests to other hosts");
  assert.deepEqual(problems, [], "errors on the page");
  console.log(`browser: ${requests.length} requests, ${frames.length} frames, all with ${host}`);
} finally {
  await browser.close();
}
