import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { GraphState } from "../../state/channels.ts";
import type { AgentEventBody } from "../../state/events.ts";
import type { SubtaskState, SubtaskStates } from "../../state/plan.ts";
import type { Redactions } from "../../state/rails.ts";
import { isRecord } from "../../values/json.ts";

/** A value that this process put into a config. Clients of a server can set any key, but send only JSON. */
class Own<Value> {
  constructor(readonly value: Value) {}
}

/**
 * A value that runs pass on in their config, to nested agents too. Only this process can set it: a value that `with`
 * did not set is ignored.
 */
export class PrivateConfig<Value> {
  /** LangGraph leaves keys with two underscores out of metadata and checkpoints. */
  readonly #key: string;

  constructor(name: string) {
    this.#key = `__stratagraph_${name}`;
  }

  with<Config extends RunnableConfig>(config: Config, value: Value): Config {
    const configurable = { ...config.configurable, [this.#key]: new Own(value) };
    return { ...config, configurable };
  }

  /** Sets the value in a config in place: in that of a running node, which its async context shares. */
  set({ configurable }: Pick<RunnableConfig, "configurable">, value: Value): void {
    if (configurable !== undefined) configurable[this.#key] = new Own(value);
  }

  in({ configurable }: Pick<RunnableConfig, "configurable">): Value | undefined {
    const found: unknown = configurable?.[this.#key];
    return found instanceof Own ? (found.value as Value) : undefined;
  }
}

/**
 * Returns whether a run or an update is of a nested graph. LangGraph ignores a namespace from a client, whose JSON
 * cannot contain these functions.
 */
export function isInsideGraph(configurable: Readonly<Record<string, unknown>> = {}): boolean {
  const { checkpoint_ns: namespace, __pregel_read: read } = configurable;
  const saver = configurable["__pregel_checkpointer"] as { getTuple?: unknown } | undefined;
  return (
    typeof namespace === "string" &&
    namespace !== "" &&
    (typeof read === "function" || typeof saver?.getTuple === "function")
  );
}

const cancel = new PrivateConfig<AbortSignal>("cancel");

/**
 * Lets a run be cancelled gracefully: the running node ends the turn CANCELLED, and the graph ends with everything
 * written. (LangGraph's own `signal` rejects the run at once, with checkpoint writes in flight.)
 */
export function cancellable(config: RunnableConfig, signal: AbortSignal): RunnableConfig {
  return cancel.with(config, signal);
}

/** Returns the signal of {@link cancellable}. */
export function cancelSignal(config: RunnableConfig): AbortSignal | undefined {
  return cancel.in(config);
}

const resumesCancelled = new PrivateConfig<true>("resumes_cancelled");

/** Marks a run as the resume of a cancelled turn. */
export function withResumeFlag(config: RunnableConfig): RunnableConfig {
  return resumesCancelled.with(config, true);
}

/** Returns whether {@link withResumeFlag} marked the run. */
export function isResuming(config: RunnableConfig): boolean {
  return resumesCancelled.in(config) === true;
}

const turnIds = new PrivateConfig<string>("turn_id");

/** Names the turn that a run begins. */
export function withTurnId(config: RunnableConfig, turnId: string): RunnableConfig {
  return turnIds.with(config, turnId);
}

/** Returns the id of {@link withTurnId}, which nested agents see as well. */
export function turnIdIn(config: RunnableConfig): string | undefined {
  return turnIds.in(config);
}

/** Passes to nested agents that output is gated around them. */
const held = new PrivateConfig<true>("held_answers");

/** Returns whether output is withheld until output rails have checked it. */
export function isOutputGated(config: RunnableConfig): boolean {
  return held.in(config) === true;
}

/**
 * Returns the config for gated runs, nested agents included. LangGraph streams the final messages of a run that has the
 * name of its node, so the run gets a name that no graph has.
 */
export function gateOutput(config: RunnableConfig): RunnableConfig {
  return { ...held.with(config, true), runName: "agent inside" };
}

/**
 * Converts messages for a node to write where output is gated. LangGraph streams the message objects that a node
 * writes; from plain fields, the channel creates the messages.
 */
export function unstreamed(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  return messages.map((message) => {
    const fields: unknown = { ...message.lc_kwargs, type: message.type, id: message.id };
    return fields as BaseMessage;
  });
}

/**
 * Returns an event without gated texts, but with everything that shows the run's progress; the state keeps the texts.
 * Null if nothing is left of it.
 *
 * @param isInside whether outer agents gate their output, for whom the end of this turn is no answer yet
 */
export function stripOutput(event: AgentEventBody, isInside: boolean): AgentEventBody | null {
  switch (event.type) {
    case "step": {
      const { reasoning: _held, ...step } = event.step;
      // Other thoughts without calls were reported by their own event.
      return { ...event, step: step.tool_predictions.length > 0 ? step : { ...step, thought: "" } };
    }
    case "node":
      return { ...event, output: stripTexts(event.output) };
    case "attempt_failed":
      return { ...event, attempt: { ...event.attempt, answer: null } };
    case "synthesis":
      return { ...event, text: "" };
    case "plan":
      return { ...event, subtasks: stripResults(event.subtasks) };
    case "subtask_end":
      return { ...event, subtask: stripResult(event.subtask) };
    case "message":
      return isInside ? null : event;
    case "done":
      return isInside ? { ...event, output: null } : event;
    default:
      return event;
  }
}

/** The fields of node outputs that models write, or that people approve of them. */
export const modelWrittenFields: readonly string[] = ["text", "output", "value", "subtasks"];

export function stripTexts(output: unknown): unknown {
  if (!isRecord(output)) return output;
  return Object.fromEntries(
    Object.entries(output).map(([name, value]) => [
      name,
      modelWrittenFields.includes(name) ? null : value,
    ]),
  );
}

export function stripResults(subtasks: SubtaskStates): SubtaskStates {
  return Object.fromEntries(
    Object.entries(subtasks).map(([id, subtask]) => [id, stripResult(subtask)]),
  );
}

function stripResult(subtask: SubtaskState): SubtaskState {
  return { ...subtask, result: null };
}

/** Passes the redactions of outer agents to nested ones. */
const redacted = new PrivateConfig<Redactions>("redactions");

const none: Redactions = Object.freeze({});

/** Returns the redactions of the outer agents; empty without any. */
export function inheritedRedactions(config: RunnableConfig): Redactions {
  return redacted.in(config) ?? none;
}

/** Returns the config for an agent that runs within a node. */
export function propagateRedactions(
  config: RunnableConfig,
  redactions: Redactions,
): RunnableConfig {
  if (Object.keys(redactions).length === 0) return config;
  return redacted.with(config, redactions);
}

/** Returns the state with the redactions of the outer agents, which templates must apply too. */
export function withInheritedRedactions(state: GraphState, config: RunnableConfig): GraphState {
  const inherited = inheritedRedactions(config);
  if (Object.keys(inherited).length === 0) return state;
  return { ...state, redactions: { ...inherited, ...state.redactions } };
}

/** A message for the turns of a thread. */
export interface InboxMessage {
  /** Unique; that of the message in the conversation. */
  readonly id: string;
  readonly content: string;
}

/** What is kept for a thread until a completed turn contains it. */
export interface Inbox {
  /**
   * Returns the messages, oldest first, those that the state of the thread contains included. Empty also if none can have
   * come since the last call. Never fails.
   */
  read(): Promise<readonly InboxMessage[]>;
}

const inboxes = new PrivateConfig<Inbox>("inbox");

/** Returns the config for a run with an inbox, which its outermost agent reads. */
export function withInbox(config: RunnableConfig, inbox: Inbox | undefined): RunnableConfig {
  return inbox === undefined ? config : inboxes.with(config, inbox);
}

/** Returns the inbox of {@link withInbox}, which nested agents see as well. */
export function inboxIn(config: RunnableConfig): Inbox | undefined {
  return inboxes.in(config);
}
