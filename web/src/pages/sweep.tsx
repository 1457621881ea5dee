// A sweep: its cells in a table, and throughput against latency.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJSON, type Run, type Schemas } from "../api/client";
import { embedded } from "../api/embedded";
import { connections, listen } from "../api/feed";
import { Plot } from "../charts/plot";
import * as format from "../format";
import { link } from "../router";
import { choose, chosen } from "../state/runs";
import { Bar, Card, ClientPill, load, StatePill, VerdictPill } from "../ui/parts";

type RunList = Schemas["wire.RunList"];

const most = 500;

export function SweepPart({ run }: { run: Run }): JSX.Element {
  const [cells, setCells] = useState<Run[]>([]);
  useEffect(() => {
    let timer = 0, closed = false;
    const read = () => getJSON<RunList>(`api/runs/${run.id}/children?limit=${most}`).then((l) => { if (!closed) setCells(l.items); }, () => undefined);
    void read();
    const end = listen((m) => {
      if (m.message_type !== "run_state_changed" && m.message_type !== "run_queued") return;
      clearTimeout(timer);
      timer = window.setTimeout(read, 300);
    });
    return () => { closed = true; clearTimeout(timer); end(); };
  }, [run.id, connections.value]);
  const p = run.progress;
  return (
    <>
      {p?.cells_total ? (
        <section class="phases" aria-label="Progress">
          <div class="phase"><span class="name">cells</span><Bar percent={(100 * (p.cells_done ?? 0)) / p.cells_total} label="cells" />
            <span class="figures">{format.count(p.cells_done)} of {format.count(p.cells_total)}{p.cells_failed ? ` · ${format.count(p.cells_failed)} failed` : ""}</span></div>
        </section>
      ) : null}
      <Curve cells={cells} />
      <Cells cells={cells} />
    </>
  );
}

/** Curve draws latency against throughput, one point per cell. */
function Curve({ cells }: { cells: Run[] }): JSX.Element | null {
  const points = cells.filter((c) => c.summary && c.state === "completed")
    .map((c) => ({ x: c.summary!.output_token_throughput_per_sec ?? c.summary!.request_throughput_per_sec ?? 0, s: c.summary! }))
    .sort((a, b) => a.x - b.x);
  if (points.length < 2) return null;
  const tokens = points.some((p) => p.s.output_token_throughput_per_sec);
  const unit = tokens ? "output tokens/s" : "requests/s";
  const xText = (v: number) => format.short(v);
  return (
    <div class="charts">
      <Plot title={`Time to first token against ${unit}`} unit="ms" x={points.map((p) => p.x)} xText={xText} height={260} lines={[
        { label: "p50", color: "blue", points: true, values: points.map((p) => p.s.time_to_first_token_p50_ms ?? null) },
        { label: "p99", color: "orange", points: true, values: points.map((p) => p.s.time_to_first_token_p99_ms ?? null) },
      ]} />
      <Plot title={`Request latency against ${unit}`} unit="ms" x={points.map((p) => p.x)} xText={xText} height={260} lines={[
        { label: "p50", color: "blue", points: true, values: points.map((p) => p.s.request_latency_p50_ms ?? null) },
        { label: "p99", color: "orange", points: true, values: points.map((p) => p.s.request_latency_p99_ms ?? null) },
      ]} />
    </div>
  );
}

function Cells({ cells }: { cells: Run[] }): JSX.Element {
  return (
    <Card title="Cells">
      <div class="scroll" tabIndex={0} role="region" aria-label="Cells">
        <table>
          <thead><tr>{!embedded && <th><span class="hidden-text">Compare</span></th>}<th class="text">Cell</th><th class="text">State</th><th class="text">Load</th><th>req/s</th><th>tokens/s</th><th>TTFT p50</th><th>TTFT p99</th><th>Latency p50</th><th>Latency p99</th><th>Errors</th></tr></thead>
          <tbody>
            {cells.map((c) => (
              <tr key={c.id}>
                {!embedded && <td><input type="checkbox" aria-label={"Compare " + c.name} checked={chosen.value.includes(c.id)} onChange={(e) => choose(c.id, e.currentTarget.checked)} /></td>}
                <td class="text"><a href={link("runs/" + c.id)}>{c.cell?.variation_label || c.name || c.id.slice(0, 12)}</a></td>
                <td class="text"><StatePill run={c} /> {c.client?.verdict !== "ok" && <ClientPill client={c.client} />} <VerdictPill verdict={c.verdict} /></td>
                <td class="text">{load(c)}</td>
                <td>{format.number(c.summary?.request_throughput_per_sec)}</td>
                <td>{format.number(c.summary?.output_token_throughput_per_sec)}</td>
                <td>{format.number(c.summary?.time_to_first_token_p50_ms)}</td>
                <td>{format.number(c.summary?.time_to_first_token_p99_ms)}</td>
                <td>{format.number(c.summary?.request_latency_p50_ms)}</td>
                <td>{format.number(c.summary?.request_latency_p99_ms)}</td>
                <td>{format.count(c.summary?.errors)}</td>
              </tr>
            ))}
            {cells.length === 0 && <tr><td class="empty" colSpan={11}>No cell has started yet.</td></tr>}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
