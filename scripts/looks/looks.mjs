// How the pages look: pictures of every kind of page in both themes and three widths, from recorded
// answers of a daemon, compared with the references in this folder.
//
//   node looks.mjs check CHROMIUM FAILED [STATE…]      compares; what differs is written to the folder FAILED
//   node looks.mjs prove CHROMIUM -                    shows that a fault of a page is found
//   node looks.mjs update CHROMIUM FAILED [STATE…]     writes the references anew
//   node looks.mjs full CHROMIUM FOLDER [STATE…]       writes pictures in full size, to look at
//   node looks.mjs record CHROMIUM BASE STATE=HASH…    records what a daemon answers to a page
//
// Nothing of the machine is in a picture: the font and the clock are fixed, the time zone is UTC, and no
// request leaves the browser. Pictures are a sixth as large as the page, so that how a machine smooths
// letters does not matter.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const here = process.env.LOOKS ?? dirname(fileURLToPath(import.meta.url));
const dist = join(here, "../../web/dist");
const origin = "http://looks.test/";
const themes = ["light", "dark"];
const widths = [400, 1280, 1920];
const scale = 1 / 6;
const quality = 60;

/** tolerance is the largest difference of a square that is none, see difference. */
const tolerance = 8;

/** states are what pictures are made of; act does on the page what its address cannot say. */
const states = {
  list: {},
  queue: {},
  live: {},
  finished: {},
  server: {},
  phases: {},
  workers: {},
  sweep: {},
  search: {},
  compare: {},
  ab: {},
  editor: {
    act: async (page) => {
      await page.waitForSelector(".cm-content");
      await page.fill("label:has-text('Concurrency') input", "-3");
      await page.waitForSelector(".problems");
    },
  },
  "sign-in": {},
  empty: {},
  missing: {},
};

const recordingOf = (state) => join(here, "recorded", state + ".json.gz");
const reference = (name) => join(here, "references", name + ".webp");

/** settled waits until the page asks for nothing and has drawn what it got, for at most 20 seconds. */
async function settled(page, traffic) {
  const end = performance.now() + 20_000;
  for (let quiet = 0; quiet < 3 && performance.now() < end; ) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    quiet = traffic.open <= 0 ? quiet + 1 : 0;
  }
  await page.evaluate(() => document.fonts.ready);
}

/** sized makes the window as high as the page, so that everything is in view. */
async function sized(page, width, traffic) {
  let height = 0;
  for (let tries = 0; tries < 10; tries++) {
    await settled(page, traffic);
    const wanted = await page.evaluate(() => {
      const end = document.querySelector("main").getBoundingClientRect().bottom;
      return Math.max(600, Math.ceil(end + scrollY));
    });
    if (wanted === height) break;
    height = wanted;
    await page.setViewportSize({ width, height });
  }
  return height;
}

const modules = createRequire(import.meta.url);
const fontFile = (name) => readFileSync(modules.resolve(`@fontsource/${name}.woff2`)).toString("base64");

/** style fixes the font, and what moves. */
function style(css) {
  const face = (family, weight, name) =>
    `@font-face{font-family:${family};font-weight:${weight};src:url(data:font/woff2;base64,${fontFile(name)})}`;
  return `<style>
    ${face("fixed-sans", 400, "dejavu-sans/files/dejavu-sans-latin-400-normal")}
    ${face("fixed-sans", 700, "dejavu-sans/files/dejavu-sans-latin-700-normal")}
    ${face("fixed-mono", 400, "dejavu-mono/files/dejavu-mono-latin-400-normal")}
    :root{--sans:fixed-sans!important;--mono:fixed-mono!important}
    *{text-rendering:geometricPrecision!important;caret-color:transparent!important;transition:none!important;animation:none!important}
    ${css}
  </style>`;
}

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

