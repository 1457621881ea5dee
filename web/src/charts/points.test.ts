import { expect, test } from "vitest";
import { apart, crosses, different, free, type Point, rangeOf } from "./points";

const point = (x: number, y: number, more: Partial<Point> = {}): Point => ({
  x,
  y,
  label: "",
  title: "",
  kind: "plain",
  ...more,
});
const group = (...points: Point[]) => ({ groups: [{ label: "", color: "blue" as const, points }] });

test("a label beside an interval is free, one on it is not", () => {
  const interval: [number, number, number, number] = [97, 10, 103, 200];
  expect(free([95, 80, 105, 91], [interval])).toBe(false);
  expect(free([107, 96, 117, 107], [interval])).toBe(true);
});

test("one point is in view", () => {
  const [low, high] = rangeOf(group(point(5, 40)), "y");
  expect(low).toBe(0);
  expect(high).toBeGreaterThan(40);
});

test("limits and intervals are in view", () => {
  const p = {
    ...group(point(1, 10, { low: 5, high: 30 })),
    limits: [
      { label: "limit", value: 100 },
      { label: "at", value: 9, vertical: true },
    ],
  };
  expect(rangeOf(p, "y")[1]).toBeGreaterThan(100);
  expect(rangeOf(p, "x")[1]).toBeGreaterThan(9);
});

test("a logarithmic axis leaves out what it cannot show", () => {
  expect(rangeOf({ ...group(point(0, 1), point(8, 1)), logX: true }, "x")).toEqual([6.4, 10]);
  expect(rangeOf({ ...group(point(0, 0)), logX: true }, "x")).toEqual([1, 10]);
});

test("no points, no axis of nothing", () => {
  expect(rangeOf({ groups: [] }, "x")).toEqual([0, 1]);
});

test("values that are close to each other are not squeezed to an end of the axis", () => {
  const [low, high] = rangeOf(group(point(16, 1), point(18, 2)), "x");
  expect(low).toBeGreaterThan(15);
  expect(high).toBeLessThan(19);
});

test("an interval of x is in view", () => {
  expect(rangeOf(group(point(10, 1, { from: 4, to: 30 })), "x")[1]).toBeGreaterThan(30);
});

test("ticks stand at the values of a sweep, and where there is no room have no text", () => {
  expect(apart([1, 4, 16, 32], [0, 100, 200, 250], 36)).toEqual([1, 4, 16, 32]);
  expect(apart([1, 2, 3, 64], [0, 10, 40, 300], 36)).toEqual([1, null, 3, 64]);
});

test("ticks that are close to each other differ", () => {
  const whole = different((v) => v.toFixed(0));
  expect(whole([846.2, 846.4, 846.6])).toEqual(["846.2", "846.4", "846.6"]);
  expect(whole([800, null, 900])).toEqual(["800", "", "900"]);
  expect(different((v) => v.toFixed(0) + " ms")([7.1, 7.2])).toEqual(["7.1 ms", "7.2 ms"]);
});

test("a line crosses a label if a part of it lies within, whatever its direction", () => {
  const box: [number, number, number, number] = [10, 10, 20, 16];
  expect(crosses(box, [0, 13, 30, 13])).toBe(true);
  expect(crosses(box, [30, 0, 0, 26])).toBe(true);
  expect(crosses(box, [15, 0, 15, 30])).toBe(true);
  expect(crosses(box, [12, 12, 14, 14])).toBe(true);
  expect(crosses(box, [0, 0, 9, 30])).toBe(false);
  expect(crosses(box, [0, 0, 30, 9])).toBe(false);
  expect(crosses(box, [0, 20, 15, 17])).toBe(false);
  expect(crosses(box, [0, 5, 0, 5])).toBe(false);
});

test("a difference of a thousandth is not drawn across the whole axis", () => {
  const [low, high] = rangeOf(group(point(125.05, 1), point(125.08, 2)), "x");
  expect(high - low).toBeGreaterThan(6);
});
