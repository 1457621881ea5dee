// What users may change of a run: its name, labels, notes, and whether it is kept.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Run, send } from "../api/client";
import type { RunStore } from "../state/run";
import { ErrorText } from "../ui/parts";

export function Edit({ store, run, close }: { store: RunStore; run: Run; close: () => void }): JSX.Element {
  const [name, setName] = useState(run.name);
  const [labels, setLabels] = useState(() =>
    Object.entries(run.labels)
      .map(([k, v]) => `${k}=${v}`)
      .join("\n"),
  );
  const [notes, setNotes] = useState(run.notes ?? "");
  const [pinned, setPinned] = useState(run.pinned);
  const [error, setError] = useState<unknown>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const body = JSON.stringify({ name, notes, pinned, labels: changed(run.labels, read(labels)) });
      await send("api/runs/" + run.id, {
        method: "PATCH",
        body,
        headers: { "Content-Type": "application/merge-patch+json" },
      });
      await store.refresh();
      close();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <form class="form edit card" onSubmit={save} aria-label="Edit the run">
      <label>
        Name
        <input value={name} maxLength={128} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      <label>
        Labels, one key=value per line
        <textarea rows={3} value={labels} onInput={(e) => setLabels(e.currentTarget.value)} />
      </label>
      <label>
        Notes
        <textarea rows={3} value={notes} maxLength={4096} onInput={(e) => setNotes(e.currentTarget.value)} />
      </label>
      <label class="check">
        <input type="checkbox" checked={pinned} onChange={(e) => setPinned(e.currentTarget.checked)} />
        Keep the run regardless of retention rules
      </label>
      <ErrorText error={error} />
      <p class="row">
        <button class="primary">Save</button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </form>
  );
}

/** read reads lines of key=value. */
function read(text: string): Record<string, string> {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** changed is the merge patch from one set of labels to another: null removes a label. */
function changed(before: Record<string, string>, after: Record<string, string>): Record<string, string | null> {
  const removed = Object.keys(before)
    .filter((k) => !(k in after))
    .map((k) => [k, null] as const);
  return Object.fromEntries<string | null>([...Object.entries(after), ...removed]);
}