/** replay answers the requests of a page from a recording. */
async function replay(page, recording, traffic, extra) {
  await page.route("**/*", (route) => {
    const url = new URL(route.request().url());
    if (url.origin + "/" !== origin) return route.abort();
    const path = url.pathname.slice(1) + url.search;
    if (!/^(api\/|metrics)/.test(path)) {
      const name = join(dist, url.pathname === "/" ? "index.html" : url.pathname);
      if (!existsSync(name)) return route.fulfill({ status: 404 });
      const body = readFileSync(name);
      const html = url.pathname === "/" ? String(body).replace("</head>", extra + "</head>") : body;
      return route.fulfill({ body: html, contentType: types[extname(name)] ?? "application/octet-stream" });
    }
    const key = `${route.request().method()} ${path}`;
    const known = recording.answers[key];
    if (!known) traffic.unknown.add(key);
    return route.fulfill({
      status: known?.status ?? 503,
      contentType: "application/json",
      body: JSON.stringify(known?.body ?? { title: "not recorded", status: 503, detail: key }),
    });
  });
  await page.routeWebSocket("**/ws", (ws) => {
    ws.onMessage(() => ws.send(JSON.stringify({ type: "subscribed" })));
    // A page that hears nothing for a while says that the connection is lost.
    const beat = setInterval(() => ws.send(JSON.stringify({ message_type: "heartbeat" })), 1000);
    page.on("close", () => clearInterval(beat));
  });
}

/** photograph calls back with a picture of each theme and width of a state. It returns what the page asked for that
 * is not recorded, and the numbers that are hidden at some width. */
async function photograph(state, take, css = "") {
  const recording = JSON.parse(gunzipSync(readFileSync(recordingOf(state))));
  const context = await browser.newContext({
    viewport: { width: 1280, height: 1000 }, colorScheme: "dark", reducedMotion: "reduce", timezoneId: "UTC", locale: "en-US",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const traffic = { open: 0, unknown: new Set() };
  const problems = [], cut = [];
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("request", () => traffic.open++);
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, () => traffic.open--);
  await page.clock.setFixedTime(recording.time);
  await replay(page, recording, traffic, style(css));
  await page.goto(origin + recording.hash);
  await page.waitForSelector("main > *");
  await states[state].act?.(page);
  await settled(page, traffic);
  const cdp = await context.newCDPSession(page);
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 1000 });
      const height = await sized(page, width, traffic);
      for (const text of await hidden(page)) cut.push(`${state} at ${width} px: ${text}`);
      const shot = async (by, format) => {
        const clip = { x: 0, y: 0, width, height, scale: by };
        return (await cdp.send("Page.captureScreenshot", { ...format, clip })).data;
      };
      // Charts are drawn after their data and their size have changed: the page is done when two pictures are equal.
      const small = { format: "webp", quality };
      for (let tries = 0, last = ""; tries < 20; tries++) {
        const next = await shot(scale, small);
        if (next === last) break;
        last = next;
        await page.waitForTimeout(100);
        await settled(page, traffic);
      }
      await take(`${state}-${colorScheme}-${width}`, shot, small);
    }
  }
  await context.close();
  assert.deepEqual(problems, [], `errors on the page ${state}`);
  return { unknown: traffic.unknown, cut };
}

/** hidden lists the numbers that a reader of a window does not see without moving the page sideways: those beyond
 * its edge, beyond the edge of a part that scrolls, or cut. */
