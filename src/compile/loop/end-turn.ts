import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createHash } from "node:crypto";
import { END } from "@langchain/langgraph";
import { StratagraphError } from "../../errors.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import { isTerminal, transition } from "../../state/lifecycle.ts";
import { type MemoryWritten, turnUsage } from "../../state/turn.ts";
import { addUsage } from "../../state/usage.ts";
import { TurnCancelledError } from "../errors.ts";
import type { NodeBody, NodeResult, NodeContext } from "./node.ts";
import { completeStep, interruptedResults, cancelPendingCalls, toolMessage } from "./step.ts";

/**
 * Ends the turn CANCELLED. The interrupted step stays in progress, so that the thread can resume from the checkpoint
 * before. Tier writes of completed calls remain readable until then.
 */
export function cancelTurn(state: GraphState, cause: unknown): NodeResult {
  if (isOver(state)) return nothing;
  const reason = cause instanceof TurnCancelledError ? cause.reason : null;
  return {
    update: { status: transition(state.status ?? "CREATED", "CANCELLED") },
    ...(reason !== null && { turn: { cancel_reason: reason } }),
    goto: "finalize",
  };
}

/**
 * Ends the turn FAILED for an error of the run, with the record of the step in progress.
 *
 * @throws the error itself if it is not one of the run, or if the turn can be recovered
 */
export function failTurn(state: GraphState, run: NodeContext, thrown: unknown): NodeResult {
  if (!(thrown instanceof StratagraphError) || thrown.kind !== "run") throw thrown;
  if (leavesTurnOpen(thrown)) throw thrown;
  if (isOver(state)) return nothing;
  const here = state.branches.filter(({ at }) => at === run.node).map(({ id }) => id);
  return failedTurn(state, thrown, {
    ...interruptStep(state, run, thrown),
    ...(here.length > 0 && { branches: { leave: here, enter: [] } }),
  });
}

/** Whether a turn that an error met, or that was aborted with it, can be resumed instead of ending. */
export function leavesTurnOpen(thrown: unknown): boolean {
  return thrown instanceof StratagraphError && thrown.leavesTurnOpen;
}

/** Returns the update of a FAILED turn, with the pending writes. */
export function failedTurn(
  state: GraphState,
  { code, message, transient }: StratagraphError,
  update: NodeResult["update"],
): NodeResult {
  return {
    update: { ...update, status: transition(state.status ?? "CREATED", "FAILED") },
    turn: { failure: { cause: code, message, ...(transient && { transient }) } },
    goto: "finalize",
  };
}

/** Returns whether another branch has already ended the turn. */
function isOver({ status = "CREATED" }: GraphState): boolean {
  return isTerminal(status);
}

const nothing: NodeResult = { update: {}, goto: [] };

function interruptStep(state: GraphState, run: NodeContext, thrown: StratagraphError): GraphUpdate {
  const here = state.branches.filter(({ at }) => at === run.node);
  const begun = new Set(run.startedSteps.map(({ step_index }) => step_index));
  const left = here.flatMap(({ open }) => open).filter(({ step_index }) => !begun.has(step_index));
  const underWay = [...left, ...run.startedSteps];
  const open = underWay.length > 0 ? underWay : (state.current_step ?? []);
  const steps = [open].flat().map((current) => {
    const results = interruptedResults(current, run.endedResults, thrown);
    return completeStep(current, { results, concurrent: false });
  });
  if (steps.length === 0) return {};
  for (const step of steps) run.emit({ type: "step", step });
  const results = steps.flatMap((step) => step.tool_results);
  return {
    steps,
    messages: results.map((result) => toolMessage(result, run.loop.ids())),
    current_step: null,
    usage: { tool_calls: results.length },
  };
}

/**
 * Ends a turn: adds the answer, or the reason why there is none, to the conversation. A cancelled turn adds nothing.
 */
