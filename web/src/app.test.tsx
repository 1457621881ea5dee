import { readFileSync } from "node:fs";
import { render } from "preact";
import { beforeEach, expect, test, vi } from "vitest";
import { needsToken } from "./api/client";
import { App } from "./app";
import { answer, eventually, show, text } from "./testing/page";
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

test("a daemon that wants a token has a page of its own for it, and nothing that cannot load", async () => {
  answer({ "api/runs": 401, "api/queue": 401, "api/session": 401 });
  needsToken.value = true;
  const page = show(<App />);
  expect(text(page.querySelector("main h1"))).toBe("Sign in");
  expect(page.querySelector("input[type=password]")).not.toBeNull();
  expect(page.querySelectorAll("main > *")).toHaveLength(1);
  expect(page.querySelector("nav")).toBeNull();
  expect(text(page)).not.toContain("Loading");
  needsToken.value = false;
});

test("the frame says whose token is used and what it may do, and signs out", async () => {
  answer({
    "api/session": { name: "nightly", scope: "read", begun: "2026-05-04T10:00:00Z" },
    "api/runs": { items: [] },
    "api/queue": { paused: false },
  });
  const page = show(<App />);
  await eventually(() => expect(text(page.querySelector(".caller"))).toBe("nightly read Sign out"));
  page.querySelector<HTMLButtonElement>(".caller button")!.click();
  await eventually(() => expect(text(page.querySelector("main h1"))).toBe("Sign in"));
  needsToken.value = false;
});

test("an address that is no page has a title and two ways on", async () => {
  answer({});
  location.hash = "#/nowhere";
  const page = show(<App />);
  await eventually(() => expect(text(page.querySelector("main h1"))).toBe("There is no such page"));
  await eventually(() => expect(document.title).toBe("Not found · aiperfd"));
  expect([...page.querySelectorAll("main a")].map((a) => a.getAttribute("href"))).toEqual(["#/", "#/new"]);
  location.hash = "";
});
