import { expect, test } from "vitest";
import { batches } from "./batches";

const ids = (n: number) => Array.from({ length: n }, (_, i) => `r${i}`);

test.each([2, 9, 10, 11, 21, 99, 101])("all of %d ids are asked for, two to ten at a time", (n) => {
  const parts = batches(ids(n), 10);
  expect(new Set(parts.flat()).size).toBe(n);
  for (const part of parts) {
    expect(part.length).toBeGreaterThanOrEqual(2);
    expect(part.length).toBeLessThanOrEqual(11);
  }
});

test("one id has nothing to be compared with", () => {
  expect(batches(ids(1), 10)).toEqual([]);
});
