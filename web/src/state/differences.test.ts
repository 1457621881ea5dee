import { expect, test } from "vitest";
import { meaningful } from "./differences";

const of = (pointer: string, a: unknown, b?: unknown) => ({
  pointer,
  values: [{ run: "a", value: a }, ...(b === undefined ? [] : [{ run: "b", value: b }])].filter(
    (v) => v.value !== undefined,
  ),
});

test("null and absent are the same", () => {
  const all = [of("/phases/0/rateRamp", null), of("/slos", null), of("/phases/0/rate", null, 5)];
  expect(meaningful(all, ["a", "b"])).toEqual([{ pointer: "/phases/0/rate", values: [undefined, 5] }]);
});

test("a phase that one document lacks is one row", () => {
  const all = [
    of("/phases/0/concurrency", 8, 4),
    of("/phases/1/adaptiveScale", false),
    of("/phases/1/name", "burst"),
    of("/phases/1/rate", 60),
    of("/phases/1/requests", null),
    of("/phases/1/type", "poisson"),
  ];
  expect(meaningful(all, ["a", "b"])).toEqual([
    { pointer: "/phases/0/concurrency", values: [8, 4] },
    { pointer: "/phases/1", values: ["burst, type poisson, rate 60", undefined] },
  ]);
});

test("a member that all documents have stays a row of its own", () => {
  expect(meaningful([of("/phases/1/name", "x", "y")], ["a", "b"])).toEqual([
    { pointer: "/phases/1/name", values: ["x", "y"] },
  ]);
});
