// What the daemon has said about a document.
import { type FieldProblem, Problem, type Schemas } from "../api/client";

/** Check is the answer about one text. It says nothing about any other. */
export interface Check {
  text: string;
  errors: FieldProblem[];
  warnings: FieldProblem[];
  /** why the text could not be checked */
  failed: unknown;
}

export function checked(text: string, answer: Schemas["wire.Validation"]): Check {
  return { text, errors: answer.errors ?? [], warnings: answer.warnings ?? [], failed: null };
}

/** refused is the check of a text that the daemon could not read: it has the one problem that
 * the parser met first. Other errors say nothing about the text. */
export function refused(text: string, error: unknown): Check {
  const none = { text, errors: [], warnings: [] };
  if (!(error instanceof Problem) || error.status < 400 || error.status >= 500) return { ...none, failed: error };
  if (error.status === 401 || error.status === 403 || error.status === 429) return { ...none, failed: error };
  if (error.fields.length) return { ...none, errors: error.fields, failed: null };
  const { detail, title, line, column } = error;
  return {
    ...none,
    errors: [{ code: "", detail: detail || title, pointer: "", line, column } as FieldProblem],
    failed: null,
  };
}

/** valid reports whether the text on the screen was checked and has no problem. */
export function valid(check: Check | null, text: string): boolean {
  return check !== null && check.text === text && check.failed === null && check.errors.length === 0;
}

/** verdict is the sentence about the text on the screen. */
export function verdict(check: Check | null, text: string): string {
  if (text.trim() === "") return "The document is empty.";
  if (check === null || check.text !== text) return "Checking …";
  if (check.failed !== null) return "The document could not be checked.";
  if (check.errors.length === 0) return "The document is valid.";
  return check.errors.length === 1 ? "1 problem" : `${check.errors.length} problems`;
}
