// One run that is shown: read over HTTP, then kept up to date by the feed.
import { effect, signal, untracked } from "@preact/signals";
import {
  ended,
  getJSON,
  type Metrics,
  type Phase,
  Problem,
  type Progress,
  type Run,
  type Schemas,
  type Stats,
} from "../api/client";
import { embedded } from "../api/embedded";
import { connection, connections, listen, type Message } from "../api/feed";
import { follow, read, type Timeseries } from "../api/timeseries";
import { inOrder, statsOf } from "./scope";

type Results = Schemas["wire.Results"];
type PhaseRecord = Schemas["wire.PhaseRecord"];
type Files = Schemas["wire.ResultFiles"];
type WorkerGroup = Schemas["wire.WorkerGroup"];

/** Milliseconds between two readings of the series of an active run, and between two of the
 * run itself while no feed brings its changes. */
const seriesEvery = 1000;
const runEvery = 3000;

export class RunStore {
  readonly run = signal<Run | null>(null);
  readonly progress = signal<Progress | null>(null);
  readonly metrics = signal<Record<string, Stats>>({});
  readonly series = signal<Timeseries | null>(null);
  readonly results = signal<Results | null>(null);
  /** the load generators; null = there is only one */
  readonly workers = signal<WorkerGroup | null>(null);
  /** thresholds of requests by metric, in its unit */
  readonly slos = signal<Record<string, number>>({});
  /** name of the phase whose numbers are shown; null = those of the whole run */
  readonly scope = signal<string | null>(null);
  readonly files = signal<Files["files"]>([]);
  readonly problem = signal<unknown>(null);
  /** length of a point of the series in seconds; 0 leaves it to the daemon */
  readonly step = signal(0);

  private readonly ends: (() => void)[] = [];
  private timers: number[] = [];
  private seriesStep = -1;
  private closed = false;

  constructor(readonly id: string) {
    this.ends.push(
      listen((message) => this.receive(message)),
      effect(() => {
        void connections.value;
        untracked(() => void this.refresh());
      }),
      effect(() => {
        void this.step.value;
        untracked(() => void this.readSeries());
      }),
    );
    getJSON<{ slos?: Record<string, number> | null }>(`api/runs/${id}/config`).then(
      (c) => {
        this.slos.value = c.slos ?? {};
      },
      () => undefined,
    );
    if (embedded) return;
    this.every(seriesEvery, () => (this.live() ? this.readSeries() : undefined));
    this.every(runEvery, () => (this.live() && connection.value !== "live" ? this.refresh() : undefined));
  }

  close(): void {
    this.closed = true;
    for (const end of this.ends) end();
    this.timers.forEach(clearTimeout);
  }

  live(): boolean {
    return !embedded && this.run.value !== null && !ended(this.run.value.state);
  }

  /** record has the results of a phase, that in scope unless another is named; undefined for the whole run, and
   * before its end. */
  record(phase = this.scope.value): PhaseRecord | undefined {
    return this.results.value?.results?.results.phase_records.find((r) => r.phase_name === phase);
  }

  /** of are the metrics of a profiling phase; empty before the end of a run with several. */
  of(phase: string): Record<string, Stats> {
    const profiling = inOrder(this.progress.value).filter((p) => p.phase === "profiling");
    if (profiling.length <= 1) return this.metrics.value;
    const record = this.record(phase);
    return record ? statsOf(record, this.metrics.value) : {};
  }

  /** shown are the metrics of the scope. */
  shown(): Record<string, Stats> {
    if (this.scope.value === null) return this.metrics.value;
    const record = this.record();
    return record ? statsOf(record, this.metrics.value) : {};
  }

  /** every calls work again and again; the next call waits for the end of the last. */
  private every(pause: number, work: () => Promise<void> | undefined): void {
    const slot = this.timers.push(0) - 1;
    const next = () => {
      this.timers[slot] = window.setTimeout(async () => {
        if (!document.hidden) await work();
        if (!this.closed) next();
      }, pause);
    };
    next();
  }

  async refresh(): Promise<void> {
    const base = "api/runs/" + this.id;
    try {
      const [run, progress, metrics] = await Promise.all([
        getJSON<Run>(base),
        getJSON<Progress>(base + "/progress"),
        getJSON<Metrics>(base + "/metrics"),
      ]);
      if (this.closed) return;
      this.run.value = run;
      this.progress.value = progress;
      this.metrics.value = metrics.metrics as Record<string, Stats>;
      this.problem.value = null;
      if (progress.workers?.total) await this.readWorkers(base);
      if (embedded) this.results.value = await getJSON<Results>(base + "/results").catch(() => null);
      else if (ended(run.state)) await this.finish(base);
    } catch (error) {
      if (!this.closed) this.problem.value = error;
    }
  }

  private async readWorkers(base: string): Promise<void> {
    const all = await getJSON<Schemas["wire.Workers"]>(base + "/workers").catch(() => null);
    this.workers.value = all?.worker_groups.cluster ?? null;
  }

  /** finish reads what a run has when it has ended; a sweep has files only. */
  private async finish(base: string): Promise<void> {
    const sweep = this.run.value?.kind === "sweep";
    const [results, files] = await Promise.all([
      sweep ? null : getJSON<Results>(base + "/results"),
      getJSON<Files>(base + "/results/list"),
    ]);
    this.results.value = results;
    this.files.value = files.files;
    if (!sweep) await this.readSeries();
  }

  private async readSeries(): Promise<void> {
    const step = this.step.value;
    try {
      const known = this.seriesStep === step ? this.series.value : null;
      const next = known?.time_sec.length ? await follow(known, step) : await read(this.id, step);
      if (this.closed || step !== this.step.value) return;
      this.seriesStep = step;
      this.series.value = next;
    } catch (error) {
      // A run without a series, or a lost connection, which the header shows.
      if (error instanceof Problem && error.status === 404) this.series.value = null;
    }
  }

  private receive(message: Message): void {
    if (message.run_id !== this.id) return;
    const stats = message.stats as Phase | undefined;
    if (stats && this.progress.value) {
      const phases = { ...this.progress.value.phases, [stats.phase_name]: stats };
      this.progress.value = { ...this.progress.value, phases };
    }
    if (message.metrics) {
      const list = message.metrics as (Stats & { tag: string })[];
      this.metrics.value = Object.fromEntries(list.map((m) => [m.tag, m]));
    }
    if (message.message_type === "worker_group_stats" && message.group_id === "cluster") {
      this.workers.value = message as unknown as WorkerGroup;
    }
    if (message.message_type === "client_verdict" && this.run.value) {
      this.run.value = { ...this.run.value, client: message.client as Run["client"] };
    }
    if (["run_state_changed", "results_exported", "benchmark_complete"].includes(message.message_type))
      void this.refresh();
    if (message.message_type === "run_deleted") this.problem.value = new Error("This run was deleted.");
  }
}
