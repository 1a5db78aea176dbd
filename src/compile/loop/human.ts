import type { RunnableConfig } from "@langchain/core/runnables";
import { answerSchema, type Decision, problem, type Read } from "../../state/answer-schema.ts";
import type { GraphState } from "../../state/channels.ts";
import {
  bindAnswer,
  type CallDecisions,
  isBound,
  readCallAnswer,
} from "../../state/human-answer.ts";
import {
  hashCall,
  hashRequest,
  type HumanRequest,
  type ProposedCall,
  requestOf,
} from "../../state/human-request.ts";
import { transition } from "../../state/lifecycle.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import type { Awaitable } from "../../state/tiers.ts";
import { type Approvals, turnSteps } from "../../state/turn.ts";
import { admitCall, type CallRules, proposeCall, type SpentLimit } from "../../tools/admit-call.ts";
import type { HandlerInterrupts } from "../../tools/tool-result.ts";
import { isRecord } from "../../values/json.ts";
import { AnswerBlockedError, NoStepError } from "../errors.ts";
import { checkpointPlace } from "../run/turn-calls.ts";
import type { NodeBody, NodeContext } from "./node.ts";
import { editedMessages } from "./step.ts";

/** Asks a person to approve the calls of the step in progress. */
export const human: NodeBody = async (state, run) => {
  const current = state.current_step;
  if (!current) throw new NoStepError();
  const before = current.tool_predictions;
  const { calls, approvals } = await approveCalls({
    calls: before,
    before: callsSoFar(state),
    state,
    run,
  });
  const status = transition(state.status ?? "CREATED", "EXECUTING");
  return {
    update: {
      current_step: { ...current, tool_predictions: calls },
      messages: editedMessages(before, calls, state.messages),
      status: transition(status, "AWAITING_TOOL"),
    },
    turn: { approvals },
    goto: "tools",
  };
};

type Calls = readonly ToolPrediction[];

interface Asking {
  readonly calls: Calls;
  /** Number of calls that were requested earlier in the turn. */
  readonly before: number;
  /** Hashes of calls that a person approved before, by call id. Default none. */
  readonly approvals?: Approvals | undefined;
  readonly state: GraphState;
  readonly run: NodeContext;
}

interface ApprovedCalls {
  readonly calls: Calls;
  /** The approvals, for the calls as they will run. */
  readonly approvals: Approvals;
}

/**
 * Returns the calls as a person approved them: with edited arguments, or with a problem if they were rejected. The
 * person sees redacted values; the answer is redacted again and passes the input rails. One request covers all calls
 * that need approval. It leaves out calls that would be refused anyway, and those that were approved before and have
 * not changed.
 *
 * @throws AnswerBlockedError
 */
export async function approveCalls(asking: Asking): Promise<ApprovedCalls> {
  const { calls, state, run } = asking;
  if (!calls.some(({ name }) => run.loop.needsApproval(name))) return { calls, approvals: {} };
  const proposed = await callsToApprove(asking);
  const [first, ...others] = proposed;
  if (first === undefined) return { calls, approvals: {} };
  const agent = run.loop.definition.spec.name;
  const names = proposed.map(({ name }) => name).join(", ");
  const decisions = await requestHumanInput(
    run,
    {
      kind: "tool_approval",
      prompt:
        others.length === 0
          ? `May ${agent} call ${first.name}?`
          : `May ${agent} make these ${proposed.length} calls: ${names}?`,
      proposed,
      schema: answerSchema({ kind: "tool_approval", calls: proposed }),
      expires_at: null,
      hash: hashRequest({ kind: "tool_approval", proposed }) ?? "",
    },
    (answer) => readDecisions(proposed, answer, run),
  );
  const inspected = new Map<string, Decision>();
  // Sequential, so that placeholders get the same numbers when the node runs again.
  for (const [id, decision] of decisions) {
    inspected.set(id, await applyDecisionRails(decision, { state, run }));
  }
  const known = calls.map((call) => decided(call, inspected.get(call.id)));
  const allowed = known.filter(({ id, problem: why }) => inspected.has(id) && why === undefined);
  return { calls: known, approvals: approvalsOf(allowed, run.rails) };
}

