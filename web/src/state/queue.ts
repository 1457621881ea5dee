// The order of the runs that wait or run.
import type { Run } from "../api/client";

/** Turn is a run of the queue with its place: 0 = it runs, 1 = it starts next. */
export interface Turn {
  run: Run;
  place: number;
}

/** inOrder puts what runs before what waits. Queued runs start by their priority, then by
 * their age; places have no gaps, although the runs of a queued sweep have places, too. */
export function inOrder(runs: readonly Run[]): Turn[] {
  const running = runs.filter((r) => r.state !== "queued").sort((a, b) => at(a.started_at) - at(b.started_at));
  const waiting = runs
    .filter((r) => r.state === "queued")
    .sort((a, b) => b.priority - a.priority || at(a.created_at) - at(b.created_at));
  return [...running.map((run) => ({ run, place: 0 })), ...waiting.map((run, i) => ({ run, place: i + 1 }))];
}

function at(time: string | null | undefined): number {
  return time ? Date.parse(time) : Number.POSITIVE_INFINITY;
}
