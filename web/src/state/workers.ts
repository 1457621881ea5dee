// What the state of the load generators of a run says.
import type { Schemas } from "../api/client";
import * as format from "../format";

type State = Schemas["run.WorkerState"];

/** inTrouble is the place of a load generator in the order of what a reader must see: 0 = it is lost or wrong, 1 = it may
 * be, 2 = nothing is wrong. */
export function inTrouble(w: State): number {
  if (w.state === "lost" || w.state === "failed" || w.verdict === "invalid") return 0;
  return w.state === "late" || w.verdict === "suspect" ? 1 : 2;
}

/** offered says what a load generator sends of what it was asked for, in the phase that began last. */
export function offered(w: State, over: boolean): string {
  if (w.state === "lost") return w.sent_rate ? `${rate(w)} until then` : format.absent;
  if (w.slots > 0 && !over) return `${format.count(w.in_flight)} of ${format.count(w.slots)} in flight`;
  return w.sent_rate === null || w.sent_rate === undefined ? format.absent : rate(w);
}

function rate(w: State): string {
  const asked = w.asked_rate === null || w.asked_rate === undefined ? "" : ` of ${format.number(w.asked_rate)}`;
  return `${format.number(w.sent_rate)}${asked} req/s`;
}

/** sumUp says how many load generators are in which state. */
export function sumUp(all: State[], over: boolean): string {
  const lost = all.filter((w) => w.state === "lost").length;
  const count = all.length === 1 ? "1 load generator" : `${format.count(all.length)} load generators`;
  if (lost > 0) return `${count}, ${format.count(lost)} lost`;
  const late = all.filter((w) => w.state === "late").length;
  if (late > 0) return `${count}, ${format.count(late)} silent for more than 3 s`;
  const bounds = all.map((w) => w.clock_bound_ms);
  if (!over || bounds.some((b) => b === null || b === undefined)) return count;
  return `${count}, clocks within ${format.duration(Math.max(...(bounds as number[])))}`;
}
