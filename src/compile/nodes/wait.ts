import { StratagraphError } from "../../errors.ts";
import type { Template, TemplateValue } from "../../expression/template.ts";
import { checkHumanAnswer } from "../../state/human-answer.ts";
import { applyDecisionRails, requestHumanInput } from "../loop/human.ts";
import type { WaitNode } from "../workflow-plan.ts";
import type { NodeAt, NodeDone, NodeWork } from "./node-work.ts";

/** The expression of a wait gives no time. Becomes the turn's failure. */
class WaitTimeError extends StratagraphError {
  readonly code = "wait_time";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    /** What came, shortened. */
    readonly found: string,
  ) {
    super(
      `Node "${node}" waits until ${JSON.stringify(found)}. Expected a time as ISO 8601 with a time zone, as in 2026-12-31T09:00:00Z.`,
    );
  }
}

/** No event came in time, and neither a default nor an edge handles it. Becomes the turn's failure. */
class WaitTimeoutError extends StratagraphError {
  readonly code = "wait_timeout";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly event: string,
    readonly timeoutSeconds: number,
  ) {
    super(
      `Node "${node}" got no event "${event}" within its ${timeoutSeconds} s. Raise its timeout, give it a default, or test timed_out in a condition.`,
    );
  }
}

export interface WaitNodeDeps {
  readonly plan: WaitNode;
  readonly until: Template | null;
  readonly fallback: TemplateValue | null;
}

/**
 * Stops the run until a time, or until an event comes. A run after the time finds that it is over: the engine makes one,
 * code and the command line do not.
 */
export function waitNode({ plan, until, fallback }: WaitNodeDeps): NodeWork {
  const { event, schema } = plan;
  return async (at) => {
    const { rails, loop } = at.run;
    const ends = endOf(plan, until, at);
    if (ends !== null && loop.clock.now() >= ends) return over(plan, fallback, at);
    const request = {
      kind: "wait" as const,
      prompt: promptOf(plan, ends),
      proposed: null,
      schema: event === null ? { not: {} } : (schema ?? {}),
      expires_at: ends?.toISOString() ?? null,
      ...(event !== null && { event }),
    };
    const payload = await requestHumanInput(at.run, request, (answer) => {
      const read = checkHumanAnswer(request, rails.unredact(answer));
      if (!read.ok) return read;
      if (read.on === "event") return { ok: true, value: rails.redact(read.payload) };
      throw new TypeError(`wait node "${plan.name}" got an answer of another kind`);
    });
    // An event comes from outside, as the answer of a person does.
    const inspected = await applyDecisionRails({ decision: "edit", value: payload }, at);
    const value = inspected.decision === "edit" ? inspected.value : null;
    return { output: { value, timed_out: false }, value };
  };
}

/** The maximum time value of a `Date`. */
const endOfTime = 8.64e15;
const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d))?$/;

/** @throws WaitTimeError */
function endOf(plan: WaitNode, until: Template | null, { branch, values }: NodeAt): Date | null {
  if (until !== null) {
    const text = String(until.render(values)).trim();
    const time = isoTime.test(text) ? new Date(text) : null;
    if (time === null || Number.isNaN(time.getTime()))
      throw new WaitTimeError(plan.name, text.slice(0, 100));
    return time;
  }
  if (plan.seconds === null) return null;
  return new Date(Math.min(Date.parse(branch.since) + plan.seconds * 1_000, endOfTime));
}

/** @throws WaitTimeoutError */
function over(plan: WaitNode, fallback: TemplateValue | null, at: NodeAt): NodeDone {
  if (plan.event === null) return { output: { value: null, timed_out: false } };
  if (fallback !== null) {
    const value = fallback.render(at.values);
    return { output: { value, timed_out: true }, value };
  }
  if (at.asks("timed_out")) return { output: { value: null, timed_out: true } };
  throw new WaitTimeoutError(plan.name, plan.event, plan.seconds ?? 0);
}

function promptOf({ description, event }: WaitNode, ends: Date | null): string {
  if (description !== "") return description;
  const until = ends === null ? "" : ` until ${ends.toISOString()}`;
  return event === null ? `Waits${until}.` : `Waits for the event ${event}${until}.`;
}
