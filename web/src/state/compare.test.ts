import { expect, test } from "vitest";
import type { Timeseries } from "../api/timeseries";
import { counting } from "../charts/scales";
import { aligned, apart, overlay, sides } from "./compare";
import type { Row, Sweep } from "./sweep";

const series = (start: number, times: number[], values: (number | null)[]) =>
  ({
    step_sec: 1,
    time_sec: times,
    phases: [
      { index: 0, name: "warmup", kind: "warmup", start_sec: 0, end_sec: start },
      { index: 1, name: "profiling", kind: "profiling", start_sec: start, end_sec: null },
    ],
    series: { output_tokens: { unit: "", values: { rate: values } } },
  }) as unknown as Timeseries;

test("runs are aligned at the start of profiling, whatever their warm-up took", () => {
  const o = overlay([series(3, [2, 3, 4], [1, 10, 11]), series(8.2, [8, 9], [20, 21]), null], "output_tokens", "rate");
  expect(o.x).toEqual([-1, 0, 1]);
  expect(o.columns).toEqual([[1, 10, 11], [undefined, 20, 21], null]);
});

test("warm-up counts for nothing in the means of an overlay", () => {
  const x = [-2, -1, 0, 1];
  const counts = counting({ x, regions: sides(x) }, null);
  expect(x.map((_, i) => counts(i))).toEqual([false, false, true, true]);
  expect(sides([0, 1])).toEqual([]);
});

test("a percentile of few requests is a gap, as on the page of a run", () => {
  const s = series(0, [0, 1], [1, 1]);
  s.series = {
    requests_completed: { unit: "", values: { rate: [7, 20] } },
    request_latency: { unit: "ms", values: { p50: [5, 6], p99: [9, 9], count: [7, 500] } },
  };
  expect(overlay([s], "request_latency", "p50").columns).toEqual([[null, 6]]);
  expect(overlay([s], "request_latency", "p99").columns).toEqual([[null, 9]]);
});

test("a gap of a run is no point of another one", () => {
  const o = overlay(
    [series(0, [0, 1, 2], [1, null, 3]), series(0, [0, 1, 2, 3], [1, 2, 3, 4])],
    "output_tokens",
    "rate",
  );
  expect(o.columns[0]).toEqual([1, null, 3, undefined]);
});

test("sweeps are compared value by value, in whatever order they have them", () => {
  const row = (n: number) =>
    ({ name: "concurrency " + n, values: { "phases.profiling.concurrency": n } }) as unknown as Row;
  const sweep = (...n: number[]) => ({ rows: n.map(row) }) as Sweep;
  const all = aligned([sweep(1, 8), sweep(8, 16)]);
  expect(all.map((a) => [a.name, a.rows.map((r) => r?.name ?? null)])).toEqual([
    ["concurrency 1", ["concurrency 1", null]],
    ["concurrency 8", ["concurrency 8", "concurrency 8"]],
    ["concurrency 16", [null, "concurrency 16"]],
  ]);
});

test("runs with one name are numbered, others keep theirs", () => {
  const runs = ["nightly", "other", "nightly", ""].map((name) => ({ name }));
  expect(apart(runs).map((r) => r.name)).toEqual(["nightly (1)", "other", "nightly (2)", ""]);
  expect(apart([{ name: "" }, { name: "" }]).map((r) => r.name)).toEqual(["", ""]);
});
