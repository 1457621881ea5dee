import { beforeEach, expect, test, vi } from "vitest";
import { answer, asked, card, eventually, show, text } from "../testing/page";
import { RunPage } from "./run";

vi.mock("uplot", async () => ({ default: (await import("../testing/plot")).FakePlot }));

const phase = (name: string, index: number, more: object) => ({
  phase: "profiling",
  phase_name: name,
  phase_index: index,
  start_ns: 1,
  state: "complete",
  requests_completed: 0,
  request_errors: 0,
  requests_cancelled: 0,
  in_flight_requests: 0,
  total_expected_requests: null,
  progress_percent: 100,
  requests_eta_sec: null,
  ...more,
});

const phases = {
  warmup: phase("warmup", 0, { phase: "warmup", requests_completed: 5, request_errors: 5, total_expected_requests: 5 }),
  first: phase("first", 1, { requests_completed: 100, request_errors: 40, total_expected_requests: 100 }),
  second: phase("second", 2, { requests_completed: 100, total_expected_requests: 100 }),
};

const run = {
  id: "r1",
  name: "two phases",
  kind: "run",
  state: "completed",
  models: ["m"],
  targets: ["http://127.0.0.1:9"],
  endpoint_type: "chat",
  streaming: true,
  concurrency: null,
  request_rate: 3,
  loads: [
    { phase: "first", load: "3 req/s" },
    { phase: "second", load: "64 concurrent" },
  ],
  labels: {},
  started_at: "2026-05-04T10:00:00Z",
  ended_at: "2026-05-04T10:01:00Z",
  warnings: [],
  client: null,
  summary: { requests: 160, errors: 40, error_rate_percent: 20, slo_results: [] },
};

const stats = (avg: number, more = {}) => ({ header: "", unit: "ms", avg, p50: avg, p90: avg, p99: avg, ...more });

/** open shows a run that ended; the answers of other routes are those that are given. */
function open(
  more: {
    run?: object;
    metrics?: object;
    saturation?: object;
    slos?: object;
    progress?: object;
    telemetry?: object;
  } = {},
) {
  answer({
    "api/runs/r1": { ...run, ...more.run },
    "api/runs/r1/progress": { phases: more.progress ?? phases },
    "api/runs/r1/metrics": { metrics: more.metrics ?? {}, saturation: more.saturation ?? null },
    "api/runs/r1/config": { slos: more.slos ?? null },
    "api/runs/r1/errors": { items: [{ class: "overloaded", message: "worker <n> is busy", count: 40 }] },
    "api/runs/r1/results": {},
    "api/runs/r1/results/list": { files: [] },
    ...(more.telemetry && { "api/runs/r1/telemetry": more.telemetry }),
  });
  return show(<RunPage id="r1" />);
}

beforeEach(() => void localStorage.clear());

test("the failures of the first of two phases are in the tiles and in the list of errors", async () => {
  const page = open();
  await eventually(() => expect(text(page)).toContain("worker <n> is busy"));
  const tiles = [...page.querySelectorAll(".tile")].map(text);
  expect(tiles).toContain("Errors 40 20.0 % of requests");
  expect(tiles.find((t) => t.startsWith("Requests"))).toContain("160 succeeded");
  expect(text(card(page, "Errors"))).toBe("Errors overloaded worker <n> is busy 40");
  expect(asked).toContain("api/runs/r1/errors");
});

test("the numbers of each phase are a choice, and the head has the loads of all of them", async () => {
  const page = open();
  await eventually(() => expect(page.querySelector(".scope")).not.toBeNull());
  const choices = [...page.querySelectorAll<HTMLButtonElement>(".scope button")];
  expect(choices.map(text)).toEqual(["all but warm-up", "warmup (warm-up)", "first", "second"]);
  expect(text(page.querySelector(".run-head"))).toContain("first: 3 req/s; second: 64 concurrent");
  const tile = () => [...page.querySelectorAll(".tile")].map(text).at(-1);
  choices[3]!.click();
  await eventually(() => expect(tile()).toBe("Errors 0 0 % of requests"));
  choices[2]!.click();
  await eventually(() => expect(tile()).toBe("Errors 40 40.0 % of requests"));
});

test("bars tell the truth of a replay, of a phase that failed, and of a warm-up before a restart", async () => {
  const page = open({
    run: { state: "failed" },
    progress: {
      warmup: phase("warmup", 0, {
        phase: "warmup",
        state: "failed",
        requests_completed: 20,
        total_expected_requests: 20,
      }),
      broken: phase("broken", 1, { requests_completed: 50, request_errors: 50, total_expected_requests: 50 }),
      replay: phase("replay", 2, { requests_completed: 30, progress_percent: null }),
    },
  });
  await eventually(() => expect(page.querySelectorAll(".phase")).toHaveLength(3));
  const bars = [...page.querySelectorAll(".phase")].map((p) => {
    const bar = p.querySelector("[role=progressbar]")!;
    const width = (of: string) => Number(bar.querySelector(`rect.${of}`)?.getAttribute("width"));
    return [text(p), bar.getAttribute("aria-valuenow"), width("good"), width("bad")];
  });
  expect(bars).toEqual([
    ["warmup 20 of 20 succeeded · complete", "100", 100, 0],
    ["broken 0 of 50 succeeded · 50 failed · all failed", "100", 0, 100],
    ["replay 30 succeeded · complete", "100", 100, 0],
  ]);
});

