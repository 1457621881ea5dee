import { readFileSync } from "node:fs";
import { render } from "preact";
import { beforeEach, expect, test, vi } from "vitest";
import { App } from "./app";
import { dark } from "./ui/theme";

vi.hoisted(() => vi.stubGlobal("fetch", () => new Promise(() => undefined)));
beforeEach(() => localStorage.clear());

test("the page that is painted before its script is the beginning of the page: nothing in it is made anew", () => {
  document.body.innerHTML = /<body>(.*)<noscript>/s.exec(readFileSync("index.html", "utf8"))![1]!;
  const app = document.getElementById("app")!;
  const before = [...app.querySelectorAll("*")];
  const text = app.textContent;
  render(<App />, app);
  const frame = [...app.querySelectorAll("*")].filter((e) => !e.parentElement!.closest("main"));
  expect(frame.map((e, i) => e === before[i])).toEqual(before.map(() => true));
  expect(app.textContent.startsWith(text)).toBe(true);
});

test.each([null, "light", "dark", "other"])("the theme before the script is that of the page: %s", (kept) => {
  if (kept) localStorage.setItem("aiperfd.theme", kept);
  new Function(readFileSync("src/ui/first.js", "utf8"))();
  const first = document.documentElement.dataset.theme;
  expect(first).toBe(kept === "dark" || (kept !== "light" && dark.value) ? "dark" : "light");
});
