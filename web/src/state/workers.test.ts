import { expect, test } from "vitest";
import { inTrouble, offered, sumUp } from "./workers";

const worker = (more = {}) => ({
  name: "w1",
  state: "running",
  share: 0.5,
  requests: 40,
  failed: 0,
  in_flight: 3,
  last_heard: "2026-05-04T10:00:00Z",
  sent_rate: 9.8,
  asked_rate: 10,
  slots: 0,
  clock_bound_ms: 0.03,
  ...more,
});

test("what was sent stands beside what was asked: a rate, or slots while a closed loop goes on", () => {
  expect(offered(worker() as never, false)).toBe("9.80 of 10.0 req/s");
  expect(offered(worker({ asked_rate: null }) as never, false)).toBe("9.80 req/s");
  expect(offered(worker({ slots: 4 }) as never, false)).toBe("3 of 4 in flight");
  expect(offered(worker({ slots: 4, asked_rate: null }) as never, true)).toBe("9.80 req/s");
  expect(offered(worker({ sent_rate: null }) as never, false)).toBe("–");
  expect(offered(worker({ state: "lost" }) as never, false)).toBe("9.80 of 10.0 req/s until then");
});

test("those in trouble are first", () => {
  const order = [{ state: "lost" }, { verdict: "invalid" }, { state: "late" }, { verdict: "suspect" }, {}];
  expect(order.map((more) => inTrouble(worker(more) as never))).toEqual([0, 0, 1, 1, 2]);
});

test("the sum names those that are lost, else those that are silent, else the worst clock after the end", () => {
  const pair = (more = {}) => [worker(), worker(more)] as never[];
  expect(sumUp(pair({ state: "lost" }), true)).toBe("2 load generators, 1 lost");
  expect(sumUp(pair({ state: "late" }), false)).toBe("2 load generators, 1 silent for more than 3 s");
  expect(sumUp(pair({ clock_bound_ms: null }), true)).toBe("2 load generators");
  expect(sumUp(pair({ clock_bound_ms: 0.04 }), true)).toBe("2 load generators, clocks within 40.0 µs");
});
