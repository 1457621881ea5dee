// Runs over each other: their series from the start of profiling, and sweeps by their values.
import type { Timeseries } from "../api/timeseries";
import type { Region } from "../charts/base";
import { enough, only } from "./overtime";
import { type Row, type Sweep, same } from "./sweep";

/** apart numbers the runs that have the same name: nightly (1), nightly (2). */
export function apart<R extends { name: string }>(runs: readonly R[]): R[] {
  return runs.map((run, i) => {
    const same = (r: R) => r.name === run.name;
    const number = runs.slice(0, i + 1).filter(same).length;
    return run.name && runs.filter(same).length > 1 ? { ...run, name: `${run.name} (${number})` } : run;
  });
}

/** zero is when the first profiling phase of a run began, in seconds since its start. */
export function zero(s: Timeseries): number {
  return s.phases.find((p) => p.kind === "profiling")?.start_sec ?? 0;
}

export interface Overlay {
  x: number[];
  /** one for each run; undefined where it has no point, null where it has a gap */
  columns: ((number | null | undefined)[] | null)[];
}

/** sides divides the axis of an overlay at the start of profiling: what is before it counts for nothing. */
export function sides(x: readonly number[]): Region[] {
  const from = x[0] ?? 0;
  if (from >= 0) return [];
  return [
    { label: "before", from, to: 0, quiet: true },
    { label: "profiling", from: 0, to: x.at(-1)! + 1, quiet: false },
  ];
}

/** overlay puts a statistic of several runs on one axis of time that begins with their profiling. Points with too few
 * requests for a percentile are gaps. */
export function overlay(all: (Timeseries | null)[], name: string, stat: string): Overlay {
  const step = Math.max(1, ...all.map((s) => s?.step_sec ?? 1));
  const times = all.map((s) => s?.time_sec.map((t) => Math.round((t - zero(s)) / step) * step) ?? []);
  const x = [...new Set(times.flat())].sort((a, b) => a - b);
  const place = new Map(x.map((t, i) => [t, i]));
  const columns = all.map((s, run) => {
    const measured = s?.series[name]?.values[stat];
    if (!measured) return null;
    const column = /^p\d/.test(stat) ? only(measured, enough(s, name, stat)) : measured;
    const out = new Array<number | null | undefined>(x.length).fill(undefined);
    times[run]!.forEach((t, i) => {
      const at = place.get(t)!;
      if (column[i] !== null || out[at] === undefined) out[at] = column[i] ?? null;
    });
    return out;
  });
  return { x, columns };
}

/** aligned lists the values that any sweep has, each with its row in every sweep; null = it has none. */
export function aligned(sweeps: Sweep[]): { name: string; rows: (Row | null)[] }[] {
  const out: { name: string; rows: (Row | null)[] }[] = [];
  sweeps.forEach((sweep, at) => {
    for (const row of sweep.rows) {
      let found = out.find((o) => o.rows.some((r) => r && same(r, row)));
      if (!found) {
        found = { name: row.name, rows: sweeps.map(() => null) };
        out.push(found);
      }
      found.rows[at] ??= row;
    }
  });
  return out;
}
