// The slowest requests of a run, each with what happened when.
import type { JSX } from "preact";
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ended, type Run, type Schemas } from "../api/client";
import { Timeline } from "../charts/timeline";
import * as format from "../format";
import { duration } from "../format";
import { Lazily, useReading } from "../ui/lazy";
import { asOf, Card, Copy, ErrorText } from "../ui/parts";

type Samples = Schemas["wire.Samples"];
type Slow = Schemas["wire.SlowRequest"];
type By = keyof Samples["slowest"];

export function Slowest({ run }: { run: Run }): JSX.Element {
  const [elapsed, setElapsed] = useState<number | null>(null);
  return (
    <Card title="Slowest requests" beside={asOf(run, elapsed)}>
      <Lazily>{() => <Part run={run} setElapsed={setElapsed} />}</Lazily>
    </Card>
  );
}

function Part({ run, setElapsed }: { run: Run; setElapsed: (v: number | null) => void }): JSX.Element {
  const [by, setBy] = useState<By>("request_latency");
  const [open, setOpen] = useState<string | null>(null);
  const live = !ended(run.state);
  const { value, error } = useReading<Samples>(`api/runs/${run.id}/samples`, live);
  const elapsed = value?.elapsed_sec ?? null;
  useEffect(() => setElapsed(elapsed), [elapsed]);
  if (!value) return error ? <ErrorText error={error} /> : <p class="empty">Loading …</p>;
  const list = value.slowest[by];
  return (
    <>
      {run.streaming && (
        <div class="row" role="group" aria-label="Slowest by">
          <button
            type="button"
            class="small"
            aria-pressed={by === "request_latency"}
            onClick={() => setBy("request_latency")}
          >
            By request latency
          </button>
          <button
            type="button"
            class="small"
            aria-pressed={by === "time_to_first_token"}
            onClick={() => setBy("time_to_first_token")}
          >
            By time to first token
          </button>
        </div>
      )}
      {list.length === 0 ? (
        <p class="empty">
          {value.damaged
            ? "The file with the timelines of requests is damaged and cannot be shown."
            : live
              ? "No request has ended yet."
              : "This run has no timelines of requests."}
        </p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Slowest requests">
          <table class="slowest">
            <thead>
              <tr>
                <th class="text">Started at</th>
                <th>Latency</th>
                <th>TTFT</th>
                <th class="wide">Waited</th>
                <th class="wide">Input</th>
                <th>Output</th>
                <th class="text result">Result</th>
                <th class="text wide">Session</th>
              </tr>
            </thead>
            <tbody>
              {list.map((q) => (
                <Row
                  key={q.request_id}
                  q={q}
                  open={open === q.request_id}
                  toggle={() => setOpen(open === q.request_id ? null : q.request_id)}
                  several={run.targets.length > 1}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function Row({
  q,
  open,
  toggle,
  several,
}: {
  q: Slow;
  open: boolean;
  toggle: () => void;
  several: boolean;
}): JSX.Element {
  return (
    <Fragment>
      <tr class={open ? "open" : undefined}>
        <td class="text">
          <button
            type="button"
            class="quiet"
            aria-expanded={open}
            aria-label={`Timeline of the request at ${format.clock(q.start_sec)}`}
            onClick={toggle}
          >
            <span class="turn" aria-hidden="true">
              ▸
            </span>{" "}
            {format.clock(q.start_sec)}
          </button>
        </td>
        <td>
          <b>{duration(q.request_latency)}</b>
        </td>
        <td>{q.time_to_first_token === null ? format.absent : duration(q.time_to_first_token)}</td>
        <td class="wide">{q.timeline.due_ms === null ? format.absent : duration(-q.timeline.due_ms)}</td>
        <td class="wide">{format.count(q.input_tokens)}</td>
        <td>{format.count(q.output_tokens)}</td>
        <td class="text result">
          {q.error_class ? (
            <span class="bad">
              {q.error_class}
              {q.status ? ` (${q.status})` : ""}
            </span>
          ) : (
            q.status
          )}
        </td>
        <td class="text wide">
          {q.session}
          {q.turn > 0 && `, turn ${q.turn + 1}`}
        </td>
      </tr>
      {open && (
        <tr class="detail">
          <td colSpan={8}>
            <Timeline q={q} />
            <p class="muted">
              Request <code>{q.request_id}</code> <Copy text={q.request_id} label="Copy the id of the request" /> ·
              phase {q.phase}
              {q.conversation_id && ` · conversation ${q.conversation_id}`}
              {several && ` · ${q.target}`} · {q.connection.reused ? "open connection" : "new connection"}
            </p>
          </td>
        </tr>
      )}
    </Fragment>
  );
}
