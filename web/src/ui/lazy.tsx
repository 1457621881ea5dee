// Parts of a page that are made when they come into view, and data that they read.
import { type ComponentChildren, Fragment, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { getJSON } from "../api/client";
import { embedded } from "../api/embedded";

/** Lazily renders its children once the place where they stand is near the window; in a
 * report at once, because all of it can be printed. */
export function Lazily({ children }: { children: () => ComponentChildren }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(embedded !== null);
  useEffect(() => {
    if (near) return;
    const observer = new IntersectionObserver(
      (seen) => {
        if (seen.some((s) => s.isIntersecting)) setNear(true);
      },
      { rootMargin: "300px" },
    );
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, [near]);
  return near ? <Fragment>{children()}</Fragment> : <div ref={place} class="later" />;
}

/** later makes a page whose script is read when the page is shown for the first time. */
export function later<Props extends object>(
  read: () => Promise<(props: Props) => JSX.Element>,
): (props: Props) => JSX.Element {
  let page: ((props: Props) => JSX.Element) | null = null;
  return function Later(props: Props): JSX.Element {
    const [error, setError] = useState<unknown>(null);
    const [, setKnown] = useState(page !== null);
    const asked = useRef(false);
    if (!page && !asked.current) {
      asked.current = true;
      read().then((found) => {
        page = found;
        setKnown(true);
      }, setError);
    }
    const Page = page;
    if (Page) return <Page {...props} />;
    // A daemon of another version has other scripts.
    return error ? (
      <p class="alert" role="alert">
        The script of this page cannot be read. <a href={location.href.split("#")[0]}>Load the page again</a>
      </p>
    ) : (
      <p class="empty">Loading …</p>
    );
  };
}

/** Milliseconds between two readings while a run is active, and at least so many times as long
 * as the answer took, so that readers of a long run do not take the daemon's time from it. */
const readEvery = 5000,
  rest = 50;

interface Reading<T> {
  path: string | null;
  value: T | null;
  error: unknown;
}

/** asked are the requests under way: parts of a page that read the same path share one. */
const asked = new Map<string, Promise<unknown>>();

function ask<T>(path: string): Promise<T> {
  const known = asked.get(path);
  if (known) return known as Promise<T>;
  const answer: Promise<T> = getJSON<T>(path).finally(() => {
    if (asked.get(path) === answer) asked.delete(path);
  });
  asked.set(path, answer);
  return answer;
}

/** useReading reads a path of the API, again and again while live, once more at the end, and at once when changes
 * grows. What was read stays until the next answer is there. Without a path it reads nothing. */
export function useReading<T>(path: string | null, live: boolean, changes = 0): Omit<Reading<T>, "path"> {
  const [state, setState] = useState<Reading<T>>({ path, value: null, error: null });
  useEffect(() => {
    if (path === null) return;
    let over = false;
    let timer = 0;
    // A request that is under way may have been answered before the change.
    if (changes > 0) asked.delete(path);
    const read = async () => {
      const from = performance.now();
      if (!document.hidden) {
        await ask<T>(path).then(
          (value) => {
            if (!over) setState({ path, value, error: null });
          },
          (error: unknown) => {
            if (!over) setState((s) => ({ ...s, path, error }));
          },
        );
      }
      if (!over && (live || document.hidden)) {
        timer = window.setTimeout(read, Math.max(readEvery, rest * (performance.now() - from)));
      }
    };
    void read();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [path, live, changes]);
  return state;
}
