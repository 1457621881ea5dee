// A page in a test, with the answers of a daemon.
import { type ComponentChild, render } from "preact";
import { vi } from "vitest";

/** asked are the paths that a page has asked for, the newest last. */
export const asked: string[] = [];

/** answer lets requests for these paths, query included, have these bodies; a path without a query has its body
 * with any. A number is a status without a body. All others are not found. */
export function answer(bodies: Record<string, unknown>): void {
  asked.length = 0;
  vi.stubGlobal("fetch", async (to: URL | string) => {
    const url = new URL(to);
    const path = url.pathname.slice(1);
    asked.push(path + url.search);
    const body = bodies[path + url.search] ?? bodies[path] ?? 404;
    if (typeof body !== "number") return Response.json(body);
    return Response.json({ title: "Refused", status: body, detail: "" }, { status: body });
  });
}

/** show renders a page in place of the last one. */
export function show(page: ComponentChild): HTMLElement {
  const root = document.getElementById("root") ?? document.body.appendChild(document.createElement("div"));
  root.id = "root";
  render(null, root);
  render(page, root);
  return root;
}

/** text is what a reader sees of an element, with a space between elements. */
export function text(of: Element | null): string {
  const parts = (node: Node): string =>
    [...node.childNodes].map((c) => (c.nodeType === Node.TEXT_NODE ? c.textContent : ` ${parts(c)} `)).join("");
  return of ? parts(of).replace(/\s+/g, " ").trim() : "";
}

/** card is the part of a page with a heading. */
export function card(of: Element, heading: string): Element | null {
  const found = [...of.querySelectorAll("h2")].find((h) => text(h) === heading);
  return found?.closest("section") ?? null;
}

/** eventually waits until a page says what it should. */
export function eventually(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 4_000, interval: 10 });
}

// Modules that ask for something when they are read find nothing.
answer({});
