// What the page says of a GPU in a phase.
import type { Schemas } from "../api/client";

type Device = Schemas["gpu.Device"];
type Metric = Schemas["gpu.Metric"];

export const metric = (d: Device, name: string): Metric | undefined => d.metrics.find((m) => m.name === name);

/** heldDown is the share of a phase in which power or heat held the clock of a card down; undefined = unknown. */
export function heldDown(d: Device, seconds: number): number | undefined {
  const reasons = metric(d, "throttle_reasons")?.reasons;
  const totals = ["throttle_power", "throttle_thermal"].flatMap((name) => metric(d, name)?.total ?? []);
  const shares = totals.map((t) => (seconds > 0 ? t / seconds : 0));
  if (reasons) {
    shares.push(0);
    for (const [name, share] of Object.entries(reasons)) {
      if (/power|thermal|hardware/.test(name)) shares.push(share);
    }
  }
  return shares.length > 0 ? Math.min(1, Math.max(...shares)) : undefined;
}

/** named is a card, with its host if there are several. */
export function named(d: Device, hosts: number): string {
  const index = d.index >= 0 ? String(d.index) : d.uuid;
  return index + (d.instance ? `, instance ${d.instance}` : "") + (hosts > 1 ? ` of ${d.host}` : "");
}
