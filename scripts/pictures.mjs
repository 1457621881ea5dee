// Pictures by Chromium, for pictures.sh:
//   node pictures.mjs page BASE THEME PATH SELECTOR PNG    a page of the dashboard
//   node pictures.mjs terminal ANSI PNG                    what tmux capture-pane -e has written
import { existsSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const executablePath = ["chromium", "chromium-browser", "google-chrome"].map((name) => "/usr/bin/" + name).find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--force-color-profile=srgb"] });
const [kind, ...args] = process.argv.slice(2);
try {
  await { page, terminal }[kind](...args);
} finally {
  await browser.close();
}

/** page photographs the upper part of a page when what the selector names is there. */
async function page(base, colorScheme, path, selector, png) {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1.5, colorScheme });
  tab.on("pageerror", (e) => { throw e; });
  await tab.goto(base + "/" + path);
  await tab.waitForSelector(selector || "main");
  await tab.waitForTimeout(2500);
  await tab.screenshot({ path: png });
}

/** terminal photographs the lines of a terminal, without the empty ones at the end. */
async function terminal(ansi, png) {
  const tab = await browser.newPage({ viewport: { width: 1100, height: 600 }, deviceScaleFactor: 1.5 });
  await tab.setContent(`<style>
    body { margin: 0; width: max-content; background: #14181f; }
    pre { margin: 0; padding: 14px 18px; color: #d5dbe5; font: 14px/1.35 "DejaVu Sans Mono", monospace; }
  </style><pre>${html(shown(readFileSync(ansi, "utf8")))}</pre>`);
  await (await tab.$("pre")).screenshot({ path: png });
}

/** shown is the text without the empty lines at its beginning and end. */
function shown(text) {
  const lines = text.split("\n");
  const full = lines.map((line) => line.replace(/\x1b\[[\d;:]*m/g, "").trim() !== "");
  return lines.slice(full.indexOf(true), full.lastIndexOf(true) + 1).join("\n");
}

/** html turns the escape sequences for colours (SGR) of a text into elements. */
function html(text) {
  let style = {}, out = "";
  for (const [, codes, plain] of ("\x1b[0m" + text).matchAll(/\x1b\[([\d;:]*)m([^\x1b]*)/g)) {
    style = sgr(style, codes);
    const [color, background] = style.inverse ? [style.background ?? "#14181f", style.color ?? "#d5dbe5"] : [style.color, style.background];
    const css = [color && `color:${color}`, background && `background:${background}`, style.bold && "font-weight:bold",
      style.dim && "opacity:.65", style.underline && "text-decoration:underline"].filter(Boolean).join(";");
    out += `<span style="${css}">${plain.replace(/&/g, "&amp;").replace(/</g, "&lt;")}</span>`;
  }
  return out;
}

/** sgr applies the numbers of one sequence to a style. */
function sgr(style, codes) {
  const list = codes.split(/[;:]/).map(Number);
  while (list.length > 0) {
    const n = list.shift();
    if (n === 0) style = {};
    else if (n === 1) style = { ...style, bold: true };
    else if (n === 2) style = { ...style, dim: true };
    else if (n === 4) style = { ...style, underline: true };
    else if (n === 7) style = { ...style, inverse: true };
    else if (n === 22) style = { ...style, bold: false, dim: false };
    else if (n === 24) style = { ...style, underline: false };
    else if (n === 27) style = { ...style, inverse: false };
    else if (n === 39) style = { ...style, color: undefined };
    else if (n === 49) style = { ...style, background: undefined };
    else if (n === 38 || n === 48) style = { ...style, [n === 38 ? "color" : "background"]: extended(list) };
    else if (n >= 30 && n < 38) style = { ...style, color: indexed(n - 30) };
    else if (n >= 40 && n < 48) style = { ...style, background: indexed(n - 40) };
    else if (n >= 90 && n < 98) style = { ...style, color: indexed(n - 82) };
    else if (n >= 100 && n < 108) style = { ...style, background: indexed(n - 92) };
  }
  return style;
}

/** extended reads 5;INDEX or 2;RED;GREEN;BLUE. */
function extended(list) {
  return list.shift() === 5 ? indexed(list.shift()) : `rgb(${list.splice(0, 3)})`;
}

/** indexed returns a colour of the palette of 256. */
function indexed(i) {
  const base = ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d5dbe5",
    "#5c6678", "#ff7b86", "#b5e890", "#ffd787", "#7cc4ff", "#e39bff", "#77dce8", "#ffffff"];
  if (i < 16) return base[i];
  if (i >= 232) return `rgb(${Array(3).fill(8 + (i - 232) * 10)})`;
  const level = (n) => (n === 0 ? 0 : 55 + n * 40);
  return `rgb(${[Math.floor((i - 16) / 36), Math.floor((i - 16) / 6) % 6, (i - 16) % 6].map(level)})`;
}
