import { HumanMessage } from "@langchain/core/messages";
import type { GraphState } from "../../state/channels.ts";
import { transition } from "../../state/lifecycle.ts";
import { InvalidInputError, TurnLimitError } from "../errors.ts";
import { checkInput } from "../input.ts";
import { newMessages } from "./conversation-digest.ts";
import { guardInput } from "./guard-input.ts";
import { inheritedRedactions } from "./inherited-redactions.ts";
import type { NodeBody, NodeRun } from "./node-body.ts";

/**
 * Begins a turn: checks the input, has the input rails look at it, and sets up the execution state. Throwing here leaves
 * the last turn as it was.
 */
export const initialize: NodeBody = async (state, run) => {
  const { parts } = run;
  const { spec } = parts.definition;
  const initializing = transition(state.status ?? "CREATED", "INITIALIZING");
  const turnNumber = (state.turn_number ?? -1) + 1;
  if (turnNumber >= spec.execution_config.max_turns) {
    throw new TurnLimitError(spec.execution_config.max_turns);
  }
  run.emit({ type: "status", status: initializing }, { turnNumber, attemptNumber: 0 });

  const given = readInput(state, run);
  const said = newMessages(state.messages, state.turn?.conversation);
  const guarded = await guardInput({ input: given.input, said, turnNumber }, run);
  const begun = {
    turn_number: turnNumber,
    attempt: null,
    attempt_number: 0,
    current_step: null,
    output: null,
  };
  const turn = {
    run: parts.ids(),
    started_at: parts.clock.now().toISOString(),
    usage_before: state.usage,
    approach: "",
    draft: null,
    failed_attempts: [],
    failure: guarded.end === null ? null : guarded.failure,
  };
  if (guarded.end !== null) {
    const status = transition(initializing, guarded.end);
    return { update: { ...begun, input: null, status }, turn, goto: "finalize" };
  }
  const { input, messages } = guarded;
  const keepsExecution = spec.execution_config.execution_scope === "thread" && turnNumber > 0;
  return {
    update: {
      ...begun,
      input,
      messages: [
        ...messages,
        ...(given.isSaid
          ? []
          : [new HumanMessage({ content: parts.requestOf(input), id: parts.ids() })]),
      ],
      ...(keepsExecution ? {} : { execution: parts.initialExecution(input, run.rails) }),
      status: transition(initializing, "PLANNING"),
    },
    turn,
    goto: parts.attempts.node,
  };
};

/** The checked input, and whether it is a message of the conversation already. */
function readInput(
  state: GraphState,
  { parts, config, rails }: NodeRun,
): { readonly input: unknown; readonly isSaid: boolean } {
  const { definition } = parts;
  const last = state.messages.at(-1);
  const asked = last !== undefined && HumanMessage.isInstance(last) ? last : undefined;
  if (state.input !== null && state.input !== undefined) {
    // What was redacted around this agent is checked as what it stands for.
    const isInside = Object.keys(inheritedRedactions(config)).length > 0;
    const input: unknown = isInside
      ? rails.hide(checkInput(definition, rails.reveal(state.input)))
      : checkInput(definition, state.input);
    // A client may send the same words both ways; they are said once.
    return { input, isSaid: asked?.text === parts.requestOf(input) };
  }
  if (asked === undefined) {
    throw new InvalidInputError(definition.spec.name, [
      "it has neither `input` nor a new human message at the end of `messages`",
    ]);
  }
  return { input: checkInput(definition, { message: asked.text }), isSaid: true };
}
