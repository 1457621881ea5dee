// The YAML editor: CodeMirror with the problems of the document at their places.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { FieldProblem } from "../api/client";
import { Echo } from "./echo";

interface Props {
  text: string;
  problems: FieldProblem[];
  warnings: FieldProblem[];
  onChange: (text: string) => void;
}

const look = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--text)", fontSize: "13px", height: "100%" },
  ".cm-scroller": { fontFamily: "var(--mono)", minHeight: "26rem" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--region)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line)" },
  "&.cm-focused": { outline: "none" },
});

const colors = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: "var(--text)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

/** A change that comes from outside the editor, which already knows it. */
const fromOutside = Annotation.define<boolean>();

export default function Editor(props: Props): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const change = useRef(props.onChange);
  change.current = props.onChange;
  const echo = useRef(new Echo());

  useEffect(() => {
    // Style sheets made by scripts are allowed in a shadow root: the policy of the page
    // forbids style elements.
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const v = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: props.text,
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          indentUnit.of("  "),
          yaml(),
          syntaxHighlighting(colors),
          look,
          EditorView.lineWrapping,
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.contentAttributes.of({
            "aria-label": "Benchmark document, YAML. Tab indents; Escape, then Tab leaves the editor",
          }),
          EditorView.updateListener.of((u) => {
            if (!u.docChanged || u.transactions.some((t) => t.annotation(fromOutside))) return;
            const text = u.state.doc.toString();
            echo.current.send(text);
            change.current(text);
          }),
        ],
      }),
    });
    view.current = v;
    return () => v.destroy();
  }, []);

  useEffect(() => {
    const v = view.current!;
    const text = v.state.doc.toString();
    if (!echo.current.foreign(props.text) || text === props.text) return;
    v.dispatch({ changes: { from: 0, to: text.length, insert: props.text }, annotations: fromOutside.of(true) });
  }, [props.text]);

  useEffect(() => {
    const v = view.current!;
    const list = [...diagnostics(v, props.problems, "error"), ...diagnostics(v, props.warnings, "warning")];
    v.dispatch(setDiagnostics(v.state, list));
  }, [props.problems, props.warnings]);

  return <div class="editor" ref={host} />;
}

/** diagnostics puts problems at the line and column that the daemon named. */
function diagnostics(v: EditorView, problems: FieldProblem[], severity: Diagnostic["severity"]): Diagnostic[] {
  return problems.map((p) => {
    const line = v.state.doc.line(Math.min(Math.max(p.line ?? 1, 1), v.state.doc.lines));
    const from = Math.min(line.from + Math.max((p.column ?? 1) - 1, 0), line.to);
    const word = /^[^\s:,\]}]+/.exec(v.state.sliceDoc(from, line.to));
    return { from, to: Math.max(from + (word?.[0].length ?? 0), from), severity, message: p.detail };
  });
}
