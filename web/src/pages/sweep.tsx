// A sweep: its answer, its values with the runs of each joined, and the pictures by which one is chosen.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { ended, getJSON, type Run, type Schemas } from "../api/client";
import { embedded } from "../api/embedded";
import { connections, listen } from "../api/feed";
import { cycle } from "../charts/colors";
import { type Group, type Kind, type Limit, type Point, Points } from "../charts/points";
import * as format from "../format";
import { link } from "../router";
import { choose, chosen } from "../state/runs";
import {
  attainment,
  best,
  type Condition,
  condition,
  type Estimate,
  front,
  good,
  grouped,
  higher,
  keeps,
  marks,
  metricName,
  numeric,
  type Objective,
  open,
  outcomes,
  type Row,
  read,
  type Sweep,
  statisticName,
  throughput,
  undecided,
  value,
} from "../state/sweep";
import { Card, ClientPill, load, Mean, StatePill, VerdictPill } from "../ui/parts";
import { ProgressBar } from "../ui/progress";
import { Answer } from "./answer";
import { PairedAnswer } from "./paired";
import "./sweep.css";

type RunList = Schemas["wire.RunList"];

const most = 500;

/** children is the address of the runs of a sweep; reports have the one without parameters of the list. */
function children(id: string): string {
  return `api/runs/${id}/children?limit=${most}` + (embedded ? "" : "&detail=brief");
}

export function SweepPart({ run }: { run: Run }): JSX.Element {
  const [cells, setCells] = useState<Run[] | null>(null);
  /** null = it has none, undefined = not read yet */
  const [sweep, setSweep] = useState<Sweep | null | undefined>(undefined);
  const [wanted, setWanted] = useState(embedded !== null);
  useEffect(() => {
    let timer = 0,
      closed = false;
    const read = async () => {
      const summary = await getJSON<Sweep>(`api/runs/${run.id}/sweep`).catch(() => null);
      if (closed) return;
      setSweep((known) => summary ?? known ?? null);
      // The runs themselves are read when somebody wants to see them, because a sweep has many.
      if (!wanted && summary && summary.rows.length > 0) return;
      const list = await getJSON<RunList>(children(run.id)).catch(() => null);
      if (list && !closed) setCells(list.items);
    };
    void read();
    const end = listen((m) => {
      if (m.message_type !== "run_state_changed" && m.message_type !== "run_queued") return;
      clearTimeout(timer);
      timer = window.setTimeout(read, 300);
    });
    return () => {
      closed = true;
      clearTimeout(timer);
      end();
    };
  }, [run.id, run.state, connections.value, wanted]);
  const over = ended(run.state);
  return (
    <>
      <Progress run={run} search={Boolean(sweep?.search)} paired={sweep?.type === "ab"} />
      {sweep?.type === "ab" ? (
        <>
          <PairedAnswer run={run} live={!over} />
          {sweep.rows.some((row) => row.runs.length > 0) && <Rows sweep={sweep} objective={null} />}
        </>
      ) : (
        sweep && sweep.rows.length > 0 && <Values run={run} sweep={sweep} live={!over} />
      )}
      {sweep === null && over && (cells?.length ?? 0) > 0 && (
        <p class="notice" role="status">
          This sweep has no summary, because an earlier version of aiperfd made it: its runs are listed below, and its
          files have their means.
        </p>
      )}
      {sweep !== undefined && (
        <Cells
          cells={cells}
          count={cells?.length ?? run.progress?.cells_done ?? 0}
          open={!sweep || sweep.rows.length === 0}
          paired={sweep?.type === "ab"}
          want={() => setWanted(true)}
        />
      )}
    </>
  );
}

interface ProgressProps {
  run: Run;
  search: boolean;
  /** its runs go on at the same time */
  paired: boolean;
}

