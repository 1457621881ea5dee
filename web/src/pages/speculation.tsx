// What speculative decoding did, if the servers report it.
import type { JSX } from "preact";
import type { Run, Schemas, Stats } from "../api/client";
import * as format from "../format";
import type { RunStore } from "../state/run";
import { Card, Tile } from "../ui/parts";
import "./server.css";

type Category = NonNullable<Schemas["run.Summary"]["by_category"]>[number];

export interface Accepted {
  text: string;
  /** of the steps */
  share: number;
}

/** the number of draft tokens from which on steps are counted together */
const mostDrafts = 8;

/** accepted are the shares of the steps by the number of draft tokens that they accepted. */
export function accepted(steps: Record<string, number> | null | undefined): Accepted[] {
  const counts = Object.entries(steps ?? {}).map(([n, count]) => [Number(n), count] as const);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return [];
  const most = Math.min(mostDrafts, Math.max(...counts.map(([n]) => n)));
  return Array.from({ length: most + 1 }, (_, n) => {
    const of = counts.filter(([m]) => (n === mostDrafts ? m >= n : m === n));
    return {
      text: n === mostDrafts ? `${n} or more` : String(n),
      share: of.reduce((sum, [, count]) => sum + count, 0) / all,
    };
  });
}

export function Speculation({ store, run }: { store: RunStore; run: Run }): JSX.Element | null {
  const metrics = store.shown();
  const length = metrics.spec_decode_token_weighted_acceptance_length;
  if (!length) return null;
  const whole = store.scope.value === null;
  const shares = whole ? accepted(store.results.value?.results?.results.pooled_spec_decode_acceptance_histogram) : [];
  const categories = whole
    ? (run.summary?.by_category ?? []).filter((c) => c.spec_decode_acceptance_length !== null)
    : [];
  const avg = (tag: string) => metrics[tag]?.avg;
  return (
    <Card title="Speculative decoding" class="speculation">
      <div class="tiles">
        <Tile label="Tokens per step" value={format.number(length.avg)} note={perRequest(metrics)} />
        <Tile
          label="Drafts accepted"
          value={format.number(avg("spec_decode_overall_draft_acceptance_rate"))}
          unit="%"
          note={`${format.count(avg("total_accepted_draft_tokens"))} of ${format.count(avg("total_draft_tokens"))} draft tokens`}
        />
        <Tile label="Steps" value={format.count(avg("total_spec_decode_steps"))} note="that verified a draft" />
      </div>
      {shares.length > 0 && <Steps of={shares} />}
      {categories.length > 1 && <Categories of={categories} />}
    </Card>
  );
}

/** perRequest says how far requests differ. */
function perRequest(metrics: Record<string, Stats>): string | undefined {
  const each = metrics.spec_decode_acceptance_length;
  return each && `p50 ${format.number(each.p50)} · p99 ${format.number(each.p99)} of requests`;
}

/** Steps are the shares of the steps by what they accepted. */
function Steps({ of }: { of: Accepted[] }): JSX.Element {
  const most = Math.max(...of.map((a) => a.share));
  const wide = (share: number) => (e: HTMLElement | null) => {
    if (e) e.style.width = `${(100 * share) / most}%`;
  };
  return (
    <table class="steps-accepted">
      <thead>
        <tr>
          <th class="text">Draft tokens accepted</th>
          <th colSpan={2} class="text">
            Share of the steps
          </th>
        </tr>
      </thead>
      <tbody>
        {of.map((a) => (
          <tr key={a.text}>
            <td class="text">{a.text}</td>
            <td>{format.percent(a.share)}</td>
            <td class="share" aria-hidden="true">
              <i class="c-blue" ref={wide(a.share)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Categories are what speculative decoding did for each category of the dataset. */
function Categories({ of }: { of: Category[] }): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Speculative decoding by category">
      <table>
        <thead>
          <tr>
            <th class="text">Category</th>
            <th>Requests</th>
            <th>Tokens per step</th>
            <th>Drafts accepted</th>
            <th>Output tokens/s</th>
          </tr>
        </thead>
        <tbody>
          {of.map((c) => (
            <tr key={c.category}>
              <td class="text wrap">{c.category}</td>
              <td>{format.count(c.requests)}</td>
              <td>{format.number(c.spec_decode_acceptance_length)}</td>
              <td>{format.number(c.spec_decode_acceptance_rate_percent)} %</td>
              <td>{format.number(c.output_token_throughput_per_sec)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
