import { expect, test, vi } from "vitest";
import type { Run } from "../api/client";
import { answer, card, eventually, show, text } from "../testing/page";
import { FakePlot } from "../testing/plot";
import { SweepPart } from "./sweep";

vi.mock("uplot", async () => ({ default: (await import("../testing/plot")).FakePlot }));

const path = "phases.profiling.concurrency";
const limit = { metric: "time_to_first_token", statistic: "p95", operator: "<", threshold: 45, unit: "ms" };

/** estimate is a mean of so many runs with an interval of ± 1. */
const estimate = (mean: number, runs = 3) => ({ mean, low: mean - 1, high: mean + 1, runs });

function row(concurrency: number, outcome: string, tokens: number, ttft: number, runs = 3, more = {}) {
  return {
    name: `concurrency ${concurrency}`,
    values: { [path]: concurrency },
    runs: Array.from({ length: runs }, (_, i) => ({ id: `c${concurrency}-${i}`, client: "ok" })),
    outcome,
    pareto: outcome !== "fail",
    readings: [],
    metrics: {
      request_throughput: { unit: "requests/sec", statistics: { avg: estimate(tokens / 10, runs) } },
      output_token_throughput: { unit: "tokens/sec", statistics: { avg: estimate(tokens, runs) } },
      output_token_throughput_per_user: {
        unit: "tokens/sec/user",
        statistics: { p50: estimate(tokens / concurrency, runs) },
      },
      time_to_first_token: { unit: "ms", statistics: { p95: estimate(ttft, runs), p99: estimate(ttft, runs) } },
    },
    ...more,
  };
}

const sweep = (rows: object[], more = {}) => ({
  type: "grid",
  parameters: [{ path, name: "concurrency" }],
  confidence_level: 0.95,
  limits: [],
  rows,
  best_throughput: null,
  best_latency: null,
  latency_metric: "time_to_first_token",
  findings: [],
  search: null,
  ...more,
});

function open(of: object, progress: object, state = "completed") {
  answer({ "api/runs/s/sweep": of, "api/runs/s/children": { items: [] } });
  const run = { id: "s", kind: "sweep", name: "s", state, labels: {}, progress };
  return show(<SweepPart run={run as unknown as Run} />);
}

/** charts are the charts of a page in words: title, points, limits. */
const charts = (page: Element) => [...page.querySelectorAll("[role=img]")].map((e) => e.getAttribute("aria-label")!);

const reading = (observed: number) => ({ ...limit, observed, met: observed < limit.threshold });
const edge = (at: number, value: number, observed: number, valid = true) => ({
  value,
  row: at,
  valid,
  readings: [reading(observed)],
});

const search = (valid: boolean) =>
  sweep([row(64, "pass", 600, 31), row(100, "fail", 650, 74), row(128, "excluded", 660, 40)], {
    type: "adaptive_search",
    limits: [limit],
    best_throughput: 0,
    findings: ["Highest concurrency within the limits: 64."],
    search: {
      planner: "monotonic_sla",
      reason: "max_iterations",
      reason_text: "it made as many probes as it may",
      boundaries: [
        {
          parameter: { path, name: "concurrency" },
          pass: edge(0, 64, 31),
          fail: edge(1, 100, 74, valid),
          binding: limit,
          interval: null,
        },
      ],
      optima: [],
    },
  });

test("a search begins with its answer: value, limit, both sides, validity, and why it ended", async () => {
  const page = open(search(true), { cells_total: 16, cells_done: 8 });
  await eventually(() => expect(card(page, "Answer")).not.toBeNull());
  expect(text(page.querySelector("h2"))).toBe("Answer");
  const part = card(page, "Answer")!;
  expect(text(part.querySelector(".headline"))).toBe(
    "Highest concurrency within the limits 64 deciding probes are valid",
  );
  expect([...part.querySelectorAll("tr")].map(text)).toEqual([
    "Limit concurrency 64 , within concurrency 100 , beyond",
    "TTFT p95 < 45 ms 31.0 ±1.00 ms 74.0 ±1.00 ms",
  ]);
  expect(text(part)).toContain("The search ended: it made as many probes as it may.");
  // A search that ended early is not an aborted one.
  expect(page.querySelector("[role=progressbar]")!.getAttribute("aria-valuenow")).toBe("100");
  expect(text(page.querySelector(".phase"))).toBe("runs 8 ended · complete");
});

