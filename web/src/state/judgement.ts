// Answers of comparisons as text.
import type { Schemas } from "../api/client";
import { absent } from "../format";

type Metric = Pick<Schemas["compare.MetricAnswer"], "points" | "low" | "high">;

/** verdictWords name the verdicts of answers and of their metrics. */
export const verdictWords: Record<string, string> = {
  better: "better",
  worse: "worse",
  equivalent: "equivalent",
  inconclusive: "undecided",
  invalid: "invalid",
  not_tested: "not tested",
  not_comparable: "not comparable",
};

/** methods say how a change was estimated. */
export const methods: Record<string, string> = {
  welch: "means of the logarithms of the runs' values (Welch)",
  prediction: "where a further run of A would lie",
  mover: "the intervals within the two runs (MOVER)",
  paired: "the two runs request by request",
};

/** change writes a change with its sign and unit: +5.0 %, −0.3 points, 0 points. */
export function change(m: Metric, v: number | null | undefined): string {
  if (v === null || v === undefined) return absent;
  const text = v.toFixed(1);
  const signed = Number(text) < 0 ? text.replace("-", "−") : "+" + text.replace("-", "");
  return (v === 0 ? "0" : signed) + (m.points ? " points" : " %");
}

/** interval writes the interval of a change: +3.9 to +6.1 %. */
export function interval(m: Metric): string {
  if (m.low === null || m.high === null) return absent;
  return change(m, m.low).split(" ")[0] + " to " + change(m, m.high);
}
