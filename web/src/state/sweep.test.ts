import { expect, test } from "vitest";
import {
  best,
  condition,
  doubts,
  front,
  grouped,
  keeps,
  marks,
  numeric,
  type Row,
  type Sweep,
  same,
  throughput,
  undecided,
} from "./sweep";

const path = "phases.profiling.concurrency";
const estimate = (mean: number, more = {}) => ({ mean, low: mean - 1, high: mean + 1, runs: 3, ...more });

function row(values: Record<string, unknown>, tokens: number, ttft: number, more: Partial<Row> = {}): Row {
  return {
    name: Object.values(values).join(", "),
    values,
    runs: [{ id: "a" }, { id: "b" }],
    outcome: "measured",
    pareto: false,
    readings: [],
    metrics: {
      output_token_throughput: { unit: "tokens/sec", statistics: { avg: estimate(tokens) } },
      time_to_first_token: { unit: "ms", statistics: { p99: estimate(ttft) } },
    },
    ...more,
  } as Row;
}

function sweep(rows: Row[], parameters = [{ path, name: "concurrency" }]): Sweep {
  return {
    type: "grid",
    parameters,
    confidence_level: 0.95,
    limits: [],
    rows,
    best_throughput: null,
    best_latency: null,
    latency_metric: "time_to_first_token",
    findings: [],
    search: null,
  } as Sweep;
}

test("the row with the most tokens of those that keep the objective of the reader", () => {
  const s = sweep([row({ [path]: 1 }, 100, 20), row({ [path]: 8 }, 600, 60), row({ [path]: 32 }, 900, 300)]);
  const objective = { metric: "time_to_first_token", statistic: "p99", threshold: 100 };
  expect(s.rows.map((r) => keeps(r, objective))).toEqual([true, true, false]);
  expect(best(s, objective)).toBe(1);
  expect(best(s, { ...objective, threshold: 5 })).toBe(-1);
  expect(best(s, { metric: "output_token_throughput", statistic: "avg", threshold: 700 })).toBe(2);
});

test("a limit is written as it was given, that of a search for a capacity by the share of good requests", () => {
  const ttft = { metric: "time_to_first_token", statistic: "p95", operator: "<", threshold: 45, unit: "ms" } as const;
  expect(condition(ttft)).toBe("TTFT p95 < 45 ms");
  const good = { metric: "attainment", statistic: "avg", operator: ">=", threshold: 95, unit: "%" } as const;
  expect(condition(good)).toBe("Good requests ≥ 95 %");
});

test("a distorted number keeps no objective", () => {
  const bad = row({ [path]: 8 }, 600, 60);
  bad.metrics.time_to_first_token!.statistics.p99!.distorted = true;
  expect(keeps(bad, { metric: "time_to_first_token", statistic: "p99", threshold: 100 })).toBeNull();
});

test("parameters on an axis have different numbers", () => {
  const parameters = [
    { path, name: "concurrency" },
    { path: "isl", name: "isl" },
    { path: "model", name: "model" },
  ];
  const s = sweep(
    [row({ [path]: 1, isl: 8, model: "a" }, 1, 1), row({ [path]: 2, isl: 8, model: "b" }, 1, 1)],
    parameters,
  );
  expect(numeric(s).map((p) => p.name)).toEqual(["concurrency"]);
});

test("rows are grouped by the other parameters, and sorted along the axis", () => {
  const parameters = [
    { path, name: "concurrency" },
    { path: "isl", name: "isl" },
  ];
  const s = sweep(
    [row({ [path]: 4, isl: 8 }, 1, 1), row({ [path]: 1, isl: 8 }, 1, 1), row({ [path]: 1, isl: 64 }, 1, 1)],
    parameters,
  );
  expect(grouped(s, path).map((g) => [g.label, g.rows.map((r) => r.values[path])])).toEqual([
    ["isl 8", [1, 4]],
    ["isl 64", [1]],
  ]);
});

