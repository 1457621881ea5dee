// How the network between the load and the servers behaved, from what the kernel counted of the connections.
import type { JSX } from "preact";
import { ended, type Run } from "../api/client";
import * as format from "../format";
import { useReading } from "../ui/lazy";
import { Card } from "../ui/parts";
import type { Telemetry } from "./server";
import "./server.css";
import "./sweep.css";

/** Network shows the path to each server in the phases of a scope. It is absent if nothing was counted. */
export function Network({ run, scope }: { run: Run; scope: string | null }): JSX.Element | null {
  const { value } = useReading<Telemetry>(`api/runs/${run.id}/telemetry`, !ended(run.state));
  const path = value?.path;
  const targets = (scope === null ? path?.targets : path?.phases.find((p) => p.name === scope)?.targets) ?? [];
  if (!path || targets.length === 0) return null;
  const title = path.to_proxy ? "Network, as far as the proxy" : "Network";
  const share = (v: number | undefined) => (v === undefined ? format.absent : format.percent(v));
  return (
    <Card title={title} class="server">
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        <table class="values">
          <thead>
            <tr>
              <th class="text">Server</th>
              <th title="As the kernel measured it">Shortest round trip</th>
              <th title="Segments that were lost on the way to the server">Sent again</th>
              <th title="Segments that came after a gap: others were lost on the way from the server">Out of order</th>
              <th title="Waits of 200 ms or more until a segment was sent again">Timeouts</th>
              <th title="Responses with either, at least">Responses affected</th>
            </tr>
          </thead>
          <tbody>
            {targets.map((t) => (
              <tr key={t.target}>
                <td class="text">{t.target}</td>
                <td data-label="Shortest round trip">
                  {t.min_rtt_ms === undefined ? format.absent : format.number(t.min_rtt_ms) + " ms"}
                </td>
                <td data-label="Sent again">{share(t.to_server.retransmitted_ratio)}</td>
                <td data-label="Out of order">{share(t.from_server.out_of_order_ratio)}</td>
                <td data-label="Timeouts">{format.count(t.to_server.timeouts)}</td>
                <td data-label="Responses affected">{share(t.affected_share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
