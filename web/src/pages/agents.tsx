// What a run of recorded sessions of agents says: its jobs, whether the result of its scenario counts, which lane played
// what, and latencies by the length of prompts.
import type { JSX } from "preact";
import { ended, type Run, type Schemas } from "../api/client";
import { type Color, color } from "../charts/colors";
import * as format from "../format";
import type { RunStore } from "../state/run";
import { useReading } from "../ui/lazy";
import { Card, Tile } from "../ui/parts";
import "./server.css";
import "./sweep.css";

type Report = Schemas["agents.Report"];
type Tree = Schemas["agents.Tree"];
type Group = Schemas["agents.Group"];
type Validity = Schemas["verdict.Validity"];

const outcomes: Record<Tree["outcome"], Color> = { completed: "green", running: "blue", cut: "orange" };

/** the number of lanes and of plays that are drawn, at most */
const mostLanes = 32,
  mostPlays = 2000;

/** Agents is absent unless the run replayed recorded sessions and has ended. */
export function Agents({ store, run }: { store: RunStore; run: Run }): JSX.Element | null {
  const replayed = ended(run.state) && !!store.metrics.value?.expected_prefix_cache_hit;
  const { value } = useReading<Schemas["results.Agents"]>(replayed ? `api/runs/${run.id}/agents` : null, false);
  const jobs = value?.jobs;
  if (!jobs) return null;
  return (
    <Card title="Agents" class="server agents">
      {value.validity && <Counts of={value.validity} />}
      <Jobs of={jobs} />
      <Lanes of={jobs.trees ?? []} />
      {jobs.by_context && jobs.by_context.length > 0 && <Contexts of={jobs.by_context} />}
    </Card>
  );
}

/** Counts says whether the result of a scenario counts, and which checks failed. */
function Counts({ of }: { of: Validity }): JSX.Element {
  const failed = of.checks.filter((c) => !c.ok);
  return (
    <>
      <p class={of.valid ? undefined : "bad"}>
        {of.valid ? "The result counts for " : "The result does not count for "}
        {of.scenario}: {of.checks.length - failed.length} of {of.checks.length} checks passed.
      </p>
      {failed.length > 0 && (
        <ul class="findings">
          {failed.map((c) => (
            <li key={c.id} class="finding-notice">
              {c.id}: {c.detail}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** few is the number of plays below which rates and percentiles say little about others. */
const few = 10;

function Jobs({ of }: { of: Report }): JSX.Element {
  const hits = of.prefix_cache;
  const path = of.critical_path_share;
  return (
    <div class="tiles">
      <Tile
        label="Plays of sessions"
        value={format.count(of.trees_started)}
        note={[
          `${of.trees_completed} completed`,
          of.trees_running > 0 && `${of.trees_running} running at the end`,
          of.trees_cut > 0 && `${of.trees_cut} cut by a failed request`,
        ]
          .filter(Boolean)
          .join(" · ")}
      />
      {of.job_dilation && (
        <Tile
          label="Time against the recording"
          value={format.number(of.job_dilation.avg)}
          unit="×"
          note={of.job_dilation.count >= few ? `p90 ${format.number(of.job_dilation.p90)} ×` : undefined}
        />
      )}
      {of.jobs_per_hour !== null && of.trees_completed >= few && (
        <Tile label="Completed per hour" value={format.number(of.jobs_per_hour)} />
      )}
      <Tile
        label="Prefix cache, reported"
        value={format.percent(hits.reported)}
        note={`possible ${format.percent(hits.expected)} · in the recording ${format.percent(hits.theoretical)}`}
      />
      {path && (
        <Tile
          label="Prefill on critical paths"
          value={format.percent(path.prefill)}
          note={`decode ${format.percent(path.decode)} · pauses ${format.percent(path.gap)}`}
        />
      )}
    </div>
  );
}

/** Lanes draws the plays of each lane over time. */
function Lanes({ of }: { of: Tree[] }): JSX.Element | null {
  const lanes = [...new Set(of.map((t) => t.lane ?? 0))].sort((a, b) => a - b).slice(0, mostLanes);
  if (lanes.length === 0 || of.length > mostPlays) return null;
  const from = Math.min(...of.map((t) => t.first_due_ms));
  const span = Math.max(...of.map((t) => t.last_end_ms)) - from;
  const place = (t: Tree) => (e: HTMLElement | null) => {
    if (!e) return;
    e.style.left = `${(100 * (t.first_due_ms - from)) / span}%`;
    e.style.width = `${(100 * (t.last_end_ms - t.first_due_ms)) / span}%`;
    e.style.background = color(outcomes[t.outcome]);
  };
  const swatch = (outcome: Tree["outcome"]) => (e: HTMLElement | null) => {
    if (e) e.style.background = color(outcomes[outcome]);
  };
  return (
    <>
      <table class="lanes" aria-label="Plays of sessions by lane, over time">
        <tbody>
          {lanes.map((lane) => (
            <tr key={lane}>
              <th scope="row">{lane === 0 ? "" : `Lane ${lane}`}</th>
              <td>
                {of
                  .filter((t) => (t.lane ?? 0) === lane)
                  .map((t) => (
                    <i
                      key={t.session_num}
                      ref={place(t)}
                      title={`${t.trace_id}: ${t.outcome}, ${t.requests} requests, ${format.duration(t.tree_makespan)}`}
                    />
                  ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="budget muted">
        {(["completed", "running", "cut"] as const)
          .filter((o) => of.some((t) => t.outcome === o))
          .map((o) => (
            <span key={o}>
              <i class="swatch" ref={swatch(o)} />
              {o === "running" ? "running at the end" : o}{" "}
            </span>
          ))}
      </p>
    </>
  );
}

/** Contexts are latencies by the length of prompts. */
function Contexts({ of }: { of: Group[] }): JSX.Element {
  const short = (n: number) => (n < 1024 ? String(n) : `${n / 1024}k`);
  const ms = (v: number | undefined) => (v === undefined ? format.absent : format.number(v));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="By prompt length">
      <table class="values">
        <thead>
          <tr>
            <th class="text">Prompt tokens</th>
            <th>Requests</th>
            <th>Errors</th>
            <th title="As servers report it, or else as it is expected of a cache of unlimited size">Cached</th>
            <th>TTFT p50, ms</th>
            <th>p90</th>
            <th>ITL p50, ms</th>
            <th>Latency p50, ms</th>
          </tr>
        </thead>
        <tbody>
          {of.map((g) => (
            <tr key={g.from}>
              <td class="text">{g.to ? `${short(g.from)} to ${short(g.to)}` : `${short(g.from)} or more`}</td>
              <td data-label="Requests">{format.count(g.requests)}</td>
              <td data-label="Errors">{format.count(g.errors)}</td>
              <td data-label="Cached">{format.percent(g.cached_share)}</td>
              <td data-label="TTFT p50, ms">{ms(g.time_to_first_token?.p50)}</td>
              <td data-label="TTFT p90, ms">{ms(g.time_to_first_token?.p90)}</td>
              <td data-label="ITL p50, ms">{ms(g.inter_token_latency?.p50)}</td>
              <td data-label="Latency p50, ms">{ms(g.request_latency?.p50)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
