import { systemClock } from "../../clock.ts";
import type { AgentTool } from "../../definition/tool.ts";
import { answerSchema } from "../../state/answer-schema.ts";
import { readCallAnswer } from "../../state/call-answer.ts";
import { isRecord } from "../../state/is-record.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import type { ArgumentRule } from "../../tools/argument-rules.ts";
import { proposeCall } from "../../tools/propose-call.ts";
import type { CliIo } from "../io.ts";
import { printLines } from "../print.ts";
import { UsageError } from "../usage-error.ts";
import { viewOf } from "../view/view-of.ts";
import { askPerson } from "./ask-person.ts";

/**
 * Asks on the terminal whether a call may be made; `--yes` says so beforehand.
 *
 * @param agent who asks: its name
 * @returns the call as the person lets it be made, with a problem where it was rejected; null when the person left
 * @throws UsageError where nobody can be asked
 */
export async function approveCall(
  call: ToolPrediction,
  given: {
    readonly agent: string;
    readonly tool: AgentTool;
    readonly rules: readonly ArgumentRule[] | undefined;
    readonly yes?: boolean;
    readonly json?: boolean;
  },
  { io, signal }: { readonly io: CliIo; readonly signal: AbortSignal },
): Promise<ToolPrediction | null> {
  const { id, name } = call;
  if (given.yes === true) return call;
  if (given.json === true || io.openPrompt === null) {
    throw new UsageError(
      `Calls of tool "${name}" need a person's approval. Give it with --yes.`,
      "not_confirmed",
    );
  }
  const proposed = [proposeCall(call, given.tool, given.rules)];
  const request = {
    id,
    kind: "tool_approval",
    node: given.agent,
    within: [],
    prompt: `May ${name} be called?`,
    proposed,
    schema: answerSchema({ kind: "tool_approval", calls: proposed }),
    expires_at: null,
  } as const;
  const prompt = io.openPrompt();
  const view = viewOf(io);
  const print = (lines: readonly string[]) => printLines(lines, io);
  try {
    const asked = await askPerson(request, {
      prompt,
      print,
      clock: systemClock,
      signal,
      elsewhere: "leave with Ctrl-C and give other arguments with --input",
      ...view,
    });
    if (asked === "left" || asked === "expired") return null;
    const read = readCallAnswer(proposed, asked.answer);
    if (!read.ok) throw new TypeError(`the answer was read as no decision: ${read.problem}`);
    const decision = read.value.get(id);
    if (decision?.decision === "edit" && isRecord(decision.value)) {
      return { ...call, args: decision.value };
    }
    if (decision?.decision !== "reject") return call;
    const why = decision.reason === "" ? "." : `: ${decision.reason}`;
    return { ...call, problem: `A person rejected this call${why}` };
  } finally {
    prompt.close();
  }
}