/** Returns approvals of unchanged calls. */
export function approvalsOf(calls: Calls, rails: { unredact(value: unknown): unknown }): Approvals {
  return Object.fromEntries(
    calls.map(({ id, name, args }) => [id, hashCall({ name, args: rails.unredact(args) })]),
  );
}

async function callsToApprove(asking: Asking): Promise<readonly ProposedCall[]> {
  const { calls, before, approvals = {}, state, run } = asking;
  const { loop, rails } = run;
  // Calls are counted before the request, so that it contains the same calls when the node runs again with the answer.
  const rules = await callRules(calls, { state, run });
  const argumentRules = loop.bounds.flatMap((bounds) => bounds.argumentRules ?? []);
  return calls.flatMap((call, index): readonly ProposedCall[] => {
    const { id, name, args, reason } = call;
    if (!loop.needsApproval(name)) return [];
    const shown = rails.unredact({ args, reason });
    if (Object.hasOwn(approvals, id) && approvals[id] === hashCall({ name, args: shown.args }))
      return [];
    const { tool } = admitCall(call, before + index, rules);
    if (tool?.input.check(shown.args).ok !== true) return [];
    return [proposeCall({ id, name, ...shown }, tool, argumentRules)];
  });
}

/** Reads an answer whose arguments the tools accept, with known values redacted. */
function readDecisions(
  proposed: readonly ProposedCall[],
  answer: unknown,
  { loop, rails }: Pick<NodeContext, "loop" | "rails">,
): Read<CallDecisions> {
  const read = readCallAnswer(proposed, answer);
  if (!read.ok) return read;
  for (const { id, name } of proposed) {
    const decision = read.value.get(id);
    if (decision?.decision !== "edit") continue;
    const checked = loop.tools.get(name)?.input.check(rails.unredact(decision.value));
    if (checked?.ok === false) {
      const issues = checked.issues.join("; ");
      return problem(`Call "${id}": the arguments do not fit tool "${name}": ${issues}.`);
    }
  }
  const decisions = [...read.value].map(([id, decision]) => [id, rails.redact(decision)] as const);
  return { ok: true, value: new Map(decisions) };
}

function decided(call: ToolPrediction, decision: Decision | undefined): ToolPrediction {
  switch (decision?.decision) {
    case "edit":
      return isRecord(decision.value) ? { ...call, args: decision.value } : call;
    case "reject": {
      const why = decision.reason === "" ? "." : `: ${decision.reason}`;
      return { ...call, problem: `A person rejected this call${why}` };
    }
    case "approve":
    case undefined:
      return call;
  }
}

/**
 * Returns the call rules of the definition and of the outer agents in this state. From here on the calls count towards
 * all limits, whatever their outcome.
 */
export function callRules(
  calls: readonly ToolPrediction[],
  { state, run }: { readonly state: GraphState; readonly run: NodeContext },
): Awaitable<CallRules> {
  const { loop, rails, around } = run;
  const own = loop.bounds.at(-1);
  if (own === undefined) throw new TypeError(`node ${run.node} is of a graph that calls no tools`);
  const { allowed, maxCalls, grants, argumentRules = [] } = own;
  const { input, execution, attempt } = state;
  const values = { input, execution, attempt };
  const rules = {
    tools: loop.tools,
    allowed,
    maxCalls,
    grants,
    argumentRules,
    values: argumentRules.length === 0 ? values : rails.unredact(values),
    around,
    unredact: (args: unknown) => rails.unredact(args),
  };
  const counted = countCalls(calls, state, run);
  if (!(counted instanceof Promise)) return rules;
  return counted.then((overLimit) => ({ ...rules, overLimit }));
}

