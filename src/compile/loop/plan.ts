import { nextApproachRequest } from "../../context/prompts.ts";
import { keptText } from "../../state/kept-text.ts";
import { contextOf } from "./context-of.ts";
import { dropLeftOver } from "./drop-calls.ts";
import type { NodeBody } from "./node-body.ts";
import { summariseEarlier } from "./summarise-earlier.ts";

/**
 * Begins an attempt with fresh attempt state; in deep mode the model chooses its approach first, knowing the one that
 * failed. The first attempt of a
 * turn has earlier turns summarised before that, where short-term memory asks for it.
 */
export const plan: NodeBody = async (state, run) => {
  const { parts, rails } = run;
  const attemptNumber = state.attempt_number ?? 0;
  const { input, execution } = state;
  const attempt = parts.initialAttempt({ input, execution, attemptNumber, rails });
  run.emit({ type: "status", status: "PLANNING" });
  const begun = parts.attempts.begin(state.status ?? "CREATED", parts);
  const summary = attemptNumber === 0 ? await summariseEarlier(state, run) : undefined;
  const known = summary === undefined ? {} : { summary };
  const update = { ...dropLeftOver(state, run), ...begun.update, attempt, ...known };
  if (parts.definition.spec.execution_config.mode === "fast") {
    return { update, turn: { approach: "" }, goto: begun.goto };
  }
  const model = await parts.thinker.model(run.context);
  const note = nextApproachRequest(state.turn?.approach ?? "");
  const about = { model, goal: "planning", note } as const;
  const { messages } = await contextOf({ ...state, ...known }, run, about);
  const reply = await run.ask(model, { messages }, "unseen");
  return {
    update,
    turn: { approach: keptText(reply.message.text) },
    goto: begun.goto,
  };
};
