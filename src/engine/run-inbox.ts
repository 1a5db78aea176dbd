import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { Clock } from "../clock.ts";
import type { Inbox } from "../compile/run/run-config.ts";
import type { GraphState } from "../state/channels.ts";
import type { ThreadMessage } from "../storage/platform/time/thread-events.ts";

/** Milliseconds between two looks while no notice came, which may be lost or carried by nothing. */
const lookMs = 1_000;

/**
 * The messages that are kept for the thread of a run. The first step of an execution looks for them, later ones after a
 * notice or a second.
 */
export class RunInbox implements Inbox {
  #lookedAt = -Infinity;
  #hasFound = false;
  #taken: readonly string[] = [];

  constructor(
    private readonly clock: Pick<Clock, "monotonic">,
    private readonly load: () => Promise<readonly ThreadMessage[]>,
  ) {}

  /** Whether a look has found messages. */
  get hasFound(): boolean {
    return this.#hasFound;
  }

  /** Ids of the messages that the turn contains, once it is completed; empty before. */
  get taken(): readonly string[] {
    return this.#taken;
  }

  /**
   * Takes the last checkpoint of the run. A turn that waits may be dropped yet, and the next turn of the thread begins
   * before one that was cancelled or has failed: what these contain stays in the inbox.
   */
  end(last: CheckpointTuple | undefined): void {
    const { status, turn } = (last?.checkpoint.channel_values ?? {}) as Partial<GraphState>;
    if (this.#hasFound && status === "COMPLETED") this.#taken = turn?.inbox ?? [];
  }

  /** The next step looks. */
  readonly notice = (): void => {
    this.#lookedAt = -Infinity;
  };

  async read(): Promise<readonly ThreadMessage[]> {
    const before = this.#lookedAt;
    const now = this.clock.monotonic();
    if (now - before < lookMs) return [];
    this.#lookedAt = now;
    try {
      const found = await this.load();
      this.#hasFound ||= found.length > 0;
      return found;
    } catch {
      // Without an answer the messages stay where they are, and the next step looks again.
      this.notice();
      return [];
    }
  }
}