/** Progress shows how many runs of the plan have ended. A search performs fewer than it may, which is no lack. */
function Progress({ run, search, paired }: ProgressProps): JSX.Element | null {
  const p = run.progress;
  if (!p?.cells_total) return null;
  const done = p.cells_done ?? 0,
    failed = p.cells_failed ?? 0;
  const over = ended(run.state),
    complete = run.state === "completed";
  const most = search ? "at most " : "";
  const of = complete && search ? "" : ` of ${most}${format.count(p.cells_total)}`;
  const both = paired && run.state === "running" && done === 0;
  const percent = complete ? 100 : both ? null : (100 * done) / p.cells_total;
  return (
    <section class="phases" aria-label="Progress">
      <div class={"phase " + (over && !complete ? run.state : "")}>
        <span class="name">runs</span>
        <ProgressBar percent={percent} label="runs" failed={done ? ((percent ?? 0) * failed) / done : 0} />
        <span class="figures">
          {both ? "the runs of both servers go on" : `${format.count(done)}${of} ended`}
          {failed ? ` · ${format.count(failed)} failed` : ""}
          {over && ` · ${complete ? "complete" : run.state}`}
        </span>
      </div>
    </section>
  );
}

function Values({ run, sweep, live }: { run: Run; sweep: Sweep; live: boolean }): JSX.Element {
  const [objective, setObjective] = useState<Objective | null>(null);
  const [gpus, setGPUs] = useState(() => Math.max(0, Number(run.labels.gpus) || 0));
  return (
    <>
      <Answer sweep={sweep} live={live} />
      <Choice sweep={sweep} objective={objective} set={setObjective} gpus={gpus} setGPUs={setGPUs} />
      <Pictures sweep={sweep} objective={objective} gpus={gpus} />
      <Rows sweep={sweep} objective={objective} />
    </>
  );
}

/** perUser is shown as a median: it is the inverse of a time, so that its mean is that of the few requests
 * whose tokens were read at once. */
const perUser = "output_token_throughput_per_user";

/** metrics are what a reader may have an objective for. */
const choices = [
  ["time_to_first_token", "ms"],
  ["inter_token_latency", "ms"],
  ["request_latency", "ms"],
  [perUser, "tokens/s"],
] as const;

interface ChoiceProps {
  sweep: Sweep;
  objective: Objective | null;
  set: (o: Objective | null) => void;
  gpus: number;
  setGPUs: (n: number) => void;
}

/** Choice is the objective of the reader, with the value to choose. */
function Choice({ sweep, objective, set, gpus, setGPUs }: ChoiceProps): JSX.Element | null {
  const measured = choices.filter(([tag]) => sweep.rows.some((row) => row.metrics[tag]));
  const first = sweep.limits.find((l) => measured.some(([tag]) => tag === l.metric));
  const [metric, setMetric] = useState<string>(first?.metric ?? measured[0]?.[0] ?? "");
  const [statistic, setStatistic] = useState(first?.statistic ?? "p99");
  const limit = (tag: string) => String(sweep.limits.find((l) => l.metric === tag)?.threshold ?? "");
  const [text, setText] = useState(limit(metric));
  useEffect(() => {
    const threshold = Number(text);
    set(text.trim() === "" || !(threshold > 0) ? null : { metric, statistic, threshold });
  }, [metric, statistic, text]);
  if (measured.length === 0 || sweep.type === "repeats") return null;
  const unit = measured.find(([tag]) => tag === metric)?.[1] ?? "";
  const statistics = ["avg", "p50", "p90", "p95", "p99"].filter((s) => sweep.rows.some((row) => read(row, metric, s)));
  const kept = objective ? sweep.rows.filter((row) => keeps(row, objective)).length : 0;
  const at = objective ? best(sweep, objective) : -1;
  const doubt = objective && at >= 0 ? doubted(sweep, sweep.rows[at]!, objective) : "";
  return (
    <Card class="choice">
      <div class="row">
        <strong>My objective is</strong>
        <select
          aria-label="Metric"
          value={metric}
          onChange={(e) => {
            setMetric(e.currentTarget.value);
            setText(limit(e.currentTarget.value));
          }}
        >
          {measured.map(([tag]) => (
            <option key={tag} value={tag}>
              {metricName(tag)}
            </option>
          ))}
        </select>
        <select aria-label="Statistic" value={statistic} onChange={(e) => setStatistic(e.currentTarget.value)}>
          {statistics.map((s) => (
            <option key={s}>{s}</option>
          ))}
        </select>
        <label>
          {higher(metric) ? "at least" : "at most"}
          <input
            type="number"
            min="0"
            step="any"
            aria-label={`Threshold in ${unit}`}
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
          {unit}
        </label>
        <label
          class="gpus"
          title="Divides the tokens per second in the chart against tokens per second of a user; a label gpus=8 of the sweep sets it"
        >
          GPUs
          <input
            type="number"
            min="0"
            max="100000"
            value={gpus || ""}
            placeholder="–"
            onInput={(e) => setGPUs(Math.max(0, Number(e.currentTarget.value) || 0))}
          />
        </label>
      </div>
      <p role="status">
        {!objective ? (
          <span class="muted">
            Enter a value to see which values of the sweep keep it, and which of those has the highest throughput.
          </span>
        ) : at < 0 ? (
          <strong>No value keeps it.</strong>
        ) : (
          <>
            {doubt ? (
              <>
                <strong>Not decided.</strong> As measured, {sweep.rows[at]!.name} keeps it
              </>
            ) : (
              <>
                <strong>{sweep.rows[at]!.name}</strong> keeps it
              </>
            )}{" "}
            with the highest throughput, {format.number(read(sweep.rows[at]!, throughput(sweep), "avg")?.mean)}{" "}
            {metricName(throughput(sweep)).toLowerCase()}. {kept} of {sweep.rows.length} values keep it
            {doubt ? `, but ${doubt}.` : "."}
          </>
        )}
      </p>
    </Card>
  );
}

