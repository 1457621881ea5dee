// The frame of every page: header, sign-in, and the page that the address names.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { address, getJSON, needsToken, Problem, type Schemas, signIn, signOut } from "./api/client";
import { connection } from "./api/feed";
import icon from "./icon.svg";
import { RunsPage } from "./pages/runs";
import { link, route } from "./router";
import { chosen } from "./state/runs";
import { later } from "./ui/lazy";
import { Action, Missing, ThemeButton } from "./ui/parts";

// The list is what most readers come for first: it does not wait for the scripts of the other pages.
const RunPage = later<{ id: string }>(async () => (await import("./pages/results")).RunPage);
const ComparePage = later<{ ids: string[] }>(async () => (await import("./pages/results")).ComparePage);
const TrendsPage = later<object>(async () => (await import("./pages/results")).TrendsPage);
const NewRunPage = later<{ from: string }>(async () => (await import("./pages/new")).NewRunPage);

export function App(): JSX.Element {
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header>
        <a class="brand" href={link("")}>
          <img src={icon} alt="" width={22} height={22} />
          aiperfd
        </a>
        {needsToken.value ? (
          <span class="grow" />
        ) : (
          <>
            <Pages />
            <Connection />
            <Caller />
          </>
        )}
        <ThemeButton />
      </header>
      <main id="main" tabIndex={-1}>
        {needsToken.value ? <SignIn /> : <Page />}
      </main>
    </>
  );
}

function Pages(): JSX.Element {
  return (
    <nav aria-label="Pages">
      <Tab to="" text="Runs" />
      <Tab to="new" text="New run" />
      <Tab to="trends" text="Trends" />
      {chosen.value.length > 0 && (
        <Tab
          to="compare"
          query={{ ids: chosen.value.join(",") }}
          text={chosen.value.length > 1 ? `Compare ${chosen.value.length}` : "1 chosen: compare with …"}
        />
      )}
      <a href={address("docs").href}>API</a>
    </nav>
  );
}

function Tab(props: { to: string; query?: Record<string, string>; text: string }): JSX.Element {
  const here = (route.value.path[0] ?? "") === props.to;
  return (
    <a href={link(props.to, props.query)} aria-current={here ? "page" : undefined}>
      {props.text}
    </a>
  );
}

function Page(): JSX.Element {
  const [first, second] = route.value.path;
  switch (first) {
    case undefined:
      return <RunsPage />;
    case "new":
      return <NewRunPage from={route.value.query.get("from") ?? ""} />;
    case "trends":
      return <TrendsPage />;
    case "compare":
      return <ComparePage ids={(route.value.query.get("ids") ?? "").split(",").filter(Boolean)} />;
    case "runs":
      if (second) return <RunPage key={second} id={second} />;
  }
  return <Missing what="page" name={"#/" + route.value.path.join("/")} />;
}

function Connection(): JSX.Element {
  const text = { connecting: "connecting", live: "live", lost: "connection lost, retrying" }[connection.value];
  return (
    <span id="feed" class={"feed " + connection.value} role="status">
      {text}
    </span>
  );
}

function SignIn(): JSX.Element {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  useEffect(() => document.getElementById("token")?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    try {
      await signIn(token.trim());
      location.reload();
    } catch (error) {
      const refused = error instanceof Problem && error.status === 401;
      setProblem(refused ? "The daemon does not accept this token." : String(error));
    }
    setToken("");
  };
  return (
    <form id="login" class="card form" onSubmit={submit}>
      <h1>Sign in</h1>
      <p class="muted">
        This daemon asks for a token. <code class="whole-code">aiperfd token new</code> makes one on its machine; the
        session lasts 12 hours.
      </p>
      <label for="token">
        Token
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          value={token}
          onInput={(e) => setToken(e.currentTarget.value)}
        />
      </label>
      {problem && (
        <span id="login-problem" class="alert" role="alert">
          {problem}
        </span>
      )}
      <button class="primary" type="submit">
        Sign in
      </button>
    </form>
  );
}

/** Caller says whose token the page uses, and what it may do. Without tokens everybody may do
 * everything, and nothing is shown. */
function Caller(): JSX.Element | null {
  const [who, setWho] = useState<Schemas["wire.Session"] | null>(null);
  useEffect(() => {
    getJSON<Schemas["wire.Session"]>("api/session").then(setWho, () => undefined);
  }, []);
  if (!who?.name) return null;
  return (
    <span class="caller">
      {who.name} <span class="tag">{who.scope}</span>
      {who.begun && <Action text="Sign out" class="quiet" act={signOut} />}
    </span>
  );
}