/** Counts calls for the agent and the outer agents, and returns which exceed a limit. Synchronous if there is none. */
function countCalls(
  calls: readonly ToolPrediction[],
  { turn }: GraphState,
  run: Pick<NodeContext, "around" | "calls">,
): Awaitable<ReadonlyMap<string, SpentLimit>> {
  const keys = calls.map(({ id }) => `${turn?.run ?? ""}/${id}`);
  const own = { agent: null, count: run.calls, origin: "own" } as const;
  const all = [...run.around, own];
  const counted = all.map(({ count, origin }) => count.count(keys, origin));
  if (all.every(({ count }) => count.maxCalls === undefined)) return noneOver;
  return Promise.all(counted.map((one) => Promise.resolve(one))).then((admitted) => {
    const overLimit = new Map<string, SpentLimit>();
    for (const [at, { agent, count }] of all.entries()) {
      for (const [index, { id }] of calls.entries()) {
        if (admitted[at]?.[index] === true || overLimit.has(id)) continue;
        overLimit.set(id, { agent, maxCalls: count.maxCalls ?? Infinity });
      }
    }
    return overLimit;
  });
}

const noneOver: ReadonlyMap<string, SpentLimit> = new Map();

/** Returns the number of completed calls of the turn. */
export function callsSoFar({ steps, turn_number = 0, attempt_number = 0 }: GraphState): number {
  const turn = turnSteps(steps, { turnNumber: turn_number, attemptNumber: attempt_number });
  return turn.toolCalls;
}

/**
 * Waits for a readable answer of a person, and asks again after an unreadable one, with the problem. If the request has
 * a hash, an answer is valid only for it: `read` refuses an answer that names another hash. Everything before it in the
 * node runs again with every answer, so the code before it must have no effects.
 */
export async function requestHumanInput<T>(
  run: NodeContext,
  request: Omit<HumanRequest, "node" | "within" | "problem">,
  read: (answer: unknown) => Read<T>,
): Promise<T> {
  const status = request.kind === "wait" ? "AWAITING_TOOL" : "AWAITING_HUMAN";
  run.emit({ type: "status", status });
  const asked: HumanRequest = { ...request, node: run.node, within: run.within };
  const approves = asked.hash !== undefined;
  let again = asked;
  for (;;) {
    const answer = run.interrupt(again);
    const given = approves ? await boundAnswer(run, answer) : answer;
    const known: Read<T> =
      approves && isRefused(given) ? { ok: false, problem: given.refused } : read(given);
    if (known.ok && (!approves || isBound(given))) return known.value;
    const wrong = known.ok ? unbound : known.problem;
    // In further runs of the node it would be taken for the answer to the next request.
    if (approves && !isBound(given))
      keepAnswer(run.config, { hash: "", refused: wrong } satisfies Refused);
    again = { ...asked, problem: wrong };
  }
}

/** Replaces a refused answer, with the reason; bound to no request. */
interface Refused {
  readonly hash: "";
  readonly refused: string;
}

const isRefused = (answer: unknown): answer is Refused =>
  isRecord(answer) && answer["hash"] === "" && typeof answer["refused"] === "string";

const unbound = "It is unknown which request the answer was for.";

/**
 * Returns an answer with the hash of its request. A graph of another package passes answers on unchanged: they belong
 * to the stored request, which may differ from what the node asks now.
 */
async function boundAnswer(run: NodeContext, given: unknown): Promise<unknown> {
  if (isBound(given)) return given;
  const request = await storedRequest(run);
  const answer = request === null ? given : bindAnswer(request, given);
  // The node's next request takes its position.
  if (isBound(answer)) keepAnswer(run.config, answer);
  return answer;
}

