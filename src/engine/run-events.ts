import type { Clock } from "../clock.ts";
import type { TokenOrigin } from "../runtime/streamed-text.ts";
import type { AgentEvent } from "../state/events.ts";
import type { ClientCall, PendingRequest } from "../state/human-request.ts";
import type { Status } from "../state/lifecycle.ts";
import { cutToJsonBytes, jsonStringBytes, toJson } from "../values/bounded-json.ts";
import { headOf } from "../values/text.ts";

/** The agents in which an event happened, outermost first. Left out for the run's own agent. */
interface Origin {
  readonly within?: readonly string[];
}

/** An event contains less than the run's result and its records have. */
interface Cut {
  /** Set if a text or a value is only the beginning. */
  readonly truncated?: true;
}

/** An event of a run, as clients read it. */
export type RunEvent =
  | { readonly event: "status"; readonly data: { readonly status: Status } }
  | { readonly event: "thought"; readonly data: Origin & Cut & { readonly content: string } }
  | {
      readonly event: "tool_call";
      readonly data: Origin &
        Cut & {
          readonly id: string;
          readonly tool: string;
          readonly input: unknown;
        };
    }
  | {
      readonly event: "tool_result";
      readonly data: Origin &
        Cut & {
          /** That of the `tool_call`. */
          readonly id: string;
          readonly tool: string;
          readonly output: unknown;
          readonly outcome: string;
          readonly error: string | null;
          readonly latency_ms: number;
        };
    }
  /** Calls of client tools, whose results the run waits for. */
  | {
      readonly event: "tool_request";
      readonly data: Origin & Cut & { readonly calls: readonly Omit<ClientCall, "request_id">[] };
    }
  /** `done: false` is a delta of the reply, `true` the whole final answer. */
  | {
      readonly event: "message";
      readonly data: Cut & { readonly content: string; readonly done: boolean };
    }
  /** A step reads a message that was sent into the turn; null if the input rails refused it. */
  | {
      readonly event: "user_message";
      readonly data: Cut & { readonly id: string; readonly content: string | null };
    }
  /** The deltas since the last event of another kind are void: the reply broke off, and is made again. */
  | { readonly event: "message_reset"; readonly data: { readonly reason: string } }
  | { readonly event: "request"; readonly data: Cut & PendingRequest }
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
  /** Events of the agent that the log has already. Default none. */
  readonly repeated?: { has(event: RunEvent): boolean };
  /** Milliseconds between two events with deltas of a reply, which are joined meanwhile. Default 40. */
  readonly coalesceMs?: number;
  /** Milliseconds from the beginning of an append to that of the next, which takes all events of that time. Default 10. */
  readonly gatherMs?: number;
  /** Maximum UTF-8 bytes of an input or output of a tool, and of a thought; a longer one is truncated. Default 65,536. */
  readonly maxOutputBytes?: number;
}

/** UTF-8 bytes of JSON of the final answer, of the calls of a `tool_request` and of a `request`. A log takes 1 MiB. */
const maxContentBytes = 524_288;
/** Events that one statement takes in addition to those of the end. */
const maxRest = 500;
/** Characters of a delta. One that is longer becomes several events. */
const maxDelta = 65_536;
/** Calls in a `tool_request`. */
const maxCalls = 1_000;
/** Characters of an id or a name that a model wrote. */
const maxName = 1_000;

/** The event of a request to a person, whose proposal may be only the beginning. */
export function requestEvent(request: PendingRequest): RunEvent {
  const limits: Readonly<Record<string, number>> = {
    proposed: maxContentBytes / 2,
    prompt: maxContentBytes / 8,
    plan_limits: maxContentBytes / 8,
  };
  const fields = Object.entries(request).map(([key, value]) => {
    return { key, ...cutJson(value, limits[key] ?? maxContentBytes / 32) };
  });
  const data = Object.fromEntries(fields.map(({ key, value }) => [key, value]));
  const isWhole = fields.every(({ whole }) => whole);
  // Half of a schema would say something else.
  const schema = fields.find(({ key }) => key === "schema")?.whole === true ? request.schema : {};
  const shown = { ...data, schema, ...(!isWhole && { truncated: true }) };
  return { event: "request", data: shown as unknown as PendingRequest };
}

/** The beginning of a value whose JSON has at most `maxBytes` UTF-8 bytes. */
export function cutJson(
  given: unknown,
  maxBytes: number,
): { readonly value: unknown; readonly whole: boolean } {
  // A copy is cut by characters, some of which take six bytes.
  for (let most = maxBytes; ; most = Math.floor(most / 2)) {
    const { value, whole } = toJson(given, most);
    const isWhole = whole && most === maxBytes;
    if (isWhole || Buffer.byteLength(JSON.stringify(value)) <= maxBytes || most < 64)
      return { value, whole: isWhole };
  }
}

