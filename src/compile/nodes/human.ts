import type { Template, TemplateValue } from "../../expression/template.ts";
import { getAtPath } from "../../definition/check/problems.ts";
import { answerSchema, type Decision } from "../../state/answer-schema.ts";
import { hashRequest } from "../../state/human-request.ts";
import { checkHumanAnswer } from "../../state/human-answer.ts";
import { HumanRejectedError, HumanTimeoutError } from "../errors.ts";
import { requestHumanInput, applyDecisionRails } from "../loop/human.ts";
import type { HumanNode } from "../workflow-plan.ts";
import { type NodeAt, type NodeDone, type NodeWork, promptText } from "./node-work.ts";

export interface HumanNodeDeps {
  readonly plan: HumanNode;
  readonly prompt: Template | null;
  readonly proposed: TemplateValue | null;
}

/**
 * Stops the run until a person answers or the timeout expires. A run after that finds that the time has expired: the
 * engine makes one, code and the command line do not.
 */
export function humanNode({ plan, prompt, proposed }: HumanNodeDeps): NodeWork {
  const { kind } = plan;
  return async (at) => {
    const { rails } = at.run;
    const expires = expiryOf(plan, at);
    const value = proposed === null ? defaultProposal(plan, at) : proposed.render(at.values);
    if (expires !== null && at.run.loop.clock.now() >= expires) return timedOut(plan, value, at);
    // People see unredacted values; models read their answer redacted.
    const shown = {
      kind,
      prompt: rails.unredact(promptText(prompt, at.values)),
      proposed: rails.unredact(value),
    };
    const hash = hashRequest(shown);
    const hashed = hash !== null && { hash };
    const request = {
      ...shown,
      schema: answerSchema({ kind, schema: plan.schema, ...hashed }),
      expires_at: expires?.toISOString() ?? null,
      ...hashed,
    };
    const decision = await requestHumanInput(at.run, request, (answer) => {
      const read = checkHumanAnswer(request, rails.unredact(answer));
      if (!read.ok) return read;
      if (read.on === "value") return { ok: true, value: rails.redact(read.decision) };
      throw new TypeError(`human node "${plan.name}" asked about no calls`);
    });
    return decided(plan, await applyDecisionRails(decision, at), value, at);
  };
}

/** Returns the branch's last text for an approval or edit without `proposed`. */
function defaultProposal({ kind }: HumanNode, { values }: NodeAt): unknown {
  return kind === "input" ? null : (getAtPath(values, ["last", "text"]) ?? "");
}

/** The maximum time value of a `Date`. */
const endOfTime = 8.64e15;

function expiryOf({ timeoutSeconds }: HumanNode, { branch }: NodeAt): Date | null {
  if (timeoutSeconds === null) return null;
  return new Date(Math.min(Date.parse(branch.since) + timeoutSeconds * 1000, endOfTime));
}

/** @throws HumanTimeoutError, HumanRejectedError */
function timedOut(plan: HumanNode, proposed: unknown, at: NodeAt): NodeDone {
  const seconds = plan.timeoutSeconds ?? 0;
  if (plan.onTimeout === "fail") throw new HumanTimeoutError(plan.name, seconds);
  const reason = `no answer within ${seconds} s`;
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

/** Ends the turn for a rejection that no edge handles. */
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
