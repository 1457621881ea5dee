import { expect, test } from "vitest";
import type { Run } from "../api/client";
import { alarming, bound, byCause, doubtOf, exact, lopsided, marked } from "./doubt";

const client = (level: string, ...concerns: string[]) =>
  ({ verdict: level, reasons: [{ level, concerns, message: concerns.join() }] }) as unknown as Run["client"];

test("only a number that every page shows is an alarm", () => {
  expect(alarming(client("invalid", "corrected_time_to_first_token"))).toBe(false);
  expect(alarming(client("invalid", "time_to_first_token"))).toBe(true);
  expect(alarming(client("suspect", "time_to_first_token"))).toBe(false);
  expect(alarming(null)).toBe(false);
});

test("the numbers that a reason concerns are marked, and no others", () => {
  const c = client("invalid", "corrected_time_to_first_token");
  expect(doubtOf(c, "corrected_time_to_first_token")?.level).toBe("invalid");
  expect(doubtOf(c, "time_to_first_token")).toBeUndefined();
  expect(doubtOf(client("invalid", "throughput"), "output_token_throughput", "tokens/sec")).toBeDefined();
  expect(doubtOf(client("invalid", "throughput"), "output_token_throughput_per_user", "tokens/sec")).toBeUndefined();
  expect(doubtOf(client("suspect", "request_latency"), "goodput", "requests/sec")).toBeDefined();
});

test("the worst of several reasons counts", () => {
  const both = {
    verdict: "invalid",
    reasons: [
      { level: "suspect", concerns: ["request_latency"] },
      { level: "invalid", concerns: ["request_latency"] },
    ],
  } as unknown as Run["client"];
  expect(doubtOf(both, "request_latency")?.level).toBe("invalid");
});

test("reasons with one cause are told together", () => {
  const reason = (level: string, tag: string, cause: string) => ({
    level,
    concerns: [tag],
    cause,
    remedy: "wait",
    message: `${tag} off by at most 9 ms: ${cause}`,
  });
  const c = {
    reasons: [reason("suspect", "a", "late"), reason("invalid", "b", "busy"), reason("invalid", "c", "late")],
  } as unknown as Run["client"];
  expect(byCause(c).map((g) => g.map(bound))).toEqual([
    ["b off by at most 9 ms"],
    ["c off by at most 9 ms", "a off by at most 9 ms"],
  ]);
});

test("a distribution has the percentiles of the tables, and marks those of too few requests", () => {
  const stats = { p50: 10.5, p99: 40.1, unsupported_percentiles: ["p99"] } as never;
  expect(exact("p50", 0.5, 10.53, 100, stats)).toEqual({ label: "p50", value: 10.5, few: false });
  expect(exact("p99", 0.99, 40.2, 100, stats)).toEqual({ label: "p99", value: 40.1, few: true });
  expect(exact("p99.9", 0.999, 41, 4000, stats)).toEqual({ label: "p99.9", value: 41, few: true });
  expect(exact("p90", 0.9, 30, 100, undefined)).toEqual({ label: "p90", value: 30, few: false });
});

test("an average that a few values make is known by the p95 below it", () => {
  expect(lopsided({ avg: 133, p95: 131 } as never)).toBe(true);
  expect(lopsided({ avg: 100, p95: 131 } as never)).toBe(false);
  expect(lopsided({ avg: 131, p95: 131 } as never)).toBe(false);
  expect(lopsided({ avg: 133 } as never)).toBe(false);
  expect(lopsided(undefined)).toBe(false);
});

test("what is counted is written as a whole number, what is measured with three digits", () => {
  const tokens = { unit: "tokens", avg: 7, p50: 7, p90: 7.4, max: 1024, unsupported_percentiles: ["p50"] } as never;
  expect(["avg", "p50", "p90", "max"].map((of) => marked(tokens, of as never))).toEqual([
    "7.00",
    "7*",
    "7.40",
    "1,024",
  ]);
  expect(marked({ unit: "ms", p50: 7 } as never, "p50")).toBe("7.00");
  expect(marked(undefined, "p50")).toBe("–");
});
