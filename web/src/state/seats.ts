// Which row of a table shows which run.
import type { Run } from "../api/client";

/** seated gives every run the number of a row. A run that was shown before keeps its row, so that the focus stays with
 * it; a new one takes the row of one that is gone, because to change the texts of a row costs a third of making one. */
export function seated(runs: readonly Pick<Run, "id">[], before: ReadonlyMap<string, number>): Map<string, number> {
  const ids = new Set(runs.map((run) => run.id));
  const free = [...before].filter(([id]) => !ids.has(id)).map(([, seat]) => seat);
  let made = Math.max(-1, ...before.values());
  return new Map(runs.map(({ id }) => [id, before.get(id) ?? free.shift() ?? ++made]));
}
