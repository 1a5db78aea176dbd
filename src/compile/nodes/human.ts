import type { Template } from "../../expression/template.ts";
import type { TemplateValue } from "../../expression/template-value.ts";
import { valueAt } from "../../definition/value-at.ts";
import { answerSchema } from "../../state/answer-schema.ts";
import { hashRequest } from "../../state/approval-hash.ts";
import type { Decision } from "../../state/decision.ts";
import { checkHumanAnswer } from "../../state/human-answer.ts";
import { HumanRejectedError, HumanTimeoutError } from "../errors.ts";
import { askPerson } from "../loop/ask-person.ts";
import { inspectDecision } from "../loop/inspect-answer.ts";
import type { HumanNode } from "../plan/plan-node.ts";
import type { NodeAt, NodeDone, NodeWork } from "./node-work.ts";
import { promptText } from "./prompt-text.ts";

export interface HumanNodeParts {
  readonly plan: HumanNode;
  readonly prompt: Template | null;
  readonly proposed: TemplateValue | null;
}

/**
 * Stops the run until a person answers, or until there is no more time to answer. Nobody is woken when the time is over:
 * whoever runs the thread again then finds that it is.
 */
export function humanNode({ plan, prompt, proposed }: HumanNodeParts): NodeWork {
  const { kind } = plan;
  return async (at) => {
    const { rails } = at.run;
    const expires = expiryOf(plan, at);
    const value = proposed === null ? defaultProposal(plan, at) : proposed.render(at.values);
    if (expires !== null && at.run.parts.clock.now() >= expires) return timedOut(plan, value, at);
    // People see what was redacted; what they answer is read by models again.
    const shown = {
      kind,
      prompt: rails.reveal(promptText(prompt, at.values)),
      proposed: rails.reveal(value),
    };
    const hash = hashRequest(shown);
    const hashed = hash !== null && { hash };
    const request = {
      ...shown,
      schema: answerSchema({ kind, schema: plan.schema, ...hashed }),
      expires_at: expires?.toISOString() ?? null,
      ...hashed,
    };
    const decision = await askPerson(at.run, request, (answer) => {
      const read = checkHumanAnswer(request, rails.reveal(answer));
      if (!read.ok) return read;
      if (read.on === "value") return { ok: true, value: rails.hide(read.decision) };
      throw new TypeError(`human node "${plan.name}" asked about no calls`);
    });
    return decided(plan, await inspectDecision(decision, at), value, at);
  };
}

/** What was said last where something is to be approved or edited. */
function defaultProposal({ kind }: HumanNode, { values }: NodeAt): unknown {
  return kind === "input" ? null : (valueAt(values, ["last", "text"]) ?? "");
}

/** The latest time that a `Date` can have. */
const endOfTime = 8.64e15;

function expiryOf({ timeoutSeconds }: HumanNode, { branch }: NodeAt): Date | null {
  if (timeoutSeconds === null) return null;
  return new Date(Math.min(Date.parse(branch.since) + timeoutSeconds * 1000, endOfTime));
}

/** @throws HumanTimeoutError, HumanRejectedError */
function timedOut(plan: HumanNode, proposed: unknown, at: NodeAt): NodeDone {
  const seconds = plan.timeoutSeconds ?? 0;
  if (plan.onTimeout === "fail") throw new HumanTimeoutError(plan.name, seconds);
  const reason = `nobody answered within ${seconds} s`;
  return plan.onTimeout === "approve"
    ? approved(plan, at, { value: proposed, reason, timed_out: true })
    : rejected(plan, at, { reason, timed_out: true });
}

/** @throws HumanRejectedError */
function decided(plan: HumanNode, decision: Decision, proposed: unknown, at: NodeAt): NodeDone {
  switch (decision.decision) {
    case "approve":
      return approved(plan, at, { value: proposed, reason: "", timed_out: false });
    case "edit":
      return approved(plan, at, { value: decision.value, reason: "", timed_out: false });
    case "reject":
      return rejected(plan, at, { reason: decision.reason, timed_out: false });
  }
}

interface Circumstances {
  readonly reason: string;
  readonly timed_out: boolean;
}

function approved(
  plan: HumanNode,
  { branch }: NodeAt,
  { value, ...why }: Circumstances & { readonly value: unknown },
): NodeDone {
  const rejections = branch.rejections?.filter(({ node }) => node !== plan.name);
  return {
    output: { approved: true, value, ...why },
    value,
    ...(rejections !== undefined && { branch: { rejections } }),
  };
}

/** A rejection that no edge takes care of ends the turn. */
function rejected(plan: HumanNode, at: NodeAt, why: Circumstances): NodeDone {
  const isCaredFor =
    at.asks("approved") || at.asks("reason") || (why.timed_out && at.asks("timed_out"));
  if (!isCaredFor) throw new HumanRejectedError(plan.name, why.reason);
  const output = { approved: false, value: null, ...why };
  if (why.timed_out) return { output };
  const { rejections = [], steps } = at.branch;
  const rejection = { node: plan.name, reason: why.reason, after: steps.at(-1) ?? -1 };
  return { output, branch: { rejections: [...rejections, rejection] } };
}