test("a search for a capacity begins with the load to plan for, with what was measured beside it", async () => {
  const found = sweep([row(64, "pass", 600, 31), row(100, "fail", 650, 74)], {
    type: "adaptive_search",
    limits: [limit],
    best_throughput: 0,
    findings: ["Plan for at most 42 concurrent requests.", "Missed most often: time_to_first_token."],
    search: {
      planner: "capacity",
      reason: "precision",
      reason_text: "the interval is as narrow as asked",
      boundaries: [
        {
          parameter: { path, name: "concurrency" },
          pass: edge(0, 64, 31),
          fail: edge(1, 100, 74),
          binding: limit,
          interval: [42.3, 71],
          advised: 42,
        },
      ],
      optima: [],
    },
  });
  const page = open(found, { cells_total: 16, cells_done: 8 });
  await eventually(() => expect(card(page, "Answer")).not.toBeNull());
  const part = card(page, "Answer")!;
  expect(text(part.querySelector(".found .headline"))).toBe(
    "Plan for concurrency at most 42 deciding probes are valid",
  );
  expect(text(part)).toContain(
    "Measured within the limits: 64; 95 % confidence interval of the capacity: 42.3 to 71.0.",
  );
});

test("a search that was cancelled stands where it was", async () => {
  const page = open(search(true), { cells_total: 16, cells_done: 8 }, "cancelled");
  await eventually(() => expect(page.querySelector(".phase")).not.toBeNull());
  expect(page.querySelector("[role=progressbar]")!.getAttribute("aria-valuenow")).toBe("50");
  await eventually(() => expect(text(page.querySelector(".phase"))).toBe("runs 8 of at most 16 ended · cancelled"));
});

test("two servers that are measured at the same time are no runs of which none has ended", async () => {
  const progress = { cells_total: 2, cells_done: 0, cells_failed: 0 };
  let page = open(sweep([], { type: "ab" }), progress, "running");
  await eventually(() => expect(text(page)).toContain("the runs of both servers go on"));
  expect(page.querySelector("[role=progressbar]")!.hasAttribute("aria-valuenow")).toBe(false);
  page = open(sweep([], { type: "ab" }), { ...progress, cells_done: 2 });
  await eventually(() => expect(text(page)).toContain("2 of 2 ended · complete"));
});

test("what had too few requests is decided nowhere: not in the answer, the values, the charts, or for an objective", async () => {
  const doubt = "too few requests for this percentile";
  const unsure = (at: number, value: number, observed: number) => {
    const e = edge(at, value, observed);
    return { ...e, readings: e.readings.map((r) => ({ ...r, doubt })) };
  };
  const few = (concurrency: number, outcome: string, ttft: number) => {
    const made = row(concurrency, outcome, 100 * concurrency, ttft, 1, { readings: unsure(0, 0, ttft).readings });
    Object.assign(made.metrics.time_to_first_token.statistics.p95, { unsupported: true });
    return made;
  };
  const of = search(true);
  Object.assign(of, { rows: [few(1, "pass", 31), few(2, "fail", 74)] });
  const found = of.search as unknown as { boundaries: object[] };
  const boundary = found.boundaries[0]!;
  Object.assign(found, {
    boundaries: [{ ...boundary, pass: unsure(0, 1, 31), fail: unsure(1, 2, 74) }],
  });
  const page = open(of, { cells_total: 2, cells_done: 2 });
  await eventually(() => expect(card(page, "Values")).not.toBeNull());
  expect(text(page.querySelector(".found .headline"))).toContain("Not decided");
  await eventually(() => expect(text(page.querySelector(".choice [role=status]"))).toMatch(/^Not decided\./));
  expect(text(page.querySelector(".choice [role=status]"))).toBe(
    "Not decided. As measured, concurrency 1 keeps it with the highest throughput, 100 output tokens/s. " +
      "1 of 2 values keep it, but concurrency 1 had too few requests for this percentile.",
  );
  const outcomes = [...page.querySelectorAll("[data-label=Outcome]")].map(text);
  expect(outcomes).toEqual(["not decided", "not decided"]);
  expect([...page.querySelectorAll(".values tr.chosen")]).toEqual([]);
  const kinds = [...page.querySelectorAll(".chart")[0]!.querySelectorAll(".kind")].map(text);
  expect(kinds).toEqual(["not decided"]);
});

