import { expect, test } from "vitest";
import type { Condition } from "../state/sweep";
import { ordered } from "./sweep";

const limit = (metric: string, statistic: string) => ({ metric, statistic }) as Condition;
const titles = (...limits: Condition[]) => ordered(limits).map(([title]) => title);

test("the columns of a sweep that limits decide by come first, each once", () => {
  const usual = titles();
  expect(titles(limit("time_to_first_token", "p99"))).toEqual(["TTFT p99", ...usual.filter((t) => t !== "TTFT p99")]);
  expect(
    titles(limit("request_latency", "p95"), limit("request_latency", "p95"), limit("request_latency", "p99")),
  ).toEqual(["Request latency p95", "Latency p99", ...usual.filter((t) => t !== "Latency p99")]);
});
