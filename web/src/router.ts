// The page that the address names. The part after "#" holds it, so that links work behind
// every reverse proxy and can be kept.
import { computed, signal } from "@preact/signals";
import { embedded } from "./api/embedded";

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
  scrollTo(0, 0);
});

export interface Route {
  /** parts of the path: ["runs", "0199…"] */
  path: string[];
  query: URLSearchParams;
}

export const route = computed<Route>(() => {
  const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
});

/** link is the address of a page. Empty values are left out. A report has no other pages. */
export function link(path: string, query: Record<string, string> = {}): string | undefined {
  if (embedded) return undefined;
  const set = Object.entries(query).filter(([, value]) => value !== "");
  return "#/" + path + (set.length ? "?" + new URLSearchParams(set) : "");
}

export function go(to: string | undefined, replace = false): void {
  if (to === undefined) return;
  if (replace) {
    history.replaceState(null, "", to);
    hash.value = to;
  } else {
    location.hash = to;
  }
}
