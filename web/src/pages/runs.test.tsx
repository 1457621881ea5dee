import { readdirSync, readFileSync } from "node:fs";
import { beforeEach, expect, test, vi } from "vitest";
import { active, chosen, list, loadRuns } from "../state/runs";
import { answer, asked, eventually, show, text } from "../testing/page";
import { RunsPage } from "./runs";

vi.hoisted(() => vi.stubGlobal("fetch", () => new Promise(() => undefined)));

const run = (name: string, state: string, more = {}) => ({
  id: name.replaceAll(" ", "-"),
  name,
  kind: "run",
  state,
  models: ["meta-llama/Llama-3.1-8B-Instruct"],
  endpoint_type: "chat",
  labels: {},
  priority: 0,
  concurrency: 8,
  created_at: "2026-05-04T10:00:00Z",
  client: null,
  summary: null,
  progress: null,
  ...more,
});

const going = "api/runs?limit=100&detail=brief&state=queued,starting,running,stopping,exporting";

function open(items: object[], open: object[] = []) {
  answer({ "api/runs": { items, total: items.length }, [going]: { items: open }, "api/queue": { paused: false } });
  const page = show(<RunsPage />);
  void loadRuns();
  return page;
}

beforeEach(() => {
  localStorage.clear();
  [chosen.value, active.value, list.value] = [[], [], null];
});

test("what runs stands above what waits, in turns without gaps; a bar belongs to what runs", async () => {
  const progress = { percent: 30, requests_completed: 30, request_errors: 4, in_flight: 2, cells_total: null };
  const page = open(
    [run("old", "completed")],
    [
      run("sweep", "queued", {
        kind: "sweep",
        created_at: "2026-05-04T10:00:05Z",
        progress: { cells_total: 7, cells_done: 0 },
      }),
      run("late", "queued", { queue_position: 7, created_at: "2026-05-04T10:00:04Z" }),
      run("early", "queued", { queue_position: 5, created_at: "2026-05-04T10:00:03Z" }),
      run("now", "running", { progress, started_at: "2026-05-04T10:00:00Z" }),
    ],
  );
  await eventually(() => expect(page.querySelectorAll(".active-runs li")).toHaveLength(4));
  const rows = [...page.querySelectorAll(".active-runs li")];
  expect(rows.map((r) => [text(r.querySelector(".pill")), text(r.querySelector("a"))])).toEqual([
    ["running", "now"],
    ["queued, 1", "early"],
    ["queued, 2", "late"],
    ["queued, 3", "sweep"],
  ]);
  expect(rows.map((r) => r.querySelector("[role=progressbar]") !== null)).toEqual([true, false, false, false]);
  // A bar moves without a new layout of the page.
  expect(rows[0]!.querySelector<HTMLElement>(".bar i")!.style.transform).toBe("translateX(-70%)");
  expect(text(rows[0]!.querySelector(".figures"))).toBe("26 succeeded · 4 failed · 2 in flight");
  expect(text(rows[3]!)).toContain("sweep of 7 runs");
  expect(text(rows[3]!)).not.toContain("concurrent");
});

test("a run of several phases has the loads of all of them in the history", async () => {
  const loads = [
    { phase: "steady", load: "4 concurrent" },
    { phase: "burst", load: "40 req/s" },
  ];
  const page = open([run("two", "completed", { concurrency: 4, loads })]);
  await eventually(() => expect(page.querySelectorAll(".runs tbody tr")).toHaveLength(1));
  expect([...page.querySelectorAll(".runs td.load .cut:not(.sub)")].map(text)).toEqual([
    "4 concurrent",
    "then 40 req/s",
  ]);
});

test("the history has runs that have ended", async () => {
  const page = open([run("old", "completed")], [run("now", "running")]);
  await eventually(() => expect(page.querySelectorAll(".runs tbody tr")).toHaveLength(1));
  const history = new URLSearchParams(asked.find((path) => path.includes("limit=50"))!.split("?")[1]);
  expect(history.get("state")).toBe("completed,failed,cancelled");
});

test("a run that comes into the list takes the row of one that left it, with all that it says", async () => {
  const labels = { team: "a" };
  const page = open([run("one", "completed", { labels }), run("two", "completed"), run("three", "completed")]);
  const rows = () => [...page.querySelectorAll(".runs tbody tr")];
  await eventually(() => expect(rows()).toHaveLength(3));
  const [first, second, third] = rows();
  chosen.value = ["one", "two"];
  await eventually(() => expect(page.querySelectorAll("tr.chosen")).toHaveLength(2));
  const items = [run("two", "completed"), run("four", "failed"), run("five", "cancelled")];
  list.value = { ...list.value!, items: items as never };
  await eventually(() => expect(rows().map((r) => text(r.querySelector(".name a")))).toEqual(["two", "four", "five"]));
  expect(rows().map((r) => [first, second, third].indexOf(r))).toEqual([1, 0, 2]);
  expect(rows().map((r) => text(r.querySelector(".pill")))).toEqual(["completed", "failed", "cancelled"]);
  expect(rows().map((r) => r.querySelector("input")!.checked)).toEqual([true, false, false]);
  expect(rows().map((r) => r.querySelector("a")!.getAttribute("href"))).toEqual(
    ["two", "four", "five"].map((id) => `#/runs/${id}`),
  );
  expect(page.querySelector(".runs .name .tag")).toBeNull();
});

