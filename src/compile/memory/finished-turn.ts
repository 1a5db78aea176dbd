import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { FinishedTurn } from "../../memory/write/turn-entries.ts";
import {
  attachmentLabel,
  attachmentName,
  isAttachmentReference,
  isTextAttachment,
} from "../../state/attachment.ts";
import type { GraphState } from "../../state/channels.ts";
import { type FailedAttempt, stepsOfTurn, type TurnFailure } from "../../state/turn.ts";
import type { NodeContext } from "../loop/node.ts";

/** A turn that has ended, with what writing needs of its course. */
export interface EndedTurn extends FinishedTurn {
  /** Milliseconds of the turn's timeout that are left. */
  readonly timeLeftMs: number;
}

/**
 * Returns what memory may keep of a turn: with placeholders for redacted values, without secrets, and without answers
 * that output rails have withheld. Null if it was cancelled, or if its input was refused.
 */
export function endedTurn(
  state: GraphState,
  { loop, rails }: Pick<NodeContext, "loop" | "rails">,
): EndedTurn | null {
  const { status, turn, input } = state;
  const isOver = status === "COMPLETED" || status === "FAILED";
  if (!isOver || turn === undefined || input === null || input === undefined) return null;
  const clean = (text: string) => rails.redact(loop.secrets?.scrub(text) ?? text);
  const { spec } = loop.definition;
  const request = loop.requestOf(input);
  const draft = turn.draft?.problem === null ? turn.draft : null;
  const isAnswered = status === "COMPLETED" && draft !== null;
  return {
    run: turn.run,
    startedAt: new Date(turn.started_at),
    endedAt: loop.clock.now(),
    agent: spec.name,
    user: turn.user,
    request: clean(request),
    attachments: labelsOf(state.messages, request).map(clean),
    answer: isAnswered ? clean(draft.answer) : null,
    isIncomplete: isAnswered && draft.incomplete,
    failure: status === "FAILED" ? failureOf(turn.failure, turn.failed_attempts, clean) : null,
    calls: stepsOfTurn(state.steps, state.turn_number ?? 0).flatMap((step) =>
      step.tool_results.map(({ name, args, outcome }) => ({
        tool: name,
        arguments: Object.keys(args),
        outcome,
      })),
    ),
    timeLeftMs: spec.execution_config.timeout_seconds * 1000 - turn.elapsed_ms,
  };
}

/** Returns why a turn failed. The reasons of a rail that withheld an answer may repeat it, and are left out. */
function failureOf(
  failure: TurnFailure | null,
  attempts: readonly FailedAttempt[],
  clean: (text: string) => string,
): TurnFailure {
  if (failure === null) return { cause: "unknown", message: "" };
  const isWithheld = attempts.some(({ withheld }) => withheld === true);
  const message = isWithheld ? "A guardrail withheld the answer." : clean(failure.message);
  return { cause: failure.cause, message };
}

/** Returns the labels of the attachments that came with a request. */
function labelsOf(messages: readonly BaseMessage[], request: string): readonly string[] {
  const asked = messages.findLast(
    (message) => HumanMessage.isInstance(message) && message.text === request,
  );
  const blocks: readonly unknown[] = Array.isArray(asked?.content) ? asked.content : [];
  return blocks.flatMap((block) => {
    if (isAttachmentReference(block)) return [attachmentLabel(block)];
    return isTextAttachment(block) ? [`file ${attachmentName(block.metadata.name)}`] : [];
  });
}