/** Returns the node's last request, from the writes of its task. */
export async function storedRequest({ config, node }: NodeContext): Promise<HumanRequest | null> {
  const place = checkpointPlace(config);
  const tuple = await place?.saver.getTuple(place.config);
  const interrupts = (tuple?.pendingWrites ?? [])
    .filter(([task, channel]) => task === place?.task && channel === "__interrupt__")
    .flatMap(([, , value]) => value as { readonly value?: unknown });
  const requests = interrupts.map(({ value }) => requestOf("", value, node));
  return requests.findLast(({ isOurs }) => isOurs) ?? null;
}

interface Position {
  readonly state: GraphState;
  readonly run: NodeContext;
}

/**
 * Applies the input rails to a person's decision before any model reads it.
 *
 * @param decision with known values redacted
 * @throws AnswerBlockedError, which ends the turn like a blocked input
 */
export async function applyDecisionRails(decision: Decision, at: Position): Promise<Decision> {
  switch (decision.decision) {
    case "approve":
      return decision;
    case "edit":
      return { ...decision, value: await applyAnswerRails(decision.value, at) };
    case "reject":
      return { ...decision, reason: String(await applyAnswerRails(decision.reason, at)) };
  }
}

async function applyAnswerRails(said: unknown, { state, run }: Position): Promise<unknown> {
  const { loop, rails } = run;
  if (loop.rails.answer.length === 0 || said === "") return said;
  const { value, blocked } = await rails.check(
    {
      on: "input",
      rails: "answer",
      value: said,
      tool: null,
      request: loop.requestOf(state.input),
      evidence: [],
    },
    {
      turnNumber: state.turn_number ?? 0,
      attemptNumber: state.attempt_number ?? 0,
      stepIndex: null,
      callId: null,
    },
  );
  if (blocked !== null) throw new AnswerBlockedError(run.node, blocked.rail);
  return value;
}

/** LangGraph's record of a node's interrupts. Its field names are the same in all versions of LangGraph 1. */
interface Scratchpad {
  /** The index of the last interrupt; -1 before the first. */
  interruptCounter: number;
  /** Answers in the order of the interrupts. */
  readonly resume: unknown[];
  /** An answer that names no interrupt, until it is consumed. */
  readonly nullResume?: unknown;
}

/** Returns undefined if LangGraph keeps no record of the node, so that no answer could arrive. */
export function handlerInterrupts({ configurable }: RunnableConfig): HandlerInterrupts | undefined {
  const found: unknown = configurable?.["__pregel_scratchpad"];
  if (!isScratchpad(found)) return undefined;
  return {
    get asked() {
      return found.interruptCounter + 1;
    },
    get hasAnswers() {
      return found.resume.length > found.interruptCounter + 1 || found.nullResume !== undefined;
    },
    skip(count) {
      found.interruptCounter += count;
    },
  };
}

/** Returns the answer that the node's next interrupt will consume; undefined without one. */
export function nextAnswer({ configurable }: RunnableConfig): unknown {
  const found: unknown = configurable?.["__pregel_scratchpad"];
  if (!isScratchpad(found)) return undefined;
  const { resume, interruptCounter, nullResume } = found;
  return resume.length > interruptCounter + 1 ? resume[interruptCounter + 1] : nullResume;
}

/** Replaces the answer that the node's last interrupt consumed, for further runs of the node too. */
export function keepAnswer({ configurable }: RunnableConfig, answer: unknown): void {
  const found: unknown = configurable?.["__pregel_scratchpad"];
  const send: unknown = configurable?.["__pregel_send"];
  if (!isScratchpad(found) || typeof send !== "function") return;
  found.resume[found.interruptCounter] = answer;
  const write = send as (writes: readonly (readonly [string, unknown])[]) => void;
  write([["__resume__", found.resume.slice(0, found.interruptCounter + 1)]]);
}

function isScratchpad(value: unknown): value is Scratchpad {
  return (
    isRecord(value) &&
    typeof value["interruptCounter"] === "number" &&
    Array.isArray(value["resume"])
  );
}