test("an answer that rests on a distorted probe says so", async () => {
  const page = open(search(false), { cells_total: 16, cells_done: 8 });
  await eventually(() => expect(text(page.querySelector(".headline"))).toContain("a deciding probe is distorted"));
});

test("the values of a search are named, judged, and in the charts with the limit", async () => {
  const page = open(search(true), { cells_total: 16, cells_done: 8 });
  await eventually(() => expect(card(page, "Values")).not.toBeNull());
  const rows = [...card(page, "Values")!.querySelectorAll("tbody tr")].map(text);
  expect(rows.map((r) => r.split(" ").slice(0, 5).join(" "))).toEqual([
    "concurrency 64 within the limits",
    "concurrency 100 beyond a limit",
    "concurrency 128 excluded 40.0 ±1.00",
  ]);
  expect(charts(page)[0]).toBe(
    "TTFT p95 against concurrency. concurrency 64: 64, 31 ms; concurrency 100: 100, 74 ms; concurrency 128: 128, 40 ms. " +
      "limit 45 ms at 45 ms. answer 64 at 64",
  );
  const kinds = [...page.querySelectorAll(".chart")[0]!.querySelectorAll(".kind")].map(text);
  expect(kinds).toEqual(["within the limits", "beyond a limit", "excluded: distorted by the load generator"]);
});

test("the repeats of a value are one row with a mean, an interval and its runs, and the best are marked", async () => {
  const rows = [row(1, "measured", 100, 20, 3), row(8, "measured", 600, 60, 3, { pareto: false })];
  const page = open(sweep(rows, { best_throughput: 1, best_latency: 0 }), { cells_total: 6, cells_done: 6 });
  await eventually(() => expect(card(page, "Values")).not.toBeNull());
  const body = card(page, "Values")!.querySelector("tbody")!;
  expect([...body.querySelectorAll("tr")].map((r) => text(r.querySelector("td")))).toEqual([
    "concurrency 1 lowest latency Pareto",
    "concurrency 8 best throughput",
  ]);
  expect(text(body.querySelector("[data-label='TTFT p99']"))).toBe("20.0 ±1.00");
  const runs = [...body.querySelectorAll("tr:first-child .runs-of a")];
  expect(runs.map((a) => `${text(a)} ${a.getAttribute("href")}`)).toEqual([
    "1 #/runs/c1-0",
    "2 #/runs/c1-1",
    "3 #/runs/c1-2",
  ]);
});

test("a sweep is drawn against its load, per user and against latency, and every point has its value", async () => {
  const rows = [row(1, "measured", 100, 20), row(8, "measured", 600, 60), row(32, "measured", 900, 300)];
  const page = open(sweep(rows), { cells_total: 9, cells_done: 9 });
  await eventually(() => expect(charts(page)).toHaveLength(4));
  expect(charts(page).map((c) => c.split(". ")[0])).toEqual([
    "TTFT p99 against concurrency",
    "Output tokens/s against concurrency",
    "Output tokens/s against output tokens/s of each user (median)",
    "Output tokens/s against TTFT p99",
  ]);
  for (const chart of charts(page)) for (const n of [1, 8, 32]) expect(chart).toContain(`concurrency ${n}: `);
});

