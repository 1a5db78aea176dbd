import { hashRequest, type WaitingRequest } from "../../state/human-request.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, isCommand } from "@langchain/langgraph";
import { bindAnswer, type HumanAnswer, isBound } from "../../state/human-answer.ts";
import { checkRequestAnswer } from "../../planning/plan-answer.ts";
import { isRecord } from "../../values/json.ts";
import { overrideGraph } from "../agent-graph.ts";
import {
  AmbiguousAnswerError,
  ApprovalMismatchError,
  InvalidAnswerError,
  NothingToAnswerError,
  UnknownInterruptError,
} from "../errors.ts";
import { answersOfResults, WrongAnswerKindError } from "./tool-results.ts";
import { leavingHeld } from "./threads.ts";
import { type ReadableGraph, readWaiting, type WaitingThread } from "./waiting.ts";

/** The parts of a compiled graph that the guard needs: `invoke` and `streamEvents` go through `stream`. */
interface Resumable extends ReadableGraph {
  stream(input: never, options?: never): Promise<unknown>;
  withConfig(config: never): unknown;
  /** The config bound to the graph, which may name a thread. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/**
 * Makes a graph check the answers of `Command({ resume })` before LangGraph writes anything, and returns it.
 * LangGraph's strict resume refuses answers without a pending interrupt. It does not know the requests of a plan's
 * subtasks, the valid answers of a request, or what an approval was given for. If a waiting state was edited, the
 * person is asked again first, and an approval must name its subject. Changes the graph itself; graphs derived by
 * `withConfig` do the same. It does not affect nested graphs: only the outer one is resumed.
 */
export function guardAnswers<Compiled extends Resumable>(compiled: Compiled): Compiled {
  return overrideGraph(compiled, (graph) => {
    const stream = graph.stream.bind(graph);
    return {
      stream: async (input: unknown, options?: RunnableConfig) => {
        const askAgain = () => stream(null as never, leavingHeld(options) as never);
        return stream(
          (await checkedAnswer(graph, input, askAgain, options)) as never,
          options as never,
        );
      },
    };
  });
}

/** @throws AnswerError */
async function checkedAnswer(
  graph: Resumable,
  input: unknown,
  askAgain: () => Promise<unknown>,
  options: RunnableConfig = {},
): Promise<unknown> {
  if (!isCommand(input) || input.resume == null) return input;
  // Without a thread LangGraph throws its own errors.
  const configurable = { ...graph.config?.configurable, ...options.configurable };
  const threadId: unknown = configurable["thread_id"];
  if (typeof graph.checkpointer !== "object" || typeof threadId !== "string") return input;
  const given = givenIn(input.resume);
  let found = await readWaiting(graph, { configurable });
  const isUnseen = "bare" in given && isToAskAgain(found);
  if (isUnseen) {
    for await (const _ of (await askAgain()) as AsyncIterable<unknown>);
    found = await readWaiting(graph, { configurable });
  }
  const { snapshot, waiting } = found;
  const { status } = snapshot.values as { status?: string };
  const resume = checkAnswers(given, {
    threadId,
    status: snapshot.createdAt === undefined ? null : (status ?? "CREATED"),
    waiting,
    isUnseen,
  });
  const { update, goto, graph: target } = input;
  return new Command({
    resume,
    ...(update !== undefined && { update }),
    ...(goto !== undefined && { goto }),
    ...(target !== undefined && { graph: target }),
  });
}

/** Returns whether the state was edited while it waited for a person: the request may have changed. */
function isToAskAgain({ snapshot, waiting }: WaitingThread): boolean {
  const { status } = snapshot.values as { status?: string };
  const isEdited = ["update", "fork"].includes(snapshot.metadata?.source ?? "");
  return waiting.length === 0 && isEdited && status === "AWAITING_HUMAN";
}

/** Tells the two forms of resume values apart as LangGraph does: ids are hashes of 32 hexadecimal digits. */
function givenIn(resume: unknown): GivenAnswers {
  const ids = isRecord(resume) ? Object.keys(resume) : [];
  const isById = ids.length > 0 && ids.every((id) => /^[0-9a-f]{32}$/.test(id));
  return isById ? { byId: resume as Readonly<Record<string, unknown>> } : { bare: resume };
}

/** One answer to the pending request, answers by request id, or results of client tools. */
export type GivenAnswers =
  | { readonly toolResults: unknown }
  | { readonly bare: unknown }
  | { readonly byId: Readonly<Record<string, unknown>> };

export interface AnsweredThread {
  readonly threadId: string;
  /** Null for a thread that does not exist. */
  readonly status: string | null;
  readonly waiting: readonly WaitingRequest[];
  /** Whether the pending request was edited and not shown yet. Default false. */
  readonly isUnseen?: boolean;
}

/**
 * Checks answers and returns them by request id, bound to the hash of the proposal. The node that asked refuses an
 * answer with another hash than that of its action.
 *
 * @throws NothingToAnswerError, AmbiguousAnswerError, UnknownInterruptError, InvalidAnswerError, ApprovalMismatchError;
 * for results of client tools WrongAnswerKindError, UnknownToolCallError, InvalidToolResultError, AmbiguousToolResultError
 */
export function checkAnswers(
  given: GivenAnswers,
  { threadId, status, waiting, isUnseen = false }: AnsweredThread,
): Record<string, unknown> {
  if ("toolResults" in given) {
    const requests = waiting.filter(({ kind }) => kind === "tool_calls");
    if (requests.length > 0) return { ...answersOfResults(given.toolResults, requests) };
    if (waiting.length > 0) throw new WrongAnswerKindError(threadId, "answer");
    throw new NothingToAnswerError(threadId, status);
  }
  const [only, ...others] = waiting;
  if (only === undefined) throw new NothingToAnswerError(threadId, status);
  if ("bare" in given && others.length > 0) {
    // An answer without an id is for the question, where a wait is pending as well.
    const asked = waiting.filter(({ kind }) => kind !== "wait");
    if (asked.length > 0 && asked.length < waiting.length)
      return checkAnswers(given, { threadId, status, waiting: asked, isUnseen });
    throw new AmbiguousAnswerError(waiting);
  }
  const answers = "bare" in given ? { [only.id]: given.bare } : given.byId;
  const bound = Object.entries(answers).map(([id, answer]) => {
    const request = waiting.find((one) => one.id === id);
    if (request === undefined) throw new UnknownInterruptError(id, waiting);
    return [id, request.isOurs ? checkAnswer(request, answer, isUnseen) : answer];
  });
  return Object.fromEntries(bound) as Record<string, unknown>;
}

/** @throws InvalidAnswerError, ApprovalMismatchError */
function checkAnswer(request: WaitingRequest, answer: unknown, isUnseen: boolean): unknown {
  const { id, node } = request;
  const checked = checkRequestAnswer(request, answer);
  if (!checked.ok) {
    throw checked.mismatch === true
      ? new ApprovalMismatchError(id, node, checked.problem)
      : new InvalidAnswerError(id, node, checked.problem);
  }
  if (isUnseen && hashRequest(request) !== null && !isBound(answer) && allows(checked)) {
    const why = "The pending request was edited after it was shown, and the answer names no hash.";
    throw new ApprovalMismatchError(id, node, why);
  }
  return bindAnswer(request, answer);
}

/** Returns whether an answer approves the proposal, unchanged or edited. */
function allows(answer: HumanAnswer): boolean {
  if (answer.on === "results" || answer.on === "event") return false;
  const decisions = answer.on === "value" ? [answer.decision] : [...answer.decisions.values()];
  return decisions.some(({ decision }) => decision !== "reject");
}
