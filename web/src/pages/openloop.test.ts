import { expect, test } from "vitest";
import type { Stats } from "../api/client";
import { attained, attainedText, goodText, missedMost } from "./openloop";

const stats = (avg: number) => ({ avg }) as Stats;

test("the objective that was missed most comes first", () => {
  const metrics = {
    "slo_attainment.time_to_first_token": stats(0.96),
    "slo_attainment.request_latency": stats(0.04),
    good_request_fraction: stats(0.04),
  };
  expect(attained({ time_to_first_token: 100, request_latency: 500 }, metrics).map((a) => [a.metric, a.share])).toEqual(
    [
      ["request_latency", 0.04],
      ["time_to_first_token", 0.96],
    ],
  );
});

test("the share of a single objective is that of the good requests", () => {
  expect(attained({ request_latency: 500 }, { good_request_fraction: stats(0.04) })[0]!.share).toBe(0.04);
  expect(attained({ request_latency: 500 }, {})[0]!.share).toBeNull();
});

test("requests that failed count as missed objectives, which the sentence says", () => {
  const metrics = { good_request_count: stats(400), request_count: stats(410), error_request_count: stats(21) };
  expect(attainedText(2, metrics)).toBe(
    "of the requests met both objectives of single requests: 400 of 431; 21 failed, which counts as missed.",
  );
  expect(attainedText(1, { good_request_count: stats(9), request_count: stats(10) })).toBe(
    "of the requests met the objective of single requests: 9 of 10.",
  );
  expect(attainedText(3, {})).toBe("of the requests met all 3 objectives of single requests.");
});

test("the share of good requests says whether failed ones are in it", () => {
  const metrics = { good_request_fraction: stats(0.93), error_request_count: stats(26) };
  expect(goodText(metrics)).toBe("93.0 % of the requests, failed ones included, met all objectives");
  expect(goodText({ good_request_fraction: stats(0.93) })).toBe("93.0 % of the requests met all objectives");
  expect(goodText({})).toBe("requests that met all objectives");
});

test("of objectives that were missed equally often, such as by failed requests alone, none was missed most", () => {
  const list = (a: number | null, b: number | null) => [
    { metric: "inter_token_latency", threshold: 90, share: a },
    { metric: "time_to_first_token", threshold: 600, share: b },
  ];
  expect(missedMost(list(0.8, 0.8))).toBeUndefined();
  expect(missedMost(list(0.4, 0.8))!.metric).toBe("inter_token_latency");
  expect(missedMost(list(0.4, 0.8).slice(0, 1))).toBeUndefined();
  expect(missedMost(list(null, null))).toBeUndefined();
});
