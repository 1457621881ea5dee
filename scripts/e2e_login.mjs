// The live page of a daemon with tokens, in a real browser:
// TOKEN=… node e2e_login.mjs BASE_URL CHROMIUM
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [base, executablePath] = process.argv.slice(2);
const token = process.env.TOKEN;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120_000 });
try {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const urls = [], errors = [];
  page.on("request", (r) => urls.push(r.url()));
  page.on("pageerror", (e) => errors.push(String(e)));
  await page.goto(base + "/");
  await page.waitForSelector("#login", { state: "visible", timeout: 10_000 });
  assert.equal(await page.isVisible("text=Loading"), false, "a page that cannot load stands behind the sign-in");

  await page.fill("#token", "wrong");
  await page.click("#login button");
  await page.waitForSelector("#login-problem", { state: "visible", timeout: 10_000 });

  await page.fill("#token", token);
  await page.click("#login button");
  await page.waitForSelector("#login", { state: "hidden", timeout: 10_000 });
  const live = () => page.waitForFunction(() => document.querySelector("#feed").textContent === "live", null, { timeout: 15_000 });
  await live();
  await page.waitForSelector("text=No run yet");

  // The session survives a reload, and no script can read it.
  await page.reload();
  await live();
  assert.ok(!(await page.isVisible("#login")), "the page asks again");
  assert.equal(await page.evaluate(() => document.cookie), "");
  const [cookie] = await context.cookies();
  assert.deepEqual([cookie.name, cookie.httpOnly, cookie.secure, cookie.sameSite], ["aiperfd_session", true, true, "Strict"]);
  assert.ok(!urls.some((u) => u.includes(token)), "the token is in a URL");

  // Another site cannot use the session, neither by a form nor by the feed.
  const other = await context.newPage();
  await other.goto("data:text/html,<title>other</title>");
  const opened = await other.evaluate((url) => new Promise((done) => {
    const socket = new WebSocket(url);
    socket.onopen = () => done(true);
    socket.onerror = () => done(false);
  }), base.replace("https", "wss") + "/ws");
  assert.equal(opened, false, "another site has opened the feed");
  const posted = other.waitForResponse((r) => r.url().endsWith("/api/shutdown"), { timeout: 10_000 });
  await other.evaluate((url) => {
    const form = Object.assign(document.createElement("form"), { method: "post", action: url });
    document.body.append(form);
    form.submit();
  }, base + "/api/shutdown");
  assert.equal((await posted).status(), 403, "another site has shut the daemon down");

  // The page says whose token it uses; its sign-out ends the session and the feed.
  const who = await page.evaluate(async () => (await fetch("/api/session")).json());
  assert.equal((await page.textContent(".caller")).startsWith(`${who.name} ${who.scope}`), true, "name and scope");
  await page.click("text=Sign out");
  await page.waitForSelector("#login", { state: "visible", timeout: 15_000 });
  assert.deepEqual(errors, [], "errors on the page");
  console.log("browser: signed in and out");
} finally {
  await browser.close();
}
