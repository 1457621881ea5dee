// The answer of a sweep: what a search found and how sure that is, or which values are best.
import type { JSX } from "preact";
import type { Schemas } from "../api/client";
import * as format from "../format";
import { link } from "../router";
import {
  among,
  condition,
  doubts,
  good,
  metricName,
  outcomes,
  type Row,
  read,
  type Sweep,
  undecided,
  unsure,
} from "../state/sweep";
import { Card, Mean } from "../ui/parts";

type Boundary = Schemas["results.Boundary"];
type Edge = Schemas["results.SweepEdge"];
type Reading = Schemas["results.Reading"];

export function Answer({ sweep, live }: { sweep: Sweep; live: boolean }): JSX.Element | null {
  if (!sweep.search) return <Best sweep={sweep} />;
  const { boundaries, optima, planner, reason_text } = sweep.search;
  // The sentences about boundaries say what is shown of them, except for a capacity: it is an
  // estimate from all probes, and they are what was observed.
  const estimated = planner === "capacity" ? sweep.findings.slice(0, 1) : [];
  const rest = sweep.findings.slice(estimated.length || boundaries.length);
  return (
    <Card title={live ? "Answer so far" : "Answer"} class="answer">
      {estimated.map((text) => (
        <p key={text} class="headline">
          <strong>{text}</strong>
        </p>
      ))}
      {boundaries.map((b) => (
        <Found key={b.tier ?? ""} of={b} sweep={sweep} />
      ))}
      {optima.map((i) => (
        <p key={i} class="headline">
          <span class="muted">Best value</span> <b>{sweep.rows[i]?.name}</b>
        </p>
      ))}
      {boundaries.length === 0 && optima.length === 0 && <p class="headline">Nothing was found{live ? " yet" : ""}.</p>}
      {rest.map((text) => (
        <p key={text}>{text}</p>
      ))}
      {reason_text ? (
        <p class="muted">The search ended: {reason_text}.</p>
      ) : (
        <p class="muted">
          {live ? "The search goes on." : "The search was interrupted: the answer is that of the values so far."}
        </p>
      )}
    </Card>
  );
}

