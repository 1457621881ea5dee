// Which numbers the load generator distorted, or may have distorted.
import type { Run, Schemas, Stats } from "../api/client";
import * as format from "../format";

type Client = Run["client"];
type Reason = Schemas["verdict.Reason"];

/** judged are the numbers that a page shows to everybody; the others are found by those who
 * ask for them. */
const judged = ["throughput", "time_to_first_token", "request_latency"];

/** sources are the judged numbers whose errors enter a metric. */
function sources(tag: string, unit = ""): string[] {
  const corrected = tag.startsWith("corrected_") ? "corrected_" : "";
  const base = tag.slice(corrected.length);
  if (base.startsWith("good")) return judged;
  if (base.startsWith("slo_attainment.")) return [base.slice("slo_attainment.".length)];
  if (unit.endsWith("/sec") && !base.endsWith("_per_user")) return ["throughput"];
  return [corrected + base];
}

/** few says what the star after a percentile means. */
export const few = "Too few requests: fewer than five independent values lie beyond this percentile";

/** counts are the units of what is counted: their values are whole numbers. */
const counts = ["tokens", "requests", "count", "items", "images"];

/** marked writes a statistic, with a star if it is a percentile of too few requests. A count is written as such. */
export function marked(stats: Stats | undefined, of: keyof Stats & string): string {
  const v = stats?.[of] as number | undefined;
  const counted = of !== "avg" && Number.isInteger(v) && counts.includes(stats!.unit);
  return (counted ? format.count(v) : format.number(v)) + (stats?.unsupported_percentiles?.includes(of) ? "*" : "");
}

/** lopsided reports whether a few values make the average of a metric: it lies above the p95. That of the throughput
 * per user does if the tokens of a few requests came almost at once. */
export function lopsided(stats: Stats | undefined): boolean {
  return typeof stats?.avg === "number" && typeof stats.p95 === "number" && stats.avg > stats.p95;
}

/** Quantile is a percentile of a distribution: of the values themselves if they are known. */
export interface Quantile {
  label: string;
  value: number;
  /** it is a percentile of too few requests */
  few: boolean;
}

/** exact takes a percentile from the statistics of a metric, which are those of the tables; without them that of a
 * sketch, which may be off by 0.27 %, of so many values. */
export function exact(label: string, q: number, sketch: number, count: number, stats: Stats | undefined): Quantile {
  const known = stats?.[label as keyof Stats];
  if (typeof known !== "number") return { label, value: sketch, few: count * (1 - q) < 5 };
  return { label, value: known, few: stats?.unsupported_percentiles?.includes(label) ?? false };
}

/** doubtOf returns the reason to doubt a metric, the worst if there are several. */
export function doubtOf(client: Client | undefined, tag: string, unit?: string): Reason | undefined {
  const from = sources(tag, unit);
  const all = (client?.reasons ?? []).filter((r) => r.concerns?.some((c) => from.includes(c)));
  return all.find((r) => r.level === "invalid") ?? all.find((r) => r.level === "suspect");
}

/** alarming says whether a number is wrong that every page shows; others are marked where they
 * stand. */
export function alarming(client: Client | undefined): boolean {
  return (client?.reasons ?? []).some((r) => r.level === "invalid" && r.concerns?.some((c) => judged.includes(c)));
}

/** byCause joins the reasons with one cause and one remedy, the worst first. */
export function byCause(client: Client | undefined): Reason[][] {
  const groups = new Map<string, Reason[]>();
  const all = client?.reasons ?? [];
  for (const r of [...all.filter((r) => r.level === "invalid"), ...all.filter((r) => r.level !== "invalid")]) {
    const key = r.cause ? r.cause + r.remedy : r.message;
    groups.set(key, [...(groups.get(key) ?? []), r]);
  }
  return [...groups.values()];
}

/** bound is how far a number is off: the message of its reason without the cause. */
export function bound(r: Reason): string {
  return r.message.split(": ")[0]!;
}
