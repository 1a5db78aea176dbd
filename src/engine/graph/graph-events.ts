import { redactKnownValues } from "../../guardrails/redaction.ts";
import type { Redactions } from "../../state/rails.ts";
import type { Secrets } from "../../tools/secrets.ts";
import { plainData, plainJson } from "../../values/diff.ts";
import { isRecord } from "../../values/json.ts";
import { StratagraphError } from "../../errors.ts";
import { cutJson, type RunEvent, type RunEventWriter } from "../run-events.ts";

/** UTF-8 bytes of JSON of an event. A log takes 1 MiB. */
const maxEventBytes = 1_000_000;
/** Bytes of events that wait for the log until the run waits for it, too. */
const maxPendingBytes = 1_048_576;

/** An event of a graph's stream: `values`, `updates|node:task`, `messages`. */
export interface GraphEvent {
  readonly event: string;
  readonly data: unknown;
  /** The JSON of `data`, where it is at hand. */
  readonly json?: string;
}

/** A part of a graph's stream. */
export interface StreamPart {
  /** The state of the graph, of a part that has it. */
  readonly state?: Readonly<Record<string, unknown>>;
  /** What the caller asked for. */
  readonly events: readonly GraphEvent[];
}

/** Set in an event that is only the beginning of a larger one. */
export const truncatedKey = "__truncated__";

/**
 * Writes a graph's stream to the log of its run: as JSON, without values that rails have redacted and without secrets.
 */
export class GraphEventLog {
  #known: Redactions = {};
  #held: GraphEvent[] | null;
  #pendingBytes = 0;

  constructor(
    private readonly writer: Pick<RunEventWriter, "write" | "flush">,
    private readonly of: {
      readonly secrets: Secrets | undefined;
      /** Whether events wait until `release`: an input is redacted by the first node. */
      readonly isHeld: boolean;
      /** What an earlier claim of the run has written. */
      readonly repeated?: { has(event: GraphEvent): boolean } | null;
    },
  ) {
    this.#held = of.isHeld ? [] : null;
  }

  /** Takes the redactions of a state, of which later events show placeholders only. */
  know(state: unknown): void {
    const redactions = isRecord(state) ? state["redactions"] : undefined;
    if (!isRecord(redactions) || Object.keys(redactions).length === 0) return;
    this.#known = { ...this.#known, ...(redactions as Redactions) };
  }

  async write(event: GraphEvent): Promise<void> {
    if (this.#held === null) return this.#write(event);
    // A copy: nodes may change what they have streamed.
    this.#held.push({ ...event, data: plainData(event.data) });
  }

  /** Writes the events that were held. */
  async release(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = null;
    for (const event of held) await this.#write(event);
  }

  async #write({ event, data }: GraphEvent): Promise<void> {
    const json = this.#shownJson(data);
    const bytes = Buffer.byteLength(json);
    const shown = bytes <= maxEventBytes ? eventOf(event, json) : cutOf(event, json);
    if (this.of.repeated?.has(shown) === true) return;
    write(this.writer, shown);
    this.#pendingBytes += Math.min(bytes, maxEventBytes);
    if (this.#pendingBytes < maxPendingBytes) return;
    this.#pendingBytes = 0;
    await this.writer.flush();
  }

  /** The data as JSON, without values of channels `redactions`, which keep their labels. */
  #shownJson(data: unknown): string {
    const json = plainJson(data, 0, { redactions: labelsOf });
    const { secrets } = this.of;
    const scrubs = secrets?.hasRevealed() === true;
    if (Object.keys(this.#known).length === 0 && !scrubs) return json;
    const shown = redactKnownValues(JSON.parse(json) as unknown, this.#known);
    return JSON.stringify(scrubs ? secrets.scrubValue(shown) : shown);
  }
}

/** The beginning of an event that is too large. */
function cutOf(event: string, json: string): GraphEvent {
  const { value } = cutJson(JSON.parse(json), maxEventBytes);
  return { event, data: isRecord(value) ? { ...value, [truncatedKey]: true } : value };
}

/** An event whose data few read but as JSON. */
function eventOf(event: string, json: string): GraphEvent {
  return {
    event,
    json,
    get data() {
      return JSON.parse(json) as unknown;
    },
  };
}

/** The events of LangGraph's protocol have other names than those of turns. The log takes any. */
export function write(writer: Pick<RunEventWriter, "write">, event: GraphEvent): void {
  writer.write(event as unknown as RunEvent);
}

function labelsOf(redactions: unknown): unknown {
  if (!isRecord(redactions)) return redactions;
  return Object.fromEntries(
    Object.entries(redactions).map(([placeholder, redaction]) => [
      placeholder,
      isRecord(redaction) ? { label: redaction["label"] } : {},
    ]),
  );
}

/** Errors of LangGraph whose messages have no values of the run. */
const shownErrors: ReadonlySet<string> = new Set(["GraphRecursionError", "EmptyInputError"]);

/** The event of an error that ended a run. Messages of unknown errors may have anything in them. */
export function errorEvent(thrown: unknown): GraphEvent {
  const isShown =
    thrown instanceof StratagraphError || (thrown instanceof Error && shownErrors.has(thrown.name));
  const data = isShown
    ? { error: thrown.name, message: thrown.message.slice(0, 4_000) }
    : { error: "InternalError", message: "An unexpected error occurred." };
  return { event: "error", data };
}
