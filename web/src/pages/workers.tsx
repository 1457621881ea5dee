// Several load generators: those that perform a run, and those that have joined the daemon.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ended, postJSON, type Run, type Schemas } from "../api/client";
import { listen } from "../api/feed";
import * as format from "../format";
import { link } from "../router";
import type { RunStore } from "../state/run";
import { inTrouble, offered, sumUp } from "../state/workers";
import { useReading } from "../ui/lazy";
import { Action, Card } from "../ui/parts";
import "./sweep.css";
import "./workers.css";

type State = Schemas["run.WorkerState"];

/** mostShown is how many load generators a table has until the reader asks for all. */
const mostShown = 20;

/** tones are the classes of pills by the state of a load generator. */
const tones: Record<string, string> = {
  preparing: "starting",
  ready: "running",
  running: "running",
  reporting: "exporting",
  completed: "completed",
  cancelled: "cancelled",
  failed: "failed",
  late: "client-suspect",
  lost: "failed",
  drained: "cancelled",
};

function Pill({ state, reason }: { state: string; reason?: string }): JSX.Element {
  return (
    <span class={"pill " + (tones[state] ?? "")} title={reason || undefined}>
      {state}
    </span>
  );
}

/** first returns the first of a list, and a button for the rest. */
function useFirst<T>(all: T[]): [T[], JSX.Element | null] {
  const [whole, setWhole] = useState(false);
  if (whole || all.length <= mostShown) return [all, null];
  return [
    all.slice(0, mostShown),
    <button type="button" class="small" onClick={() => setWhole(true)}>
      Show all {format.count(all.length)}
    </button>,
  ];
}

const bound = (ms: number | null | undefined) =>
  ms === null || ms === undefined ? "not known" : "± " + format.duration(ms);

/** Workers shows the load generators of a run; it is absent if there is only one. */
export function Workers({ store, run }: { store: RunStore; run: Run }): JSX.Element | null {
  const group = store.workers.value;
  const all = Object.values(group?.workers ?? {}).flatMap((w) => (w.part ? [w.part] : []));
  all.sort((a, b) => inTrouble(a) - inTrouble(b) || a.name.localeCompare(b.name, "en", { numeric: true }));
  const [shown, more] = useFirst(all);
  if (!group || all.length === 0) return null;
  const over = ended(run.state);
  const own = over && all.some((w) => w.request_latency_p50_ms !== undefined);
  const streamed = all.some((w) => w.time_to_first_token_p50_ms !== undefined);
  const k = group.conservation;
  return (
    <Card title="Load generators" class="workers" beside={<span class="muted">{sumUp(all, over)}</span>}>
      <div class="scroll" tabIndex={0} role="region" aria-label="Load generators">
        <table class="values">
          <thead>
            <tr>
              <th class="text">Name</th>
              <th>Share</th>
              <th title="In the phase that began last">Sent, of what was asked</th>
              <th title="In all phases">Requests</th>
              <th>Errors</th>
              {!over && <th>In flight</th>}
              {own && streamed && <th>TTFT p50 / p99</th>}
              {own && <th>Latency p50 / p99</th>}
              <th title="How far its clock may be from that of the controller">Clock</th>
              {over && <th class="text">Measurement</th>}
            </tr>
          </thead>
          <tbody>
            {shown.map((w) => (
              <Row key={w.name} of={w} over={over} own={own} streamed={streamed} />
            ))}
          </tbody>
        </table>
      </div>
      {more}
      {k && <p class="muted">{account(k)}</p>}
      {group.contamination && <Contamination of={group.contamination} />}
    </Card>
  );
}

function Row(props: { of: State; over: boolean; own: boolean; streamed: boolean }): JSX.Element {
  const { of: w, over, own, streamed } = props;
  const pair = (a: number | undefined, b: number | undefined) =>
    a === undefined ? format.absent : `${format.number(a)} / ${format.number(b)} ms`;
  return (
    <tr class={inTrouble(w) === 0 ? "trouble" : undefined}>
      <td class="text">
        {w.name} <Pill state={w.state} reason={w.reason} />
        {w.state === "lost" && w.reason && <span class="muted"> {w.reason}</span>}
      </td>
      <td data-label="Share">{format.percent(w.share)}</td>
      <td data-label="Sent">{offered(w, over)}</td>
      <td data-label="Requests">{format.count(w.requests)}</td>
      <td data-label="Errors" class={w.failed > 0 ? "bad" : undefined}>
        {format.count(w.failed)}
      </td>
      {!over && <td data-label="In flight">{w.state === "lost" ? format.absent : format.count(w.in_flight)}</td>}
      {own && streamed && (
        <td data-label="TTFT p50 / p99">{pair(w.time_to_first_token_p50_ms, w.time_to_first_token_p99_ms)}</td>
      )}
      {own && <td data-label="Latency p50 / p99">{pair(w.request_latency_p50_ms, w.request_latency_p99_ms)}</td>}
      <td data-label="Clock">{bound(w.clock_bound_ms)}</td>
      {over && (
        <td data-label="Measurement" class="text">
          {w.verdict && <span class={"pill client-" + w.verdict}>{w.verdict}</span>}
        </td>
      )}
    </tr>
  );
}