test("the alarm names the numbers that are distorted, and is no alarm for numbers that the page does not show", async () => {
  const reason = (tag: string) => ({ level: "invalid", concerns: [tag], message: `${tag} off by at most 9 ms: late` });
  const client = (tag: string) => ({ verdict: "invalid", reasons: [reason(tag)] });
  const metrics = { corrected_request_latency: stats(9, { header: "Corrected Request Latency" }) };
  let page = open({ run: { client: client("corrected_request_latency") }, metrics });
  await eventually(() => expect(text(page)).toContain("do not use them: Corrected Request Latency."));
  expect(page.querySelector(".alert.client-invalid")).toBeNull();
  expect(page.querySelectorAll(".tile .doubt")).toHaveLength(0);
  page = open({ run: { client: client("request_latency") } });
  await eventually(() => expect(page.querySelector(".alert.client-invalid")).not.toBeNull());
  expect([...page.querySelectorAll(".tile .doubt")].map((d) => text(d.closest(".tile"))[0])).toEqual(["L"]);
});

test("a run that was cancelled says why, if that is more than that it was cancelled", async () => {
  const reason = (page: Element) => [...page.querySelectorAll("p.notice")].map(text).join();
  let page = open({ run: { state: "cancelled", state_reason: "the answer is known" } });
  await eventually(() => expect(reason(page)).toBe("Cancelled: the answer is known."));
  page = open({ run: { state: "cancelled", state_reason: "cancelled" } });
  await eventually(() => expect(page.querySelector(".tile")).not.toBeNull());
  expect(reason(page)).toBe("");
});

test("an open loop has what was asked and served, the backlog, and latencies from the due time", async () => {
  const saturation = {
    phase: "first",
    saturated: true,
    asked_rate_per_sec: 12,
    offered_rate_per_sec: 11.9,
    sent_rate_per_sec: 8.2,
    achieved_rate_per_sec: 8,
    backlog_max: 128,
    cut_requests: 3,
    dropped_requests: 0,
    cut_share: 0.01,
    message: "requests arrive faster than they are served",
  };
  const metrics = { request_latency: stats(500), corrected_request_latency: stats(7100) };
  const page = open({ metrics, saturation, progress: { first: phases.first } });
  await eventually(() => expect(card(page, "Open loop")).not.toBeNull());
  const part = card(page, "Open loop")!;
  await eventually(() => expect(part.querySelectorAll("tbody tr")).toHaveLength(2));
  expect([...part.querySelectorAll(".tile")].map((t) => text(t).split(" ").slice(0, 3).join(" "))).toEqual([
    "Asked 12.0 req/s",
    "Offered 11.9 req/s",
    "Sent 8.20 req/s",
    "Served 8.00 req/s",
    "Largest backlog 128",
    "Without an answer",
  ]);
  expect(text(part)).toContain("128");
  expect([...part.querySelectorAll("tbody tr")].map(text)).toEqual([
    "Request latency, from the start, ms 500 500 500 500",
    "Request latency, from the due time, ms 7,100 7,100 7,100 7,100",
  ]);
});

test("goodput has the share of requests that met the objectives, and which one was missed most", async () => {
  const share = (avg: number) => ({ header: "", unit: "ratio", avg });
  const page = open({
    slos: { time_to_first_token: 100, request_latency: 500 },
    metrics: {
      goodput: share(0.33),
      good_request_fraction: share(0.04),
      "slo_attainment.time_to_first_token": share(0.96),
      "slo_attainment.request_latency": share(0.04),
    },
  });
  await eventually(() => expect(text(card(page, "Service level objectives"))).toContain("missed most"));
  const goodput = [...page.querySelectorAll(".tile")].map(text).find((t) => t.startsWith("Goodput"));
  expect(goodput).toBe("Goodput 0.33 req/s 4.00 % of the requests met all objectives");
  const rows = [...card(page, "Service level objectives")!.querySelectorAll("tr")].map(text);
  expect(rows).toEqual(["Request latency ≤ 500 missed most 4.00 %", "TTFT ≤ 100 96.0 %"]);
});

test("spans of the server have the share of the requests that had one, and the times of each part", async () => {
  const part = (name: string, p50_ms: number) => ({
    name,
    count: 150,
    avg_ms: p50_ms,
    p50_ms,
    p90_ms: 700,
    p99_ms: 812,
    max_ms: 900,
  });
  const of = (name: string, kind: string) => ({
    name,
    kind,
    requests: 160,
    joined: 150,
    segments: [part("frontend", 3), part("queue", 590)],
  });
  const page = open({
    telemetry: {
      server_spans: {
        requests: 165,
        received: 1200,
        joined: 155,
        unmatched: 1045,
        dropped: 0,
        phases: [of("warmup", "warmup"), of("first", "profiling")],
      },
    },
  });
  await eventually(() => expect(card(page, "Spans of the server")).not.toBeNull());
  const spans = card(page, "Spans of the server")!;
  expect(text(spans)).toContain("1,200 spans with times came; 155 of 165 requests had one (93.9 %), warm-up included.");
  expect([...spans.querySelectorAll("tbody tr")].map(text)).toEqual([
    "network and frontend 3.00 ms 700 ms 812 ms 900 ms",
    "queue 590 ms 700 ms 812 ms 900 ms",
  ]);
});

test("a run that does not exist has a title and two ways on", async () => {
  answer({});
  const page = show(<RunPage id="gone" />);
  await eventually(() => expect(text(page.querySelector("h1"))).toBe("There is no such run"));
  await eventually(() => expect(document.title).toBe("Not found · aiperfd"));
  expect([...page.querySelectorAll("a")].map((a) => `${text(a)} ${a.getAttribute("href")}`)).toEqual([
    "Show the runs #/",
    "New run #/new",
  ]);
});
