import { answersInText } from "../../context/answer-form.ts";
import { answerInstructions } from "../../context/prompts.ts";
import { ContextOverflowError } from "../../context/reasoning-context.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { readStructured } from "../../models/replies/json-answer.ts";
import { gapAnswer, gapRequest, gapRetry, synthesisRequest } from "../../planning/prompts.ts";
import type { GraphState } from "../../state/channels.ts";
import { truncateText } from "../../values/text.ts";
import { answerIn, failedDraft, noteLineOf } from "../loop/reasoning-step.ts";
import { withUnshownNotes } from "../loop/unshown-notes.ts";
import { type NodeBody, type NodeContext, probeContext } from "../loop/node.ts";
import { askedAgain, askedRecord, plannerContext } from "./ask-planner.ts";
import type { PlannerConfig } from "./planner-config.ts";
import {
  attemptTier,
  betterOf,
  successCriteria,
  depthLimit,
  draftFromBest,
  failuresOf,
  missingBefore,
  readPlanningState,
  replanFor,
} from "./planning.ts";

/** Maximum number of gaps passed to a further plan, and characters of each. */
const mostGaps = 20;
const gapCharacters = 1000;

/** A second request follows an unreadable first reply. */
const mostReplies = 2;

/**
 * Lists the gaps of the joined result. While depth is left, gaps lead to a plan for them; then the result with the
 * fewest gaps is the answer. Failed subtasks of the last plan are always gaps. Without a readable verdict there are no
 * others, and it is unknown whether the criteria are met.
 */
export function judge(planner: PlannerConfig): NodeBody {
  return async (state, run) => {
    const planning = readPlanningState(state);
    const tier = attemptTier(state.attempt);
    const { candidate } = tier;
    if (candidate === null) throw new TypeError("judge runs after synthesise");
    run.emit({ type: "status", status: "REFLECTING" });
    const timestamp = run.loop.clock.now().toISOString();
    const failures = failuresOf(planning, planning.depth);
    const {
      gaps: found,
      problem,
      replies,
    } = await askForVerdict(state, run, planner, {
      answer: candidate.answer,
      request: gapRequest({
        criteria: successCriteria(state),
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
    const mayReplan = planner.limits.onFailure === "replan" || failures.length === 0;
    const replan = gaps.length > 0 && mayReplan ? replanFor(run, planner, planning, gaps) : null;
    if (replan !== null) return { update: { ...update, ...replan }, goto: "decompose" };
    const end = draftFromBest(attempt);
    if (best.gaps.length > 0) run.emit({ type: "gap", gaps: best.gaps, replans: false });
    return {
      update: { ...update, ...end?.update },
      turn: { draft: end?.draft ?? null },
      goto: "reflect",
    };
  };
}

interface Verdict {
  /** Null without a readable verdict. */
  readonly gaps: readonly string[] | null;
  /** Empty if there was none. */
  readonly problem: string;
  readonly replies: readonly ModelReply[];
}

/** Asks for a verdict, and once more if it is unreadable. */
async function askForVerdict(
  state: GraphState,
  run: NodeContext,
  { boundModel }: PlannerConfig,
  pending: { readonly answer: string; readonly request: string },
): Promise<Verdict> {
  const model = await boundModel.model(run.context);
  const about = { goal: "synthesis", step: state.steps.length } as const;
  const replies: ModelReply[] = [];
  const problems: string[] = [];
  try {
    let { messages } = await probeContext(run, about, (goal) =>
      plannerContext(state, run, { boundModel, model, goal, answer: gapAnswer, pending }),
    );
    while (replies.length < mostReplies) {
      const reply = await run.callModel(
        model,
        { messages, answer: gapAnswer },
        { purpose: "judging", step: about.step, isUnseen: true },
      );
      replies.push(reply);
      const read = gapsIn(reply);
      if (read.ok) return { gaps: read.gaps, problem: problems.join("\n"), replies };
      problems.push(read.problem);
      messages = askedAgain(messages, reply, gapRetry(read.problem));
    }
  } catch (thrown) {
    // A result that is too long to judge is still a result.
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
  const cut = said.slice(0, mostGaps).map((gap) => truncateText(gap, gapCharacters));
  return { ok: true, gaps: cut } as const;
}

/** Joins the results of the subtasks into the result of the task. */
export function synthesise(planner: PlannerConfig): NodeBody {
  return async (state, run) => {
    const { boundModel, definition, clock } = run.loop;
    const planning = readPlanningState(state);
    run.emit({ type: "status", status: "EXECUTING" });
    const timestamp = clock.now().toISOString();
    const model = await boundModel.model(run.context);
    const failures = failuresOf(planning, planning.depth);
    const schema = definition.spec.output_schema;
    const form = answersInText(schema) ? "" : answerInstructions(schema);
    const note = synthesisRequest({
      criteria: successCriteria(state),
      before: missingBefore(planning, failures),
      failed: failures.map(({ gap }) => gap),
      form,
    });
    const about = { goal: "synthesis", step: state.steps.length } as const;
    const { messages } = await probeContext(run, about, (goal) =>
      plannerContext(state, run, { boundModel, model, goal, note }),
    );
    // A result that may be joined again is not streamed.
    const isLast = planning.depth >= depthLimit(run, planner.limits);
    const shown = withUnshownNotes(model, noteLineOf({ run, model }));
    const reply = await run.callModel(
      shown,
      { messages },
      { purpose: "synthesis", step: about.step, isUnseen: !isLast },
    );
    const answer = answerIn(reply, { run, model });
    const record = askedRecord(state, run, { timestamp, replies: [reply], thought: answer });
    run.emit({ type: "step", step: record });
    if (answer.trim() === "") {
      const draft = failedDraft("joining the results of the subtasks gave no text");
      return { update: { steps: [record] }, turn: { draft }, goto: "reflect" };
    }
    run.emit({ type: "synthesis", text: answer });
    const candidate = { answer, message_id: reply.message.id ?? null };
    return {
      update: { steps: [record], attempt: { ...attemptTier(state.attempt), candidate } },
      goto: "judge",
    };
  };
}
