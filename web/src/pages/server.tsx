// What the servers under test say of themselves: first in words, then where the time to the first token went, and
// the numbers behind both. Their curves are among the charts over time.
import type { JSX } from "preact";
import { ended, type Run, type Schemas } from "../api/client";
import * as format from "../format";
import { canonical, disagreement, hitRate, parts, shownPhases, shownSpans } from "../state/server";
import { useReading } from "../ui/lazy";
import { Card } from "../ui/parts";
import "./server.css";
import "./sweep.css";

export type Telemetry = Schemas["wire.Telemetry"];
type Phase = Schemas["diagnose.Phase"];
type Budget = Schemas["diagnose.Budget"];
type Target = Schemas["diagnose.Target"];
type Value = Schemas["diagnose.Value"];
type SpanPhase = Schemas["otel.SpanPhase"];

/** Server shows what the servers' metrics say of the phases of a scope. It is absent if none answered that is
 * known, unless the user named a page of metrics. */
export function Server({ run, scope }: { run: Run; scope: string | null }): JSX.Element | null {
  const live = !ended(run.state);
  const { value } = useReading<Telemetry>(`api/runs/${run.id}/telemetry`, live);
  const targets = value?.server?.targets ?? [];
  const shown = shownPhases(value?.server?.phases ?? [], scope);
  const silent = targets.filter((t) => t.given && t.fetches === 0);
  if (shown.length === 0 && silent.length === 0) return null;
  const kinds = [...new Set(targets.flatMap((t) => t.servers))];
  return (
    <Card title={kinds.length > 0 ? "Server: " + kinds.join(", ") : "Server"} class="server">
      {shown.map((p) => (
        <div key={p.name}>
          {shown.length > 1 && <h3>{p.name}</h3>}
          <Findings of={p} live={live} />
          {p.time_budget && <TimeBudget of={p.time_budget} />}
          <Levels of={p} />
          <Numbers of={p} />
        </div>
      ))}
      <Sources of={targets} silent={silent} />
    </Card>
  );
}

/** Spans shows how long the parts of single requests took by the spans of their servers. It is absent if none were
 * asked for. */
export function Spans({ run, scope }: { run: Run; scope: string | null }): JSX.Element | null {
  const { value } = useReading<Telemetry>(`api/runs/${run.id}/telemetry`, !ended(run.state));
  const all = value?.server_spans;
  if (!all) return null;
  const shown = shownSpans(all.phases, scope);
  return (
    <Card title="Spans of the server" class="server">
      <p class="muted">
        {format.count(all.received)} spans with times came; {format.count(all.joined)} of {format.count(all.requests)}{" "}
        requests had one{all.requests > 0 && ` (${format.percent(all.joined / all.requests)})`}, warm-up included.
      </p>
      {shown.map((p) => (
        <SpanTimes key={p.name} of={p} title={shown.length > 1} />
      ))}
    </Card>
  );
}

