import { expect, test } from "vitest";
import { accepted } from "./speculation";

test("steps are counted by what they accepted", () => {
  expect(accepted({ 0: 1, 2: 3 })).toEqual([
    { text: "0", share: 0.25 },
    { text: "1", share: 0 },
    { text: "2", share: 0.75 },
  ]);
  expect(accepted(null)).toEqual([]);
  expect(accepted({ 0: 0 })).toEqual([]);
});

test("from eight draft tokens on, steps are counted together", () => {
  const all = accepted({ 8: 1, 9: 1, 12: 2 });
  expect(all).toHaveLength(9);
  expect(all.at(-1)).toEqual({ text: "8 or more", share: 1 });
});