/** The beginning of a text whose JSON has at most `maxBytes` UTF-8 bytes. */
function cutText(text: string, maxBytes: number): Cut & { readonly content: string } {
  if (jsonStringBytes(text) <= maxBytes) return { content: text };
  return { content: cutToJsonBytes(text, maxBytes), truncated: true };
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
  /** When deltas were last written by themselves. */
  #deltaAt = -Infinity;
  #cancelTimer: (() => void) | undefined;
  #draining: Promise<void> | undefined;
  /** When the last append began. */
  #appendedAt = -Infinity;
  #cancelAppend: (() => void) | undefined;
  #failed = false;
  #failure: unknown;

  constructor(options: RunEventWriterOptions) {
    this.#options = options;
    this.#maxOutputBytes = options.maxOutputBytes ?? 65_536;
  }

  /** Takes an event of the agent; kinds that clients do not read are left out. */
  onEvent = (event: AgentEvent): void => {
    const written = this.#toRunEvent(event);
    if (written === null || this.#options.repeated?.has(written) === true) return;
    this.write(written);
  };

  /** Takes a delta of a reply. Those of nested agents are left out. */
  onToken = (text: string, { within }: TokenOrigin): void => {
    if (within.length > 0 || this.#failed) return;
    this.#delta += text;
    if (this.#cancelTimer !== undefined) return;
    const { clock, coalesceMs = 40 } = this.#options;
    const quietMs = clock.monotonic() - this.#deltaAt;
    if (quietMs >= coalesceMs) this.#writeDelta();
    else this.#cancelTimer = clock.after(coalesceMs - quietMs, () => this.#writeDelta());
  };

  #writeDelta(): void {
    this.#deltaAt = this.#options.clock.monotonic();
    this.#endDelta();
    this.#drain();
  }

  write(event: RunEvent): void {
    if (this.#failed) return;
    this.#endDelta();
    this.#queue.push(event);
    this.#drain();
  }

  /**
   * The events that no append has begun to write, for the caller to write. Waits for the append under way. Empty if there
   * are many, which are in the log then.
   *
   * @throws the error of a failed append
   */
  async takeRest(): Promise<readonly RunEvent[]> {
    this.#endDelta();
    if (this.#queue.length > maxRest) await this.flush();
    const rest = this.#queue;
    this.#queue = [];
    this.#cancelAppend?.();
    this.#cancelAppend = undefined;
    await this.#draining;
    if (this.#failed) throw this.#failure;
    return rest;
  }

  /** Resolves when all events so far are in the log, or an append has failed. */
  async flush(): Promise<void> {
    this.#endDelta();
    for (this.#append(); this.#draining !== undefined; this.#append()) await this.#draining;
  }

  #endDelta(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#delta === "") return;
    for (let rest = this.#delta; rest !== "";) {
      const content = headOf(rest, maxDelta);
      this.#queue.push({ event: "message", data: { content, done: false } });
      rest = rest.slice(content.length);
    }
    this.#delta = "";
  }

  #drain(): void {
    if (this.#draining !== undefined || this.#queue.length === 0) return;
    const { clock, gatherMs = 10 } = this.#options;
    const waitMs = this.#appendedAt + gatherMs - clock.monotonic();
    if (waitMs <= 0) this.#append();
    else this.#cancelAppend ??= clock.after(waitMs, () => this.#append());
  }

  /** Appends what there is, unless an append is under way. */
  #append(): void {
    this.#cancelAppend?.();
    this.#cancelAppend = undefined;
    if (this.#draining !== undefined || this.#queue.length === 0) return;
    this.#draining = this.#appendQueue().finally(() => {
      this.#draining = undefined;
      // What came meanwhile.
      this.#drain();
    });
  }

  async #appendQueue(): Promise<void> {
    this.#appendedAt = this.#options.clock.monotonic();
    const events = this.#queue;
    this.#queue = [];
    try {
      await this.#options.append(events);
    } catch (error) {
      this.#failed = true;
      this.#failure = error;
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
        return {
          event: "thought",
          data: { ...origin, ...cutText(event.text, this.#maxOutputBytes) },
        };
      case "tool_call": {
        const { id, name, args } = event.call;
        const { value: input, whole } = cutJson(args, this.#maxOutputBytes);
        const call = { id: headOf(id, maxName), tool: headOf(name, maxName), input };
        return { event: "tool_call", data: { ...origin, ...call, ...cutIf(!whole) } };
      }
      case "tool_result": {
        const { id, name, result, outcome, error, execution_time_ms } = event.result;
        const { value, whole } = cutJson(result, this.#maxOutputBytes);
        return {
          event: "tool_result",
          data: {
            ...origin,
            id: headOf(id, maxName),
            tool: headOf(name, maxName),
            output: value,
            outcome,
            error: error === null ? null : headOf(error, maxDelta),
            latency_ms: execution_time_ms,
            ...cutIf(!whole),
          },
        };
      }
      case "tool_request": {
        const shown = event.calls.slice(0, maxCalls);
        const room = Math.floor(maxContentBytes / Math.max(1, shown.length));
        const [name, most] = [
          Math.min(maxName, room / 24),
          Math.min(room / 2, this.#maxOutputBytes),
        ];
        const inputs = shown.map((call) => cutJson(call.input, most));
        const calls = shown.map(({ call_id, tool, expires_at }, at) => ({
          call_id: headOf(call_id, name),
          tool: headOf(tool, name),
          input: inputs[at]?.value as ClientCall["input"],
          expires_at,
        }));
        const isCut = shown.length < event.calls.length || inputs.some(({ whole }) => !whole);
        return { event: "tool_request", data: { ...origin, calls, ...cutIf(isCut) } };
      }
      case "message":
        if (event.within.length > 0) return null;
        return {
          event: "message",
          data: { ...cutText(event.text, maxContentBytes), done: true },
        };
      case "user_message": {
        const { id, text } = event;
        const shown = text === null ? { content: null } : cutText(text, maxContentBytes);
        return { event: "user_message", data: { id, ...shown } };
      }
      case "message_reset":
        if (event.within.length > 0) return null;
        return { event: "message_reset", data: { reason: headOf(event.reason, maxDelta) } };
      default:
        return null;
    }
  }
}

function cutIf(isCut: boolean): Cut {
  return isCut ? { truncated: true } : {};
}
