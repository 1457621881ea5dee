import { expect, test } from "vitest";
import { change, interval } from "./judgement";

test("changes have a sign and a unit, and no negative zero", () => {
  const share = { points: undefined, low: -0.04, high: 6.06 } as unknown as Parameters<typeof interval>[0];
  expect(change(share, 5)).toBe("+5.0 %");
  expect(change(share, -0.04)).toBe("+0.0 %");
  expect(change({ ...share, points: true }, 0)).toBe("0 points");
  expect(change(share, -2.55)).toMatch(/^−2\.[56] %$/);
  expect(change(share, null)).toBe("–");
  expect(interval(share)).toBe("+0.0 to +6.1 %");
  expect(interval({ ...share, points: true, low: -1, high: 2 })).toBe("−1.0 to +2.0 points");
  expect(interval({ ...share, low: null })).toBe("–");
});
