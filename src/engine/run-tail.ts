import type { StoredRunEvent } from "../storage/platform/runs/events.ts";
import type { RunState } from "../storage/platform/runs/run-rows.ts";

/** Events, and characters of their JSON, that a tail keeps. The newest event stays however large it is. */
const maxEvents = 500;
const maxCharacters = 262_144;

/**
 * The newest events of a run that executes in this process, and its state: all of it is in the log, which readers here
 * need not read. A reader that is slower reads the log.
 */
export class RunTail {
  readonly tenantId: string;
  #events: StoredRunEvent[] = [];
  #characters = 0;
  #lastEvent: number;
  #state: RunState | null = "running";

  constructor({ tenantId, lastEvent }: { readonly tenantId: string; readonly lastEvent: number }) {
    this.tenantId = tenantId;
    this.#lastEvent = lastEvent;
  }

  /** Null once the run executes elsewhere. */
  get state(): RunState | null {
    return this.#state;
  }

  get lastEvent(): number {
    return this.#lastEvent;
  }

  /** Takes events that were appended to the log. */
  append(events: readonly StoredRunEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#characters += sizeOf(event);
      this.#lastEvent = event.seq;
    }
    let removed = 0;
    while (
      this.#events.length - removed > maxEvents ||
      (this.#characters > maxCharacters && this.#events.length - removed > 1)
    ) {
      this.#characters -= sizeOf(this.#events[removed]!);
      removed += 1;
    }
    if (removed > 0) this.#events = this.#events.slice(removed);
  }

  /** Takes the end of the run, whose last events were written with it. */
  end(state: RunState, events: readonly StoredRunEvent[]): void {
    this.append(events);
    this.#state = state;
  }

  /** Says that the run does not execute here any longer and has not ended. Without effect after `end`. */
  leave(): void {
    if (this.#state === "running") this.#state = null;
  }

  /** The events after a number, in order; null if some of them are in the log alone. */
  after(seq: number, limit: number): readonly StoredRunEvent[] | null {
    if (seq >= this.#lastEvent) return [];
    const first = this.#events[0]?.seq ?? Infinity;
    if (first > seq + 1) return null;
    return this.#events.slice(seq + 1 - first, seq + 1 - first + limit);
  }

  /** The newest event that fits and is still here. */
  findLast(fits: (event: StoredRunEvent) => boolean): StoredRunEvent | undefined {
    return this.#events.findLast(fits);
  }
}

function sizeOf({ json = "" }: StoredRunEvent): number {
  return json.length;
}