/** doubted says why it is not decided that a value keeps an objective; empty = it is. */
function doubted(sweep: Sweep, row: Row, objective: Objective): string {
  const e = read(row, objective.metric, objective.statistic);
  const limit = sweep.search && sweep.limits.find((l) => l.metric === objective.metric);
  // A search has its own rule for when there are too few, by which it has decided its limit.
  const judged = limit?.statistic === objective.statistic && limit.threshold === objective.threshold;
  if (judged ? open(sweep, row).some((why) => why.startsWith("too few")) : e?.unsupported)
    return `${row.name} had too few requests for this percentile`;
  return straddles(e, objective) ? `the interval of ${row.name} contains your limit` : "";
}

/** straddles reports whether the interval over the runs of a value contains the threshold of an objective. */
function straddles(e: Estimate | null, { threshold }: Objective): boolean {
  return e !== null && e.runs > 1 && e.low <= threshold && threshold <= e.high;
}

/** kindOf is how the point of a row is drawn. */
function kindOf(sweep: Sweep, row: Row): Kind {
  if (open(sweep, row).length > 0) return "open";
  return row.outcome === "pass" || row.outcome === "fail" || row.outcome === "excluded" ? row.outcome : "plain";
}

/** Axis is a statistic that is drawn. */
interface Axis {
  tag: string;
  stat: string;
  /** divides the values */
  by?: number;
}

type Place = (row: Row) => { x: number; y: Estimate; by: number; of?: Estimate; xBy?: number } | null;

const fromMetrics =
  (x: Axis, y: Axis): Place =>
  (row) => {
    const a = read(row, x.tag, x.stat),
      b = read(row, y.tag, y.stat);
    return a && b ? { x: a.mean / (x.by ?? 1), y: b, by: y.by ?? 1, of: a, xBy: x.by ?? 1 } : null;
  };

const fromLoad =
  (path: string, y: Axis): Place =>
  (row) => {
    const a = value(row, path),
      b = read(row, y.tag, y.stat);
    return a !== null && b ? { x: a, y: b, by: y.by ?? 1 } : null;
  };

