import { expect, test } from "vitest";
import { Problem } from "../api/client";
import { checked, refused, valid, verdict } from "./check";

test("a text that was changed since its check is not valid", () => {
  const check = checked("a: 1", { valid: true, errors: [], warnings: [] } as never);
  expect(valid(check, "a: 1")).toBe(true);
  expect(verdict(check, "a: 1")).toBe("The document is valid.");
  expect(valid(check, "a: 12")).toBe(false);
  expect(verdict(check, "a: 12")).toBe("Checking …");
  expect(valid(null, "a: 1")).toBe(false);
});

test("an error of the YAML parser is a problem at its line", () => {
  const check = refused(
    "x",
    new Problem(400, "Malformed body", "found character that cannot start any token", [], 3, 1),
  );
  expect(check.errors).toMatchObject([{ line: 3, column: 1, detail: "found character that cannot start any token" }]);
  expect(verdict(check, "x")).toBe("1 problem");
  expect(valid(check, "x")).toBe(false);
});

test("a daemon that cannot be reached says nothing about the text", () => {
  const check = refused("x", new Problem(0, "the daemon cannot be reached", ""));
  expect(check.errors).toEqual([]);
  expect(verdict(check, "x")).toBe("The document could not be checked.");
  expect(valid(check, "x")).toBe(false);
});