test("one chosen run asks for another, two lead to their comparison", async () => {
  const page = open([run("one", "completed"), run("two", "completed")]);
  await eventually(() => expect(page.querySelectorAll(".runs tbody tr")).toHaveLength(2));
  expect(page.querySelector(".chosen-bar")).toBeNull();
  chosen.value = ["one"];
  await eventually(() => expect(page.querySelector(".chosen-bar")).not.toBeNull());
  expect(text(page.querySelector(".chosen-bar span"))).toBe("1 run to compare: one. Choose another one in the list.");
  expect(page.querySelector(".chosen-bar a")).toBeNull();
  chosen.value = ["one", "two"];
  await eventually(() =>
    expect(page.querySelector(".chosen-bar a")?.getAttribute("href")).toBe("#/compare?ids=one%2Ctwo"),
  );
});

test("marks in the list are explained below it, if there are any", async () => {
  const p99 = "time_to_first_token_p99_ms";
  const few = { request_throughput_per_sec: 5, [p99]: 12.34, unsupported_percentiles: [p99] };
  const reasons = [{ level: "invalid", message: "off by 136 ms", concerns: ["time_to_first_token"] }];
  const page = open([run("one", "completed", { summary: { request_throughput_per_sec: 5 } })]);
  await eventually(() => expect(page.querySelectorAll(".runs tbody tr")).toHaveLength(1));
  expect(page.querySelector(".marks")).toBeNull();
  const one = run("one", "completed", { summary: few });
  list.value = { ...list.value!, items: [one] as never };
  await eventually(() => expect(text(page.querySelector(".marks"))).toMatch(/^\* Too few requests: .* percentile\.$/));
  const client = { verdict: "invalid", reasons };
  list.value = { ...list.value!, items: [{ ...one, client }, run("two", "completed", { client })] as never };
  await eventually(() =>
    expect(text(page.querySelector(".marks"))).toContain("Struck out: the load generator distorted it."),
  );
  expect([...page.querySelectorAll(".runs s")].map(text)).toEqual(["12.3*"]);
});

test("a run that has not started says when it was submitted, one that has how long it took", async () => {
  const started = { started_at: "2026-05-04T10:10:00Z", ended_at: "2026-05-04T10:10:30Z" };
  const page = open([run("one", "cancelled"), run("two", "completed", started)]);
  await eventually(() => expect(page.querySelectorAll(".runs tbody tr")).toHaveLength(2));
  const cells = [...page.querySelectorAll(".runs td.started")].map(text);
  expect(cells[0]).toMatch(/^not started submitted May/);
  expect(cells[1]).toMatch(/^May .* 30\.0 s$/);
});

test("the numbers of the list are chosen by their reader", async () => {
  const summary = { request_throughput_per_sec: 5, time_to_first_token_p99_ms: 12.34, goodput_per_sec: 3 };
  const page = open([run("one", "completed", { summary })]);
  await eventually(() => expect(page.querySelectorAll(".runs tbody tr")).toHaveLength(1));
  expect(page.querySelector("td[data-label='Goodput, req/s']")).toBeNull();
  const choice = [...page.querySelectorAll<HTMLLabelElement>(".choices label")].find((l) =>
    text(l).startsWith("Goodput"),
  )!;
  choice.querySelector("input")!.click();
  await eventually(() => expect(text(page.querySelector("td[data-label='Goodput, req/s']"))).toBe("3.00"));
});

test("a list without a run has a way to begin", async () => {
  const page = open([]);
  await eventually(() => expect(text(page.querySelector("h2"))).toBe("No run yet"));
  expect([...page.querySelectorAll("a")].map((a) => a.getAttribute("href"))).toEqual(["#/new", "#/new?from=simulator"]);
});

test("nothing moves by what lays out the page anew", () => {
  const sheets = ["src", "src/pages", "src/charts"].flatMap((dir) =>
    readdirSync(dir)
      .filter((name) => name.endsWith(".css"))
      .map((name) => readFileSync(`${dir}/${name}`, "utf8")),
  );
  const moves = sheets.flatMap((css) => css.match(/transition[\w-]*:[^;}]*/g) ?? []);
  expect(moves.length).toBeGreaterThan(0);
  expect(moves.filter((m) => /width|height|left|top|margin|all/.test(m))).toEqual([]);
});