/** points are those of the rows that have a place; a row counts for nothing there if its number is distorted. */
function points(sweep: Sweep, rows: Row[], place: Place, objective: Objective | null): Point[] {
  return rows.flatMap((row): Point[] => {
    const at = place(row);
    if (!at) return [];
    const { x, y, by, of, xBy = 1 } = at;
    const spread = y.runs > 1 ? { low: Math.max(0, y.low) / by, high: y.high / by } : {};
    const across = of && of.runs > 1 ? { from: Math.max(0, of.low) / xBy, to: of.high / xBy } : {};
    return [
      {
        x,
        y: y.mean / by,
        ...spread,
        ...across,
        label: short(row),
        title: row.name,
        kind: y.distorted || of?.distorted ? "excluded" : kindOf(sweep, row),
        faint: objective !== null && !keeps(row, objective),
        href: link("runs/" + (row.runs.find((r) => r.id && !r.failure)?.id ?? "")),
      },
    ];
  });
}

/** short is the label of a point: the numbers of its values. */
function short(row: Row): string {
  const all = Object.values(row.values);
  const plain = all.every((v) => ["string", "number", "boolean"].includes(typeof v));
  return format.cut(all.length > 0 && plain ? all.map(String).join(", ") : row.name, 24);
}

function Pictures({
  sweep,
  objective,
  gpus,
}: {
  sweep: Sweep;
  objective: Objective | null;
  gpus: number;
}): JSX.Element | null {
  const axesOfLoad = numeric(sweep);
  const [axis, setAxis] = useState("");
  const x = axesOfLoad.find((p) => p.path === axis) ?? axesOfLoad[0];
  const limits = useMemo(() => drawn(sweep, objective), [sweep, objective]);
  if (sweep.rows.length < 2) return null;
  const groups = (place: Place, joined: boolean): Group[] =>
    (x ? grouped(sweep, x.path) : [{ label: "", rows: sweep.rows }]).map((g, i) => ({
      label: g.label,
      color: cycle[i % cycle.length]!,
      joined,
      points: points(sweep, g.rows, place, objective),
    }));
  const fronted = (place: Place, lessX: boolean): Group[] => {
    const all = groups(place, false);
    // Values that may lie on the other side of a limit count by what was measured, as in the table.
    const within = sweep.rows.filter((row) => row.outcome !== "fail");
    const counting = points(sweep, within, place, objective).filter((p) => p.kind !== "excluded");
    const on = front(counting, lessX).toSorted((a, b) => a.x - b.x);
    return on.length < 2
      ? all
      : [
          ...all,
          {
            label: "Pareto front",
            color: "grey",
            dash: true,
            joined: true,
            bare: true,
            points: on.map((p) => ({
              ...p,
              label: "",
              low: undefined,
              high: undefined,
              from: undefined,
              to: undefined,
            })),
          },
        ];
  };
  const rate = throughput(sweep);
  const ttft = sweep.rows.some((row) => read(row, "time_to_first_token", "p99"));
  const decides = limits.find((l) => !higher(l.metric)) ?? {
    metric: ttft ? "time_to_first_token" : "request_latency",
    statistic: "p99",
  };
  const latency: Axis = { tag: decides.metric, stat: decides.statistic };
  // The load decides what a search for a capacity looks at: the share of good requests.
  const judged: Axis = limits.some((l) => l.metric === attainment) ? { tag: attainment, stat: "avg" } : latency;
  const lines = (a: Axis, vertical = false): Limit[] =>
    limits
      .filter((l) => l.metric === a.tag && l.statistic === a.stat)
      .map((l) => ({ label: l.label, value: l.threshold / (a.by ?? 1), vertical }));
  const whole = format.plain;
  const ms = format.round;
  const percents = (v: number) => format.plain(v) + " %";
  const per = gpus > 0 ? { by: gpus } : {};
  const user: Axis = { tag: perUser, stat: "p50" };
  const interactive = sweep.rows.some((row) => read(row, user.tag, user.stat));
  const logX = x ? spread(sweep.rows.map((row) => value(row, x.path))) : false;
  const common = { xText: whole };
  const valuesOfX = x ? sweep.rows.flatMap((row) => value(row, x.path) ?? []) : [];
  const ticks = [...new Set(valuesOfX)].sort((a, b) => a - b);
  return (
    <section aria-label="Pictures of the sweep">
      {axesOfLoad.length > 1 && (
        <label>
          Against
          <select value={x?.path} onChange={(e) => setAxis(e.currentTarget.value)}>
            {axesOfLoad.map((p) => (
              <option key={p.path} value={p.path}>
                {p.name}
              </option>
            ))}
          </select>
        </label>
      )}
      <div class="charts">
        {x && (
          <Points
            {...common}
            title={statisticName(judged.tag, judged.stat)}
            xLabel={x.name}
            ticks={ticks}
            yText={judged === latency ? ms : percents}
            logX={logX}
            limits={[...lines(judged), ...boundary(sweep, x.path)]}
            groups={groups(fromLoad(x.path, judged), true)}
          />
        )}
        {x && (
          <Points
            {...common}
            title={metricName(rate)}
            xLabel={x.name}
            ticks={ticks}
            yText={whole}
            logX={logX}
            limits={boundary(sweep, x.path)}
            groups={groups(fromLoad(x.path, { tag: rate, stat: "avg" }), true)}
          />
        )}
        {interactive && (
          <Points
            {...common}
            title={`Output tokens/s${gpus > 0 ? "/GPU" : ""}`}
            xLabel="output tokens/s of each user (median)"
            yText={whole}
            limits={lines(user, true)}
            groups={fronted(fromMetrics(user, { tag: rate, stat: "avg", ...per }), false)}
          />
        )}
        <Points
          xText={ms}
          title={metricName(rate)}
          xLabel={statisticName(latency.tag, latency.stat)}
          yText={whole}
          limits={lines(latency, true)}
          groups={fronted(fromMetrics(latency, { tag: rate, stat: "avg" }), true)}
        />
      </div>
      <p class="muted">
        Labels are values of the sweep; a click opens a run. Bars are {format.plain(100 * sweep.confidence_level)} %
        confidence intervals over the runs of a value. No value is better in both numbers than those on the Pareto
        front.{objective && " Points that do not keep your objective are faint."}
      </p>
    </section>
  );
}

