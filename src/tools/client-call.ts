import type { StatelessTool } from "../definition/tool/tool.ts";
import { StratagraphError } from "../errors.ts";
import { resultsSchema } from "../state/answer-schema.ts";
import { type CallResult, readToolResults } from "../state/human-answer.ts";
import type { ClientCall, HumanRequest, ProposedCall } from "../state/human-request.ts";
import type { ToolPrediction, ToolResult } from "../state/step-record.ts";
import { toJson } from "../values/bounded-json.ts";
import { isRecord } from "../values/json.ts";
import { type CallEnv, callStateless } from "./call.ts";
import type { CallLog } from "./journal.ts";
import { ToolTimeoutError } from "./retry.ts";
import type { ToolCall } from "./tool-result.ts";

/** How a call of a client tool ended: with what the caller returned, or, without `result`, with a timeout. */
export interface ClientEnd {
  readonly result: CallResult | null;
  /** ISO 8601, when the caller was asked. */
  readonly askedAt: string;
  /** ISO 8601, when it answered, or its time was up. */
  readonly at: string;
}

/** The caller says that a call of a client tool broke, or returned nothing for it. */
class ClientToolError extends StratagraphError {
  readonly code = "client_tool";
  override readonly kind = "run";
}

/**
 * Returns the result of a client tool's call: what the caller returned, checked and limited like the output of a
 * handler. It took as long as the run waited.
 *
 * @throws the reason of `env.signal` when that aborts
 */
export async function callClient(
  tool: StatelessTool,
  call: ToolCall,
  { env, end }: { readonly env: CallEnv; readonly end: ClientEnd | undefined },
): Promise<{ result: ToolResult }> {
  const { name, execution } = tool.definition;
  const run = (): unknown => {
    if (end === undefined) throw new ClientToolError(`No result of tool "${name}" was returned.`);
    if (end.result === null) throw new ToolTimeoutError(name, execution.timeout_ms, true);
    if ("error" in end.result) throw new ClientToolError(end.result.error);
    return end.result.output;
  };
  const { result } = await callStateless({ ...tool, run }, call, env);
  if (end === undefined) return { result };
  const waitedMs = Math.max(0, Date.parse(end.at) - Date.parse(end.askedAt));
  return { result: { ...result, execution_time_ms: waitedMs } };
}

/** A call whose result the run waits for, as its request contains it. */
type ProposedClientCall = ProposedCall & { readonly expires_at: string };

/** UTF-8 bytes of arguments as JSON; more than any model writes. */
const maxArgumentBytes = 16 * 1024 * 1024;

/** @param input the checked arguments */
export function proposeClientCall(
  { id, name, reason }: Pick<ToolPrediction, "id" | "name" | "reason">,
  input: unknown,
  expiresAt: string,
): ProposedClientCall {
  const args = toJson(input, maxArgumentBytes).value as ProposedCall["args"];
  return { id, name, args, reason, expires_at: expiresAt };
}

export function asClientCall(call: ProposedClientCall): Omit<ClientCall, "request_id"> {
  const { id, name, args, expires_at } = call;
  return { call_id: id, tool: name, input: args, expires_at };
}

/** Returns the request for the results of calls. */
export function toolRequest(
  { node, within }: Pick<HumanRequest, "node" | "within">,
  of: {
    readonly proposed: readonly ProposedClientCall[];
    /** ISO 8601, when the calls were first requested. */
    readonly askedAt: string;
    /** What was wrong with the last answer. */
    readonly problem: string | undefined;
  },
): HumanRequest {
  const { proposed, askedAt, problem } = of;
  const names = proposed.map(({ name }) => name).join(", ");
  return {
    kind: "tool_calls",
    node,
    within,
    prompt: `Run ${proposed.length === 1 ? "this call" : "these calls"} and return what came of it: ${names}.`,
    proposed,
    schema: resultsSchema(proposed.map(({ id }) => id)),
    expires_at: proposed.map(({ expires_at }) => expires_at).toSorted()[0] ?? null,
    asked_at: askedAt,
    ...(problem !== undefined && { problem }),
  };
}

/** An answer with results as a node keeps it for its further runs. */
interface KeptResults {
  readonly tool_results: readonly CallResult[];
  /** ISO 8601, when the calls were requested, and when the results were read. */
  readonly asked_at: string;
  readonly at: string;
  /** Why the answer was refused, undefined if it was not. */
  readonly problem?: string;
}

/** Whether an answer has the form of results, and so is for no handler that asks a person. */
export function isToolResults(answer: unknown): answer is Partial<KeptResults> {
  return isRecord(answer) && Array.isArray(answer["tool_results"]);
}

/** Returns an answer as it is kept: with the time at which it was first read, and without results that do not fit. */
export function keptResults(
  calls: readonly ProposedCall[],
  answer: unknown,
  { askedAt, at }: { readonly askedAt: string; readonly at: string },
): KeptResults {
  const read = readToolResults(calls, answer);
  const wasKept = isToolResults(answer) && answer.at !== undefined;
  if (wasKept && (read.ok || answer.problem !== undefined)) return answer as KeptResults;
  if (read.ok) return { tool_results: read.value, asked_at: askedAt, at };
  return { tool_results: [], asked_at: askedAt, at, problem: read.problem };
}

/** Whether the journal has the result of a call. */
export async function isRecorded({ id, name, args }: ToolCall, log: CallLog): Promise<boolean> {
  const { journal, threadId, run } = log;
  const key = { threadId, run, step: log.stepOf(id), callId: id };
  const known = await journal.find({ ...key, tool: name, input: args, idempotent: true });
  return known.state === "finished";
}
