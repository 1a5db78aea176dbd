import { ContextOverflowError } from "../../context/errors.ts";
import { readStructured } from "../../models/structured-answer.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { gapAnswer, gapRequest, gapRetry } from "../../planning/prompts.ts";
import type { GraphState } from "../../state/channels.ts";
import { cutText } from "../../state/cut-text.ts";
import { readFor } from "../loop/context-reading.ts";
import type { NodeBody, NodeRun } from "../loop/node-body.ts";
import { askedAgain, askedRecord, plannerContext } from "./ask-planner.ts";
import { attemptTier, betterOf, draftOf } from "./candidate.ts";
import { criteriaOf, failuresOf, missingBefore, planningOf, replanFor } from "./planning-of.ts";
import type { PlannerParts } from "./planner-parts.ts";

/** Gaps that a further plan is told, and characters of each. */
const mostGaps = 20;
const gapCharacters = 1000;

/** The second one after a first that cannot be read. */
const mostReplies = 2;

/**
 * Lists what the joined result lacks. Gaps lead to a plan for just them while there is depth left; then the result with
 * the fewest gaps is the answer. What failed in the last plan is a gap in any case. Without a verdict that can be read
 * there are no others, and whether the criteria are met is not known.
 */
export function judge(parts: PlannerParts): NodeBody {
  return async (state, run) => {
    const planning = planningOf(state);
    const tier = attemptTier(state.attempt);
    const { candidate } = tier;
    if (candidate === null) throw new TypeError("judge runs after synthesise");
    run.emit({ type: "status", status: "REFLECTING" });
    const timestamp = run.parts.clock.now().toISOString();
    const failures = failuresOf(planning, planning.depth);
    const {
      gaps: found,
      problem,
      replies,
    } = await askForVerdict(state, run, parts, {
      answer: candidate.answer,
      request: gapRequest({
        criteria: criteriaOf(state),
        before: missingBefore(planning, failures),
      }),
    });
    const judged = found !== null;
    const gaps = [...failures.map(({ gap }) => gap), ...(found ?? [])].slice(0, mostGaps);
    const none = judged ? "No gaps." : "Not judged.";
    const thought = gaps.length === 0 ? none : gaps.map((gap) => `- ${gap}`).join("\n");
    const record = askedRecord(state, run, { timestamp, replies, thought, problem });
    run.emit({ type: "step", step: record });
    const best = betterOf(tier.best, { ...candidate, gaps, judged });
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

interface Verdict {
  /** Null where there is none that can be read. */
  readonly gaps: readonly string[] | null;
  /** Empty where nothing was wrong. */
  readonly problem: string;
  readonly replies: readonly ModelReply[];
}

/** A verdict that cannot be read is asked for once more. */
async function askForVerdict(
  state: GraphState,
  run: NodeRun,
  { thinker }: PlannerParts,
  pending: { readonly answer: string; readonly request: string },
): Promise<Verdict> {
  const model = await thinker.model(run.context);
  const about = { goal: "synthesis", step: state.steps.length } as const;
  const replies: ModelReply[] = [];
  const problems: string[] = [];
  try {
    let { messages } = await readFor(run, about, (goal) =>
      plannerContext(state, run, { thinker, model, goal, answer: gapAnswer, pending }),
    );
    while (replies.length < mostReplies) {
      const reply = await run.ask(model, { messages, answer: gapAnswer }, "unseen");
      replies.push(reply);
      const read = gapsIn(reply);
      if (read.ok) return { gaps: read.gaps, problem: problems.join("\n"), replies };
      problems.push(read.problem);
      messages = askedAgain(messages, reply, gapRetry(read.problem));
    }
  } catch (thrown) {
    // A result that is too long to be judged is still one.
    if (!(thrown instanceof ContextOverflowError)) throw thrown;
    problems.push(thrown.message);
  }
  return { gaps: null, problem: `It could not be judged: ${problems.join("\n")}`, replies };
}

function gapsIn({ message }: ModelReply) {
  const read = readStructured(message, gapAnswer);
  if (!read.ok) return read;
  const { gaps } = read.value as { readonly gaps: readonly string[] };
  const said = gaps.map((gap) => gap.trim()).filter((gap) => gap !== "");
  const cut = said.slice(0, mostGaps).map((gap) => cutText(gap, gapCharacters));
  return { ok: true, gaps: cut } as const;
}
