import type { RunTail } from "../../engine/run-tail.ts";
import type { RunEvents, StoredRunEvent } from "../../storage/platform/runs/events.ts";

/** Events of one read of a log. */
const maxEvents = 50;
/** Bytes of JSON of one read, over which its last event may go. A client that stops reading keeps them in memory. */
const maxBytes = 131_072;

/** Reads the log of a run from a number on, in pages that are bounded in events and bytes. */
export class EventPages {
  #limit = maxEvents;

  /** @param after number of the event after which the first page begins */
  constructor(
    private readonly events: Pick<RunEvents, "read">,
    private readonly run: { readonly tenantId: string; readonly id: string },
    public after: number,
  ) {}

  /** The next page. Empty at the end of the log. Advances `after`. */
  async next(): Promise<readonly StoredRunEvent[]> {
    const { tenantId, id } = this.run;
    const of = { after: this.after, limit: this.#limit, maxBytes };
    const page = await this.events.read(tenantId, id, of);
    // The database measures each event up to the limit: of large ones it measures few.
    this.#limit = Math.min(maxEvents, Math.max(1, page.length) * 2);
    this.after = page.at(-1)?.seq ?? this.after;
    return page;
  }

  /** The next page from memory; null if the log must be read for it. Advances `after`. */
  nextOf(tail: RunTail): readonly StoredRunEvent[] | null {
    const page = tail.after(this.after, maxEvents);
    this.after = page?.at(-1)?.seq ?? this.after;
    return page;
  }
}