/** drawn are the limits that charts show: those of the sweep, and that of the reader. */
function drawn(sweep: Sweep, objective: Objective | null) {
  const all = sweep.limits.map((l) => ({ ...l, label: `limit ${format.plain(l.threshold)} ${l.unit}` }));
  const known = (l: Objective) =>
    l.metric === objective?.metric && l.statistic === objective.statistic && l.threshold === objective.threshold;
  return objective && !all.some(known) ? [{ ...objective, label: "my objective" }, ...all] : all;
}

/** boundary is the answer of a search as a line across the load. */
function boundary(sweep: Sweep, path: string): Limit[] {
  return (sweep.search?.boundaries ?? []).flatMap((b) =>
    b.pass && b.parameter.path === path
      ? [{ label: boundaryLabel(sweep, b), value: b.pass.value, vertical: true }]
      : [],
  );
}

function boundaryLabel(sweep: Sweep, b: Schemas["results.Boundary"]): string {
  const open = [b.pass, b.fail].some((e) => undecided(sweep, e).length > 0);
  return (open ? "not decided: " : "answer ") + format.count(b.pass?.value);
}

/** spread reports whether values are better shown on a logarithmic axis. */
function spread(values: (number | null)[]): boolean {
  const known = values.filter((v): v is number => v !== null);
  return known.length > 2 && Math.min(...known) > 0 && Math.max(...known) / Math.min(...known) >= 16;
}

const columns: [string, string, string][] = [
  ["req/s", "request_throughput", "avg"],
  ["tokens/s", "output_token_throughput", "avg"],
  ["tokens/s/user", perUser, "p50"],
  ["TTFT p50", "time_to_first_token", "p50"],
  ["TTFT p99", "time_to_first_token", "p99"],
  ["Latency p50", "request_latency", "p50"],
  ["Latency p99", "request_latency", "p99"],
];

