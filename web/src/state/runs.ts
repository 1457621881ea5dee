// The list of runs, the queue, and the runs chosen for a comparison.
import { effect, signal, untracked } from "@preact/signals";
import { getJSON, type Queue, type Run, type Schemas } from "../api/client";
import { connections, listen } from "../api/feed";
import { route } from "../router";
import { sorted } from "./columns";

type RunList = Schemas["wire.RunList"];

export const pageSize = 50;
export const mostCompared = 10;

/** filterNames are the query parameters of the list that the page passes on. */
export const filterNames = ["q", "state", "model", "label", "kind", "created_after", "created_before", "sort"] as const;

export const list = signal<RunList | null>(null);
export const active = signal<Run[]>([]);
export const queue = signal<Queue | null>(null);
export const problem = signal("");

/** chosen are the ids of the runs to compare. */
export const chosen = signal<string[]>([]);

export function choose(id: string, on: boolean): void {
  const others = chosen.value.filter((other) => other !== id);
  chosen.value = on ? [...others, id].slice(-mostCompared) : others;
}

/** filters are the filters in the address of the page. */
export function filters(): Record<string, string> {
  const query = route.value.query;
  return Object.fromEntries(filterNames.map((name) => [name, query.get(name) ?? ""]).filter(([, value]) => value));
}

/** history is the query of the list: the filters, runs that have ended unless another state is
 * wanted, and the order that was chosen last. */
export function history(): Record<string, string> {
  return { state: "completed,failed,cancelled", ...(sorted.value ? { sort: sorted.value } : {}), ...filters() };
}

let wanted = 0;
let timer = 0;
let readAt = -Infinity;

/** reading ends with the newest reading of the list. */
export let reading: Promise<void> = Promise.resolve();

/** loadRuns reads the page of the list that the address names, and the runs that have not ended. */
export function loadRuns(): Promise<void> {
  clearTimeout(timer);
  readAt = performance.now();
  reading = read();
  return reading;
}

const going = "api/runs?limit=100&detail=brief&state=queued,starting,running,stopping,exporting";

async function read(): Promise<void> {
  const turn = ++wanted;
  const query = new URLSearchParams({ limit: String(pageSize), detail: "brief", ...history() });
  const cursor = route.value.query.get("cursor");
  if (cursor) query.set("cursor", cursor);
  try {
    const [page, open, waiting] = await Promise.all([
      getJSON<RunList>("api/runs?" + query),
      getJSON<RunList>(going),
      getJSON<Queue>("api/queue"),
    ]);
    if (turn !== wanted) return;
    list.value = page;
    active.value = open.items;
    queue.value = waiting;
    problem.value = "";
  } catch (error) {
    if (turn === wanted) problem.value = error instanceof Error ? error.message : String(error);
  }
}

/** reload reads the list soon; many messages in a row make one request. */
function reload(): void {
  clearTimeout(timer);
  timer = window.setTimeout(loadRuns, 250);
}

listen((message) => {
  switch (message.message_type) {
    case "run_queued":
    case "run_state_changed":
    case "run_deleted":
    case "benchmark_complete":
      reload();
      return;
    case "credit_phase_progress":
      advance(message.run_id, message.stats as Schemas["wire.Phase"]);
  }
});

/** advance puts the progress of a message into the runs that are shown. */
function advance(id: string | undefined, phase: Schemas["wire.Phase"]): void {
  active.value = active.value.map((run) =>
    run.id !== id
      ? run
      : {
          ...run,
          progress: {
            ...run.progress!,
            phase: phase.phase_name,
            percent: phase.progress_percent ?? 0,
            requests_sent: phase.requests_sent,
            requests_completed: phase.requests_completed,
            request_errors: phase.request_errors,
            in_flight: phase.in_flight_requests,
            eta_sec: phase.requests_eta_sec ?? 0,
          },
        },
  );
}

/** Milliseconds in which the feed is connected as a rule, from the first reading of the list on. */
const soon = 2000;

/** catchUp reads the list again if a run came, went or changed between its first reading and the first message of
 * the feed. */
async function catchUp(): Promise<void> {
  if (performance.now() - readAt > soon) return loadRuns();
  await reading;
  const states = (runs: readonly Run[]) => runs.map((run) => run.id + run.state).join();
  const now = await getJSON<RunList>(going).catch(() => null);
  if (!now || states(now.items) !== states(active.value)) await loadRuns();
}

// The list is read for another address or order, and again after the connection was lost.
effect(() => {
  void sorted.value;
  if (route.value.path.length === 0) void loadRuns();
});
effect(() => {
  const n = connections.value;
  if (n > 0 && untracked(() => route.value.path.length === 0)) void (n === 1 ? catchUp() : untracked(loadRuns));
});
