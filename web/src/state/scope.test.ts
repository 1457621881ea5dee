import { expect, test } from "vitest";
import type { Phase, Progress } from "../api/client";
import type { Timeseries } from "../api/timeseries";
import { barOf, measured, phaseQuery, statsOf, totals, within } from "./scope";

function phase(more: Record<string, unknown>): Phase {
  return {
    phase: "profiling",
    phase_index: 0,
    phase_name: "profiling",
    start_ns: 1,
    state: "complete",
    requests_completed: 0,
    request_errors: 0,
    requests_cancelled: 0,
    in_flight_requests: 0,
    total_expected_requests: null,
    progress_percent: null,
    requests_eta_sec: null,
    ...more,
  } as unknown as Phase;
}

const progressOf = (...phases: Phase[]) =>
  ({ phases: Object.fromEntries(phases.map((p) => [p.phase_name, p])) }) as Progress;

const twoPhases = progressOf(
  phase({ phase: "warmup", phase_name: "warmup", requests_completed: 5, request_errors: 5 }),
  phase({ phase_name: "first", phase_index: 1, requests_completed: 100, request_errors: 40 }),
  phase({ phase_name: "second", phase_index: 2, requests_completed: 100 }),
);

test("the failures of the first of two profiling phases are those of the run", () => {
  expect(totals(twoPhases, null, null)).toEqual({ succeeded: 160, failed: 40, inFlight: 0, errorShare: 0.2 });
});

test("the numbers of a run are those of its profiling phases, and are named so", () => {
  const warmup = phase({ phase: "warmup", phase_name: "warmup" });
  const [one, two] = [phase({ phase_name: "steady" }), phase({ phase_name: "burst" })];
  expect(measured([warmup, one])).toBe("steady");
  expect(measured([warmup, one, two])).toBe("all but warm-up");
  expect(measured([one, two])).toBe("all phases");
});

test("the scope of one phase", () => {
  expect(totals(twoPhases, "first", null).failed).toBe(40);
  expect(totals(twoPhases, "second", null)).toEqual({ succeeded: 100, failed: 0, inFlight: 0, errorShare: 0 });
  expect(totals(twoPhases, "warmup", null).errorShare).toBe(1);
});

test("without progress the summary has the totals", () => {
  expect(totals(null, null, { requests: 160, errors: 40 } as never).errorShare).toBe(0.2);
  expect(totals(null, null, null).errorShare).toBeNull();
});

test.each([
  [
    "a replay without a total that is complete",
    phase({ requests_completed: 30 }),
    true,
    100,
    0,
    "complete",
    "30 succeeded · complete",
  ],
  [
    "a phase of which all requests failed",
    phase({ requests_completed: 50, request_errors: 50, total_expected_requests: 50, progress_percent: 100 }),
    true,
    100,
    100,
    "failed",
    "0 of 50 succeeded · 50 failed · all failed",
  ],
  [
    "a warm-up that was whole when the run was interrupted",
    phase({ state: "failed", requests_completed: 20, total_expected_requests: 20, progress_percent: 100 }),
    true,
    100,
    0,
    "complete",
    "20 of 20 succeeded · complete",
  ],
  [
    "a fifth failed",
    phase({ requests_completed: 50, request_errors: 10, total_expected_requests: 50, progress_percent: 100 }),
    true,
    100,
    20,
    "complete",
    "40 of 50 succeeded · 10 failed · complete",
  ],
  [
    "cut off without a total",
    phase({ state: "failed", requests_completed: 7 }),
    true,
    null,
    0,
    "failed",
    "7 succeeded · not complete",
  ],
  [
    "running without a total",
    phase({ state: "running", requests_completed: 7, in_flight_requests: 2 }),
    false,
    null,
    0,
    "",
    "7 succeeded · 2 in flight",
  ],
  [
    "running",
    phase({
      state: "running",
      requests_completed: 7,
      total_expected_requests: 14,
      progress_percent: 50,
      requests_eta_sec: 3,
    }),
    false,
    50,
    0,
    "",
    "7 of 14 succeeded · 0 in flight · 3.00 s left",
  ],
])("the bar of %s", (_, p, over, percent, failed, tone, text) => {
  expect(barOf(p, over)).toEqual({ percent, failed, tone, text });
});

const series = {
  run_id: "a",
  state: "completed",
  start_time: null,
  step_sec: 10,
  next_sec: 60,
  phases: [
    { index: 0, name: "one", kind: "profiling", start_sec: 0, end_sec: 25 },
    { index: 1, name: "two", kind: "profiling", start_sec: 25, end_sec: 55 },
  ],
  time_sec: [0, 10, 20, 30, 40, 50],
  series: { in_flight: { unit: "requests", values: { avg: [1, 2, 3, 4, 5, 6] } } },
} as Timeseries;

test("the points of a phase", () => {
  expect(within(series, "one")!.time_sec).toEqual([0, 10, 20]);
  expect(within(series, "two")!.series.in_flight!.values.avg).toEqual([3, 4, 5, 6]);
  expect(within(series, null)).toBe(series);
  expect(within(series, "gone")).toBe(series);
});

test("the query of a phase", () => {
  expect(phaseQuery(null)).toBe("");
  expect(phaseQuery("ramp & hold")).toBe("&phase=ramp+%26+hold");
});

test("statistics of a phase lack what is null", () => {
  const record = {
    records: [{ tag: "request_latency", header: "Request Latency", unit: "ms", avg: 5, p50: null }],
  } as never;
  expect(statsOf(record, {})).toEqual({
    request_latency: { higher_is_better: false, header: "Request Latency", unit: "ms", avg: 5 },
  });
});
