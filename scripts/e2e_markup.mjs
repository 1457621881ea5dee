// Markup and script in whatever others write: names, notes, labels, models, prompts, error texts and file
// names. Nothing of it runs in the pages or in a report, with their content security policy or without it:
// node e2e_markup.mjs BASE_URL CHROMIUM FOLDER
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";

const [base, executablePath, folder] = process.argv.slice(2);
const evil = (where) => `${where}</script><img src=x onerror="ran('${where}')"><script>ran('${where}')</script>` +
  `<svg onload="ran('${where}')"></svg>"'><b>`;

// A server whose every second answer is an error, and whose text is markup, too.
let answers = 0;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (!request.url.endsWith("/completions")) response.writeHead(404).end();
    else if (answers++ % 2 === 0) response.writeHead(500, { "Content-Type": "application/json" }).end(JSON.stringify({ error: { message: evil("error"), type: evil("type") } }));
    else response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({
      id: "1", object: "chat.completion", model: evil("answer"), choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: evil("content") } }],
      usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
    }));
  });
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));

const call = async (path, options) => {
  const answer = await fetch(base + path, options);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
};
const benchmark = {
  model: evil("model"),
  endpoint: { url: `http://127.0.0.1:${server.address().port}`, type: "chat" },
  dataset: { type: "file", format: "single_turn", records: [{ text: evil("prompt") }] },
  tokenizer: { name: "builtin" },
  artifacts: { level: "raw" },
  phases: [{ name: "profiling", type: "concurrency", concurrency: 1, requests: 8 }],
};
const post = (document) => call("/api/runs", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document) });
const metadata = { name: evil("name"), labels: { team: evil("label") }, notes: evil("notes") };
const one = (await post({ metadata, benchmark })).id;
const sweep = (await post({ metadata, benchmark, sweep: { type: "grid", parameters: { concurrency: [1, 2] } } })).id;
for (const id of [one, sweep]) {
  for (let i = 0; !["completed", "failed"].includes((await call("/api/runs/" + id)).state); i++) {
    assert.ok(i < 300, "the run does not end");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120_000 });
try {
  for (const bypassCSP of [false, true]) {
    const context = await browser.newContext({ bypassCSP });
    const page = await context.newPage();
    const ran = [], refused = [];
    await context.exposeFunction("ran", (where) => ran.push(where));
    page.on("dialog", (d) => { ran.push("dialog"); d.dismiss(); });
    page.on("console", (m) => { if (/Content Security Policy/.test(m.text())) refused.push(m.text()); });
    // Names of files are those of the daemon: a page must bear others.
    await page.route("**/results/list", async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      body.files.unshift({ ...body.files[0], name: evil("file") });
      await route.fulfill({ response: answer, json: body });
    });
    /** visit opens a page, waits for a text that is there only if the markup is shown as text. */
    const visit = async (url, where) => {
      await page.goto("about:blank");
      await page.goto(url);
      for (const text of where) {
        await page.waitForFunction((t) => document.body.textContent.includes(t) || [...document.querySelectorAll("input, textarea, option")].some((e) => e.value.includes(t)),
          `${text}</script><img src=x`, { timeout: 20_000 }).catch(() => assert.fail(`${url} does not show ${text}`));
      }
      await page.evaluate(async () => {
        for (let y = 0; y < document.documentElement.scrollHeight; y += 800) {
          scrollTo(0, y);
          await new Promise((resolve) => setTimeout(resolve, 60));
        }
      });
      assert.equal(await page.locator("img[src=x], svg[onload]").count(), 0, `${url} has made elements of markup`);
    };
    await visit(`${base}/#/`, ["name", "model"]);
    await visit(`${base}/#/runs/${one}`, ["name", "model", "label", "notes", "error", "file"]);
    await page.click("text=Edit");
    await visit(`${base}/#/runs/${sweep}`, ["name", "notes"]);
    await visit(`${base}/#/compare?ids=${one},${sweep}`, ["name"]);
    await visit(`${base}/#/trends?metric=request_latency_p99_ms`, ["name"]);
    await visit(`${base}/#/nowhere/${encodeURIComponent(evil("address"))}`, []);
    await page.goto(`${base}/#/new?from=${one}`);
    await page.waitForFunction(() => document.querySelector(".editor")?.shadowRoot?.textContent.includes("<img src=x"));
    for (const path of [`/api/runs/${one}/report.html`, `/api/runs/${sweep}/report.html`, `/api/compare/report.html?ids=${one},${sweep}`]) {
      await visit(base + path, ["name"]);
      const file = `${folder}/markup.html`;
      writeFileSync(file, await (await fetch(base + path)).text());
      await visit("file://" + file, ["name"]);
    }
    assert.deepEqual(ran, [], bypassCSP ? "script ran without the policy" : "script ran");
    assert.deepEqual(refused, [], "only the policy kept script from running");
    await context.close();
  }
  // The test sees what it looks for: as markup, the same text runs where no policy forbids it.
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  const ran = [];
  await context.exposeFunction("ran", (where) => ran.push(where));
  await page.goto(base + "/#/");
  await page.evaluate((html) => { document.body.innerHTML = html; }, evil("proof"));
  await page.waitForTimeout(300);
  assert.ok(ran.includes("proof"), "markup does not run even as markup");
  console.log("markup: nothing ran");
} finally {
  await browser.close();
  server.close();
  for (const id of [one, sweep]) await fetch(`${base}/api/runs/${id}`, { method: "DELETE" });
}
