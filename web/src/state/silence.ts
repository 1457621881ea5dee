// Whether a feed that is open still brings anything.

/** Seconds between two heartbeats of the daemon. */
export const heartbeat = 5;

/** Silence watches for messages: the daemon sends at least its heartbeats. A sleeping laptop
 * and a lost network leave a connection open that brings nothing. */
export class Silence {
  private timer = 0;

  constructor(private readonly broken: () => void) {}

  /** heard begins the wait for the next message: until two heartbeats are missing. */
  heard(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.broken, 2 * heartbeat * 1000) as unknown as number;
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