/** SpanTimes are the parts of the requests of a phase. */
function SpanTimes({ of, title }: { of: SpanPhase; title: boolean }): JSX.Element {
  return (
    <>
      {title && <h3>{of.name}</h3>}
      <div class="scroll" tabIndex={0} role="region" aria-label={`Spans of the server, ${of.name}`}>
        <table class="values">
          <thead>
            <tr>
              <th class="text">Part of a request</th>
              <th>p50</th>
              <th>p90</th>
              <th>p99</th>
              <th>max</th>
            </tr>
          </thead>
          <tbody>
            {of.segments.map((s) => (
              <tr key={s.name}>
                <td class="text" title={`Of ${format.count(s.count)} requests`}>
                  {s.name === "frontend" ? "network and frontend" : s.name}
                </td>
                {([50, 90, 99] as const).map((p) => (
                  <td key={p} data-label={"p" + p}>
                    {format.duration(s[`p${p}_ms`])}
                  </td>
                ))}
                <td data-label="max">{format.duration(s.max_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** Findings say what the metrics mean, in the order of the console: the first names the cause. */
function Findings({ of, live }: { of: Phase; live: boolean }): JSX.Element {
  const disagreed = of.checks.filter((c) => !c.holds);
  if (of.findings.length === 0 && disagreed.length === 0) return <p class="muted">{nothingFound(of, live)}</p>;
  return (
    <ul class="findings">
      <Sentences of={of.findings} />
      {disagreed.map((c) => (
        <li key={c.code} title={c.code}>
          {disagreement(c)}
        </li>
      ))}
    </ul>
  );
}

/** Sentences are findings in words, as items of a list. */
export function Sentences({ of }: { of: readonly Schemas["diagnose.Finding"][] }): JSX.Element {
  return (
    <>
      {of.map((f) => (
        <li key={f.code} class={"finding-" + f.level} title={f.code}>
          {format.sentence(f.message)}.
        </li>
      ))}
    </>
  );
}

/** nothingFound says why there is no finding: levels that were read too rarely, or not at all, can give none. */
function nothingFound(of: Phase, live: boolean): string {
  if (canonical(of, "waiting")?.avg === undefined) {
    return live
      ? "How busy the server is is not known yet: that takes three readings of its metrics."
      : "How busy the server was is not known: it does not say, or its metrics were read less than three times.";
  }
  return live
    ? "So far, the metrics of the server show no reason to be slow."
    : "The metrics of the server show no reason to be slow.";
}

/** TimeBudget is the mean time to the first token, from the due time, in its parts. */
function TimeBudget({ of }: { of: Budget }): JSX.Element {
  const all = parts(of);
  const grow = (ms: number) => (e: HTMLElement | null) => {
    if (e) e.style.flexGrow = String(Math.max(0, ms));
  };
  const share = (ms: number) => (of.corrected_ttft_ms > 0 ? format.percent(ms / of.corrected_ttft_ms) : format.absent);
  const text = all.map((p) => `${p.name} ${format.duration(p.ms)}`).join(", ");
  return (
    <div class="budget">
      <p>
        Mean time to the first token <b>{format.duration(of.corrected_ttft_ms)}</b>
        <span class="muted">, from when requests were due, over {format.count(of.requests)} requests</span>
      </p>
      <div class="shares" role="img" aria-label={"Time to the first token: " + text}>
        {all.map((p) => (
          <i key={p.name} class={"c-" + p.color} title={`${p.name} ${format.duration(p.ms)}`} ref={grow(p.ms)} />
        ))}
      </div>
      <ul>
        {all.map((p) => (
          <li key={p.name} title={p.about}>
            <span class={"swatch c-" + p.color} />
            {p.name} <b>{format.duration(p.ms)}</b> <span class="muted">{share(p.ms)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

const levels: [name: string, text: string][] = [
  ["running", "Running in the server"],
  ["waiting", "Waiting in the server"],
  ["kv_usage", "KV cache in use"],
];

/** Levels are the metrics that say how busy the servers were. */
function Levels({ of }: { of: Phase }): JSX.Element | null {
  const rows = levels.flatMap(([name, text]) => {
    const v = canonical(of, name);
    return v?.avg === undefined ? [] : [{ text, v, write: name === "kv_usage" ? format.percent : format.number }];
  });
  const hits = hitRate(of);
  if (rows.length === 0 && hits === undefined) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Load of the server, ${of.name}`}>
      <table class="values">
        <thead>
          <tr>
            <th class="text">Server</th>
            <th>avg</th>
            <th>p99</th>
            <th>max</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ text, v, write }) => (
            <tr key={text}>
              <td class="text" title={v.families.join(", ")}>
                {text}
              </td>
              {(["avg", "p99", "max"] as const).map((c) => (
                <td key={c} data-label={c}>
                  {write(v[c])}
                </td>
              ))}
            </tr>
          ))}
          {hits !== undefined && (
            <tr>
              <td class="text">Prompt tokens cached</td>
              <td data-label="avg">{format.percent(hits)}</td>
              <td colSpan={2} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** Numbers are all canonical metrics within the exact window of a phase. */
function Numbers({ of }: { of: Phase }): JSX.Element {
  const cell = (v: number | undefined) => <td>{v === undefined ? "" : format.number(v)}</td>;
  return (
    <details>
      <summary>All {of.canonical.length} metrics of the server in this phase</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Metrics of the server, ${of.name}`}>
        <table>
          <thead>
            <tr>
              <th class="text">Metric</th>
              <th>avg</th>
              <th>max</th>
              <th>total</th>
              <th>per second</th>
              <th class="text">Names on the server</th>
            </tr>
          </thead>
          <tbody>
            {of.canonical.map((v: Value) => (
              <tr key={v.name}>
                <td class="text">
                  {v.name.replaceAll("_", " ")}, {v.unit}
                </td>
                {cell(v.avg)}
                {cell(v.max)}
                {cell(v.total_settled ?? v.total)}
                {cell(v.rate)}
                <td class="text">{v.families.join(", ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** Sources are the pages that were read, and those that the user named and that never answered. */
function Sources({ of, silent }: { of: readonly Target[]; silent: readonly Target[] }): JSX.Element {
  const read = of.filter((t) => t.fetches > 0);
  return (
    <>
      {read.map((t) => (
        <p key={t.url} class="muted">
          Read {format.count(t.fetches)} times from {t.url}, {format.duration(t.scrape_p50_ms)} each
          {t.failures > 0 && `; ${format.count(t.failures)} times without an answer (${t.last_error})`}
          {t.gaps > 0 && `; ${format.count(t.gaps)} gaps`}.
        </p>
      ))}
      {silent.map((t) => (
        <p key={t.url} class="bad">
          No metrics from {t.url}: {t.last_error || t.state}.
        </p>
      ))}
    </>
  );
}