/** Found is a boundary: the value, and what was observed on both sides of it. */
function Found({ of: b, sweep }: { of: Boundary; sweep: Sweep }): JSX.Element {
  const limits = (b.pass ?? b.fail)?.readings ?? [];
  const invalid = [b.pass, b.fail].some((e) => e && !e.valid);
  const sides = [b.pass, b.fail].flatMap((e) => (e ? [{ edge: e, why: undecided(sweep, e) }] : []));
  const open = sides.filter(({ why }) => why.length > 0);
  const doubted = sweep.findings.some((text) => text.startsWith("Doubt:"));
  const capacity = sweep.search?.planner === "capacity";
  const few = open.some(({ why }) => why.some((text) => text.startsWith("too few")));
  return (
    <div class="found">
      {b.tier && <h3>{b.tier}</h3>}
      <p class="headline">
        {b.advised !== undefined ? (
          <>
            <span class="muted">Plan for {b.parameter.name} at most</span> <b>{level(b.advised)}</b>{" "}
            {unitOf(b.parameter.name)}
          </>
        ) : open.length > 0 ? (
          <>
            <b>Not decided</b> <span class="muted">{observedSides(b)}</span>
          </>
        ) : b.pass ? (
          <>
            <span class="muted">
              Highest {b.parameter.name}
              {capacity ? " that was measured" : ""} within the limits
            </span>{" "}
            <b>{level(b.pass.value)}</b> {unitOf(b.parameter.name)}
          </>
        ) : (
          <b>No measured {b.parameter.name} is within the limits</b>
        )}
        <span class={"pill " + (invalid ? "client-invalid" : open.length || doubted ? "client-suspect" : "client-ok")}>
          {invalid
            ? "a deciding probe is distorted"
            : few
              ? "a deciding probe is short"
              : open.length
                ? "an interval contains the limit"
                : doubted
                  ? "there are doubts"
                  : "deciding probes are valid"}
        </span>
      </p>
      {b.advised !== undefined && (
        <p>
          {b.pass ? `Measured within the limits: ${level(b.pass.value)}` : "None was measured within the limits"}
          {b.interval
            ? `; 95 % confidence interval of the capacity: ${format.number(b.interval[0])} to ${format.number(b.interval[1])}.`
            : "."}
        </p>
      )}
      {open.length > 0 && (
        <p>
          {open.map(({ edge, why }) => `At ${format.count(edge.value)}: ${why.join("; ")}. `)}
          {few ? "Longer runs" : "More runs per value"} would tell more.
        </p>
      )}
      {b.pass && !b.fail && <p>It is the largest value that was measured: no value beyond the limits is known.</p>}
      {invalid && (
        <p class="bad">
          The load generator distorted a number that decides: the boundary may be that of the load generator, not of the
          server.
        </p>
      )}
      <div
        class="scroll"
        tabIndex={0}
        role="region"
        aria-label={`Both sides of the boundary${b.tier ? ", " + b.tier : ""}`}
      >
        <table class="sides">
          <thead>
            <tr>
              <th class="text">Limit</th>
              <th>
                <Side edge={b.pass} name={b.parameter.name} sweep={sweep} text="within" />
              </th>
              <th>
                <Side edge={b.fail} name={b.parameter.name} sweep={sweep} text="beyond" />
              </th>
            </tr>
          </thead>
          <tbody>
            {limits.map((r, i) => (
              <tr key={condition(r)}>
                <td class="text wrap">
                  {condition(r)}
                  {limits.length > 1 && b.binding && condition(b.binding) === condition(r) && (
                    <span class="tag">reached first</span>
                  )}
                </td>
                <Observed sweep={sweep} edge={b.pass} i={i} at={named(b.pass, b.parameter.name, "within")} />
                <Observed sweep={sweep} edge={b.fail} i={i} at={named(b.fail, b.parameter.name, "beyond")} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {b.interval && b.pass && b.fail && b.advised === undefined && (
        <p class="muted">
          95 % confidence interval of the boundary: {format.number(b.interval[0])} to {format.number(b.interval[1])}.
        </p>
      )}
      {b.kind && (
        <p class="muted">
          {b.kind === "cliff" ? "Beyond it the numbers jump." : "The numbers grow smoothly across the boundary."}
        </p>
      )}
    </div>
  );
}

/** units are those of the levels of load that have one. */
const units: Record<string, string> = { rate: "requests/s", session_rate: "sessions/s", sessionRate: "sessions/s" };

function unitOf(parameter: string): string {
  return units[parameter] ?? "";
}

/** level is a level of load: whole numbers, such as those of concurrent requests, have no digits. */
function level(v: number): string {
  return Number.isInteger(v) ? format.count(v) : format.number(v);
}

function Side(props: { edge: Edge | null; name: string; sweep: Sweep; text: string }): JSX.Element {
  const { edge, name, sweep, text } = props;
  if (!edge) return <>none {text}</>;
  const run = sweep.rows[edge.row]?.runs.at(-1);
  const value = `${name} ${format.count(edge.value)}`;
  return (
    <>
      {run?.id ? <a href={link("runs/" + run.id)}>{value}</a> : value}, {text}
    </>
  );
}

/** named is the side of a boundary in words. */
function named(edge: Edge | null, name: string, text: string): string {
  return edge ? `${name} ${format.count(edge.value)}, ${text}` : `none ${text}`;
}

/** observedSides says where a boundary was seen that is not decided. */
function observedSides(b: Boundary): string {
  const parts = [
    b.pass && `${format.count(b.pass.value)} was measured within the limits`,
    b.fail && `${format.count(b.fail.value)} was measured beyond them`,
  ];
  return `${b.parameter.name}: ${parts.filter(Boolean).join(", ")}`;
}

interface ObservedProps {
  sweep: Sweep;
  edge: Edge | null;
  /** index of the limit */
  i: number;
  at: string;
}

function Observed({ sweep, edge, i, at }: ObservedProps): JSX.Element {
  const of: Reading | undefined = edge?.readings[i];
  if (!edge || !of) return <td data-label={at}>{format.absent}</td>;
  const row = sweep.rows[edge.row];
  const e = row ? read(row, of.metric, of.statistic) : null;
  return (
    <td class={unsure(sweep, edge, of) ? undefined : of.met ? "good" : "bad"} title={of.doubt} data-label={at}>
      {format.number(of.observed)}
      {e && e.runs > 1 && <span class="muted"> {format.spread(e)}</span>} {of.unit}
      {of.doubt && <span class="sub">{of.doubt}</span>}
    </td>
  );
}

/** Best names the best values of a sweep that is no search. */
function Best({ sweep }: { sweep: Sweep }): JSX.Element | null {
  const rows: [string, Row | undefined, string, string, string][] = [
    ["Best throughput", at(sweep, sweep.best_throughput), "request_throughput", "avg", "req/s"],
    [
      `Lowest ${metricName(sweep.latency_metric)} p99`,
      at(sweep, sweep.best_latency),
      sweep.latency_metric,
      "p99",
      "ms",
    ],
  ];
  const found = rows.filter((r) => r[1]);
  if (found.length === 0 && sweep.findings.length === 0) return null;
  return (
    <Card title="Answer" class="answer">
      <div class="bests">
        {found.map(([text, row, tag, stat, unit]) => {
          const doubt = doubts(sweep, row!, tag, stat);
          return (
            <div key={text}>
              <p class="headline">
                <span class="muted">
                  {text}
                  {among(sweep, row!)}
                </span>{" "}
                <b>{row!.name}</b>
                <span>
                  <Mean of={read(row!, tag, stat)} measured={good(row!)} /> {unit}
                  {row!.outcome === "fail" && <span class="bad">, {outcomes.fail}</span>}
                </span>
              </p>
              {doubt.texts.length > 0 && (
                <p class="row">
                  {doubt.texts.map((why) => (
                    <span key={why} class="pill client-suspect">
                      {why}
                    </span>
                  ))}
                  <span class="muted">{format.sentence(doubt.remedy)}</span>
                </p>
              )}
            </div>
          );
        })}
      </div>
      {sweep.findings.map((text, i) =>
        sweep.type === "repeats" && i === 0 ? (
          <p key={text} class="headline">
            <strong>{text}</strong>
          </p>
        ) : (
          <p key={text}>{text}</p>
        ),
      )}
    </Card>
  );
}

function at(sweep: Sweep, i: number | null): Row | undefined {
  return i === null ? undefined : sweep.rows[i];
}
