// The answer to a comparison of two sides: the verdict in words, what it rests on, and what would decide it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJSON, postJSON, type Schemas } from "../api/client";
import { embedded } from "../api/embedded";
import * as format from "../format";
import { link } from "../router";
import { change, interval, methods, verdictWords } from "../state/judgement";
import { statisticName } from "../state/sweep";
import { Card, ErrorText } from "../ui/parts";
import "./compare.css";
import "./sweep.css";

type Answer = Schemas["compare.Answer"];
type Metric = Schemas["compare.MetricAnswer"];

interface Side {
  id: string;
  label: string;
}

const ask = (a: string, b: string, allow: string[]): Promise<Answer> =>
  embedded
    ? getJSON<Answer>(`api/compare ${a} ${b}`)
    : postJSON<Answer>("api/compare", JSON.stringify({ a: [a], b: [b], allow }));

/** Judgement says whether run b is better or worse than run a; version changes when the runs have. */
export function Judgement({ a, b, version }: { a: Side; b: Side; version: string }): JSX.Element {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [allow, setAllow] = useState<string[]>([]);
  useEffect(() => {
    let wanted = true;
    setError(null);
    ask(a.id, b.id, allow).then(
      (x) => wanted && setAnswer(x),
      (e) => wanted && setError(e),
    );
    return () => {
      wanted = false;
    };
  }, [a.id, b.id, version, allow]);
  const names = `${b.label} against ${a.label}`;
  if (error)
    return (
      <Card title={names} named>
        {embedded ? <p class="empty">A run and a sweep cannot be compared.</p> : <ErrorText error={error} />}
      </Card>
    );
  if (!answer)
    return (
      <Card title={names} named>
        <p class="empty">Loading …</p>
      </Card>
    );
  const refused = answer.load_differences.map((d) => d.pointer);
  return (
    <Card title={names} named class="answer judgement">
      <p class="headline">
        <span class={"pill verdict-" + answer.verdict}>{verdictWords[answer.verdict]}</span>
        <strong>
          {!answer.final && "So far: "}
          {answer.sentences[0]}
        </strong>
      </p>
      <p class="muted">
        A is {a.label}, B is {b.label}. {answer.metrics.length > 0 && `The answer is about ${answer.speaks_for}. `}
        {answer.estimate &&
          `${statisticName(answer.estimate.tag ?? "", answer.estimate.statistic ?? "")}: ${methods[answer.estimate.method]}, ${answer.estimate.n} ${answer.estimate.unit_of_replication}.`}
      </p>
      {answer.metrics.length > 0 && <Metrics of={answer.metrics} />}
      {refused.length > 0 && (
        <>
          <ul>
            {answer.load_differences.map((d) => (
              <li key={d.pointer}>
                <code>{d.pointer}</code> differs:{" "}
                {[...new Set(d.values.map((v) => JSON.stringify(v.value)))].join(", ")}
              </li>
            ))}
          </ul>
          {!embedded && (
            <button type="button" class="small" onClick={() => setAllow([...allow, ...refused])}>
              Compare them nevertheless
            </button>
          )}
        </>
      )}
      {answer.doubts.length > 0 && (
        <div class="doubts">
          <h3>Doubts</h3>
          <ul>
            {answer.doubts.map((d) => (
              <li key={d.code + d.message}>{format.sentence(d.message)}.</li>
            ))}
          </ul>
        </div>
      )}
      {answer.decide.needs && (
        <p>
          <b>What would decide it:</b> {answer.decide.needs}.
        </p>
      )}
      <Evidence of={answer} />
    </Card>
  );
}

function Metrics({ of }: { of: Metric[] }): JSX.Element {
  const cells = of.some((m) => m.cell);
  const reasons = [...new Set(of.flatMap((m) => (m.reason ? [m.reason] : [])))];
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Verdict for each metric">
        <table class="values">
          <thead>
            <tr>
              {cells && <th class="text">Configuration</th>}
              <th class="text">Metric</th>
              <th>A</th>
              <th>B</th>
              <th>Change</th>
              <th>95 % interval</th>
              <th>Margin</th>
              <th class="text">Verdict</th>
            </tr>
          </thead>
          <tbody>
            {of.map((m) => (
              <tr key={`${m.cell} ${m.tag} ${m.statistic}`}>
                {cells && <td class="text">{m.cell}</td>}
                <td class="text">
                  {m.header} {m.statistic === "avg" ? "" : m.statistic} <span class="muted">{m.unit}</span>
                </td>
                <td data-label="A">{format.number(m.a)}</td>
                <td data-label="B">{format.number(m.b)}</td>
                <td data-label="Change">{change(m, m.change)}</td>
                <td data-label="95 % interval">{interval(m)}</td>
                <td data-label="Margin">{change(m, m.margin).replace("+", "±")}</td>
                <td class={"text judged " + m.verdict} data-label="Verdict" title={m.reason}>
                  {verdictWords[m.verdict]}
                  {m.reason && reasons.length > 1 && <sup>{reasons.indexOf(m.reason) + 1}</sup>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {reasons.length > 0 && (
        <ol class={"reasons muted" + (reasons.length > 1 ? "" : " single")}>
          {reasons.map((r) => (
            <li key={r}>{format.sentence(r)}.</li>
          ))}
        </ol>
      )}
    </>
  );
}

function Evidence({ of }: { of: Answer }): JSX.Element | null {
  if (of.evidence.length === 0) return null;
  const about = of.estimate ?? of.metrics.find((m) => m.verdict === of.verdict) ?? of.metrics.find((m) => m.a !== null);
  return (
    <details>
      <summary>
        Evidence: {about ? statisticName(about.tag ?? "", about.statistic ?? "") : "values"} of {of.evidence.length}{" "}
        runs
      </summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Values of the runs">
        <table class="values">
          <thead>
            <tr>
              <th class="text">Side</th>
              <th class="text">Run</th>
              <th>Value</th>
              <th>95 % interval within the run</th>
              <th class="text">Load generator</th>
            </tr>
          </thead>
          <tbody>
            {of.evidence.map((e) => (
              <tr key={e.role + e.run_id}>
                <td class="text">{e.role.toUpperCase()}</td>
                <td class="text" data-label="Run">
                  {embedded ? (
                    e.name || e.run_id.slice(0, 12)
                  ) : (
                    <a href={link("runs/" + e.run_id)}>{e.name || e.run_id.slice(0, 12)}</a>
                  )}
                </td>
                <td data-label="Value">{format.number(e.value)}</td>
                <td data-label="95 % interval within the run">
                  {e.low === null || e.high === null
                    ? format.absent
                    : `${format.number(e.low)} to ${format.number(e.high)}`}
                </td>
                <td class="text" data-label="Load generator">
                  {e.client ?? "not known"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
