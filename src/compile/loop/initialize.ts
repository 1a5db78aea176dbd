import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import { InvalidInputError, TurnLimitError } from "../errors.ts";
import { checkInput } from "../input.ts";
import type { NodeBody } from "./node-body.ts";
import type { LoopParts } from "./parts.ts";

/** Begins a turn: checks the input and sets up the execution state. Throwing here leaves the last turn as it was. */
export const initialize: NodeBody = (state, run) => {
  const { parts } = run;
  const { spec } = parts.definition;
  const initializing = transition(state.status ?? "CREATED", "INITIALIZING");
  const turnNumber = (state.turn_number ?? -1) + 1;
  if (turnNumber >= spec.execution_config.max_turns) {
    throw new TurnLimitError(spec.execution_config.max_turns);
  }
  run.emit({ type: "status", status: initializing }, { turnNumber, attemptNumber: 0 });

  const { input, message } = readInput(state, parts);
  const keepsExecution = spec.execution_config.execution_scope === "thread" && turnNumber > 0;
  return {
    update: {
      input,
      messages: message === null ? [] : [message],
      turn_number: turnNumber,
      ...(keepsExecution ? {} : { execution: parts.initialExecution(input) }),
      attempt: null,
      attempt_number: 0,
      current_step: null,
      output: null,
      status: transition(initializing, "PLANNING"),
    },
    turn: {
      run: parts.ids(),
      started_at: parts.clock.now().toISOString(),
      usage_before: state.usage,
      approach: "",
      draft: null,
      failed_attempts: [],
      failure: null,
    },
    goto: parts.attempts.node,
  };
};

/** The checked input, and the message to add to the conversation when the input did not come as one. */
function readInput(
  state: GraphState,
  parts: LoopParts,
): { input: unknown; message: BaseMessage | null } {
  const { definition, ids } = parts;
  const last = state.messages.at(-1);
  const asked = last !== undefined && HumanMessage.isInstance(last) ? last : undefined;
  if (state.input !== null && state.input !== undefined) {
    const input = checkInput(definition, state.input);
    const content = parts.requestOf(input);
    // A client may send the same words both ways; they are said once.
    const isSaid = asked?.text === content;
    return { input, message: isSaid ? null : new HumanMessage({ content, id: ids() }) };
  }
  if (asked === undefined) {
    throw new InvalidInputError(definition.spec.name, [
      "it has neither `input` nor a new human message at the end of `messages`",
    ]);
  }
  return { input: checkInput(definition, { message: asked.text }), message: null };
}
