// What the charts over time show of a series: which parts of the axis are measured whole, and
// which intervals have enough requests for percentiles.
import type { Phase, Run, Schemas } from "../api/client";
import type { Timeseries } from "../api/timeseries";
import type { Mark, Region } from "../charts/base";
import { type Column, leastPerBin } from "../charts/scales";

type Sample = Schemas["wire.Sample"];

/** regions are the phases, and the points that were not measured for a whole step: those in
 * which the run began or ended, and the newest of a run that goes on. */
export function regions(s: Timeseries): Region[] {
  const known = s.time_sec.at(-1);
  const end = known === undefined ? 0 : known + s.step_sec;
  const phases = s.phases.map((p) => ({
    label: p.name,
    from: p.start_sec,
    to: p.end_sec ?? end,
    quiet: p.kind !== "profiling",
  }));
  return [...phases, ...partial(s)];
}

/** partial are the first and the last point if the run filled them in part only. */
function partial(s: Timeseries): Region[] {
  const first = s.time_sec[0];
  const last = s.time_sec.at(-1);
  if (first === undefined || last === undefined || s.phases.length === 0) return [];
  const begin = Math.min(...s.phases.map((p) => p.start_sec));
  const going = s.phases.some((p) => p.end_sec === null);
  const end = going ? s.next_sec : Math.max(...s.phases.map((p) => p.end_sec!));
  const part = (from: number) => ({ label: "", from, to: from + s.step_sec, quiet: false, partial: true });
  const out: Region[] = [];
  if (begin > first + 0.05 * s.step_sec && begin < first + s.step_sec) out.push(part(first));
  if (end > last && end < last + 0.95 * s.step_sec && last !== first) out.push(part(last));
  return out;
}

/** events are what happened at one time: the end of sending and of a grace period, the first error, the
 * first arrival that waited in a saturated open loop, and the end of a run that was stopped. */
export function events(s: Timeseries, run: Run, phases: readonly Phase[]): Mark[] {
  const epoch = s.start_time ? Date.parse(s.start_time) / 1000 : Number.NaN;
  const out: Mark[] = [];
  const add = (label: string, value: number | undefined, color: Mark["color"]) => {
    if (value !== undefined && value >= (s.time_sec[0] ?? 0))
      out.push({ label, value, color, vertical: true, inside: true });
  };
  for (const band of s.phases) {
    const p = phases.find((p) => p.phase_index === band.index);
    if (!p) continue;
    const sent = p.sent_end_ns ? p.sent_end_ns / 1e9 - epoch : Number.NaN;
    const end = p.requests_end_ns ? p.requests_end_ns / 1e9 - epoch : s.next_sec;
    if (end - sent >= s.step_sec) add("sending ends", sent, "grey");
    if (p.grace_period_timeout_triggered && band.end_sec !== null) add("grace period over", band.end_sec, "orange");
  }
  add("first error", firstError(s, phases), "orange");
  if (run.summary?.saturation?.saturated)
    add("arrivals wait", first(s, [s.series.backlog?.values.max ?? []]), "orange");
  const ends = s.phases.map((p) => p.end_sec ?? s.next_sec);
  const stopped = run.error?.code === "daemon-restarted" ? "daemon restarted" : run.state;
  if ((run.state === "failed" || run.state === "cancelled") && ends.length) add(stopped, Math.max(...ends), "pink");
  return out.sort((a, b) => a.value - b.value);
}

/** firstError is the first point with an error, but not before the first phase that has one: a point may begin in
 * the phase before it. */
function firstError(s: Timeseries, phases: readonly Phase[]): number | undefined {
  const at = first(s, Object.values(s.series.errors?.values ?? {}));
  const errors = s.phases.map((band) => phases.find((p) => p.phase_index === band.index)?.request_errors);
  if (at === undefined || errors.includes(undefined)) return at;
  const begin = s.phases.find((_, i) => errors[i])?.start_sec;
  return begin === undefined ? undefined : Math.max(at, begin);
}

/** first is the earliest point at which one of the columns has a value above 0. */
function first(s: Timeseries, columns: readonly Column[]): number | undefined {
  return s.time_sec.find((_, i) => columns.some((values) => (values[i] ?? 0) > 0));
}

/** full says of each point whether so many requests ended in it that their percentiles mean
 * something. */
export function full(s: Timeseries): boolean[] {
  const rates = s.series.requests_completed?.values.rate;
  return s.time_sec.map((_, i) => Math.round((rates?.[i] ?? 0) * s.step_sec) >= leastPerBin);
}

/** leastForP99 is how many requests a point must have for its p99, as for that of a run: five lie beyond it. The p99
 * of fewer than a hundred is the slowest of them. */
export const leastForP99 = 500;

/** enough says of each point whether a percentile of a metric means something. */
export function enough(s: Timeseries, name: string, stat: string): boolean[] {
  const counts = s.series[name]?.values.count;
  return stat === "p99" ? s.time_sec.map((_, i) => (counts?.[i] ?? 0) >= leastForP99) : full(s);
}

/** tail is the statistic for the slowest requests: p99 if any point has enough for it, otherwise the maximum. */
export function tail(all: readonly (Timeseries | null)[], name: string): "p99" | "max" {
  return all.some((s) => s && enough(s, name, "p99").includes(true)) ? "p99" : "max";
}

/** only keeps the values of the points that count. */
export function only(values: Column, counts: readonly boolean[]): (number | null)[] {
  return values.map((v, i) => (counts[i] ? (v ?? null) : null));
}

/** metrics whose values for single requests are known */
export type Single = "time_to_first_token" | "inter_token_latency" | "request_latency" | "schedule_lag";

/** singles are the requests that ended in points that have too few for percentiles. */
export function singles(
  s: Timeseries,
  counts: readonly boolean[],
  sample: Sample | undefined,
  metric: Single,
): { x: number[]; y: number[] } {
  const out = { x: [] as number[], y: [] as number[] };
  if (!sample) return out;
  const first = s.time_sec[0] ?? 0;
  sample.end_sec.forEach((at, i) => {
    const y = sample[metric]?.[i];
    if (y === null || y === undefined || at === null) return;
    if (counts[Math.floor((at - first) / s.step_sec)]) return;
    out.x.push(at);
    out.y.push(y);
  });
  return out;
}
