// What the GPUs did: first in words, then each card with its energy and how exactly that is known. Their curves are
// among the charts over time.
import type { JSX } from "preact";
import { ended, type Run, type Schemas } from "../api/client";
import * as format from "../format";
import { heldDown, metric, named } from "../state/gpu";
import { useReading } from "../ui/lazy";
import { Card } from "../ui/parts";
import { Sentences, type Telemetry } from "./server";
import "./server.css";
import "./sweep.css";

type Phase = Schemas["gpu.Phase"];

/** GPUs shows what the GPUs did in the phases of a scope. It is absent if none was read, unless the user named a page
 * that never answered. */
export function GPUs({ run, scope }: { run: Run; scope: string | null }): JSX.Element | null {
  const { value } = useReading<Telemetry>(`api/runs/${run.id}/telemetry`, !ended(run.state));
  const shown = (value?.gpu?.phases ?? []).filter(
    (p) => (scope === null ? p.kind === "profiling" : p.name === scope) && p.devices.length > 0,
  );
  const silent = (value?.gpu?.targets ?? []).filter((t) => t.given && t.fetches === 0);
  if (shown.length === 0 && silent.length === 0) return null;
  return (
    <Card title="GPUs" class="server">
      {shown.map((p) => (
        <div key={p.name}>
          {shown.length > 1 && <h3>{p.name}</h3>}
          {p.findings.length > 0 && (
            <ul class="findings">
              <Sentences of={p.findings} />
            </ul>
          )}
          <Cards of={p} />
        </div>
      ))}
      {silent.map((t) => (
        <p key={t.url} class="bad">
          No metrics of GPUs from {t.url}: {t.last_error || t.state}.
        </p>
      ))}
    </Card>
  );
}

/** Cards are the GPUs of a phase. */
function Cards({ of }: { of: Phase }): JSX.Element {
  const hosts = new Set(of.devices.map((d) => d.host)).size;
  const cell = (label: string, v: number | undefined, unit: string) => (
    <td data-label={label}>{v === undefined ? format.absent : format.number(v) + unit}</td>
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`GPUs, ${of.name}`}>
      <table class="values">
        <thead>
          <tr>
            <th class="text">GPU</th>
            <th class="text">Model</th>
            <th title="Share of the time in which it computed, on average">Used</th>
            <th>Power, avg</th>
            <th>max</th>
            <th>limit</th>
            <th title="With the bound of its error">Energy</th>
            <th>Clock, avg</th>
            <th>Temperature, max</th>
            <th title="Share of the time in which power or heat held the clock down">Held down</th>
          </tr>
        </thead>
        <tbody>
          {of.devices.map((d) => {
            const held = heldDown(d, of.seconds);
            const used = metric(d, "util")?.avg;
            const power = metric(d, "power");
            return (
              <tr key={d.source + d.uuid + d.instance}>
                <td class="text" title={d.uuid}>
                  {named(d, hosts)}
                </td>
                <td class="text" data-label="Model">
                  {d.name}
                </td>
                <td data-label="Used">{used === undefined ? format.absent : format.percent(used / 100)}</td>
                {cell("Power, avg", power?.avg, " W")}
                {cell("Power, max", power?.max, " W")}
                {cell("Power, limit", metric(d, "power_limit")?.avg, " W")}
                <td data-label="Energy">{d.energy ? energy(d.energy) : format.absent}</td>
                {cell("Clock, avg", metric(d, "sm_clock")?.avg, " MHz")}
                {cell("Temperature, max", metric(d, "temp")?.max, " °C")}
                <td data-label="Held down">{held === undefined ? format.absent : format.percent(held)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** energy is an energy with the bound of its error. */
function energy(e: Schemas["gpu.Energy"]): JSX.Element {
  return (
    <>
      {format.number(e.joules)} J{" "}
      <span class="muted" title={`By the ${e.source === "counter" ? "counter of the card" : "integral of its power"}`}>
        ± {format.percent(e.error_bound_joules / e.joules)}
      </span>
    </>
  );
}
