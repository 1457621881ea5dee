// The choice of runs for a comparison, by name.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJSON, type Run, type Schemas } from "../api/client";
import * as format from "../format";
import { link } from "../router";
import { mostCompared } from "../state/runs";
import { Card, ClientPill, load, StatePill } from "../ui/parts";
import "./compare.css";

const listed = 8;

/** Pick lists runs by a text that is typed, to be compared with those that are chosen. */
export function Pick({ ids, add }: { ids: string[]; add: (id: string) => void }): JSX.Element {
  const [text, setText] = useState("");
  const [first, setFirst] = useState<Run | null>(null);
  const [found, setFound] = useState<Run[] | null>(null);
  const base = ids[0];
  useEffect(() => {
    let wanted = true;
    if (!base) setFirst(null);
    else
      getJSON<Run>("api/runs/" + base).then(
        (run) => wanted && setFirst(run),
        () => undefined,
      );
    return () => {
      wanted = false;
    };
  }, [base]);
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => {
      const query = new URLSearchParams({ limit: String(listed + ids.length), state: "completed,cancelled,failed" });
      if (text.trim()) query.set("q", text.trim());
      getJSON<Schemas["wire.RunList"]>("api/runs?" + query).then(
        (l) => wanted && setFound(l.items),
        () => wanted && setFound([]),
      );
    }, 200);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [text, ids.join()]);
  // Sweeps are compared with sweeps.
  const others = (found ?? []).filter((r) => !ids.includes(r.id) && (!first || r.kind === first.kind)).slice(0, listed);
  const full = ids.length >= mostCompared;
  return (
    <Card class="pick">
      <p role="status">
        {ids.length === 0 && <strong>Choose the run that the others are compared with.</strong>}
        {first && ids.length === 1 && (
          <>
            <strong>{first.name || first.id.slice(0, 12)}</strong> is chosen. Choose another{" "}
            {first.kind === "sweep" ? "sweep" : "run"} to compare it with, here or in the{" "}
            <a href={link("")}>list of runs</a>.
          </>
        )}
        {ids.length > 1 &&
          (full ? `${mostCompared} runs are compared, as many as possible.` : "Add a run by name, model or id.")}
      </p>
      {!full && (
        <>
          <input
            type="search"
            aria-label="Search for a run"
            placeholder="name, model, target, id"
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
          <ul class="found-runs">
            {others.map((run) => (
              <li key={run.id}>
                <button
                  type="button"
                  class="small"
                  onClick={() => add(run.id)}
                  title={"Compare with " + (run.name || run.id)}
                >
                  Choose
                </button>
                <span class="name">{run.name || run.id.slice(0, 12)}</span>
                <span class="muted">
                  {run.kind === "sweep" ? "sweep" : load(run)} · {run.models.join(", ")} ·{" "}
                  {format.date(run.started_at ?? run.created_at)}
                </span>
                <StatePill run={run} />
                {run.client && run.client.verdict !== "ok" && <ClientPill client={run.client} />}
              </li>
            ))}
            {found && others.length === 0 && (
              <li class="empty">No {text ? "other run matches" : "other run has ended"}.</li>
            )}
          </ul>
        </>
      )}
    </Card>
  );
}
