import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import type { Timeseries } from "../api/timeseries";
import { disagreement, hitRate, onAxis, parts, shownPhases, shownSpans } from "./server";

type Phase = Schemas["diagnose.Phase"];

const value = (name: string, total?: number) => ({ name, unit: "tokens", families: [], total }) as never;

const phase = (more: Partial<Phase>): Phase => ({
  name: "profiling",
  kind: "profiling",
  start_time: "",
  end_time: "",
  canonical: [value("running")],
  findings: [],
  checks: [],
  ...more,
});

const series = (times: number[], step: number): Timeseries => ({
  run_id: "1",
  state: "completed",
  start_time: "2026-05-04T10:00:00Z",
  step_sec: step,
  next_sec: 0,
  phases: [],
  time_sec: times,
  series: {},
});

test("the parts of a time budget are what is shown, and add up to the time to the first token", () => {
  const segment = (name: string, ms: number, by: string) => ({ name, ms, measured_by: by }) as never;
  const all = parts({
    corrected_ttft_ms: 812,
    requests: 190,
    after_first_token_ms: 100,
    segments: [
      segment("client", 1, "client"),
      segment("connect", 0.5, "client"),
      segment("send", 0.5, "client"),
      segment("frontend", 35, "residual"),
      segment("queue", 590, "server"),
      segment("prefill", 185, "server"),
    ],
  });
  expect(all.map((p) => [p.name, p.ms])).toEqual([
    ["client", 2],
    ["network and frontend", 35],
    ["queue", 590],
    ["prefill", 185],
  ]);
  expect(all.reduce((sum, p) => sum + p.ms, 0)).toBe(812);
  expect(new Set(all.map((p) => p.color)).size).toBe(4);
});

test("the round trip is a part of its own if it is known", () => {
  const segment = (name: string, ms: number) => ({ name, ms, measured_by: "" }) as never;
  const all = parts({
    corrected_ttft_ms: 812,
    requests: 190,
    after_first_token_ms: 100,
    segments: [
      segment("client", 2),
      segment("path", 1),
      segment("frontend", 34),
      segment("queue", 590),
      segment("prefill", 185),
    ],
  });
  expect(all.map((p) => [p.name, p.ms])).toEqual([
    ["client", 2],
    ["network", 1],
    ["frontend", 34],
    ["queue", 590],
    ["prefill", 185],
  ]);
  expect(new Set(all.map((p) => p.color)).size).toBe(5);
});

test("the whole run has its profiling phases, a scope that phase alone, and an unknown server none", () => {
  const all = [
    phase({ name: "warm", kind: "warmup" }),
    phase({ name: "a" }),
    phase({ name: "b" }),
    phase({ canonical: [] }),
  ];
  expect(shownPhases(all, null).map((p) => p.name)).toEqual(["a", "b"]);
  expect(shownPhases(all, "warm").map((p) => p.name)).toEqual(["warm"]);
});

test("the hit rate is of tokens, and unknown without both counters", () => {
  expect(hitRate(phase({ canonical: [value("prefix_hits", 38), value("prefix_queries", 100)] }))).toBe(0.38);
  expect(hitRate(phase({ canonical: [value("prefix_hits", 0), value("prefix_queries", 0)] }))).toBeUndefined();
  expect(hitRate(phase({}))).toBeUndefined();
});

test("curves come to lie on the points of a series", () => {
  const curves: Schemas["diagnose.Curves"] = {
    start_time: "2026-05-04T10:00:01Z",
    time_sec: [0.5, 1.5, 4.5],
    levels: { running: [4, 6, 8], waiting: [null, 0, 1] },
    increases: { preemptions: [1, 0, 6], prefix_hits: [10, 20, 0], prefix_queries: [100, 100, 50] },
  };
  const one = onAxis(curves, series([0, 1, 2, 3, 4, 5], 1));
  expect(one.running).toEqual([null, 4, 6, null, null, 8]);
  expect(one.waiting).toEqual([null, null, 0, null, null, 1]);
  expect(one.preemptions).toEqual([null, 2, 0, null, null, 2]);
  const wide = onAxis(curves, series([0, 3], 3));
  expect(wide.running).toEqual([5, 8]);
  expect(wide.hit_rate).toEqual([0.15, 0]);
  expect(onAxis(curves, series([], 1))).toEqual({});
  // A phase that begins later: what was read before it is not on its axis.
  expect(onAxis(curves, series([2, 3], 1)).running).toEqual([6, null]);
});

test("a disagreement says what differs", () => {
  const check = { code: "server-inflight", client: 140, server: 148, tolerance: 2, unit: "requests", holds: false };
  expect(disagreement(check)).toMatch(
    /the server's metrics, 148 requests were at work on average, by the client's clock 140\./,
  );
  expect(disagreement({ ...check, code: "server-littles-law" })).toMatch(
    /its rate times its time per request is 140\./,
  );
  expect(disagreement({ ...check, code: "server-prompt-tokens", unit: "tokens" })).toBe(
    "Server and client differ: the server counted 148 tokens, the client 140 (prompt tokens).",
  );
});

test("spans are shown of the phases in scope that a request with a span has", () => {
  const of = (name: string, kind: string, joined: number) => ({ name, kind, joined, requests: 9, segments: [] });
  const all = [of("warm", "warmup", 4), of("first", "profiling", 9), of("second", "profiling", 0)];
  expect(shownSpans(all, null).map((p) => p.name)).toEqual(["first"]);
  expect(shownSpans(all, "warm").map((p) => p.name)).toEqual(["warm"]);
  expect(shownSpans(all, "second")).toEqual([]);
});
