import { toAnswerText } from "../../context/answer-form.ts";
import { plainResultText } from "../../context/result-text.ts";
import type { GraphState } from "../../state/channels.ts";
import { isRecord } from "../../state/is-record.ts";
import { stepsOfTurn } from "../../state/turn.ts";
import type { NodeRun } from "./node-body.ts";

/** An output that the output rails have looked at. */
export interface GuardedOutput {
  /** As the caller gets it. */
  readonly output: unknown;
  /** As the conversation shows it, and models read it later: with its marks. */
  readonly answer: string;
  /** Why it is refused; empty where it is not. */
  readonly errors: readonly string[];
  /** Whether the refused answer is not to be told again, to the next attempt or to anybody. */
  readonly isWithheld: boolean;
}

/** Refused answers that the next attempt has to see, to mend them. */
const told = new Set(["format", "hallucination"]);

/**
 * Has the output rails look at a turn's output: one that blocks refuses it, what others redact is taken out.
 * @param made the answer as the model wrote it, and the output that was read from it, with nothing redacted in it
 */
export async function guardOutput(
  made: { readonly answer: string; readonly output: unknown },
  state: GraphState,
  run: NodeRun,
): Promise<GuardedOutput> {
  const { answer, output } = made;
  const { parts, rails } = run;
  if (parts.rails.output.length === 0) return { output, answer, errors: [], isWithheld: false };
  const request = parts.requestOf(state.input);
  const hidden = rails.hide(output);
  const { value, blocked } = await rails.check(
    { on: "output", value: hidden, tool: null, request, evidence: evidenceOf(state, request) },
    {
      turnNumber: state.turn_number ?? 0,
      attemptNumber: state.attempt_number ?? 0,
      stepIndex: null,
      callId: null,
    },
  );
  if (blocked !== null) {
    const { rail, reasons } = blocked;
    const why = reasons.length === 0 ? ["it does not pass"] : reasons;
    const errors = why.map((reason) => `guardrail ${rail}: ${reason}`);
    return { output: null, answer, errors, isWithheld: !told.has(rail) };
  }
  if (value === hidden) return { output, answer, errors: [], isWithheld: false };
  const { output_schema: schema } = parts.definition.spec;
  const own = run.rails.reveal(value, "own");
  return { output: own, answer: toAnswerText(value, schema), errors: [], isWithheld: false };
}

/** What an answer may rest on: the request, what the turn's tools gave, and what agents and people gave its nodes. */
function evidenceOf(state: GraphState, request: string): readonly string[] {
  const results = stepsOfTurn(state.steps, state.turn_number ?? 0)
    .flatMap((step) => step.tool_results)
    .map(plainResultText);
  const nodes = Object.values(state.nodes)
    .filter((output) => !isSaid(output))
    .map((output) => JSON.stringify(output) ?? "");
  return [request, ...results, ...nodes];
}

/** What a model said itself supports nothing. */
function isSaid(output: unknown): boolean {
  return isRecord(output) && "text" in output && "tool_calls" in output;
}
