// What the rows of a sweep say: pure functions of the answer of /api/runs/{id}/sweep.
import type { Schemas } from "../api/client";
import * as format from "../format";

export type Sweep = Schemas["results.Sweep"];
export type Row = Schemas["results.SweepRow"];
export type Estimate = Schemas["results.Estimate"];
export type Condition = Schemas["results.Condition"];

/** names are how metrics are called where there is little room. */
const names: Record<string, string> = {
  request_throughput: "Requests/s",
  output_token_throughput: "Output tokens/s",
  output_token_throughput_per_user: "Output tokens/s/user",
  time_to_first_token: "TTFT",
  inter_token_latency: "Inter-token latency",
  request_latency: "Request latency",
  goodput: "Goodput",
  attainment: "Good requests",
};

export function metricName(tag: string): string {
  return names[tag] ?? tag.replaceAll("_", " ");
}

/** statisticName is what a number is called: the share of good requests has one statistic alone. */
export function statisticName(tag: string, stat: string): string {
  return tag === attainment ? metricName(tag) : `${metricName(tag)} ${stat}`;
}

/** attainment is the metric by which a search for a capacity judges its probes. */
export const attainment = "attainment";

/** condition writes a limit: TTFT p95 < 45 ms. */
export function condition(c: Condition): string {
  const operator = c.operator.replace("<=", "≤").replace(">=", "≥");
  return `${statisticName(c.metric, c.statistic)} ${operator} ${format.plain(c.threshold)} ${c.unit}`.trim();
}

/** read returns a statistic of a row, null if it has none. */
export function read(row: Row, tag: string, stat: string): Estimate | null {
  return row.metrics[tag]?.statistics[stat] ?? null;
}

/** sound returns the statistic of a row unless the load generator distorted it in all runs. */
export function sound(row: Row, tag: string, stat: string): Estimate | null {
  const e = read(row, tag, stat);
  return e && !e.distorted ? e : null;
}

/** value returns what a row has at a path if it is a number. */
export function value(row: Row, path: string): number | null {
  const v = row.values[path];
  const n = typeof v === "string" && v.trim() !== "" ? Number(v) : v;
  return typeof n === "number" && Number.isFinite(n) ? n : null;
}

/** numeric are the parameters with at least two different numbers, by which rows have a place on an axis. */
export function numeric(sweep: Sweep): Sweep["parameters"] {
  return sweep.parameters.filter((p) => {
    const all = sweep.rows.map((row) => value(row, p.path));
    return all.every((v) => v !== null) && new Set(all).size > 1;
  });
}

export interface Group {
  /** values of the other parameters; empty if there is one parameter */
  label: string;
  rows: Row[];
}

/** grouped divides rows by the values of all parameters but the one of the axis. */
export function grouped(sweep: Sweep, axis: string): Group[] {
  const others = sweep.parameters.filter((p) => p.path !== axis);
  const groups = new Map<string, Row[]>();
  for (const row of sweep.rows) {
    const label = others.map((p) => `${p.name} ${text(row.values[p.path])}`).join(", ");
    groups.set(label, [...(groups.get(label) ?? []), row]);
  }
  return [...groups].map(([label, rows]) => ({
    label,
    rows: rows.toSorted((a, b) => (value(a, axis) ?? 0) - (value(b, axis) ?? 0)),
  }));
}

function text(v: unknown): string {
  return v === undefined || v === null ? "–" : typeof v === "object" ? JSON.stringify(v) : String(v);
}

/** An objective of the reader: a limit that rows keep or not. */
export interface Objective {
  metric: string;
  statistic: string;
  threshold: number;
}

/** higher reports whether more of a metric is better. */
export function higher(metric: string): boolean {
  return metric === attainment || /throughput|goodput/.test(metric);
}

/** keeps reports whether a row keeps an objective; null if it has no sound value of the metric. */
export function keeps(row: Row, o: Objective): boolean | null {
  const e = sound(row, o.metric, o.statistic);
  if (!e) return null;
  return higher(o.metric) ? e.mean >= o.threshold : e.mean <= o.threshold;
}

/** best returns the index of the row with the most output tokens or requests per second of those that keep
 * an objective, −1 if none does. */
export function best(sweep: Sweep, o: Objective): number {
  let at = -1,
    most = -Infinity;
  sweep.rows.forEach((row, i) => {
    const rate = sound(row, throughput(sweep), "avg");
    if (rate && rate.mean > most && keeps(row, o)) [at, most] = [i, rate.mean];
  });
  return at;
}

/** throughput is the metric of the output of the server: tokens if it makes any. */
export function throughput(sweep: Sweep): string {
  const tokens = "output_token_throughput";
  return sweep.rows.some((row) => read(row, tokens, "avg")) ? tokens : "request_throughput";
}

/** runs returns how many of the runs of a row have a result. */
export function good(row: Row): number {
  return row.runs.filter((r) => !r.failure).length;
}

