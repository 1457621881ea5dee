// How a number changed from run to run.
import type { Run } from "../api/client";
import * as format from "../format";
import type { Column } from "./columns";

/** configuration names what runs must have in common for their numbers to be comparable. */
export function configuration(run: Run): string {
  const several = (run.loads?.length ?? 0) > 1 ? run.loads! : [];
  const load = several.map((l) => l.load);
  if (several.length === 0 && run.request_rate) load.push(format.plain(run.request_rate) + " req/s");
  if (several.length === 0 && run.concurrency) load.push(format.count(run.concurrency) + " concurrent");
  return [run.models.join(", "), run.endpoint_type, load.join(", "), run.streaming ? "streamed" : ""]
    .filter(Boolean)
    .join(" · ");
}

/** configurations are those of the runs, the most frequent first. */
export function configurations(runs: readonly Run[]): string[] {
  const times = new Map<string, number>();
  for (const run of runs) times.set(configuration(run), (times.get(configuration(run)) ?? 0) + 1);
  return [...times].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

export interface Point {
  run: Run;
  /** Unix time in seconds */
  at: number;
  value: number;
}

/** points are the runs that have the number, in the order of their start. Runs of one second
 * would lie on each other: later ones move by a millisecond. */
export function points(runs: readonly Run[], of: Column, within: string): Point[] {
  const out: Point[] = [];
  for (const run of runs) {
    const value = run.summary?.[of.key];
    const at = Date.parse(run.started_at ?? run.created_at) / 1000;
    if (typeof value !== "number" || (within && configuration(run) !== within)) continue;
    out.push({ run, at, value });
  }
  out.sort((a, b) => a.at - b.at || a.run.id.localeCompare(b.run.id));
  for (let i = 1; i < out.length; i++) out[i]!.at = Math.max(out[i]!.at, out[i - 1]!.at + 0.001);
  return out;
}