test("the Pareto front keeps what nothing is better than in both", () => {
  const points = [
    { x: 10, y: 1 },
    { x: 20, y: 5 },
    { x: 25, y: 4 },
    { x: 40, y: 9 },
  ];
  expect(front(points, true).map((p) => p.x)).toEqual([10, 20, 40]);
  expect(front(points, false).map((p) => p.x)).toEqual([40]);
});

test("marks of a row", () => {
  const s = { ...sweep([row({ [path]: 1 }, 1, 1, { pareto: true }), row({ [path]: 2 }, 1, 1)]), best_throughput: 0 };
  expect(marks(s, 0)).toEqual(["best throughput", "Pareto"]);
  expect(marks(s, 1)).toEqual([]);
});

test("marks of a row within the limits say that they are about such rows", () => {
  const pass = { outcome: "pass", pareto: true } as Partial<Row>;
  const rows = [
    row({ [path]: 1 }, 1, 1, pass),
    row({ [path]: 2 }, 2, 2, pass),
    row({ [path]: 4 }, 9, 9, { outcome: "fail" }),
  ];
  const s = { ...sweep(rows), best_throughput: 1, best_latency: 0 };
  expect(marks(s, 1)).toEqual(["best throughput within the limits"]); // all of them are on the front
  expect(marks({ ...s, rows: [rows[0]!, rows[2]!], best_throughput: 0 }, 0)).toEqual([]); // the only one
});

test("a best value with too few requests, or with an interval over that of another one, is doubtful", () => {
  const rows = [row({ [path]: 1 }, 100, 90), row({ [path]: 2 }, 101.5, 95), row({ [path]: 4 }, 300, 95)];
  rows[0]!.metrics.time_to_first_token!.statistics.p99!.unsupported = true;
  const s = sweep(rows);
  expect(doubts(s, rows[0]!, "time_to_first_token", "p99")).toEqual({
    texts: ["too few requests"],
    remedy: "longer runs would tell more.",
  });
  expect(doubts(s, rows[1]!, "output_token_throughput", "avg")).toEqual({
    texts: ["its interval overlaps that of 1"],
    remedy: "more runs per value would tell more.",
  });
  expect(doubts(s, rows[2]!, "output_token_throughput", "avg")).toEqual({ texts: [], remedy: "" });
});

test("a boundary is not decided by a short probe, nor by one whose interval contains the limit", () => {
  const limit = { metric: "time_to_first_token", statistic: "p99", operator: "<", threshold: 100, unit: "ms" };
  const edge = (at: number, observed: number, more = {}) =>
    ({ value: at, row: at, valid: true, readings: [{ ...limit, observed, met: observed < 100, ...more }] }) as never;
  const s = sweep([row({ [path]: 1 }, 1, 50), row({ [path]: 2 }, 1, 100.5), row({ [path]: 4 }, 1, 200)]);
  expect(undecided(s, edge(0, 50))).toEqual([]);
  expect(undecided(s, edge(0, 50, { doubt: "too few requests for this percentile" }))).toEqual([
    "too few requests for this percentile",
  ]);
  expect(undecided(s, edge(1, 100.5))).toEqual(["its interval contains the limit"]);
  expect(undecided(s, edge(2, 200))).toEqual([]);
  expect(undecided(s, null)).toEqual([]);
  const other = { ...limit, metric: "request_latency", observed: 5000, met: false };
  const both = edge(1, 100.5) as { readings: object[] };
  expect(undecided(s, { ...both, readings: [...both.readings, other] } as never)).toEqual([]); // surely beyond one limit
});

test("rows of two sweeps are the same by their values, not by their order", () => {
  expect(same(row({ a: 1, b: 2 }, 1, 1), row({ b: 2, a: 1 }, 5, 5))).toBe(true);
  expect(same(row({ a: 1 }, 1, 1), row({ a: 2 }, 1, 1))).toBe(false);
});

test("without tokens, requests are the throughput", () => {
  const r = row({ [path]: 1 }, 1, 1);
  delete r.metrics.output_token_throughput;
  expect(throughput(sweep([r]))).toBe("request_throughput");
});
