import type { Clock } from "../clock.ts";
import type { TokenOrigin } from "../runtime/streamed-text.ts";
import type { AgentEvent } from "../state/events.ts";
import type { ClientCall, PendingRequest } from "../state/human-request.ts";
import type { Status } from "../state/lifecycle.ts";
import { toJson } from "../values/bounded-json.ts";

/** The agents in which an event happened, outermost first. Left out for the run's own agent. */
interface Origin {
  readonly within?: readonly string[];
}

/** An event of a run, as clients read it. */
export type RunEvent =
  | { readonly event: "status"; readonly data: { readonly status: Status } }
  | { readonly event: "thought"; readonly data: Origin & { readonly content: string } }
  | {
      readonly event: "tool_call";
      readonly data: Origin & {
        readonly id: string;
        readonly tool: string;
        readonly input: unknown;
      };
    }
  | {
      readonly event: "tool_result";
      readonly data: Origin & {
        /** That of the `tool_call`. */
        readonly id: string;
        readonly tool: string;
        readonly output: unknown;
        readonly outcome: string;
        readonly error: string | null;
        readonly latency_ms: number;
        /** Set if `output` is only the beginning. */
        readonly truncated?: true;
      };
    }
  /** Calls of client tools, whose results the run waits for. */
  | {
      readonly event: "tool_request";
      readonly data: Origin & { readonly calls: readonly Omit<ClientCall, "request_id">[] };
    }
  /** `done: false` is a delta of the reply, `true` the whole final answer. */
  | {
      readonly event: "message";
      readonly data: { readonly content: string; readonly done: boolean };
    }
  /** The deltas since the last event of another kind are void: the reply broke off, and is made again. */
  | { readonly event: "message_reset"; readonly data: { readonly reason: string } }
  | { readonly event: "request"; readonly data: PendingRequest }
  | { readonly event: "error"; readonly data: { readonly code: string; readonly message: string } }
  /** The last event of a turn. */
  | {
      readonly event: "done";
      readonly data: {
        readonly turn_id: string | null;
        readonly status: string;
        readonly checkpoint_id: string | null;
      };
    };

export interface RunEventWriterOptions {
  /** Appends events to the run's log. One call at a time. */
  readonly append: (events: readonly RunEvent[]) => Promise<void>;
  /** Called once with the error of a failed append; later events are dropped. */
  readonly onFailure: (error: unknown) => void;
  readonly clock: Clock;
  /** Milliseconds during which deltas of a reply are joined to one event. Default 40. */
  readonly coalesceMs?: number;
  /** Maximum UTF-8 bytes of the output in a `tool_result`; a longer one is truncated. Default 65,536. */
  readonly maxOutputBytes?: number;
}

/**
 * Writes the events of a run to its log, in order and without blocking the run. What arrives while an append is under way
 * goes into the next one.
 */
export class RunEventWriter {
  readonly #options: RunEventWriterOptions;
  readonly #maxOutputBytes: number;
  #queue: RunEvent[] = [];
  #delta = "";
  #cancelTimer: (() => void) | undefined;
  #draining: Promise<void> | undefined;
  #failed = false;

  constructor(options: RunEventWriterOptions) {
    this.#options = options;
    this.#maxOutputBytes = options.maxOutputBytes ?? 65_536;
  }

  /** Takes an event of the agent; kinds that clients do not read are left out. */
  onEvent = (event: AgentEvent): void => {
    const written = this.#toRunEvent(event);
    if (written !== null) this.write(written);
  };

  /** Takes a delta of a reply. Those of nested agents are left out. */
  onToken = (text: string, { within }: TokenOrigin): void => {
    if (within.length > 0 || this.#failed) return;
    this.#delta += text;
    this.#cancelTimer ??= this.#options.clock.after(this.#options.coalesceMs ?? 40, () => {
      this.#endDelta();
      this.#drain();
    });
  };

  write(event: RunEvent): void {
    if (this.#failed) return;
    this.#endDelta();
    this.#queue.push(event);
    this.#drain();
  }

  /** Resolves when all events so far are in the log, or an append has failed. */
  async flush(): Promise<void> {
    this.#endDelta();
    this.#drain();
    while (this.#draining !== undefined) await this.#draining;
  }

  #endDelta(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#delta === "") return;
    this.#queue.push({ event: "message", data: { content: this.#delta, done: false } });
    this.#delta = "";
  }

  #drain(): void {
    if (this.#draining !== undefined || this.#queue.length === 0) return;
    this.#draining = this.#appendAll().finally(() => {
      this.#draining = undefined;
    });
  }

  async #appendAll(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const events = this.#queue;
        this.#queue = [];
        await this.#options.append(events);
      }
    } catch (error) {
      this.#failed = true;
      this.#queue = [];
      this.#delta = "";
      this.#cancelTimer?.();
      this.#options.onFailure(error);
    }
  }

  #toRunEvent(event: AgentEvent): RunEvent | null {
    const origin: Origin = event.within.length > 0 ? { within: event.within } : {};
    switch (event.type) {
      case "status":
        return event.within.length > 0 ? null : { event: "status", data: { status: event.status } };
      case "thought":
        return { event: "thought", data: { ...origin, content: event.text } };
      case "tool_call": {
        const { id, name, args } = event.call;
        return { event: "tool_call", data: { ...origin, id, tool: name, input: args } };
      }
      case "tool_result": {
        const { id, name, result, outcome, error, execution_time_ms } = event.result;
        const { value, whole } = toJson(result, this.#maxOutputBytes);
        return {
          event: "tool_result",
          data: {
            ...origin,
            id,
            tool: name,
            output: value,
            outcome,
            error,
            latency_ms: execution_time_ms,
            ...(!whole && { truncated: true }),
          },
        };
      }
      case "tool_request":
        return { event: "tool_request", data: { ...origin, calls: event.calls } };
      case "message":
        if (event.within.length > 0) return null;
        return { event: "message", data: { content: event.text, done: true } };
      case "message_reset":
        if (event.within.length > 0) return null;
        return { event: "message_reset", data: { reason: event.reason } };
      default:
        return null;
    }
  }
}
