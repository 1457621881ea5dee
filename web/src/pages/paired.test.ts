import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { picture } from "./paired";

test("the picture of a metric has its blocks, what was known after each, and both margins", () => {
  const of = (change: number | null, low: number | null, high: number | null) => ({
    change: { request_latency: change },
    so_far: low === null ? {} : { request_latency: { change: -2, low, high } },
  });
  const blocks = [
    { to_sec: 5, ...of(null, null, null) },
    { to_sec: 10, ...of(-3, -4, 1) },
  ];
  const metric = { tag: "request_latency", unit: "%", margin: 3 };
  const p = picture(
    { blocks } as unknown as Schemas["results.Paired"],
    metric as unknown as Schemas["results.PairedMetric"],
  );
  expect(p.x).toEqual([5, 10]);
  expect(p.lines.map((l) => [l.label, l.values])).toEqual([
    ["blocks", [null, -3]],
    ["so far", [null, -2]],
    ["low", [null, -4]],
    ["high", [null, 1]],
  ]);
  expect(p.marks.map((m) => m.value)).toEqual([0, 3, -3]);
});
