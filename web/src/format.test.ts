import { expect, test } from "vitest";
import * as format from "./format";

test.each([
  [null, "–"],
  [Number.NaN, "–"],
  [0, "0"],
  [12.34, "12.3"],
  [264.4, "264"],
  [3483, "3,483"],
])("number(%s) = %s", (value, text) => {
  expect(format.number(value)).toBe(text);
});
