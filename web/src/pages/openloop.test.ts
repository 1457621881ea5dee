import { expect, test } from "vitest";
import type { Stats } from "../api/client";
import { attained } from "./openloop";

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