/** account says what became of all requests. */
function account(k: Schemas["verdict.Conservation"]): string {
  const parts = [
    `${format.count(k.succeeded)} succeeded`,
    k.failed > 0 && `${format.count(k.failed)} failed`,
    k.cancelled > 0 && `${format.count(k.cancelled)} were cancelled`,
    k.unrecorded > 0 && `the records of ${format.count(k.unrecorded)} are lost`,
  ].filter(Boolean);
  const rest = [
    k.not_sent > 0 && `${format.count(k.not_sent)} arrivals were not sent`,
    k.unknown > 0 && `${format.count(k.unknown)} may have been sent by a load generator after its last message`,
  ].filter(Boolean);
  const holds = k.holds ? "" : " These numbers do not add up: some requests are not accounted for.";
  const more = rest.length > 0 ? ` Besides, ${rest.join(", and ")}.` : "";
  return `Of ${format.count(k.sent)} requests that were sent in all phases, ${parts.join(", ")}.${more}${holds}`;
}

const metricNames: Record<string, string> = {
  time_to_first_token: "Time to first token",
  request_latency: "Request latency",
};

/** Contamination shows within which bounds percentiles are, whatever doubtful load generators measured. */
function Contamination({ of }: { of: Schemas["verdict.Contamination"][] }): JSX.Element {
  const metrics = [...new Set(of.map((c) => c.metric))];
  const percentiles = [...new Set(of.map((c) => c.percentile))];
  return (
    <>
      <h3>If everything that the doubtful load generators measured is wrong</h3>
      <div class="scroll" tabIndex={0} role="region" aria-label="Bounds of percentiles">
        <table class="values">
          <thead>
            <tr>
              <th class="text">The percentile is within, in ms</th>
              {percentiles.map((p) => (
                <th key={p}>p{p}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {metrics.map((metric) => (
              <tr key={metric}>
                <td class="text">{metricNames[metric] ?? metric}</td>
                {percentiles.map((p) => {
                  const c = of.find((c) => c.metric === metric && c.percentile === p);
                  return (
                    <td key={p} data-label={"p" + p}>
                      {!c
                        ? format.absent
                        : c.upper === null || c.upper === undefined
                          ? `at least ${format.number(c.lower)}`
                          : `${format.number(c.lower)} to ${format.number(c.upper)}`}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** Members shows the load generators that have joined; it is absent if none can. */
export function Members(): JSX.Element | null {
  const [enabled, setEnabled] = useState(false);
  const [changes, setChanges] = useState(0);
  useEffect(
    () =>
      listen((message) => {
        if (message.message_type === "worker_startup_state") setChanges((n) => n + 1);
      }),
    [],
  );
  const { value } = useReading<Schemas["wire.Cluster"]>("api/cluster", enabled, changes);
  useEffect(() => setEnabled(value?.enabled ?? false), [value]);
  const [shown, more] = useFirst(value?.workers ?? []);
  if (!value?.enabled) return null;
  return (
    <Card
      title="Load generators"
      class="workers"
      beside={
        <span class="muted">{value.workers.length > 0 && `${format.count(value.workers.length)} have joined`}</span>
      }
    >
      {value.workers.length === 0 ? (
        <p class="muted">
          None has joined. Start one with <code class="whole-code">aiperfd worker --join</code>, and let a document ask
          for several with <code class="whole-code">cluster: {"{workers: N}"}</code>.
        </p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Load generators">
          <table class="values">
            <thead>
              <tr>
                <th class="text">Name</th>
                <th class="text">Run</th>
                <th class="text">Joined</th>
                <th title="What it may use">Cores, memory</th>
                <th title="How far its clock may be from that of this daemon">Clock</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {shown.map((w) => (
                <tr key={w.id}>
                  <td class="text">
                    {w.name} <Pill state={w.state} />
                    {w.draining && w.state !== "drained" && <span class="muted"> takes no further run</span>}{" "}
                    {Object.entries(w.labels).map(([k, v]) => (
                      <span class="tag" key={k}>
                        {k}={v}
                      </span>
                    ))}
                  </td>
                  <td class="text" data-label="Run">
                    {w.run_id ? <a href={link("runs/" + w.run_id)}>{w.run_id.slice(0, 12)}</a> : format.absent}
                  </td>
                  <td class="text" data-label="Joined">
                    {format.date(w.joined_at)}
                  </td>
                  <td data-label="Cores, memory">
                    {format.count(w.cores)}
                    {w.memory_bytes ? ", " + format.bytes(w.memory_bytes) : ""}
                  </td>
                  <td data-label="Clock">{bound(w.clock_bound_ms)}</td>
                  <td class="text">
                    {!w.draining && (
                      <Action
                        text="Drain"
                        class="small"
                        confirm={`Drain ${w.name}? It finishes its part of a run, and takes no further run until it is started again.`}
                        act={async () => {
                          await postJSON(`api/cluster/workers/${w.id}/drain`);
                          setChanges((n) => n + 1);
                        }}
                      />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more}
    </Card>
  );
}
