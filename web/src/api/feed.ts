// The WebSocket feed of the daemon: one connection for the page, made again when lost.
import { signal } from "@preact/signals";
import { Silence } from "../state/silence";
import { address, send } from "./client";

export interface Message {
  message_type: string;
  run_id?: string;
  seq?: number;
  [member: string]: unknown;
}

type Listener = (message: Message) => void;

const types = [
  "run_queued",
  "run_state_changed",
  "run_deleted",
  "credit_phase_start",
  "credit_phase_progress",
  "credit_phase_sending_complete",
  "credit_phase_complete",
  "realtime_metrics",
  "client_verdict",
  "worker_group_stats",
  "worker_startup_state",
  "results_exported",
  "benchmark_complete",
  "heartbeat",
];

/** connection says whether numbers arrive as they are made. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");

/** connections counts the connections made; stores read everything again after each. */
export const connections = signal(0);

const listeners = new Set<Listener>();
const firstPause = 500;
const longestPause = 10_000;
let pause = firstPause;

/** listen calls a function for each message; the function that it returns ends that. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** connect opens the feed and keeps it open. */
export function connect(): void {
  const url = address("ws");
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(url);
  let over = false;
  // A connection that is silent is given up: its close may never be confirmed.
  const lost = () => {
    if (over) return;
    over = true;
    silence.stop();
    socket.close();
    connection.value = connections.value === 0 ? "connecting" : "lost";
    // The reason of a refused connection is hidden from scripts: a request shows whether
    // the daemon wants a token.
    send("api/queue").catch(() => undefined);
    setTimeout(connect, pause * (0.75 + Math.random() / 2));
    pause = Math.min(2 * pause, longestPause);
  };
  const silence = new Silence(lost);
  silence.heard();
  socket.onopen = () => socket.send(JSON.stringify({ type: "subscribe", run: "*", message_types: types }));
  socket.onmessage = (event) => {
    if (over) return;
    silence.heard();
    receive(JSON.parse(event.data as string));
  };
  socket.onclose = lost;
}

function receive(message: Message & { type?: string }): void {
  if (message.type === "subscribed") {
    pause = firstPause;
    connection.value = "live";
    connections.value++;
    return;
  }
  if (message.message_type) for (const listener of listeners) listener(message);
}
