/** batches divides ids into parts for requests that take between two and so many: every id is
 * in one of them, and the last has one of the part before if it would be alone. */
export function batches(ids: readonly string[], most: number): string[][] {
  if (ids.length < 2) return [];
  const out: string[][] = [];
  for (let i = 0; i < ids.length; i += most) out.push(ids.slice(Math.min(i, ids.length - 2), i + most));
  return out;
}
