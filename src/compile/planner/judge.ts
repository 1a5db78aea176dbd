import { ContextOverflowError } from "../../context/errors.ts";
import { readStructured } from "../../models/structured-answer.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { gapAnswer, gapRequest } from "../../planning/prompts.ts";
import { cutText } from "../../state/cut-text.ts";
import { isRecord } from "../../state/is-record.ts";
import { readFor } from "../loop/context-reading.ts";
import type { NodeBody } from "../loop/node-body.ts";
import { askedRecord, plannerContext } from "./ask-planner.ts";
import { attemptTier, betterOf, draftOf } from "./candidate.ts";
import { criteriaOf, failuresOf, planningOf, replanFor } from "./planning-of.ts";
import type { PlannerParts } from "./planner-parts.ts";

/** Gaps that a further plan is told, and characters of each. */
const mostGaps = 20;
const gapCharacters = 1000;

/**
 * Lists what the joined result lacks. Gaps lead to a plan for just them while there is depth left; then the result with
 * the fewest gaps is the answer. A verdict that cannot be read finds none.
 */
export function judge(parts: PlannerParts): NodeBody {
  return async (state, run) => {
    const planning = planningOf(state);
    const tier = attemptTier(state.attempt);
    const { candidate } = tier;
    if (candidate === null) throw new TypeError("judge runs after synthesise");
    run.emit({ type: "status", status: "REFLECTING" });
    const { thinker } = parts;
    const timestamp = run.parts.clock.now().toISOString();
    const model = await thinker.model(run.context);
    const pending = { answer: candidate.answer, request: gapRequest(criteriaOf(state)) };
    const about = { goal: "synthesis", step: state.steps.length } as const;
    const replies: ModelReply[] = [];
    let problem = "";
    try {
      const { messages } = await readFor(run, about, (goal) =>
        plannerContext(state, run, { thinker, model, goal, answer: gapAnswer, pending }),
      );
      replies.push(await run.ask(model, { messages, answer: gapAnswer }, "unseen"));
    } catch (thrown) {
      // A result that is too long to be judged is still one.
      if (!(thrown instanceof ContextOverflowError)) throw thrown;
      problem = `It could not be judged: ${thrown.message}`;
    }
    const failures = failuresOf(planning, planning.depth).map(({ gap }) => gap);
    const judged = replies.flatMap(gapsIn);
    const gaps = [...failures, ...judged].slice(0, mostGaps);
    const thought = gaps.length === 0 ? "No gaps." : gaps.map((gap) => `- ${gap}`).join("\n");
    const record = askedRecord(state, run, { timestamp, replies, thought, problem });
    run.emit({ type: "step", step: record });
    const best = betterOf(tier.best, { ...candidate, gaps });
    const attempt = { candidate: null, best };
    const update = { steps: [record], attempt };
    const mayReplan = parts.limits.onFailure === "replan" || failures.length === 0;
    const replan = gaps.length > 0 && mayReplan ? replanFor(run, parts, planning, gaps) : null;
    if (replan !== null) return { update: { ...update, ...replan }, goto: "decompose" };
    const end = draftOf(attempt);
    if (best.gaps.length > 0) run.emit({ type: "gap", gaps: best.gaps, replans: false });
    return {
      update: { ...update, ...end?.update },
      turn: { draft: end?.draft ?? null },
      goto: "reflect",
    };
  };
}

function gapsIn({ message }: ModelReply): readonly string[] {
  const { value } = readStructured(message, gapAnswer);
  const gaps = isRecord(value) ? value["gaps"] : undefined;
  if (!Array.isArray(gaps)) return [];
  return gaps
    .filter((gap): gap is string => typeof gap === "string" && gap.trim() !== "")
    .slice(0, mostGaps)
    .map((gap) => cutText(gap.trim(), gapCharacters));
}
