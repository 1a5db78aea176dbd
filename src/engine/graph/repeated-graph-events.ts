import { createHash } from "node:crypto";
import type { StateSnapshot } from "@langchain/langgraph";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { WaitingThread } from "../../compile/guards/waiting.ts";
import { plainData } from "../../values/diff.ts";
import { isRecord } from "../../values/json.ts";
import type { GraphEvent } from "./graph-events.ts";
import type { GraphRequest, GraphStreamMode } from "./graph-request.ts";

/** Events of a log that are read, of 1 MiB at most each, and of one read. The step under way has few. */
const maxEvents = 1_000;
const pageEvents = 20;

/** Events of the end of a turn. */
const lastNames: ReadonlySet<string> = new Set(["values", "updates", "input.requested"]);

interface StreamedMessage {
  readonly id: string;
  /** The name of the event that removes it. */
  readonly event: string;
  /** What LangGraph says of the call: among others its step and its task. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface OpenMessage {
  readonly event: string;
  readonly runId: string;
}

/** Where a run continues. */
export interface ContinuedAt {
  /** The newest checkpoint, with the writes of tasks of its next step that have ended; undefined without one. */
  readonly last: CheckpointTuple | undefined;
  readonly snapshot: StateSnapshot;
}

/**
 * Compares the stream of a graph that continues after its worker died with the log that the worker has left. The step
 * under way is executed again: what the log says of it already is not written twice, and messages that its models had begun to
 * write are void.
 */
export class RepeatedGraphEvents {
  readonly #logged = new Set<string>();
  readonly #messages = new Map<string, StreamedMessage>();
  readonly #open = new Map<string, OpenMessage>();
  /** Hashes by name. */
  readonly #last = new Map<string, string>();

  /** Reads the newest events of a log. @param last the number of its last event */
  static async read(
    last: number,
    page: (of: {
      readonly after: number;
      readonly limit: number;
    }) => Promise<readonly GraphEvent[]>,
  ): Promise<RepeatedGraphEvents> {
    const repeated = new RepeatedGraphEvents();
    for (let after = Math.max(0, last - maxEvents); after < last; after += pageEvents)
      for (const event of await page({ after, limit: Math.min(pageEvents, last - after) }))
        repeated.#add(event);
    return repeated;
  }

  /** Whether the log has an event of a task, of a node that had ended or of an agent's step. Each in the log counts once. */
  has(event: GraphEvent): boolean {
    // A node that is executed again has a new update, even if it is the same.
    if (modeOf(event) === "updates" && !isCached(event)) return false;
    const key = keyOf(event);
    return key !== null && this.#logged.delete(key);
  }

  /**
   * The events that make messages void: clients remove messages of the type `remove`, and end those of event streaming at
   * their `error`.
   */
  removals(at: ContinuedAt): readonly GraphEvent[] {
    const removed = [...this.#messages.values()].filter(({ metadata }) => isRepeated(metadata, at));
    const ended = [...this.#open.values()].map(({ event, runId }) => ({
      event,
      data: { event: "error", message: "The reply broke off, and is made again.", run_id: runId },
    }));
    return [...removed.map(removalOf), ...ended];
  }

  /** The last events of a turn that has ended or waits, which its worker died before it wrote. */
  missing(
    { snapshot, waiting }: WaitingThread,
    { stream_mode: modes, protocol }: Pick<GraphRequest, "stream_mode" | "protocol">,
  ): readonly GraphEvent[] {
    const ids = new Set(waiting.map(({ id }) => id));
    const asked = snapshot.tasks
      .flatMap(({ interrupts }) => interrupts)
      .filter(({ id }) => id !== undefined && ids.has(id));
    const isAsked = (mode: GraphStreamMode) => modes.includes(mode);
    const last = (event: string, data: unknown) => ({ event, data });
    if (asked.length === 0)
      return this.#unlogged(
        protocol === true || isAsked("values") ? [last("values", snapshot.values)] : [],
      );
    if (protocol === true)
      return this.#unlogged(
        asked.map(({ id, value }) => last("input.requested", { interrupt_id: id, payload: value })),
      );
    const interrupts = { __interrupt__: asked };
    const named = (["updates", "values"] as const).filter(isAsked);
    return this.#unlogged(named.map((mode) => last(mode, interrupts)));
  }

  /** Those that differ from the last event of their name. */
  #unlogged(events: readonly GraphEvent[]): readonly GraphEvent[] {
    return events.filter(
      ({ event, data }) => this.#last.get(event) !== hashOf(event, plainData(data)),
    );
  }

  #add(event: GraphEvent): void {
    if (lastNames.has(event.event)) this.#last.set(event.event, hashOf(event.event, event.data));
    const key = keyOf(event);
    if (key !== null) this.#logged.add(key);
    const { event: name, data } = event;
    const mode = modeOf(event);
    if (mode === "messages/metadata" && isRecord(data)) {
      for (const [id, about] of Object.entries(data))
        if (isRecord(about) && isRecord(about["metadata"]))
          this.#messages.set(`whole ${id}`, {
            id,
            event: "messages/complete",
            metadata: about["metadata"],
          });
    } else if (mode === "messages" && Array.isArray(data)) {
      const [message, metadata] = data as readonly unknown[];
      if (!isRecord(message) || !isRecord(metadata) || typeof message["id"] !== "string") return;
      const { id, type } = message;
      if (type === "remove") this.#messages.delete(id);
      else this.#messages.set(id, { id, event: name, metadata });
    } else if (mode === "messages" && isRecord(data)) this.#addPart(name, data);
  }

  /** A part of a message of event streaming. */
  #addPart(event: string, data: Readonly<Record<string, unknown>>): void {
    const { event: part, run_id: runId } = data;
    if (typeof runId !== "string") return;
    const key = `${event} ${runId}`;
    if (part === "message-start") this.#open.set(key, { event, runId });
    else if (part === "message-finish" || part === "error") this.#open.delete(key);
  }
}

