import { expect, test } from "vitest";
import { seated } from "./seats";

const runs = (ids: string) => [...ids].map((id) => ({ id }));

test("runs that were shown keep their rows, and new ones take those of runs that are gone", () => {
  const first = seated(runs("abcd"), new Map());
  expect([...first]).toEqual([
    ["a", 0],
    ["b", 1],
    ["c", 2],
    ["d", 3],
  ]);
  const next = seated(runs("cxay"), first);
  expect([...next]).toEqual([
    ["c", 2],
    ["x", 1],
    ["a", 0],
    ["y", 3],
  ]);
});

test("a longer list has new rows, a shorter one fewer, and no two runs share one", () => {
  const some = seated(runs("ab"), new Map());
  const more = seated(runs("cdbef"), some);
  expect([...more]).toEqual([
    ["c", 0],
    ["d", 2],
    ["b", 1],
    ["e", 3],
    ["f", 4],
  ]);
  expect([...seated(runs("f"), more)]).toEqual([["f", 4]]);
});
