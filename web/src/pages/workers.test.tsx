import { expect, test, vi } from "vitest";
import type { Run } from "../api/client";
import { RunStore } from "../state/run";
import { answer, asked, card, eventually, show, text } from "../testing/page";
import { Members, Workers } from "./workers";

const part = (name: string, more = {}) => ({
  worker_id: name,
  part: {
    name,
    state: "completed",
    share: 0.5,
    requests: 100,
    failed: 0,
    in_flight: 0,
    sent_rate: 9.9,
    asked_rate: 10,
    slots: 0,
    clock_bound_ms: 0.04,
    verdict: "ok",
    request_latency_p50_ms: 120,
    request_latency_p99_ms: 180,
    ...more,
  },
});

const group = (more = {}) => ({
  group_id: "cluster",
  workers: { w10: part("w10"), w2: part("w2") },
  conservation: {
    scheduled: 200,
    sent: 200,
    succeeded: 199,
    failed: 1,
    cancelled: 0,
    unrecorded: 0,
    not_sent: 0,
    unknown: 0,
    holds: true,
  },
  ...more,
});

const rows = (page: Element) => [...page.querySelectorAll("tbody tr")].map(text);

function open(of: object | null, state = "completed") {
  answer({});
  const store = new RunStore("r1");
  store.workers.value = of as never;
  return show(<Workers store={store} run={{ id: "r1", state } as unknown as Run} />);
}

test("a run by one process has no such part", () => {
  expect(text(open(null))).toBe("");
});

test("after a run: what each was asked for and sent, its percentiles and whether it kept up, by name", () => {
  const page = open(group());
  expect(rows(page)).toEqual([
    "w2 completed 50.0 % 9.90 of 10.0 req/s 100 0 120 / 180 ms ± 40.0 µs ok",
    "w10 completed 50.0 % 9.90 of 10.0 req/s 100 0 120 / 180 ms ± 40.0 µs ok",
  ]);
  expect(text(page)).toContain("Of 200 requests that were sent in all phases, 199 succeeded, 1 failed.");
  expect(text(page)).not.toContain("do not add up");
});

test("one that is lost is first, with the reason; what nobody knows is said", () => {
  const lost = part("w3", { state: "lost", reason: "no message for 10s", verdict: "unknown" });
  const k = { ...group().conservation, unrecorded: 20, not_sent: 300, unknown: 12, holds: false };
  const page = open(group({ workers: { w1: part("w1"), w3: lost }, conservation: k }));
  expect(rows(page)[0]).toContain("w3 lost no message for 10s");
  expect(text(page)).toContain("2 load generators, 1 lost");
  expect(text(page)).toContain("300 arrivals were not sent, and 12 may have been sent");
  expect(text(page)).toContain("These numbers do not add up");
});

test("bounds of percentiles have no upper end if there is none", () => {
  const bounds = (percentile: number, upper: number | null) => ({
    metric: "request_latency",
    percentile,
    lower: 100,
    upper,
    unit: "ms",
  });
  const page = open(group({ contamination: [bounds(50, 140), bounds(99, null)] }));
  expect(text(page)).toContain("Request latency 100 to 140 at least 100");
});

test("a long list is shown in part until the reader asks for all", async () => {
  const workers = Object.fromEntries([...Array(30).keys()].map((i) => [`w${i}`, part(`w${i}`)]));
  const page = open(group({ workers }), "running");
  expect(rows(page)).toHaveLength(20);
  page.querySelector<HTMLButtonElement>("button")!.click();
  await eventually(() => expect(rows(page)).toHaveLength(30));
});

const member = (name: string, more = {}) => ({
  id: "id-of-" + name,
  name,
  state: "idle",
  draining: false,
  run_id: null,
  joined_at: "2026-05-04T10:00:00Z",
  cores: 4,
  memory_bytes: 8e9,
  labels: { region: "eu" },
  clock_bound_ms: 0.04,
  ...more,
});

test("a daemon that none can join shows no members", async () => {
  answer({ "api/cluster": { enabled: false, workers: [] } });
  const page = show(<Members />);
  await eventually(() => expect(asked).toEqual(["api/cluster"]));
  expect(text(page)).toBe("");
});

test("members have their states, and one is drained after a question", async () => {
  answer({
    "api/cluster": {
      enabled: true,
      workers: [member("w1"), member("w2", { state: "running", run_id: "0199", draining: true })],
    },
    "api/cluster/workers/id-of-w1/drain": {},
  });
  vi.stubGlobal("confirm", () => true);
  const page = show(<Members />);
  await eventually(() => expect(text(card(page, "Load generators"))).toContain("2 have joined"));
  expect(rows(page)[0]).toContain("w1 idle region=eu");
  expect(rows(page)[1]).toContain("w2 running takes no further run");
  const drain = [...page.querySelectorAll("button")].filter((b) => text(b) === "Drain");
  expect(drain).toHaveLength(1);
  const looks = () => asked.filter((path) => path === "api/cluster").length;
  await eventually(() => expect(looks()).toBe(2)); // once more when it is known that they can join
  drain[0]!.click();
  await eventually(() => expect(asked).toContain("api/cluster/workers/id-of-w1/drain"));
  // What has changed is read at once.
  await eventually(() => expect(looks()).toBe(3));
});