function hidden(page) {
  return page.evaluate(() => {
    const out = [];
    for (const cell of document.querySelectorAll("main td, main .tile b, main .figures, main .headline")) {
      const box = cell.getBoundingClientRect();
      if (!/\d/.test(cell.textContent) || !cell.checkVisibility() || box.width === 0) continue;
      let [left, right] = [0, innerWidth];
      for (let e = cell; e.tagName !== "MAIN"; e = e.parentElement) {
        if (getComputedStyle(e).overflowX === "visible") continue;
        if (e === cell && e.scrollWidth > e.clientWidth + 1) right = -1;
        const edge = e.getBoundingClientRect();
        [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
      }
      if (box.left < left - 1 || box.right > right + 1) out.push(cell.textContent.trim().slice(0, 40));
    }
    return out;
  });
}

/** difference compares two pictures in the browser. It is the largest mean difference of a square of 4 × 4
 * points, which are 24 × 24 of the page, from 0 to 255, where
 * one may be a point higher than the other; a billion if the sizes differ by more than 2 points. */
async function difference(helper, one, two) {
  return helper.evaluate(async (pictures) => {
    const [a, b] = await Promise.all(pictures.map(async (data) => {
      const bitmap = await createImageBitmap(await (await fetch("data:image/webp;base64," + data)).blob());
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      canvas.getContext("2d").drawImage(bitmap, 0, 0);
      return canvas.getContext("2d").getImageData(0, 0, bitmap.width, bitmap.height);
    }));
    if (Math.abs(a.width - b.width) > 2 || Math.abs(a.height - b.height) > 2) {
      return { most: 1e9, at: `${a.width} × ${a.height} beside ${b.width} × ${b.height}` };
    }
    const [width, height, side] = [Math.min(a.width, b.width), Math.min(a.height, b.height), 4];
    let most = 0, at = "";
    for (let top = 0; top + side <= height; top += side) {
      for (let left = 0; left + side <= width; left += side) {
        // The mean of the square in each picture: how letters are smoothed does not change it.
        let least = Infinity;
        for (const down of [0, -1, 1]) {
          if (least < 1 || top + down < 0 || top + down + side > b.height) continue;
          let worst = 0;
          for (let c = 0; c < 3; c++) {
            let sum = 0;
            for (let y = top; y < top + side; y++) {
              for (let x = left; x < left + side; x++) {
                sum += a.data[4 * (y * a.width + x) + c] - b.data[4 * ((y + down) * b.width + x) + c];
              }
            }
            worst = Math.max(worst, Math.abs(sum) / side ** 2);
          }
          least = Math.min(least, worst);
        }
        if (least > most) [most, at] = [least, `${left}, ${top}`];
      }
    }
    return { most, at };
  }, [one, two]);
}

const [mode, executablePath, folder, ...names] = process.argv.slice(2);
const browser = await launch("/usr/share/fonts");

/** launch starts a browser for which letters are as wide as their font says: neither the settings of the
 * machine nor its screen change them. */
function launch(fonts) {
  const settings = join(tmpdir(), `looks-fonts-${process.pid}.conf`);
  writeFileSync(settings, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${fonts}</dir>
    <cachedir>${join(tmpdir(), "looks-fonts")}</cachedir><match target="font">
    <edit name="hinting" mode="assign"><bool>false</bool></edit><edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit></match></fontconfig>`);
  return chromium.launch({
    executablePath, timeout: 120_000,
    args: ["--no-sandbox", "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text"],
    env: { ...process.env, FONTCONFIG_FILE: settings },
  });
}
try {
  await { check, prove, update, full, record }[mode](names.length ? names : Object.keys(states));
} finally {
  await browser.close();
}

/** prove changes pages as a fault would, and as another machine would: the first must be found, the second not. */
async function prove() {
  const helper = await browser.newPage();
  const faults = {
    "a tile is missing": ["finished", ".tiles .tile:nth-child(3){display:none}"],
    "a tile is empty": ["finished", ".tiles .tile:nth-child(3) b{visibility:hidden}"],
    "a column is moved": ["list", ".runs td.count{position:relative;left:-30px}"],
    "a legend is missing": ["sweep", ".legend{display:none}"],
    "a color is another": ["queue", ".pill.running{background:#fdd}"],
    "a line of a chart is missing": ["phases", ".charts .chart:nth-child(3) canvas{visibility:hidden}"],
    "a number is cut off": ["list", ".runs td.number{text-indent:60px}"],
    "a field has no border": ["sign-in", "#token{border-color:transparent;outline:none}"],
  };
  for (const [name, [state, css]] of Object.entries(faults)) {
    const found = [];
    await photograph(state, async (picture, shot, format) => {
      const { most } = await difference(helper, readFileSync(reference(picture)).toString("base64"), await shot(scale, format));
      found.push(most);
    }, css);
    const text = found.map((most) => most.toFixed(1)).join(", ");
    console.log(`${name}: ${text}`);
    assert.ok(found.every((most) => most > tolerance), `${name} is not found in all pictures of ${state}: ${text}`);
  }
  const wide = {
    "a table is wider than the window": ["compare", ".values td{min-width:40rem}"],
    "a table is beyond the edge": ["sweep", ".values{transform:translateX(250vw)}"],
  };
  for (const [name, [state, css]] of Object.entries(wide)) {
    const { cut } = await photograph(state, () => undefined, css);
    console.log(`${name}: ${new Set(cut).size} numbers`);
    for (const width of widths) {
      assert.ok(cut.some((text) => text.startsWith(`${state} at ${width} px`)), `${name} is not found in ${width} px`);
    }
  }
}

/** check compares pictures with their references. Chromium draws the same corner in one of two ways from visit to visit
 * on a busy machine, so a picture differs only if it does in each of three visits. */
async function check(wanted) {
  const helper = await browser.newPage();
  const began = performance.now();
  const failed = [];
  let count = 0;
  for (const state of wanted) {
    let differ = new Map();
    for (let visit = 0; visit === 0 || (visit < 3 && differ.size > 0); visit++) {
      const before = differ;
      differ = new Map();
      const { cut } = await photograph(state, async (name, shot, format) => {
        if (visit === 0) count++;
        else if (!before.has(name)) return;
        if (!existsSync(reference(name))) return differ.set(name, `${name} has no reference`);
        const was = readFileSync(reference(name));
        const now = await shot(scale, format);
        const { most, at } = await difference(helper, was.toString("base64"), now);
        if (most <= tolerance) return;
        differ.set(name, `${name} differs by ${most.toFixed(1)} at ${at}`);
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, `${name}-reference.webp`), was);
        writeFileSync(join(folder, `${name}-now.webp`), Buffer.from(now, "base64"));
        writeFileSync(join(folder, `${name}-now-full.png`), Buffer.from(await shot(1, { format: "png" }), "base64"));
      });
      if (visit === 0) failed.push(...new Set(cut.map((text) => "a number is not in the window: " + text)));
    }
    failed.push(...differ.values());
  }
  assert.deepEqual(failed, [], `look at ${folder}; if it is meant to be so, run scripts/looks/run.sh update`);
  console.log(`looks: ${count} pictures are as before, in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

async function update(wanted) {
  mkdirSync(join(here, "references"), { recursive: true });
  for (const state of wanted) {
    const { unknown } = await photograph(state, async (name, shot, format) => {
      writeFileSync(reference(name), Buffer.from(await shot(scale, format), "base64"));
    });
    // What continues a series is not recorded.
    const lacks = [...unknown].filter((key) => !key.includes("&from="));
    if (lacks.length > 0) console.log(`${state} asks for what is not recorded: ${lacks.join(", ")}`);
  }
}

async function full(wanted) {
  mkdirSync(folder, { recursive: true });
  for (const state of wanted) {
    await photograph(state, async (name, shot) => {
      writeFileSync(join(folder, name + ".png"), Buffer.from(await shot(1, { format: "png" }), "base64"));
    });
  }
}

/** record opens a page of a daemon and writes what it answered. */
async function record(wanted) {
  mkdirSync(join(here, "recorded"), { recursive: true });
  for (const [state, hash] of wanted.map((w) => w.split(/=(.*)/s))) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 8000 }, timezoneId: "UTC", locale: "en-US" });
    const traffic = { open: 0 };
    const answers = {}, reads = [];
    page.on("request", () => traffic.open++);
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, () => traffic.open--);
    page.on("response", (response) => {
      const url = new URL(response.url());
      const method = response.request().method();
      const key = `${method} ${url.pathname.slice(1)}${url.search}`;
      // What continues a series comes when it comes, so that pictures with it would differ.
      const continues = url.searchParams.has("from");
      if (!url.pathname.startsWith("/api/") || continues || (method === "GET" && key in answers)) return;
      answers[key] = null;
      reads.push(response.json().then((body) => { answers[key] = { status: response.status(), body }; }, () => { delete answers[key]; }));
    });
    await page.goto(folder + "/" + hash);
    await page.waitForSelector("main > *");
    await states[state].act?.(page);
    await page.waitForTimeout(1500);
    await settled(page, traffic);
    await Promise.all(reads);
    const time = new Date().toISOString(); // nothing of a page was read later
    await page.close();
    const json = JSON.stringify({ time, hash, answers });
    writeFileSync(recordingOf(state), gzipSync(json, { level: 9 }));
    console.log(state, json.length, readFileSync(recordingOf(state)).length, Object.keys(answers).length);
  }
}
