import { expect, test } from "vitest";
import type { Phase, Run } from "../api/client";
import type { Timeseries } from "../api/timeseries";
import { whole } from "../charts/spark";
import { enough, events, full, only, regions, singles, tail } from "./overtime";

const series = (more: Partial<Timeseries>): Timeseries => ({
  run_id: "r",
  state: "completed",
  start_time: null,
  step_sec: 1,
  next_sec: 4,
  phases: [{ index: 0, name: "profiling", kind: "profiling", start_sec: 0, end_sec: 3.4 }],
  time_sec: [0, 1, 2, 3],
  series: { requests_completed: { unit: "", values: { rate: [25, 3, 20, null] } } },
  ...more,
});

const partial = (s: Timeseries) => regions(s).filter((r) => r.partial);

test("the last point of a run that ended in it is partial", () => {
  expect(partial(series({}))).toEqual([{ label: "", from: 3, to: 4, quiet: false, partial: true }]);
});

test("a whole last point is not", () => {
  expect(partial(series({ phases: [{ index: 0, name: "p", kind: "profiling", start_sec: 0, end_sec: 4 }] }))).toEqual(
    [],
  );
});

test("the newest point of a live run is partial until its step is over", () => {
  const phases = [{ index: 0, name: "p", kind: "profiling", start_sec: 0, end_sec: null }];
  const live = { phases, step_sec: 10, time_sec: [0, 10] };
  expect(partial(series({ ...live, next_sec: 14 }))).toHaveLength(1);
  expect(partial(series({ ...live, next_sec: 20 }))).toEqual([]);
});

test("a run that began within a point has measured a part of it", () => {
  const phases = [{ index: 0, name: "p", kind: "profiling", start_sec: 0.5, end_sec: 4 }];
  expect(partial(series({ phases }))).toEqual([{ label: "", from: 0, to: 1, quiet: false, partial: true }]);
});

test("a run without points has no parts", () => {
  expect(partial(series({ time_sec: [] }))).toEqual([]);
});

test("percentiles are lines from 20 requests per point, whatever its length", () => {
  expect(full(series({}))).toEqual([true, false, true, false]);
  expect(full(series({ step_sec: 10 }))).toEqual([true, true, true, false]);
  expect(full(series({ series: {} }))).toEqual([false, false, false, false]);
  expect(only([1, 2, undefined, 4], [true, false, true, false])).toEqual([1, null, null, null]);
});

test("requests of points with too few are drawn themselves", () => {
  const none: (number | null)[] = [];
  const sample = {
    of: 4,
    end_sec: [0.5, 1.5, 2.5, 3.1],
    request_latency: [10, 20, 30, null],
    time_to_first_token: none,
    inter_token_latency: none,
    schedule_lag: none,
    input_tokens: none,
    output_tokens: none,
  };
  const s = series({});
  expect(singles(s, full(s), sample as never, "request_latency")).toEqual({ x: [1.5], y: [20] });
  expect(singles(s, full(s), undefined, "request_latency")).toEqual({ x: [], y: [] });
});

test("a sparkline ends with the last whole point", () => {
  expect(whole(series({}))).toEqual([25, 3, 20]);
});

const run = (more: object) => ({ state: "completed", ...more }) as unknown as Run;
const phase = (more: object) => ({ phase_index: 0, ...more }) as unknown as Phase;
const labels = (s: Timeseries, r: Run, p: Phase[] = []) => events(s, r, p).map((m) => `${m.label} ${m.value}`);

test("the end of sending is an event if answers came for a step or more after it", () => {
  const s = series({ start_time: "1970-01-01T00:00:10Z" });
  const p = phase({ sent_end_ns: 12e9, requests_end_ns: 13.4e9, grace_period_timeout_triggered: true });
  expect(labels(s, run({}), [p])).toEqual(["sending ends 2", "grace period over 3.4"]);
  expect(labels(s, run({}), [phase({ sent_end_ns: 13e9, requests_end_ns: 13.4e9 })])).toEqual([]);
});

test("the first error and the end of a stopped run are events", () => {
  const errors = { errors: { unit: "", values: { timeout: [null, 0, 2, 1] } } };
  expect(labels(series({ series: errors }), run({ state: "failed" }))).toEqual(["first error 2", "failed 3.4"]);
  expect(labels(series({}), run({ state: "failed", error: { code: "daemon-restarted" } }))).toEqual([
    "daemon restarted 3.4",
  ]);
});

test("the first error is not marked before the phase in which it happened", () => {
  const phases = [
    { index: 0, name: "warmup", kind: "warmup", start_sec: 0, end_sec: 0.7 },
    { index: 1, name: "profiling", kind: "profiling", start_sec: 0.75, end_sec: 4 },
  ] as Timeseries["phases"];
  const s = series({ phases, series: { errors: { unit: "", values: { overloaded: [1, 2, 0, 0] } } } });
  const [warmup, profiling] = [phase({ request_errors: 0 }), phase({ phase_index: 1, request_errors: 3 })];
  expect(labels(s, run({}), [warmup, profiling])).toEqual(["first error 0.75"]);
  expect(labels(s, run({}), [phase({ request_errors: 1 }), profiling])).toEqual(["first error 0"]);
});

test("a p99 needs 500 requests per point; without any such point the maximum is shown", () => {
  const s = (...count: number[]) => series({ series: { request_latency: { unit: "ms", values: { count } } } });
  expect(enough(s(500, 499, 0, 900), "request_latency", "p99")).toEqual([true, false, false, true]);
  expect(tail([s(20, 499, 34, 0), null], "request_latency")).toBe("max");
  expect(tail([s(20, 499, 34, 0), s(500, 0, 0, 0)], "request_latency")).toBe("p99");
});

test("arrivals wait only in a saturated open loop", () => {
  const backlog = { backlog: { unit: "", values: { max: [0, 0, 3, 9] } } };
  expect(labels(series({ series: backlog }), run({ summary: { saturation: { saturated: true } } }))).toEqual([
    "arrivals wait 2",
  ]);
  expect(labels(series({ series: backlog }), run({}))).toEqual([]);
});
