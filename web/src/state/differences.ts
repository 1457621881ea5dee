// What differs between the documents of runs, without what differs in form only.
import type { Schemas } from "../api/client";

type Given = Pick<Schemas["compare.Difference"], "pointer" | "values">;

export interface Difference {
  pointer: string;
  /** one for each run; undefined = its document does not say it */
  values: unknown[];
}

/** load are the fields that describe a phase that other runs do not have. */
const load = ["type", "concurrency", "rate", "requests", "sessions", "duration"];

/** meaningful leaves out what is absent in one document and null in another, and makes one row of
 * a phase, or another named element, that some documents do not have. */
export function meaningful(given: readonly Given[], runs: readonly string[]): Difference[] {
  const all = given.map((d) => ({
    pointer: d.pointer,
    values: runs.map((id) => d.values.find((v) => v.run === id)?.value ?? undefined),
  }));
  const members = new Map<string, Difference[]>();
  for (const d of all) {
    const element = /^(\/[^/]+\/\d+)\/name$/.exec(d.pointer)?.[1];
    if (element && d.values.includes(undefined)) members.set(element, []);
  }
  const out: Difference[] = [];
  for (const d of all) {
    const element = /^\/[^/]+\/\d+/.exec(d.pointer)?.[0] ?? "";
    const whole = members.get(element);
    if (whole?.length === 0) out.push({ pointer: element, values: [] });
    if (whole) whole.push(d);
    else if (d.values.some((v) => v !== d.values[0])) out.push(d);
  }
  for (const d of out) if (members.has(d.pointer)) d.values = runs.map((_, i) => described(members.get(d.pointer)!, i));
  return out;
}

/** described names an element of a document and says what load it is. */
function described(members: readonly Difference[], run: number): string | undefined {
  const of = (field: string) => members.find((m) => m.pointer.endsWith("/" + field))?.values[run];
  const name = of("name");
  if (name === undefined) return undefined;
  const facts = load.filter((field) => of(field) !== undefined).map((field) => `${field} ${of(field)}`);
  return [name, ...facts].join(", ");
}
