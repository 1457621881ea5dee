import { beforeEach, expect, test, vi } from "vitest";
import { answer, eventually, show, text } from "../testing/page";
import { FakePlot } from "../testing/plot";
import { ComparePage } from "./compare";
import { Judgement } from "./judgement";

vi.mock("uplot", async () => ({ default: (await import("../testing/plot")).FakePlot }));
beforeEach(() => void FakePlot.made.splice(0));

const run = (id: string, more = {}) => ({
  id,
  name: "run " + id,
  kind: "run",
  state: "completed",
  models: ["m"],
  labels: {},
  client: { verdict: "ok" },
  revision: 1,
  concurrency: 8,
  started_at: "2026-05-04T10:00:00Z",
  ...more,
});

/** series is one whose profiling begins after some seconds of warm-up. */
const series = (warm: number, n: number) => ({
  step_sec: 1,
  next_sec: warm + n,
  time_sec: Array.from({ length: warm + n }, (_, i) => i),
  phases: [
    { index: 0, name: "warmup", kind: "warmup", start_sec: 0, end_sec: warm },
    { index: 1, name: "profiling", kind: "profiling", start_sec: warm, end_sec: warm + n },
  ],
  series: {
    requests_completed: { unit: "", values: { rate: Array.from({ length: warm + n }, () => 30) } },
    time_to_first_token: {
      unit: "ms",
      values: Object.fromEntries(
        ["p50", "p90", "max", "count"].map((s) => [s, Array.from({ length: warm + n }, () => 30)]),
      ),
    },
  },
});

const values = (a: number, b: number) => [
  { run: "a", value: a, interval: null, delta_percent: null },
  { run: "b", value: b, interval: null, delta_percent: (100 * (b - a)) / a },
];

const comparison = {
  runs: [run("a"), run("b")],
  metrics: [
    {
      tag: "request_throughput",
      header: "Request Throughput",
      unit: "requests/sec",
      statistics: [{ statistic: "avg", values: values(10, 53.3) }],
    },
    {
      tag: "time_to_first_token",
      header: "Time to First Token",
      unit: "ms",
      statistics: [{ statistic: "p99", values: values(20, 30) }],
    },
  ],
  differences: [],
};

const metric = (tag: string, verdict: string, more = {}) => ({
  tag,
  statistic: "avg",
  header: tag,
  unit: "",
  a: 10,
  b: 53.3,
  change: 433,
  low: null,
  high: null,
  margin: 5,
  verdict,
  cell: "",
  ...more,
});

const judged = {
  verdict: "inconclusive",
  sentences: ["The runs do not decide it."],
  final: true,
  speaks_for: "these two runs",
  metrics: [
    metric("request_throughput", "not_tested", { reason: "one run of each side has no interval" }),
    metric("time_to_first_token", "equivalent", { change: 0.1, low: -1, high: 1 }),
  ],
  estimate: null,
  load_differences: [],
  doubts: [],
  decide: { needs: "" },
  evidence: [],
};

const answers = {
  "api/compare?ids=a,b": comparison,
  "api/compare": judged,
  "api/runs/a": run("a"),
  "api/runs/b": run("b"),
  "api/runs/a/timeseries": series(3, 4),
  "api/runs/b/timeseries": series(0, 9),
};

test("a change that was not tested looks like none that was, and says why", async () => {
  answer(answers);
  const side = (id: string) => ({ id, label: id });
  const page = show(<Judgement a={side("a")} b={side("b")} version="1" />);
  await eventually(() => expect(page.querySelectorAll("td.judged")).toHaveLength(2));
  const cells = [...page.querySelectorAll("td.judged")];
  expect(cells.map((c) => [c.className.split(" ").at(-1), text(c)])).toEqual([
    ["not_tested", "not tested"],
    ["equivalent", "equivalent"],
  ]);
  expect(text(page.querySelector(".reasons"))).toBe("One run of each side has no interval.");
});

test("runs begin with their profiling, and every one has numbers in the legends", async () => {
  answer(answers);
  const page = show(<ComparePage ids={["a", "b"]} />);
  await eventually(() => expect(page.querySelector("[aria-label='Over time'] .chart")).not.toBeNull());
  const over = [...page.querySelectorAll("[aria-label='Over time'] .chart")];
  expect(over.map((c) => text(c.querySelector("figcaption span")))).toEqual([
    "Completed requests , per second",
    "Time to first token, p50 , ms",
    "Time to first token, p90 , ms",
    "Time to first token, max , ms",
  ]);
  for (const chart of over) {
    const legend = [...chart.querySelectorAll(".key")].map(text);
    expect(legend).toHaveLength(2);
    for (const key of legend) expect(key).toMatch(/^run [ab] (mean|up to) 30\.0/);
  }
  const charts = FakePlot.made.filter((u) => u.data[0][0] === -3);
  expect(charts).toHaveLength(4);
  expect(charts[0]!.data[1]!.slice(0, 4)).toEqual([30, 30, 30, 30]);
  expect(charts[0]!.data[2]!.slice(0, 4)).toEqual([undefined, undefined, undefined, 30]);
});

test("runs have a picture of throughput against latency, with their names", async () => {
  answer(answers);
  const page = show(<ComparePage ids={["a", "b"]} />);
  const labels = () => [...page.querySelectorAll("[role=img]")].map((e) => e.getAttribute("aria-label"));
  await eventually(() =>
    expect(labels()).toContain("Requests/s against TTFT p99. run a: 20 ms, 10.0. run b: 30 ms, 53.3"),
  );
});

test("every number of a comparison names its run, for narrow windows where a row is a card", async () => {
  answer(answers);
  const page = show(<ComparePage ids={["a", "b"]} />);
  await eventually(() => expect(page.querySelector("[aria-label='Values beside the baseline']")).not.toBeNull());
  const cells = [...page.querySelectorAll("[aria-label='Values beside the baseline'] tbody td:not(.text)")];
  expect(cells.map((c) => c.getAttribute("data-label"))).toEqual(["run a", "run b", "run a", "run b"]);
});

test("one run asks for another one by name", async () => {
  answer({ "api/runs/a": run("a"), "api/runs": { items: [run("a"), run("b"), run("s", { kind: "sweep" })] } });
  const page = show(<ComparePage ids={["a"]} />);
  await eventually(() => expect(page.querySelectorAll(".found-runs button")).toHaveLength(1));
  expect(text(page.querySelector(".pick [role=status]"))).toBe(
    "run a is chosen. Choose another run to compare it with, here or in the list of runs .",
  );
  expect(page.querySelector(".found-runs button")!.getAttribute("title")).toBe("Compare with run b");
  expect(page.querySelector(".pick input[type=search]")).not.toBeNull();
});
