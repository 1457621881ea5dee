// A report: the pages of the dashboard in one file, with the answers of the API in it.
import { type JSX, render } from "preact";
import { ended, type Run } from "./api/client";
import { type Embedded, embedded } from "./api/embedded";
import * as format from "./format";
import { ComparePage } from "./pages/compare";
import { RunPage } from "./pages/run";
import { Card, ThemeButton } from "./ui/parts";
import { showTips } from "./ui/tips";
import "./style.css";
import "./report.css";

function Report({ of }: { of: Embedded }): JSX.Element {
  const runs = of.ids.map((id) => of.answers["api/runs/" + id] as Run);
  const going = runs.filter((run) => !ended(run.state)).length;
  return (
    <>
      <header>
        <span class="brand">aiperfd report</span>
        <nav />
        <button class="quiet" type="button" onClick={() => print()}>
          Print
        </button>
        <ThemeButton />
      </header>
      <main id="main">
        {going > 0 && (
          <p class="notice" role="status">
            {going === 1 ? "A run" : `${going} runs`} had not ended when this report was made, {format.date(of.as_of)}.
          </p>
        )}
        {of.ids.length === 1 ? <RunPage id={of.ids[0]!} /> : <ComparePage ids={of.ids} />}
        {of.ids.length === 1 && <Configuration of={of.answers[`api/runs/${of.ids[0]}/config`]} />}
        <footer class="muted">Made by aiperfd {of.version}. This file loads nothing from elsewhere.</footer>
      </main>
    </>
  );
}

/** Configuration is how the run can be repeated. Secrets are replaced in it. */
function Configuration({ of }: { of: unknown }): JSX.Element {
  return (
    <Card class="configuration">
      <details>
        <summary>Configuration</summary>
        <pre tabIndex={0}>
          <code>{JSON.stringify(of, null, 2)}</code>
        </pre>
      </details>
    </Card>
  );
}

// What is folded on the screen is open on paper.
addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll<HTMLDetailsElement>("details.notice")) d.open = true;
});

showTips();
render(<Report of={embedded!} />, document.getElementById("app")!);