test("a point whose place is distorted counts for nothing, whichever of its numbers it is", async () => {
  const distorted = row(8, "measured", 600, 60);
  distorted.metrics.time_to_first_token.statistics.p99 = { ...estimate(60), distorted: true } as never;
  const page = open(sweep([row(1, "measured", 100, 20), distorted]), { cells_total: 6, cells_done: 6 });
  await eventually(() => expect(charts(page)).toHaveLength(4));
  const excluded = [...page.querySelectorAll(".chart")].map((c) => c.querySelector(".k-excluded") !== null);
  expect(excluded).toEqual([true, false, false, true]);
});

test("a point of a sweep leads to its run", async () => {
  FakePlot.made.splice(0);
  const page = open(sweep([row(1, "measured", 100, 20), row(8, "measured", 600, 60)]), {
    cells_total: 6,
    cells_done: 6,
  });
  await eventually(() => expect(charts(page)).toHaveLength(4));
  const u = FakePlot.made[0]!;
  const call = (hook: "ready" | "setCursor") => {
    for (const f of u.options.hooks![hook]!) f?.(u as never);
  };
  call("ready");
  Object.assign(u.cursor, { left: 8, top: 60 }); // of concurrency 8, whose TTFT p99 is 60 ms
  call("setCursor");
  u.over.click();
  await eventually(() => expect(location.hash).toBe("#/runs/c8-0"));
  location.hash = "";
});

test("a sweep of any number of values has the interval of each", async () => {
  for (const n of [11, 101]) {
    const rows = Array.from({ length: n }, (_, i) => row(i + 1, "measured", 100 + i, 20));
    const page = open(sweep(rows), { cells_total: n, cells_done: n });
    await eventually(() => expect(page.querySelectorAll("td[data-label='TTFT p99']")).toHaveLength(n));
    const cells = [...page.querySelectorAll("td[data-label='TTFT p99']")].map(text);
    expect(cells.filter((c) => c !== "20.0 ±1.00")).toEqual([]);
  }
});

test("values stand in their order, not in that in which a search measured them", async () => {
  const page = open(sweep([row(8, "pass", 800, 10), row(64, "fail", 900, 60), row(48, "fail", 890, 50)]), {
    cells_total: 3,
    cells_done: 3,
  });
  await eventually(() => expect(card(page, "Values")).toBeTruthy());
  const names = [...card(page, "Values")!.querySelectorAll("tbody .value")].map(text);
  expect(names).toEqual(["concurrency 8", "concurrency 48", "concurrency 64"]);
});

test("a mean that leaves out distorted runs says of how many it is", async () => {
  const rows = [row(1, "measured", 100, 10), row(2, "measured", 200, 12)];
  const few = rows[1]!.metrics.time_to_first_token.statistics;
  few.p99 = estimate(12, 1);
  const page = open(sweep(rows, { best_latency: 1 }), { cells_total: 6, cells_done: 6 });
  await eventually(() => expect(text(card(page, "Values"))).toContain("1 of 3 runs"));
  expect(text(card(page, "Values"))).toContain("Runs in which the load generator distorted a number are left out");
  expect(text(card(page, "Answer"))).toContain("1 of 3 runs");
});

test("the Pareto front of a picture has the values that the table marks, also those that are not decided", async () => {
  const unsure = { ...reading(30), doubt: "too few requests for this percentile" };
  const rows = [
    row(1, "pass", 100, 10, 1, { pareto: true, readings: [reading(10)] }),
    row(8, "pass", 800, 30, 1, { pareto: true, readings: [unsure] }),
    row(64, "fail", 900, 60, 1, { pareto: false, readings: [reading(60)] }),
  ];
  const page = open(sweep(rows, { limits: [limit] }), { cells_total: 3, cells_done: 3 });
  await eventually(() =>
    expect([...page.querySelectorAll(".legend")].filter((l) => text(l).includes("Pareto front"))).not.toHaveLength(0),
  );
});
