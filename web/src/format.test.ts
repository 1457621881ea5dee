import { describe, expect, test } from "vitest";
import * as format from "./format";

test.each([
  [null, "–"],
  [Number.NaN, "–"],
  [0, "0"],
  [0.333, "0.33"],
  [1, "1.00"],
  [6, "6.00"],
  [12.34, "12.3"],
  [9.999, "10.0"],
  [99.96, "100"],
  [264.4, "264"],
  [999.7, "1,000"],
  [3483, "3,483"],
  [0.0000012, "1.2e-6"],
])("number(%s) = %s has three digits", (value, text) => {
  expect(format.number(value)).toBe(text);
});

test.each([
  [10, "10"],
  [0.5, "0.5"],
  [1000, "1,000"],
])("plain(%s) = %s", (value, text) => {
  expect(format.plain(value)).toBe(text);
});

describe("ticks of an axis", () => {
  test("have the same decimals", () => {
    expect(format.ticks([0, 0.5, 1, 1.5])).toEqual(["0", "0.5", "1.0", "1.5"]);
  });
  test("have separators of thousands", () => {
    expect(format.ticks([0, 1000, 8000])).toEqual(["0", "1,000", "8,000"]);
  });
  test("have a suffix from a hundred thousand", () => {
    expect(format.ticks([0, 100000, null])).toEqual(["0", "100k", ""]);
    expect(format.ticks([0, 2e8])).toEqual(["0", "200M"]);
  });
});

describe("ticks of a time axis", () => {
  test("are those of the clock while they are whole seconds", () => {
    expect(format.clocks([0, 30, 60, 3600])).toEqual(["0 s", "30 s", "1:00", "1:00:00"]);
  });
  test("differ although they are less than a second apart", () => {
    expect(format.clocks([62.2, 62.4, 62.6])).toEqual(["1:02.2", "1:02.4", "1:02.6"]);
    expect(format.clocks([7.25, 7.3, null, 7.35])).toEqual(["7.25 s", "7.3 s", "", "7.35 s"]);
    expect(format.clocks([59.5, 60, 60.5])).toEqual(["59.5 s", "1:00.0", "1:00.5"]);
    expect(format.clocks([3725.001, 3725.002])).toEqual(["1:02:05.001", "1:02:05.002"]);
    expect(format.clocks([-0.5, 0, 0.5])).toEqual(["−0.5 s", "0 s", "0.5 s"]);
  });
});

test.each([
  [0.0004, "0.40 µs"],
  [0.85, "850 µs"],
  [12.34, "12.3 ms"],
  [3709.4, "3,709 ms"],
  [125_000, "2 min 05 s"],
  [0, "0 ms"],
])("duration(%s ms) = %s", (value, text) => {
  expect(format.duration(value)).toBe(text);
});

test.each([
  [30, "30 ms"],
  [0.5, "500 µs"],
  [10_000, "10,000 ms"],
  [200_000, "200 s"],
])("round(%s ms) = %s", (value, text) => {
  expect(format.round(value)).toBe(text);
});

test.each([
  [0.25, "250 ms"],
  [12.3, "12.3 s"],
  [59.97, "1 min 00 s"],
  [3_725, "1 h 02 min"],
  [null, "–"],
])("seconds(%s) = %s", (value, text) => {
  expect(format.seconds(value)).toBe(text);
});

test("changes have a sign", () => {
  expect(format.signed(4.33)).toBe("+4.3 %");
  expect(format.signed(-77)).toBe("−77.0 %");
  expect(format.signed(0.01)).toBe("±0 %");
});

test("a model is called by the end of its name", () => {
  expect(["meta-llama/Llama-3.1-8B", "gpt", "/models/llama/", "/"].map(format.model)).toEqual([
    "Llama-3.1-8B",
    "gpt",
    "llama",
    "/",
  ]);
});

test("model leaves out the organisation, and nothing of a text that is no path", () => {
  expect(format.model("meta-llama/Llama-3.1-8B-Instruct")).toBe("Llama-3.1-8B-Instruct");
  expect(format.model("/models/big/")).toBe("big");
  expect(format.model("big")).toBe("big");
  expect(format.model("a</script><img src=x>")).toBe("a</script><img src=x>");
});

test("no interval goes below zero", () => {
  expect(format.spread({ mean: 10.1, low: 5.19, high: 15.01 })).toBe("±4.91");
  expect(format.spread({ mean: 90.9, low: -88, high: 179.3 })).toBe("0 to 179");
});
