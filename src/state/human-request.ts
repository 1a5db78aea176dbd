import { canonicalHash, isRecord } from "../values/json.ts";
import type { SubtaskStatus } from "./plan.ts";

/**
 * The request of a waiting run to a person, or to the caller that runs its client tools: the value of a LangGraph
 * interrupt. Plain JSON.
 */
export interface HumanRequest {
  /**
   * `tool_approval`: `proposed` is the list of pending tool calls. `tool_calls`: `proposed` is the list of calls whose
   * results the caller returns. `wait`: nothing is asked of a person; the run waits for `event`, or until `expires_at`.
   */
  readonly kind: "approval" | "input" | "edit" | "tool_approval" | "tool_calls" | "wait";
  /** The graph node that waits. */
  readonly node: string;
  /** The agent nodes around it, outermost first. */
  readonly within: readonly string[];
  readonly prompt: string;
  /** The value to approve or edit; null for an input request. */
  readonly proposed: unknown;
  /** JSON Schema of an answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** ISO 8601; null if the answer has no deadline. For `tool_calls`, the first deadline of a call. */
  readonly expires_at: string | null;
  /** The event that a `wait` is for; left out by one for a time, and by the other kinds. */
  readonly event?: string;
  /** When the calls of `tool_calls` were first requested, ISO 8601; left out by the other kinds. */
  readonly asked_at?: string;
  /** SHA-256 of what is approved, which an answer may name. Left out for input requests, and by earlier versions. */
  readonly hash?: string;
  /** What an edited plan is checked against; set if `proposed` is a planner's plan. */
  readonly plan_limits?: PlanRequestLimits;
  /** What was wrong with the previous answer; left out in the first request. */
  readonly problem?: string;
}

/** The limits of a plan that a person approves or edits. */
export interface PlanRequestLimits {
  /** Maximum number of subtasks over all plans of the task, `earlier` included. */
  readonly max_subtasks: number;
  /** The workers that a subtask may name. */
  readonly workers: readonly string[];
  /** Subtasks of earlier plans, by id. A plan may depend on those that are done. */
  readonly earlier: Readonly<Record<string, { readonly status: SubtaskStatus }>>;
}

/** A tool call as a person sees it. */
export interface ProposedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly reason: string;
  /** SHA-256 of the name and the arguments, which a decision on the call may name. Left out by earlier versions. */
  readonly hash?: string;
  /** Argument names in display order: the decisive ones first. */
  readonly order?: readonly string[];
  /** When the run stops waiting for the result of a client tool, ISO 8601; left out for a call to approve. */
  readonly expires_at?: string;
}

/** A call of a client tool whose result a run waits for. */
export interface ClientCall {
  readonly call_id: string;
  /** The request that contains it. A result names it if calls of several agents have the same id. */
  readonly request_id: string;
  readonly tool: string;
  /** The checked arguments, unredacted. */
  readonly input: Readonly<Record<string, unknown>>;
  /** ISO 8601. From then on the outcome of the call is `timeout`. */
  readonly expires_at: string;
}

/** Returns the calls of client tools that requests contain. Requests are read from storage. */
export function clientCallsIn(
  requests: readonly Pick<PendingRequest, "id" | "kind" | "proposed">[],
): readonly ClientCall[] {
  return requests.flatMap(({ id: request_id, kind, proposed }) => {
    if (kind !== "tool_calls" || !Array.isArray(proposed)) return [];
    return (proposed as readonly ProposedCall[]).map(({ id, name, args, expires_at = "" }) => {
      return { call_id: id, request_id, tool: name, input: args, expires_at };
    });
  });
}

/** A pending request, with the id by which it is answered. */
export interface PendingRequest extends HumanRequest {
  readonly id: string;
}

/** A LangGraph interrupt that waits for an answer. */
export interface WaitingRequest extends PendingRequest {
  /**
   * Whether it comes from a node of this package, which checks its answers; else `proposed` is the interrupt's value.
   */
  readonly isOurs: boolean;
}

/** Returns a request as callers see it. */
export function publicRequest({ isOurs: _isOurs, ...request }: WaitingRequest): PendingRequest {
  return request;
}

/** Returns an interrupt as a request. */
export function requestOf(id: string, value: unknown, node: string): WaitingRequest {
  if (isRequest(value)) return { id, ...value, isOurs: true };
  const prompt = typeof value === "string" ? value : `${node}?`;
  const asked = { node, within: [], prompt, proposed: value, schema: {}, expires_at: null };
  return { id, kind: "input", ...asked, isOurs: false };
}

const kinds: ReadonlySet<unknown> = new Set([
  "approval",
  "input",
  "edit",
  "tool_approval",
  "tool_calls",
  "wait",
]);

function isRequest(value: unknown): value is HumanRequest {
  return isRecord(value) && kinds.has(value["kind"]) && typeof value["node"] === "string";
}

/** Returns the SHA-256 of a tool call: its name and its arguments as canonical JSON. */
export function hashCall({
  name,
  args,
}: {
  readonly name: unknown;
  readonly args: unknown;
}): string {
  return canonicalHash({ name, args });
}

/**
 * Returns the SHA-256 of what an answer to a request approves: its only call, the hashes of its calls in order, or its
 * prompt and proposal. Null if nothing is approved. It is computed from the request, so requests of earlier versions
 * have one too.
 */
export function hashRequest({
  kind,
  prompt = "",
  proposed,
}: Pick<HumanRequest, "kind" | "proposed"> & Partial<Pick<HumanRequest, "prompt">>): string | null {
  switch (kind) {
    case "input":
    case "tool_calls":
    case "wait":
      return null;
    case "approval":
    case "edit":
      return canonicalHash({ prompt, proposed });
    case "tool_approval":
      return hashOfCalls(proposedCalls(proposed).map(hashCall));
  }
}

/** Returns the combined hash of several calls; for a single call its own hash. */
export function hashOfCalls(hashes: readonly string[]): string {
  const [only, ...others] = hashes;
  return only === undefined || others.length > 0 ? canonicalHash(hashes) : only;
}

/**
 * Returns the calls that a request proposes, if any. Requests are read from storage, so their content is not trusted.
 */
export function proposedCalls(
  proposed: unknown,
): readonly (Pick<ProposedCall, "id"> & { readonly name: unknown; readonly args: unknown })[] {
  const list: readonly unknown[] = Array.isArray(proposed) ? proposed : [];
  return list.flatMap((call) => {
    if (!isRecord(call) || typeof call["id"] !== "string") return [];
    return [{ id: call["id"], name: call["name"], args: call["args"] }];
  });
}
