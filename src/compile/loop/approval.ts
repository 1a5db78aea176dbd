import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { GraphState } from "../../state/channels.ts";
import { answerSchema } from "../../state/answer-schema.ts";
import { hashCall, hashRequest } from "../../state/approval-hash.ts";
import { readCallAnswer, type CallDecisions } from "../../state/call-answer.ts";
import { problem, type Decision, type Read } from "../../state/decision.ts";
import type { ProposedCall } from "../../state/human-request.ts";
import { isRecord } from "../../state/is-record.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import type { Approvals } from "../../state/turn.ts";
import { admitCall } from "../../tools/admit-call.ts";
import { proposeCall } from "../../tools/propose-call.ts";
import { askPerson } from "./ask-person.ts";
import { callRules } from "./call-rules.ts";
import { inspectDecision } from "./inspect-answer.ts";
import type { NodeRun } from "./node-body.ts";

type Calls = readonly ToolPrediction[];

interface Asking {
  readonly calls: Calls;
  /** Calls that were asked for earlier in the turn. */
  readonly before: number;
  /** Hashes of calls that a person let be made before, by their ids. Default none. */
  readonly approvals?: Approvals | undefined;
  readonly state: GraphState;
  readonly run: NodeRun;
}

interface ApprovedCalls {
  readonly calls: Calls;
  /** What was approved, as it may be made. */
  readonly approvals: Approvals;
}

/**
 * The calls as a person lets them be made: with the arguments that were edited, and with a problem where they were
 * rejected. A person sees what was redacted, and what it says of that is redacted again, as is what the rails on input find
 * in it. One request asks about all that need approval; those that would be refused anyway are not asked about, and
 * those that were approved are not again, as long as they are the same calls.
 *
 * @throws AnswerBlockedError
 */
export async function approveCalls(asking: Asking): Promise<ApprovedCalls> {
  const { calls, state, run } = asking;
  if (!calls.some(({ name }) => run.parts.needsApproval(name))) return { calls, approvals: {} };
  const proposed = await callsToApprove(asking);
  const [first, ...others] = proposed;
  if (first === undefined) return { calls, approvals: {} };
  const agent = run.parts.definition.spec.name;
  const names = proposed.map(({ name }) => name).join(", ");
  const decisions = await askPerson(
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
  // One after the other, so that marks have the same numbers when the node runs again.
  for (const [id, decision] of decisions) {
    inspected.set(id, await inspectDecision(decision, { state, run }));
  }
  const known = calls.map((call) => decided(call, inspected.get(call.id)));
  const allowed = known.filter(({ id, problem: why }) => inspected.has(id) && why === undefined);
  return { calls: known, approvals: approvalsOf(allowed, run.rails) };
}

/** Approvals of calls as they are. */
export function approvalsOf(calls: Calls, rails: { reveal(value: unknown): unknown }): Approvals {
  return Object.fromEntries(
    calls.map(({ id, name, args }) => [id, hashCall({ name, args: rails.reveal(args) })]),
  );
}

async function callsToApprove(asking: Asking): Promise<readonly ProposedCall[]> {
  const { calls, before, approvals = {}, state, run } = asking;
  const { parts, rails } = run;
  // Counted here already, so that a person is asked about the same calls when the node runs again with the answer.
  const rules = await callRules(calls, { state, run });
  const argumentRules = parts.bounds.flatMap((bounds) => bounds.argumentRules ?? []);
  return calls.flatMap((call, index): readonly ProposedCall[] => {
    const { id, name, args, reason } = call;
    if (!parts.needsApproval(name)) return [];
    const shown = rails.reveal({ args, reason });
    if (Object.hasOwn(approvals, id) && approvals[id] === hashCall({ name, args: shown.args }))
      return [];
    const { tool } = admitCall(call, before + index, rules);
    if (tool?.input.check(shown.args).ok !== true) return [];
    return [proposeCall({ id, name, ...shown }, tool, argumentRules)];
  });
}

/** An answer whose arguments the tools take, with the marks of what is known in it. */
function readDecisions(
  proposed: readonly ProposedCall[],
  answer: unknown,
  { parts, rails }: Pick<NodeRun, "parts" | "rails">,
): Read<CallDecisions> {
  const read = readCallAnswer(proposed, answer);
  if (!read.ok) return read;
  for (const { id, name } of proposed) {
    const decision = read.value.get(id);
    if (decision?.decision !== "edit") continue;
    const checked = parts.tools.get(name)?.input.check(rails.reveal(decision.value));
    if (checked?.ok === false) {
      const issues = checked.issues.join("; ");
      return problem(`Call "${id}": the arguments do not fit tool "${name}": ${issues}.`);
    }
  }
  const decisions = [...read.value].map(([id, decision]) => [id, rails.hide(decision)] as const);
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
 * The messages that show calls whose arguments were edited, with the new ones: under the id of the old message, which
 * they replace, and with the ids of the calls, so that every result still has its call. What a provider wrote about the
 * calls beside them is left out, since it has the old arguments.
 */
export function editedMessages(
  before: Calls,
  after: Calls,
  messages: readonly BaseMessage[],
): readonly AIMessage[] {
  const old = new Map(before.map(({ id, args }) => [id, args]));
  const edited = new Map(
    after.filter(({ id, args }) => old.get(id) !== args).map(({ id, args }) => [id, args]),
  );
  const calling = messages.filter((message) => AIMessage.isInstance(message));
  const shown = [...edited.keys()].flatMap(
    (id) => calling.findLast(({ tool_calls = [] }) => tool_calls.some((c) => c.id === id)) ?? [],
  );
  return [...new Set(shown)].map((message) => {
    const { id, text, name, tool_calls = [], usage_metadata, response_metadata } = message;
    return new AIMessage({
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      content: text,
      tool_calls: tool_calls.map((call) => {
        return { ...call, args: edited.get(call.id ?? "") ?? call.args };
      }),
      ...(usage_metadata !== undefined && { usage_metadata }),
      response_metadata,
    });
  });
}
