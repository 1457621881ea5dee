import { expect, test } from "vitest";
import * as format from "../format";
import { axes, besideLine, each } from "./base";
import { quantile, shareUpTo, wide } from "./cdf";
import { closest, summary } from "./plot";
import { counting } from "./scales";
import { against } from "./scatter";

const line = { label: "sent", color: "blue" as const };

test("the legend counts whole points of measured phases (ramp-down and warm-up do not)", () => {
  const x = [0, 1, 2, 3, 4];
  const regions = [
    { label: "warmup", from: 0, to: 1, quiet: true },
    { label: "profiling", from: 1, to: 4, quiet: false },
    { label: "", from: 3, to: 4, quiet: false, partial: true },
  ];
  expect(x.map((_, i) => counting({ x, regions }, null)(i))).toEqual([false, true, true, false, false]);
  expect(x.map((_, i) => counting({ x, regions }, [2, 4])(i))).toEqual([false, false, true, false, false]);
  expect(x.map((_, i) => counting({ x }, null)(i))).toEqual([true, true, true, true, true]);
});

test("the summary of lines of different length knows values of each", () => {
  const short = { ...line, label: "short", values: [1, 2, undefined] };
  expect(summary({ title: "T", unit: "ms", x: [0, 1, 2], lines: [short] })).toBe(
    "T, ms. short: 1.00 to 2.00, mean 1.50",
  );
});

test("the points of a percentile have no mean", () => {
  const p99 = { ...line, label: "p99", peak: true, values: [10, 30] };
  expect(summary({ title: "T", unit: "ms", x: [0, 1], lines: [p99] })).toBe("T, ms. p99: 10.0 to 30.0");
});

test("a line without values says so", () => {
  expect(summary({ title: "T", unit: "ms", x: [0], lines: [{ ...line, values: [null] }] })).toBe(
    "T, ms. sent: no values",
  );
});

test("requests of equal length are shown over time, not over an invented axis", () => {
  const time = [1, 2, 3];
  const equal = against({ x: [128, 128, null], xLabel: "input tokens", tokens: true, time });
  expect(equal).toEqual({ x: time, tokens: false, label: "time", note: "all have 128 input tokens: against time" });
  const none = against({ x: [null, null], xLabel: "output tokens", tokens: true, time });
  expect(none.note).toBe("no output tokens: against time");
  expect(against({ x: [1, 2], xLabel: "input tokens", tokens: true, time }).x).toEqual([1, 2]);
});

test("one value has an axis around it", () => {
  expect(wide(40, 40, true)).toEqual([20, 80]);
  expect(wide(40, 40, false)).toEqual([20, 60]);
  expect(wide(null, null, true)).toEqual([1, 10]);
});

test("shares of a distribution", () => {
  const curve = { ...line, count: 400, quantiles: [0, 0.5, 1], values: [10, 20, 40] };
  expect(shareUpTo(curve, 5)).toBe(0);
  expect(shareUpTo(curve, 15)).toBe(0.25);
  expect(shareUpTo(curve, 40)).toBe(1);
  expect(quantile(curve, 0.5)).toBe(20);
  expect(shareUpTo({ ...curve, values: [7, 7, 7] }, 7)).toBe(1);
  expect(shareUpTo({ ...curve, values: [], quantiles: [] }, 7)).toBe(0);
});

test("a distribution of few values has steps: nothing lies between two of them", () => {
  const curve = { ...line, count: 3, quantiles: [0, 0.5, 1], values: [10, 20, 40] };
  expect([9, 10, 15, 20, 39, 40].map((v) => shareUpTo(curve, v))).toEqual([0, 0, 0, 0.5, 0.5, 1]);
});

test("ticks without a text are empty", () => {
  expect(each((v) => v + " ms")([1, null])).toEqual(["1 ms", ""]);
  expect(axes(each(String), each(String), false, false)).toHaveLength(2);
});

test("the point that is clicked is the nearest one", () => {
  expect(closest([0, 10, 20], 12)).toBe(1);
  expect(closest([0, 10, 20], 16)).toBe(2);
  expect(closest([0, 10, 20], -5)).toBe(0);
  expect(closest([0], null)).toBe(0);
});

test("the name of an event stands beside its line, and within the chart", () => {
  expect(besideLine(100, 50, 400, 4)).toBe(104);
  expect(besideLine(346, 50, 400, 4)).toBe(350);
  expect(besideLine(347, 50, 400, 4)).toBe(293);
});

test("an axis of time has no ticks at halves of a second beside minutes", () => {
  const [x] = axes(format.clocks, each(String), false, false);
  const distances = x!.incrs as number[];
  expect(distances.filter((d) => d > 1 && !Number.isInteger(d))).toEqual([]);
  expect(distances.filter((d) => d > 10 && d < 120)).toEqual([15, 30, 60]);
});
