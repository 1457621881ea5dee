// Requests to the API of the daemon that served the page.
import { signal } from "@preact/signals";
import { embedded } from "./embedded";
import type { components } from "./schema";

export type Schemas = components["schemas"];
export type Run = Schemas["wire.Run"];
export type Progress = Schemas["wire.Progress"];
export type Phase = Schemas["wire.Phase"];
export type Metrics = Schemas["wire.Metrics"];
export type Stats = Schemas["wire.Stats"];
export type Queue = Schemas["wire.Queue"];
export type FieldProblem = Schemas["problem.Problem"];

/** needsToken is true while the daemon asks for a token that the page does not have. */
export const needsToken = signal(false);

/** Problem is an error that the daemon described (RFC 9457), or a failed request. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly fields: FieldProblem[] = [],
    /** place in the body that the problem is about, from 1 */
    readonly line?: number,
    readonly column?: number,
  ) {
    super(detail ? `${title}: ${detail}` : title);
  }
}

/** address is the address of a path of the API below the page's own folder, so that it
 * holds behind a reverse proxy that serves the daemon below a path. */
export function address(path: string): URL {
  return new URL(path, new URL(".", document.baseURI));
}

interface Options {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  /** milliseconds until the request is given up */
  timeout?: number;
}

/** send makes a request and returns the response if its status is below 400. */
export async function send(path: string, options: Options = {}): Promise<Response> {
  const { timeout = 20_000, headers = {}, ...rest } = options;
  let response: Response;
  try {
    response = await fetch(address(path), {
      ...rest,
      headers: { Accept: "application/json", ...headers },
      signal: AbortSignal.timeout(timeout),
    });
  } catch (error) {
    const late = error instanceof DOMException && error.name === "TimeoutError";
    throw new Problem(0, late ? `no answer within ${timeout / 1000} s` : "the daemon cannot be reached", "");
  }
  if (response.status === 401) needsToken.value = true;
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response: Response): Promise<Problem> {
  const body = await response.json().catch(() => ({}));
  return new Problem(
    response.status,
    body.title ?? response.statusText,
    body.detail ?? "",
    body.errors ?? [],
    body.line,
    body.column,
  );
}

export async function getJSON<T>(path: string): Promise<T> {
  if (embedded) {
    if (path in embedded.answers) return embedded.answers[path] as T;
    throw new Problem(404, "not in this report", path);
  }
  return (await send(path)).json();
}

export async function postJSON<T>(path: string, body?: string, type = "application/json", headers = {}): Promise<T> {
  const typed: Record<string, string> = body === undefined ? {} : { "Content-Type": type };
  const response = await send(path, { method: "POST", body, headers: { ...typed, ...headers } });
  return response.json();
}

/** signIn turns a token into a session, whose cookie no script can read. */
export async function signIn(token: string): Promise<void> {
  await send("api/session", { method: "POST", headers: { Authorization: "Bearer " + token } });
  needsToken.value = false;
}

/** signOut ends the session and the feeds that were opened with it. */
export async function signOut(): Promise<void> {
  await send("api/session", { method: "DELETE" });
  needsToken.value = true;
}

export function ended(state: Run["state"] | undefined): boolean {
  return state === "completed" || state === "cancelled" || state === "failed";
}
