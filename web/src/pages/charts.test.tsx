import { signal } from "@preact/signals";
import { beforeEach, expect, test, vi } from "vitest";
import type { Run } from "../api/client";
import type { RunStore } from "../state/run";
import { answer, asked, eventually, show, text } from "../testing/page";
import { FakePlot } from "../testing/plot";
import { Charts } from "./charts";

vi.mock("uplot", async () => ({ default: (await import("../testing/plot")).FakePlot }));
beforeEach(() => void FakePlot.made.splice(0));

const run = { id: "r1", state: "completed", streaming: true, summary: null } as unknown as Run;

/** open shows the charts of a run in which so many requests ended in each second. The percentiles of the second i
 * are i + 1 ms, and ten times that for the slowest. */
function open(ended: number[]) {
  const of = (values: Record<string, (number | null)[]>) => ({ unit: "", values });
  const each = (scale: number) => ended.map((_, i) => scale * (i + 1));
  const series = {
    start_time: "2026-05-04T10:00:00Z",
    step_sec: 1,
    next_sec: ended.length,
    phases: [{ index: 0, name: "profiling", kind: "profiling", start_sec: 0, end_sec: ended.length }],
    time_sec: ended.map((_, i) => i),
    series: {
      requests_completed: of({ rate: ended }),
      time_to_first_token: of({ count: ended, p50: each(1), p90: each(2), p99: each(5), max: each(10) }),
    },
  };
  answer({
    "api/runs/r1/samples": { sample: { end_sec: [0.5, 1.2, 1.7], time_to_first_token: [1, 3, 8] } },
    "api/runs/r1/telemetry": {},
  });
  const store = {
    series: signal(series),
    scope: signal(null),
    step: signal(0),
    progress: signal(null),
    run: signal(run),
    slos: signal({}),
    live: () => false,
  };
  return show(<Charts store={store as unknown as RunStore} run={run} />);
}

/** lines are the values of the lines of a chart by their names. */
function lines(title: string): Record<string, unknown> {
  const at = [...document.querySelectorAll(".charts:not(.whole) [role=img]")].findIndex((e) =>
    e.getAttribute("aria-label")!.startsWith(title),
  );
  const u = FakePlot.made[at]!;
  return Object.fromEntries(u.series.slice(1).map((s, i) => [s.label, [...u.data[i + 1]!]]));
}

const ttft = "Time to first token";

test("a point with few requests has no percentile: its requests are dots", async () => {
  const page = open([30, 3, 30, 5]);
  await eventually(() => expect(text(page)).toContain("single requests"));
  expect(lines(ttft)).toEqual({ p50: [1, null, 3, null], p90: [2, null, 6, null], max: [10, null, 30, null] });
  expect(page.querySelectorAll(".legend .dot")).toHaveLength(1);
  expect(asked).toContain("api/runs/r1/samples");
  expect(text(page)).toContain("Points with fewer than 20 requests have no percentiles: dots are their requests.");
  expect(text(page)).toContain("Points with fewer than 500 requests have no p99.");
});

test("a p99 is that of a point with five requests beyond it, and otherwise no line", () => {
  const page = open([600, 499, 500]);
  expect(lines(ttft)).toEqual({ p50: [1, 2, 3], p90: [2, 4, 6], p99: [5, null, 15] });
  expect(text(page)).not.toContain("dots");
  expect(asked).not.toContain("api/runs/r1/samples");
});

test("points with enough requests have neither dots nor words about them", () => {
  const page = open([800, 900]);
  expect(lines(ttft)).toEqual({ p50: [1, 2], p90: [2, 4], p99: [5, 10] });
  expect(text(page)).not.toContain("Points with fewer");
  expect(text(page)).toContain("The mean beside a chart leaves out points that were measured in part");
});
