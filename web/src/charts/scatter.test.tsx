import { beforeEach, expect, test, vi } from "vitest";
import { show, text } from "../testing/page";
import { FakePlot } from "../testing/plot";
import { Scatter } from "./scatter";

vi.mock("uplot", async () => ({ default: (await import("../testing/plot")).FakePlot }));
beforeEach(() => void FakePlot.made.splice(0));

/** scatter draws requests with so many input tokens each, which end every 10 s. */
function scatter(tokens: number[]) {
  const plain = { log: false, color: "blue" as const, tokens: true, xLabel: "input tokens" };
  const time = tokens.map((_, i) => 10 * i);
  return <Scatter title="Latency" x={tokens} y={tokens.map((_, i) => 5 + i)} time={time} {...plain} />;
}

test("requests of one length are drawn over time, because their spread beside each other is no axis", () => {
  const root = show(scatter([128, 128, 128, 128]));
  expect(FakePlot.made[0]!.data[0]).toEqual([0, 10, 20, 30]);
  expect(text(root.querySelector(".legend"))).toBe("all have 128 input tokens: against time");
});

test("an axis of tokens has ticks at whole numbers", () => {
  show(scatter([127, 128, 129]));
  const u = FakePlot.made[0]!;
  const splits = u.options.axes![0]!.splits as (...args: unknown[]) => number[];
  expect(splits(u, 0, 126.6, 129.4, 0.2, 20)).toEqual([127, 128, 129]);
});