export const finalize: NodeBody = async (state, run) => {
  const { turn } = state;
  const status = state.status ?? "CREATED";
  if (status === "CANCELLED") {
    run.emit({ type: "status", status });
    run.emit({ type: "done", status, output: null, failure: null, usage: turnUsage(state) });
    return { update: {}, goto: END };
  }
  const dropped = cancelPendingCalls(state, run);
  const failure = turn?.failure ?? null;
  const draft = turn?.draft;
  const incomplete = draft?.incomplete ?? false;
  const reason = draft?.problem === null ? draft.incomplete_reason : undefined;
  const why = reason !== undefined && { incomplete_reason: reason };
  const text = failure === null ? (turn?.draft?.answer ?? "") : failure.message;
  const message = new AIMessage({
    id:
      (failure === null && turn?.draft?.problem === null && turn.draft.message_id) ||
      run.loop.ids(),
    content: text,
    ...(incomplete && { additional_kwargs: { incomplete: true, ...why } }),
    ...(failure !== null && { additional_kwargs: { failure: failure.cause } }),
  });
  run.emit({ type: "status", status });
  // The caller gets the values themselves; the conversation keeps their placeholders.
  if (failure === null) {
    const shown = run.rails.unredact(text, { scope: "own" });
    run.emit({ type: "message", text: shown, incomplete, ...why });
  }
  const written = await writeMemory(state, run);
  const usage = addUsage(turnUsage(state), run.usage());
  run.emit({ type: "done", status, output: state.output, failure, usage });
  const messages = [...(dropped.messages ?? []), message];
  const isGuarded = run.loop.rails.input.length > 0;
  return {
    update: {
      ...dropped,
      messages,
      ...(state.branches.length > 0 && { branches: { only: [] } }),
    },
    turn: {
      ...(isGuarded && { conversation: conversationDigest([...state.messages, ...messages]) }),
      ...(written !== null && { memory_written: written }),
    },
    goto: END,
  };
};

/** Writes what the turn leaves in long-term memory; null without such memory, and if nothing may be remembered. */
async function writeMemory(state: GraphState, run: NodeContext): Promise<MemoryWritten | null> {
  const { memory } = run.loop;
  if (memory === null) return null;
  const memoryWriter = await import("../memory/write-back.ts");
  const written = await memoryWriter.writeMemory(state, run, memory);
  if (written !== null) run.emit({ type: "memory_written", written });
  return written;
}

/**
 * Returns a digest that shows whether a conversation still begins with the same messages: its length, and a SHA-256
 * hash over the hashes of its messages.
 */
export function conversationDigest(messages: readonly BaseMessage[]): string {
  const hash = createHash("sha256").update(messages.map(messageDigest).join(""));
  return `${messages.length}:2:${hash.digest("hex")}`;
}

/** Digests of immutable messages, so that each is hashed once in a process. */
const digests = new WeakMap<BaseMessage, string>();

function messageDigest(message: BaseMessage): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const digest = createHash("sha256").update(messageText(message)).digest("hex");
  // Checkpointers freeze messages with everything in them.
  if (Object.isFrozen(message)) digests.set(message, digest);
  return digest;
}

/** Returns the id, the content and the calls of a message as JSON. */
function messageText(message: BaseMessage): string {
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  const told = calls.map(({ id, name, args }) => [id, name, args]);
  return JSON.stringify([message.id, message.type, message.content, told]);
}

/** Returns the digest that earlier versions stored. */
function earlierDigest(messages: readonly BaseMessage[]): string {
  const hash = createHash("sha256");
  for (const message of messages) hash.update(messageText(message));
  return `${messages.length}:${hash.digest("hex")}`;
}

/**
 * Returns the unchecked messages: those after the conversation at the end of the last turn, or all if that was changed
 * since.
 */
export function newMessages(
  messages: readonly BaseMessage[],
  digest: string | undefined,
): readonly BaseMessage[] {
  const count = Number.parseInt(digest ?? "0");
  if (count === 0 || count > messages.length) return messages;
  const digestOf = digest?.includes(":2:") === true ? conversationDigest : earlierDigest;
  const isSame = digestOf(messages.slice(0, count)) === digest;
  return isSame ? messages.slice(count) : messages;
}