function removalOf({ id, event, metadata }: StreamedMessage): GraphEvent {
  const message = { type: "remove", content: "", id, additional_kwargs: {}, response_metadata: {} };
  return { event, data: event === "messages/complete" ? [message] : [message, metadata] };
}

/** Writes that do not end a task. */
const unfinished: ReadonlySet<string> = new Set(["__interrupt__", "__error__", "__resume__"]);

/** Whether the model call with these metadata is made again, or its task is. */
function isRepeated(
  metadata: Readonly<Record<string, unknown>>,
  { last, snapshot }: ContinuedAt,
): boolean {
  const { langgraph_step: step, langgraph_checkpoint_ns: namespace } = metadata;
  if (typeof namespace !== "string" || typeof step !== "number") return false;
  const tasks = namespace.split("|").map((part) => part.slice(part.lastIndexOf(":") + 1));
  const [task = ""] = tasks;
  const isPending = snapshot.tasks.some(({ id }) => id === task);
  const hasEnded = (last?.pendingWrites ?? []).some(
    ([id, channel]) => id === task && !unfinished.has(channel),
  );
  if (isPending) return !hasEnded && isInRepeatedTask(tasks, snapshot);
  // Of a later step, whose checkpoint was not stored.
  return tasks.length === 1 && step > (last?.metadata?.step ?? -2);
}

/** A task that is made again continues nested graphs at their own checkpoints. */
function isInRepeatedTask([task, ...inner]: readonly string[], snapshot: StateSnapshot): boolean {
  const found = snapshot.tasks.find(({ id }) => id === task);
  if (found === undefined || ("result" in found && found.result !== undefined)) return false;
  const { state } = found;
  if (inner.length === 0 || state === undefined || !("tasks" in state)) return true;
  return isInRepeatedTask(inner, state);
}

function modeOf({ event }: Pick<GraphEvent, "event">): string {
  return event.split("|")[0] ?? "";
}

/** Whether an update is that of a node that had ended before the step was repeated. */
function isCached({ data }: GraphEvent): boolean {
  const about = isRecord(data) ? data["__metadata__"] : undefined;
  return isRecord(about) && about["cached"] === true;
}

/** The key of an event that a log has once; null for one that may be there again. */
function keyOf({ event, data }: GraphEvent): string | null {
  const mode = modeOf({ event });
  if (!isRecord(data)) return null;
  if (mode === "tasks" || mode === "debug") return taskKey(event, data);
  if (mode === "updates") {
    const { __metadata__: _cached, ...update } = data;
    return hashOf(event, update);
  }
  return mode === "custom" ? agentKey(event, data) : null;
}

/** Events of the start of a task. Its end may have another result. */
function taskKey(event: string, data: Readonly<Record<string, unknown>>): string | null {
  const { type, payload } = data;
  if (type !== undefined && type !== "task") return null;
  const task = isRecord(payload) ? payload : data;
  return typeof task["id"] === "string" && "input" in task ? `${event} ${task["id"]}` : null;
}

/** Events of agents that name their step. */
function agentKey(event: string, data: Readonly<Record<string, unknown>>): string | null {
  const body = isRecord(data["payload"]) ? data["payload"] : data;
  if (typeof body["step_index"] !== "number") return null;
  if (!isRecord(body["result"])) return hashOf(event, body);
  // A call that had ended is reported again, from the journal.
  const { execution_time_ms: _ms, recovered: _recovered, ...result } = body["result"];
  return hashOf(event, { ...body, result });
}

function hashOf(event: string, data: unknown): string {
  return createHash("sha256")
    .update(`${event} ${JSON.stringify(data)}`)
    .digest("base64");
}
