import { expect, test, vi } from "vitest";

class Socket {
  static made: Socket[] = [];
  closed = false;
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  constructor() {
    Socket.made.push(this);
  }
  send(): void {}
  close(): void {
    this.closed = true; // and no event: the network is gone
  }
  says(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

test("a feed that brings nothing for two heartbeats is lost and made again, although nobody closed it", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Socket);
  vi.stubGlobal("fetch", async () => Response.json({}));
  const { connect, connection, connections } = await import("./feed");
  connect();
  const [first] = Socket.made;
  first!.onopen?.();
  first!.says({ type: "subscribed" });
  expect(connection.value).toBe("live");
  vi.advanceTimersByTime(9_000);
  first!.says({ message_type: "heartbeat" });
  vi.advanceTimersByTime(9_000);
  expect(connection.value).toBe("live");
  vi.advanceTimersByTime(1_000);
  expect(connection.value).toBe("lost");
  expect(first!.closed).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(Socket.made).toHaveLength(2);
  // What the old connection still brings does not count.
  first!.says({ type: "subscribed" });
  expect(connection.value).toBe("lost");
  Socket.made[1]!.says({ type: "subscribed" });
  expect(connection.value).toBe("live");
  expect(connections.value).toBe(2);
  vi.useRealTimers();
});
