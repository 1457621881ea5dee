import type uPlot from "uplot";
import { beforeEach, expect, test, vi } from "vitest";
import { eventually, show, text } from "../testing/page";
import { FakePlot } from "../testing/plot";
import { Cursor, Plot } from "./plot";

vi.mock("uplot", async () => ({ default: (await import("../testing/plot")).FakePlot }));
beforeEach(() => void FakePlot.made.splice(0));

const line = (label: string, values: (number | null | undefined)[]) => ({ label, color: "blue" as const, values });

function plot(values: (number | null)[], more: object = {}) {
  return <Plot title="T" unit="ms" x={values.map((_, i) => i)} step={1} lines={[line("sent", values)]} {...more} />;
}

/** dots are the points of a line that are drawn as such. */
function dots(u: FakePlot, of: number): number[] | null {
  const { filter } = u.series[of]!.points!;
  return typeof filter === "function" ? filter(u as unknown as uPlot, of, false) : null;
}

test("a series of one point is drawn, on an axis as long as the point", () => {
  show(plot([5]));
  const u = FakePlot.made[0]!;
  expect(u.scales.x).toEqual({ min: 0, max: 1 });
  expect(dots(u, 1)).toEqual([0]);
});

test("a point between two gaps is drawn", () => {
  show(plot([1, 2, null, 7, null]));
  expect(dots(FakePlot.made[0]!, 1)).toEqual([3]);
});

test("what the reader chose of the axis stays while points arrive, for all charts with the same cursor", async () => {
  const cursor = new Cursor();
  const both = (n: number) => {
    const values = Array.from({ length: n }, () => 1);
    return (
      <>
        {plot(values, { cursor })}
        {plot(values, { cursor, title: "U" })}
      </>
    );
  };
  const { render } = await import("preact");
  const root = show(both(20));
  FakePlot.made[0]!.drag(5, 10);
  expect(cursor.zoom.value).toEqual([5, 10]);
  render(both(60), root);
  await eventually(() => expect(FakePlot.made.map((u) => u.data[0].length)).toEqual([60, 60]));
  expect(FakePlot.made.map((u) => u.scales.x)).toEqual([
    { min: 5, max: 10 },
    { min: 5, max: 10 },
  ]);
});

test("a zoom has a button that shows everything again", async () => {
  const root = show(plot([1, 2, 3, 4, 5, 6, 7]));
  expect(root.querySelector(".reset-zoom")).toBeNull();
  const u = FakePlot.made[0]!;
  u.drag(0, 4);
  await eventually(() => expect(root.querySelector(".reset-zoom")).not.toBeNull());
  root.querySelector<HTMLButtonElement>(".reset-zoom")!.click();
  await eventually(() => expect(u.scales.x).toEqual({ min: 0, max: 7 }));
  expect(root.querySelector(".reset-zoom")).toBeNull();
});

test("the legend has mean and maximum of what was measured, also of a run that is shorter than the axis", () => {
  const regions = [
    { label: "warmup", from: 0, to: 1, quiet: true },
    { label: "profiling", from: 1, to: 4, quiet: false },
    { label: "", from: 3, to: 4, quiet: false, partial: true },
  ];
  const lines = [line("sent", [9, 4, 6, 0]), line("short", [9, 4, undefined, undefined])];
  const root = show(plot([0, 0, 0, 0], { lines, regions, runs: true }));
  expect(text(root.querySelector(".legend"))).toBe("sent mean 5.00 max 6.00 short mean 4.00 max 4.00");
});

test("a mean is given only of points that all lines have: that of a part says nothing beside that of the whole", () => {
  const lines = [line("offered", [null, null, 40, 42]), line("sent", [10, 12, 40, 42])];
  const root = show(plot([0, 0, 0, 0], { lines }));
  expect(text(root.querySelector(".legend"))).toBe("offered max 42.0 from 2 s to 4 s sent mean 26.0 max 42.0");
  expect(root.querySelector("[role=img]")!.getAttribute("aria-label")).toBe(
    "T, ms. offered: 40.0 to 42.0 from 2 s to 4 s; sent: 10.0 to 42.0, mean 26.0",
  );
  // Points that do not count do not matter, nor those of lines without a mean.
  const regions = [{ label: "burst", from: 2, to: 4, quiet: false }];
  const burst = show(plot([0, 0, 0, 0], { lines, regions }));
  expect(text(burst.querySelector(".legend"))).toBe("offered mean 41.0 max 42.0 sent mean 41.0 max 42.0");
  const other = [lines[0]!, { ...lines[1]!, peak: true }];
  expect(text(show(plot([0, 0, 0, 0], { lines: other })).querySelector(".legend"))).toBe(
    "offered mean 41.0 max 42.0 sent up to 42.0",
  );
});

test("a line of percentiles has its largest point alone, because the mean of percentiles means nothing", () => {
  const root = show(plot([1, 2], { lines: [{ ...line("p99", [10, 30]), peak: true }] }));
  expect(text(root.querySelector(".legend"))).toBe("p99 up to 30.0");
});

test("charts out of view take no new points until they are seen", async () => {
  const seen: ((entries: { isIntersecting: boolean }[]) => void)[] = [];
  class Observer {
    constructor(call: (entries: { isIntersecting: boolean }[]) => void) {
      seen.push(call);
    }
    observe(): void {}
    disconnect(): void {}
  }
  vi.stubGlobal("IntersectionObserver", Observer);
  const { render } = await import("preact");
  const root = show(plot([1, 2]));
  seen.at(-1)!([{ isIntersecting: false }]);
  render(plot([1, 2, 3]), root);
  await new Promise((done) => setTimeout(done, 50));
  const u = FakePlot.made[0]!;
  expect(u.data[0]).toHaveLength(2);
  seen.at(-1)!([{ isIntersecting: true }]);
  expect(u.data[0]).toHaveLength(3);
  vi.unstubAllGlobals();
});