/** ordered are the columns with those that limits decide by first. */
export function ordered(limits: readonly Condition[]): [string, string, string][] {
  const limited = ([, tag, stat]: [string, string, string]) =>
    limits.some((l) => l.metric === tag && l.statistic === stat);
  const more = limits
    .filter((l, i) => limits.findIndex((o) => o.metric === l.metric && o.statistic === l.statistic) === i)
    .filter((l) => !columns.some(([, tag, stat]) => tag === l.metric && stat === l.statistic))
    .map((l): [string, string, string] => [
      statisticName(l.metric, l.statistic) + (l.metric === attainment ? ", %" : ""),
      l.metric,
      l.statistic,
    ]);
  return [...more, ...columns.filter(limited), ...columns.filter((c) => !limited(c))];
}

/** byValue are the rows with their indexes, in the order of their values if there is one number; a search measures
 * them in another order. */
function byValue(sweep: Sweep): [Row, number][] {
  const all = sweep.rows.map((row, i): [Row, number] => [row, i]);
  const [axis] = numeric(sweep);
  if (!axis || sweep.parameters.length > 1) return all;
  return all.sort(([a], [b]) => value(a, axis.path)! - value(b, axis.path)!);
}

/** partly reports whether the mean of a row leaves out some of its runs. */
function partly(row: Row, e: Estimate | null): boolean {
  return e !== null && !e.distorted && e.runs < good(row);
}

