import { expect, test, vi } from "vitest";
import { show, text } from "../testing/page";
import { Cdf, type Curve } from "./cdf";

vi.mock("uplot", async () => ({ default: (await import("../testing/plot")).FakePlot }));

const curve = (label: string): Curve => ({
  label,
  color: "blue",
  count: 300,
  quantiles: [0, 0.5, 0.9, 0.99, 1],
  values: [10, 40.7, 66, 87, 128],
});
const marks = [
  { label: "p50", value: 40.8, color: "green" as const },
  { label: "p99", value: 88, color: "orange" as const },
];

test("the legend of one distribution has the percentiles of its marks, which are those of the tables", () => {
  const page = show(<Cdf title="T" curves={[curve("requests")]} marks={marks} logX={false} tail={false} />);
  expect(text(page.querySelector(".legend"))).toBe("requests p50 40.8 ms p99 88.0 ms");
  const label = page.querySelector("[role=img]")!.getAttribute("aria-label");
  expect(label).toBe("T: cumulative distribution. requests: p50 40.8 ms, p90 66.0 ms, p99 88.0 ms");
});

test("several distributions have their own", () => {
  const page = show(<Cdf title="T" curves={[curve("a"), curve("b")]} marks={marks} logX={false} tail={false} />);
  expect(text(page.querySelector(".legend"))).toBe("a p50 40.7 ms p99 87.0 ms b p50 40.7 ms p99 87.0 ms");
});

test("a percentile of too few requests has its star in the legend and for those who do not see the drawing", () => {
  const doubtful = marks.map((m) => ({ ...m, few: m.label === "p99" }));
  let page = show(<Cdf title="T" curves={[curve("requests")]} marks={doubtful} logX={false} tail={false} />);
  expect(text(page.querySelector(".legend"))).toBe("requests p50 40.8 ms p99 88.0 ms*");
  expect(page.querySelector("[role=img]")!.getAttribute("aria-label")).toContain("p90 66.0 ms, p99 88.0 ms*");
  const both = [curve("a"), { ...curve("b"), few: (q: number) => q === 0.99 }];
  page = show(<Cdf title="T" curves={both} logX={false} tail={false} />);
  expect(text(page.querySelector(".legend"))).toBe("a p50 40.7 ms p99 87.0 ms b p50 40.7 ms p99 87.0 ms*");
});
