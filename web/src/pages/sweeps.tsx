// Sweeps against sweeps, value by value.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJSON } from "../api/client";
import { cycle } from "../charts/colors";
import { type Group, Points } from "../charts/points";
import * as format from "../format";
import { link } from "../router";
import { aligned } from "../state/compare";
import { metricName, numeric, type Row, read, type Sweep, throughput, value } from "../state/sweep";
import { Card, Mean } from "../ui/parts";
import "./sweep.css";

const statistics: [string, string][] = [
  ["output_token_throughput", "avg"],
  ["request_throughput", "avg"],
  ["output_token_throughput_per_user", "avg"],
  ["time_to_first_token", "p50"],
  ["time_to_first_token", "p99"],
  ["inter_token_latency", "avg"],
  ["request_latency", "p50"],
  ["request_latency", "p99"],
];

interface Named {
  id: string;
  label: string;
}

export function Sweeps({ runs }: { runs: Named[] }): JSX.Element | null {
  const [sweeps, setSweeps] = useState<(Sweep | null)[]>([]);
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    let wanted = true;
    Promise.all(runs.map((r) => getJSON<Sweep>(`api/runs/${r.id}/sweep`).catch(() => null))).then((all) => {
      if (wanted) setSweeps(all);
    });
    return () => {
      wanted = false;
    };
  }, [runs.map((r) => r.id).join()]);
  if (sweeps.length !== runs.length) return <p class="empty">Loading …</p>;
  const known = sweeps.flatMap((s, i) => (s ? [{ sweep: s, run: runs[i]!, at: i }] : []));
  if (known.length < 2) return <p class="notice">Fewer than two of these sweeps have a summary of their values.</p>;
  const all = aligned(sweeps.map((s) => s ?? ({ rows: [] as Row[] } as Sweep)));
  const measured = statistics.filter(([tag, stat]) =>
    known.some(({ sweep }) => sweep.rows.some((row) => read(row, tag, stat))),
  );
  const [tag, stat] = measured[chosen] ?? measured[0] ?? statistics[0]!;
  const x = numeric(known[0]!.sweep)[0];
  const rate = throughput(known[0]!.sweep);
  const latency = known.some(({ sweep }) => sweep.rows.some((row) => read(row, "time_to_first_token", "p99")))
    ? "time_to_first_token"
    : "request_latency";
  const groups = (place: (row: Row) => [number | null | undefined, ReturnType<typeof read>]): Group[] =>
    known.map(({ sweep, run, at }) => ({
      label: run.label,
      color: cycle[at % cycle.length]!,
      joined: true,
      dash: at >= cycle.length,
      points: sweep.rows
        .flatMap((row) => {
          const [a, b] = place(row);
          if (a === null || a === undefined || !b) return [];
          const spread = b.runs > 1 ? { low: Math.max(0, b.low), high: b.high } : {};
          const id = row.runs.find((r) => r.id && !r.failure)?.id;
          return [
            {
              x: a,
              y: b.mean,
              ...spread,
              label: "",
              title: `${run.label}, ${row.name}`,
              kind: b.distorted ? ("excluded" as const) : ("plain" as const),
              href: id ? link("runs/" + id) : undefined,
            },
          ];
        })
        .sort((p, q) => p.x - q.x),
    }));
  const unit = known[0]!.sweep.rows.find((row) => row.metrics[tag])?.metrics[tag]?.unit ?? "";
  return (
    <>
      <div class="charts">
        {x && (
          <Points
            title={`${metricName(tag)} ${stat}`}
            xLabel={x.name}
            xText={format.plain}
            yText={(v) => format.number(v)}
            groups={groups((row) => [value(row, x.path), read(row, tag, stat)])}
          />
        )}
        <Points
          title={metricName(rate)}
          xLabel={`${metricName(latency)} p99`}
          xText={format.round}
          yText={(v) => format.number(v)}
          groups={groups((row) => [read(row, latency, "p99")?.mean, read(row, rate, "avg")])}
        />
      </div>
      <Card>
        <div class="row between">
          <h2>Values side by side</h2>
          <label>
            Metric
            <select
              value={measured.indexOf(measured[chosen] ?? measured[0]!)}
              onChange={(e) => setChosen(Number(e.currentTarget.value))}
            >
              {measured.map(([t, s], i) => (
                <option key={t + s} value={i}>
                  {metricName(t)} {s}
                </option>
              ))}
            </select>
          </label>
        </div>
        <div class="scroll" tabIndex={0} role="region" aria-label="Values side by side">
          <table class="values">
            <thead>
              <tr>
                <th class="text">
                  {metricName(tag)} {stat}
                  {unit && `, ${unit}`}
                </th>
                {runs.map((r) => (
                  <th key={r.id}>{r.label}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {all.map(({ name, rows }) => (
                <tr key={name}>
                  <td class="text wrap">
                    <b>{name}</b>
                  </td>
                  {rows.map((row, i) => (
                    <td key={runs[i]!.id} data-label={runs[i]!.label}>
                      <Change row={row} base={i === 0 ? null : rows[0]!} tag={tag} stat={stat} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="muted">
          Means over the runs of a value; ± is half the width of their confidence interval.{" "}
          <span class="delta untested">Changes</span> are not tested: whether they are more than chance is not judged.
        </p>
      </Card>
    </>
  );
}

function Change({
  row,
  base,
  tag,
  stat,
}: {
  row: Row | null;
  base: Row | null;
  tag: string;
  stat: string;
}): JSX.Element {
  const e = row && read(row, tag, stat),
    b = base && read(base, tag, stat);
  if (!e) return <>{format.absent}</>;
  return (
    <>
      <Mean of={e} />
      {b && b.mean !== 0 && (
        <span class="delta untested">{format.signed((100 * (e.mean - b.mean)) / Math.abs(b.mean))}</span>
      )}
    </>
  );
}
