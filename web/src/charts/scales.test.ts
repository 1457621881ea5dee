import { describe, expect, test } from "vitest";
import {
  around,
  beside,
  fromZero,
  grouped,
  isolated,
  linearTicks,
  logTicks,
  nearest,
  place,
  positive,
  statistics,
  timeRange,
} from "./scales";

describe("ranges", () => {
  test("equal values have room on both sides", () => {
    expect(around(128, 128, 1)).toEqual([127, 129]);
  });
  test("different values have three percent", () => {
    expect(around(0, 100, 1)).toEqual([-3, 103]);
  });
  test("one point of time is as wide as its step", () => {
    expect(timeRange(0, 0, 1)).toEqual([0, 1]);
    expect(timeRange(3, 3, 10)).toEqual([3, 13]);
    expect(timeRange(null, null, 1)).toEqual([0, 1]);
  });
  test("values begin at zero, objectives are in view", () => {
    expect(fromZero(5, 10)).toEqual([0, 10.8]);
    expect(fromZero(5, 10, [100])).toEqual([0, 108]);
    expect(fromZero(null, null)).toEqual([0, 1]);
    expect(fromZero(0, 0)).toEqual([0, 1]);
    expect(fromZero(-5, 5)).toEqual([-5.8, 5.8]);
    expect(fromZero(1, 5, [-5])).toEqual([-5.8, 5.8]);
  });
});

describe("ticks", () => {
  test("a logarithmic axis of decades has powers and multiples", () => {
    expect(logTicks(1, 100)).toContain(10);
    expect(logTicks(1, 100)).toContain(20);
  });
  test("less than a decade has several round numbers", () => {
    expect(logTicks(28, 36)).toEqual([28, 30, 32, 34, 36]);
  });
  test("an empty range has none", () => {
    expect(logTicks(0, 0)).toEqual([]);
    expect(linearTicks(5, 5, 4)).toEqual([5]);
  });
  test("round numbers", () => {
    expect(linearTicks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(linearTicks(127, 129, 6).filter(Number.isInteger)).toEqual([127, 128, 129]);
  });
});

describe("lines", () => {
  test("values without a neighbor are isolated", () => {
    expect(isolated([5])).toEqual([0]);
    expect(isolated([1, 2, null, 3, null, undefined, 4, 5])).toEqual([3]);
    expect(isolated([null, null])).toEqual([]);
  });
  test("statistics leave out what does not count", () => {
    expect(statistics([1, null, 3, 100], (i) => i < 3)).toEqual({ mean: 2, max: 3 });
    expect(statistics([null, undefined], () => true)).toBeNull();
  });
  test("the nearest point at or before a place", () => {
    expect(nearest([0, 10, 20], 12)).toBe(1);
    expect(nearest([0, 10, 20], -1)).toBe(-1);
    expect(nearest([0, 10, 20], 99)).toBe(2);
  });
});

describe("intervals", () => {
  test("neighbors are joined", () => {
    expect(grouped([0, 1, 2, 3], [1, 2, 3], 2)).toEqual({ bounds: [0, 2, 3], counts: [3, 3] });
    expect(grouped([0], [], 10)).toEqual({ bounds: [0], counts: [] });
  });
  test("place", () => {
    expect(place([0, 1, 2], 1.5)).toBe(1);
    expect(place([0, 1, 2], 3)).toBe(-1);
    expect(place([0], 0)).toBe(-1);
  });
  test("a lower bound of zero becomes positive", () => {
    expect(positive([0, 2, 4])).toEqual([1, 2, 4]);
    expect(positive([0, 0])[0]).toBeGreaterThan(0);
  });
  test("points beside each other stay nearer to their number than to the next", () => {
    for (let i = 0; i < 100; i++) expect(Math.abs(beside(7, i) - 7)).toBeLessThan(0.5);
    expect(beside(7.5, 3)).toBe(7.5);
  });
});
