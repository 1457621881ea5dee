import { expect, test } from "vitest";
import type { Run, Schemas } from "../api/client";
import { answer, eventually, show, text } from "../testing/page";
import { PairedAnswer, picture } from "./paired";

test("an answer that does not hold calls no metric better or worse", async () => {
  const metric = {
    tag: "request_latency",
    unit: "%",
    verdict: "worse",
    change: 9,
    low: 8,
    high: 10,
    margin: 3,
    detectable: 1,
    share_won_by_b: 0.1,
    drift_a_pct: null,
    drift_b_pct: null,
  };
  const paired = { metrics: [metric], sides: [], pairs: 1, blocks: [], block_sec: 5, level: 0.95, first_look: 5 };
  const of = (verdict: string) => ({
    "api/runs/r/answer": { verdict, paired, final: true, sentences: ["It is so."], doubts: [], decide: {}, stop: {} },
  });
  for (const [verdict, row] of [
    ["worse", "worse"],
    ["invalid", "no answer"],
  ] as const) {
    answer(of(verdict));
    const page = show(<PairedAnswer run={{ id: "r" } as Run} live={false} />);
    await eventually(() => expect(text(page.querySelector("tbody .judged"))).toBe(row));
    expect(page.querySelectorAll("tbody .worse")).toHaveLength(verdict === "worse" ? 1 : 0);
  }
});

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
