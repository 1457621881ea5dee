import { expect, test } from "vitest";
import type { Run } from "../api/client";
import { show, text } from "../testing/page";
import { asOf, load, loadLines } from "./parts";

const run = (more: object) => ({ state: "running", started_at: "2026-05-04T00:00:00Z", ...more }) as unknown as Run;

test("the load of a run is that of all its phases, in lists too, where single ones have no loads", () => {
  const loads = [
    { phase: "steady", load: "4 concurrent" },
    { phase: "burst", load: "40 req/s" },
  ];
  expect(load(run({ concurrency: 4, loads }))).toBe("steady: 4 concurrent; burst: 40 req/s");
  expect(load(run({ concurrency: 4 }))).toBe("4 concurrent");
  expect(loadLines(run({ concurrency: 4, loads }))).toEqual(["4 concurrent", "then 40 req/s"]);
  expect(loadLines(run({ concurrency: 4, loads: [...loads, ...loads] }))).toEqual([
    "4 concurrent",
    "then 40 req/s",
    "then 2 more loads",
  ]);
  expect(loadLines(run({ concurrency: 4 }))).toEqual(["4 concurrent"]);
});

test("a part of a live page says of which moment it is", () => {
  expect(text(show(asOf(run({}), 27.4)))).toBe("as of 27.4 s");
  for (const none of [asOf(run({ state: "completed" }), 27.4), asOf(run({}), undefined), asOf(run({}), null)]) {
    expect(none).toBeNull();
  }
});