function Rows({ sweep, objective }: { sweep: Sweep; objective: Objective | null }): JSX.Element {
  const shown = ordered(sweep.limits).filter(([, tag, stat]) => sweep.rows.some((row) => read(row, tag, stat)));
  const judged = sweep.rows.some((row) => row.outcome !== "measured");
  const chosenAt = objective ? best(sweep, objective) : -1;
  return (
    <Card title={sweep.type === "ab" ? "Both servers" : "Values"}>
      <div class="scroll" tabIndex={0} role="region" aria-label={sweep.type === "ab" ? "Both servers" : "Values"}>
        <table class="values">
          <thead>
            <tr>
              <th class="text">Value</th>
              {judged && <th class="text">Outcome</th>}
              {shown.map(([title]) => (
                <th key={title}>{title}</th>
              ))}
              <th class="text">Runs</th>
            </tr>
          </thead>
          <tbody>
            {byValue(sweep).map(([row, i]) => (
              <tr
                key={row.name + i}
                class={
                  i === chosenAt && !doubted(sweep, row, objective!)
                    ? "chosen"
                    : i !== chosenAt && objective && !keeps(row, objective)
                      ? "faint"
                      : undefined
                }
              >
                <td class="text wrap">
                  <b class="value">{row.name}</b>
                  {marks(sweep, i).map((m) => (
                    <span key={m} class="tag mark">
                      {m}
                    </span>
                  ))}
                </td>
                {judged && (
                  <td class="text" data-label="Outcome">
                    <Outcome row={row} why={open(sweep, row)} />
                  </td>
                )}
                {shown.map(([title, tag, stat]) => (
                  <td key={title} class="mean" data-label={title}>
                    <Mean of={read(row, tag, stat)} measured={good(row)} />
                  </td>
                ))}
                <td class="text runs-of" data-label="Runs">
                  {good(row) < row.runs.length && <span class="bad">{good(row)} of </span>}
                  {row.runs.length}
                  {": "}
                  {row.runs.map((r, n) =>
                    r.id ? (
                      <a
                        key={r.id}
                        href={link("runs/" + r.id)}
                        title={r.failure || undefined}
                        class={r.failure ? "bad" : undefined}
                      >
                        {n + 1}
                      </a>
                    ) : (
                      <span key={n} class="bad" title={r.failure}>
                        {n + 1}
                      </span>
                    ),
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted">
        Latencies in ms, tokens/s/user is the median of the requests.
        {sweep.rows.some((row) => row.runs.length > 1) &&
          ` Means over the runs of a value, with half the width of their ${format.plain(100 * sweep.confidence_level)} % confidence interval, or from 0 to its upper end if it would go below zero; one run has none.`}
        {sweep.limits.length > 0 && ` Limits: ${sweep.limits.map(condition).join("; ")}.`}
        {sweep.rows.some((row) => shown.some(([, tag, stat]) => read(row, tag, stat)?.distorted)) &&
          " Struck out: the load generator distorted it."}
        {shown.some(([, tag, stat]) => sweep.rows.some((row) => partly(row, read(row, tag, stat)))) &&
          " Runs in which the load generator distorted a number are left out of its mean."}
        {sweep.rows.some((_, i) => marks(sweep, i).includes("Pareto")) &&
          ` Pareto: no other value has both more requests/s and a lower ${metricName(sweep.latency_metric)} p99.`}
        {sweep.rows.some((row) => shown.some(([, tag, stat]) => read(row, tag, stat)?.unsupported)) &&
          " * Too few independent requests for this percentile."}
      </p>
    </Card>
  );
}

const pills: Record<string, string> = { pass: "slo-pass", fail: "slo-fail", failed: "failed" };

function Outcome({ row, why }: { row: Row; why: string[] }): JSX.Element {
  if (why.length > 0) {
    return (
      <span class="pill client-suspect" title={why.join("; ")}>
        not decided
      </span>
    );
  }
  const text = outcomes[row.outcome] ?? row.outcome;
  if (!text) return <span class="muted">{format.absent}</span>;
  const kind = pills[row.outcome] ?? "";
  const missed = row.readings.filter((r) => !r.met).map(condition);
  return (
    <span
      class={"pill " + kind}
      title={row.outcome === "excluded" ? "The load generator distorted a number that decides" : missed.join("; ")}
    >
      {text}
    </span>
  );
}

interface CellsProps {
  /** null until they were read */
  cells: Run[] | null;
  count: number;
  open: boolean;
  /** they are those of two servers that are compared */
  paired: boolean;
  want: () => void;
}

/** Cells lists the runs themselves, folded where the values stand above. */
function Cells({ cells, count, open, paired, want }: CellsProps): JSX.Element {
  return (
    <Card>
      <details
        open={open}
        key={String(open)}
        onToggle={(e) => {
          if (e.currentTarget.open) want();
        }}
      >
        <summary>
          {count === 1 ? "The run" : `All ${count} runs`} of this {paired ? "comparison" : "sweep"}
        </summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="Runs">
          <table class="values">
            <thead>
              <tr>
                <th class="text">Run</th>
                <th class="text">State</th>
                <th class="text">Load</th>
                <th>req/s</th>
                <th>TTFT p99</th>
                <th>Latency p99</th>
                <th>Errors</th>
                {!embedded && <th>Compare</th>}
              </tr>
            </thead>
            <tbody>
              {cells?.map((c) => (
                <tr key={c.id}>
                  <td class="text wrap">
                    <a href={link("runs/" + c.id)}>{c.cell?.variation_label || c.name || c.id.slice(0, 12)}</a>
                    {c.cell && c.cell.trial > 0 && <span class="muted"> run {c.cell.trial + 1}</span>}
                  </td>
                  <td class="text" data-label="State">
                    <StatePill run={c} /> {c.client && c.client.verdict !== "ok" && <ClientPill client={c.client} />}{" "}
                    <VerdictPill verdict={c.verdict} />
                  </td>
                  <td class="text" data-label="Load">
                    {load(c)}
                  </td>
                  <td data-label="req/s">{format.number(c.summary?.request_throughput_per_sec)}</td>
                  <td data-label="TTFT p99">{format.number(c.summary?.time_to_first_token_p99_ms)}</td>
                  <td data-label="Latency p99">{format.number(c.summary?.request_latency_p99_ms)}</td>
                  <td data-label="Errors" class={c.summary?.errors ? "bad" : undefined}>
                    {format.count(c.summary?.errors)}
                  </td>
                  {!embedded && (
                    <td data-label="Compare">
                      <input
                        type="checkbox"
                        aria-label={"Compare " + c.name}
                        checked={chosen.value.includes(c.id)}
                        onChange={(e) => choose(c.id, e.currentTarget.checked)}
                      />
                    </td>
                  )}
                </tr>
              ))}
              {cells?.length === 0 && (
                <tr>
                  <td class="empty" colSpan={8}>
                    No run has started yet.
                  </td>
                </tr>
              )}
            </tbody>
          </table>
        </div>
      </details>
    </Card>
  );
}