/** rivals are the rows that a row is compared with: those with its outcome. */
function rivals(sweep: Sweep, row: Row): Row[] {
  return sweep.rows.filter((r) => r.outcome === row.outcome);
}

/** among says of which rows one is the best, if not of all: " within the limits". */
export function among(sweep: Sweep, row: Row): string {
  return row.outcome === "pass" && open(sweep, row).length === 0 && sweep.rows.some((r) => r.outcome === "fail")
    ? " within the limits"
    : "";
}

/** marks says what a row is best at; it is best at nothing if it has no rival. */
export function marks(sweep: Sweep, i: number): string[] {
  const row = sweep.rows[i]!;
  const pool = rivals(sweep, row);
  const out: string[] = [];
  if (sweep.search?.optima.includes(i)) out.push("optimum");
  if (pool.length < 2) return out;
  if (sweep.best_throughput === i) out.push("best throughput" + among(sweep, row));
  if (sweep.best_latency === i) out.push("lowest latency" + among(sweep, row));
  if (row.pareto && pool.some((r) => !r.pareto)) out.push("Pareto");
  return out;
}

export interface Doubts {
  /** short texts, for pills; empty = nothing speaks against it */
  texts: string[];
  /** what would make it certain, in a sentence; empty without a doubt */
  remedy: string;
}

/** doubts says why a row that is best by its mean may not be the best. */
export function doubts(sweep: Sweep, row: Row, tag: string, stat: string): Doubts {
  const e = sound(row, tag, stat);
  if (!e) return { texts: [], remedy: "" };
  const over = rivals(sweep, row).filter((other) => {
    const o = other === row ? null : sound(other, tag, stat);
    return o && o.runs > 1 && e.runs > 1 && o.low <= e.high && e.low <= o.high;
  });
  const texts: string[] = [];
  if (e.unsupported) texts.push("too few requests");
  if (over.length === 1) texts.push(`its interval overlaps that of ${over[0]!.name}`);
  if (over.length > 1) texts.push(`its interval overlaps those of ${over.length} other values`);
  const remedies = [e.unsupported && "longer runs", over.length > 0 && "more runs per value"].filter(Boolean);
  return { texts, remedy: remedies.length ? `${remedies.join(" and ")} would tell more.` : "" };
}

type Edge = Schemas["results.SweepEdge"];
type Reading = Schemas["results.Reading"];

/** unsure says why what was measured at a value of a search does not decide a limit; empty = it does. What the load
 * generator distorted is said elsewhere. */
export function unsure(sweep: Sweep, edge: Edge, r: Reading): string {
  if (r.doubt?.startsWith("too few")) return r.doubt;
  const row = sweep.rows[edge.row];
  const e = row ? read(row, r.metric, r.statistic) : null;
  return e && e.runs > 1 && e.low <= r.threshold && r.threshold <= e.high ? "its interval contains the limit" : "";
}

/** undecided says why a value may lie on the other side of a boundary; empty = it does not, as far as is known. A
 * value is within the limits if it keeps each of them, and beyond them if it breaks one. */
export function undecided(sweep: Sweep, edge: Edge | null): string[] {
  if (!edge) return [];
  const broken = edge.readings.filter((r) => !r.met);
  const deciding = broken.length > 0 ? broken : edge.readings;
  const reasons = deciding.map((r) => unsure(sweep, edge, r));
  if (broken.length > 0 && reasons.includes("")) return [];
  return [...new Set(reasons.filter(Boolean))];
}

/** open says why it is not decided whether a row is within the limits; empty = it is, or the row does not count. */
export function open(sweep: Sweep, row: Row): string[] {
  if (row.outcome !== "pass" && row.outcome !== "fail") return [];
  const readings = row.readings as Reading[];
  return undecided(sweep, { value: 0, row: sweep.rows.indexOf(row), readings, valid: true });
}

export const outcomes: Record<string, string> = {
  pass: "within the limits",
  fail: "beyond a limit",
  excluded: "excluded",
  failed: "failed",
  measured: "",
  waiting: "not measured yet",
};

/** front keeps the points that no other one is better than in both: more of y, and more or less of x. */
export function front<P extends { x: number; y: number }>(points: P[], lessX: boolean): P[] {
  const sorted = points.toSorted((a, b) => (lessX ? a.x - b.x : b.x - a.x) || b.y - a.y);
  const out: P[] = [];
  for (const p of sorted) if (out.length === 0 || p.y > out.at(-1)!.y) out.push(p);
  return out;
}

/** same reports whether two rows have the same values. */
export function same(a: Row, b: Row): boolean {
  const key = (row: Row) => JSON.stringify(Object.entries(row.values).sort(([x], [y]) => (x < y ? -1 : 1)));
  const none = Object.keys(a.values).length === 0;
  return none ? a.name === b.name : key(a) === key(b);
}
