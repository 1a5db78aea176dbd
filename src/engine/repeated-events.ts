import type { RunEvent } from "./run-events.ts";

type LoggedEvent = { readonly event: string; readonly data: Readonly<Record<string, unknown>> };

/**
 * Recognises the events of a step that is executed again after its worker died: they are in the log, which readers have
 * read, and are not written twice. What the step does otherwise this time is new.
 */
export class RepeatedEvents {
  readonly #logged = new Map<string, string>();
  #status: string | null = null;

  /** @param log the events of the turn so far */
  constructor(log: readonly LoggedEvent[]) {
    for (const event of log) {
      // A call ends the step before it, whose thoughts may come again in a later one.
      if (event.event === "tool_result") this.#forget("thought");
      const key = keyOf(event);
      if (key !== null) this.#logged.set(key, textOf(event));
      if (event.event === "status") this.#status = textOf(event);
    }
  }

  /** Whether the log has the event. Each one in the log counts once. */
  has(event: RunEvent): boolean {
    // Only the first status reports where the turn is.
    const status = this.#status;
    this.#status = null;
    if (event.event === "status") return textOf(event) === status;
    const key = keyOf(event);
    if (key === null) return false;
    const isSame = this.#logged.get(key) === textOf(event);
    this.#logged.delete(key);
    // Another call under the same id has a result of its own.
    if (!isSame && event.event === "tool_call")
      this.#logged.delete(keyOf({ ...event, event: "tool_result" }) ?? "");
    return isSame;
  }

  #forget(kind: string): void {
    for (const key of this.#logged.keys()) if (key.startsWith(kind)) this.#logged.delete(key);
  }
}

/** The key under which an event is in a log once; null for one that is never a repetition. */
function keyOf({ event, data }: { readonly event: string; readonly data: object }): string | null {
  const { within = [], id, done } = data as Readonly<Record<string, unknown>>;
  if (event === "tool_call" || event === "tool_result" || event === "user_message")
    return `${event} ${JSON.stringify([within, id])}`;
  if (event === "thought" || event === "tool_request") return `${event} ${JSON.stringify(data)}`;
  return event === "message" && done === true ? event : null;
}

/** Without the time that a call took. */
function textOf({ data }: { readonly data: object }): string {
  const { latency_ms: _ms, ...rest } = data as Readonly<Record<string, unknown>>;
  return JSON.stringify(rest);
}
