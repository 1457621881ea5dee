import { expect, test } from "vitest";
import type { Run } from "../api/client";
import { columns } from "./columns";
import { configuration, configurations, points } from "./trend";

const run = (id: string, started: string, p99: number | null, concurrency = 8) =>
  ({
    id,
    started_at: started,
    models: ["m"],
    endpoint_type: "chat",
    streaming: true,
    concurrency,
    summary: p99 === null ? null : { time_to_first_token_p99_ms: p99 },
  }) as unknown as Run;

const ttft = columns.find((c) => c.key === "time_to_first_token_p99_ms")!;

test("points are in the order of time, without runs that lack the number", () => {
  const runs = [
    run("b", "2026-05-05T00:00:00Z", 20),
    run("a", "2026-05-04T00:00:00Z", 10),
    run("c", "2026-05-06T00:00:00Z", null),
  ];
  expect(points(runs, ttft, "").map((p) => [p.run.id, p.value])).toEqual([
    ["a", 10],
    ["b", 20],
  ]);
});

test("runs that started at once have places of their own", () => {
  const at = "2026-05-04T00:00:00Z";
  const places = points([run("a", at, 1), run("b", at, 2)], ttft, "").map((p) => p.at);
  expect(places[1]!).toBeGreaterThan(places[0]!);
});

test("runs of several phases have the loads of all in their configuration", () => {
  const loads = [
    { phase: "steady", load: "4 concurrent" },
    { phase: "burst", load: "40 req/s" },
  ];
  const phases = { ...run("a", "2026-05-04T00:00:00Z", 1, 4), loads };
  expect(configuration(phases)).toBe("m · chat · 4 concurrent, 40 req/s · streamed");
});

test("runs of one configuration only", () => {
  const runs = [
    run("a", "2026-05-04T00:00:00Z", 1),
    run("b", "2026-05-05T00:00:00Z", 2),
    run("c", "2026-05-06T00:00:00Z", 9, 64),
  ];
  const [most, other] = configurations(runs);
  expect(most).toBe("m · chat · 8 concurrent · streamed");
  expect(points(runs, ttft, most!).map((p) => p.run.id)).toEqual(["a", "b"]);
  expect(points(runs, ttft, other!).map((p) => p.run.id)).toEqual(["c"]);
});
