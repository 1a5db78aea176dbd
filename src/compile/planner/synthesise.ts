import { answersInText } from "../../context/answer-form.ts";
import { answerInstructions } from "../../context/prompts.ts";
import { synthesisRequest } from "../../planning/prompts.ts";
import { noAnswer } from "../loop/reasoning.ts";
import { answerIn } from "../loop/write-answer.ts";
import { readFor } from "../loop/context-reading.ts";
import type { NodeBody } from "../loop/node-body.ts";
import { askedRecord, plannerContext } from "./ask-planner.ts";
import { attemptTier } from "./candidate.ts";
import { criteriaOf, depthLimit, failuresOf, missingBefore, planningOf } from "./planning-of.ts";
import type { PlannerParts } from "./planner-parts.ts";

/** Joins what the subtasks gave to the result of the task. */
export function synthesise(parts: PlannerParts): NodeBody {
  return async (state, run) => {
    const { thinker, definition, clock } = run.parts;
    const planning = planningOf(state);
    run.emit({ type: "status", status: "EXECUTING" });
    const timestamp = clock.now().toISOString();
    const model = await thinker.model(run.context);
    const failures = failuresOf(planning, planning.depth);
    const schema = definition.spec.output_schema;
    const form = answersInText(schema) ? "" : answerInstructions(schema);
    const note = synthesisRequest({
      criteria: criteriaOf(state),
      before: missingBefore(planning, failures),
      failed: failures.map(({ gap }) => gap),
      form,
    });
    const about = { goal: "synthesis", step: state.steps.length } as const;
    const { messages } = await readFor(run, about, (goal) =>
      plannerContext(state, run, { thinker, model, goal, note }),
    );
    // A result that may be joined once more is not streamed.
    const isLast = planning.depth >= depthLimit(run, parts.limits);
    const reply = await run.ask(model, { messages }, isLast ? undefined : "unseen");
    const answer = answerIn(reply, model);
    const record = askedRecord(state, run, { timestamp, replies: [reply], thought: answer });
    run.emit({ type: "step", step: record });
    if (answer.trim() === "") {
      const draft = noAnswer("the results of the subtasks were joined to nothing");
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
