import { beforeEach, expect, test } from "vitest";
import { cell, columns, fits, read, show, shown, turned } from "./columns";

beforeEach(() => localStorage.clear());

const ttft = columns.find((c) => c.key === "time_to_first_token_p99_ms")!;
const rate = columns.find((c) => c.key === "request_throughput_per_sec")!;

test("a header sorts the best first, then the worst, then not", () => {
  expect(turned("", ttft)).toBe("time_to_first_token_p99_ms");
  expect(turned("time_to_first_token_p99_ms", ttft)).toBe("-time_to_first_token_p99_ms");
  expect(turned("-time_to_first_token_p99_ms", ttft)).toBe("");
  expect(turned("-time_to_first_token_p99_ms", rate)).toBe("-request_throughput_per_sec");
});

test("columns that were chosen are remembered, unknown ones forgotten", () => {
  expect(read(null)).toContain("time_to_first_token_p99_ms");
  expect(read("goodput_per_sec,nonsense")).toEqual(["goodput_per_sec"]);
  expect(read("")).toEqual([]);
  show("goodput_per_sec", true);
  expect(shown.value).toContain("goodput_per_sec");
  expect(read(localStorage.getItem("aiperfd.columns"))).toEqual(shown.value);
  show("goodput_per_sec", false);
  expect(shown.value).not.toContain("goodput_per_sec");
});

test("rows become cards before a number would leave the window", () => {
  expect(fits(1196, 5)).toBe(true);
  expect(fits(1196, 9)).toBe(false);
  expect(fits(360, 1)).toBe(false);
});

test("a run without a number has a dash", () => {
  expect(cell(null, ttft)).toBe("–");
  expect(cell({ time_to_first_token_p99_ms: 12.34 } as never, ttft)).toBe("12.3");
});

test("a percentile of too few requests has a star in the list", () => {
  const s = { time_to_first_token_p99_ms: 12.34, unsupported_percentiles: ["time_to_first_token_p99_ms"] };
  expect(cell(s as never, ttft)).toBe("12.3*");
  expect(cell({ ...s, request_throughput_per_sec: 5 } as never, rate)).toBe("5.00");
});
