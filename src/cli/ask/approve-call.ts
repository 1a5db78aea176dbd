import { type CliIo, UsageError } from "../io.ts";
import { systemClock } from "../../clock.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import { answerSchema } from "../../state/answer-schema.ts";
import { readCallAnswer } from "../../state/human-answer.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import { type ArgumentRule, proposeCall } from "../../tools/admit-call.ts";
import { isRecord } from "../../values/json.ts";
import { printLines } from "../output.ts";
import { outputLayout } from "../view/values.ts";
import { promptUser } from "./prompt-user.ts";

/**
 * Asks on the terminal whether a call may be made; `--yes` says so beforehand.
 *
 * @param agent who asks: its name
 * @returns the call as the person lets it be made, with a problem where it was rejected; null when the person left
 * @throws UsageError without a terminal
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
      `Calls of tool "${name}" need approval. Approve them with --yes.`,
      "not_confirmed",
    );
  }
  const proposed = [proposeCall(call, given.tool, given.rules)];
  const request = {
    id,
    kind: "tool_approval",
    node: given.agent,
    within: [],
    prompt: `Allow this call of ${name}?`,
    proposed,
    schema: answerSchema({ kind: "tool_approval", calls: proposed }),
    expires_at: null,
  } as const;
  const prompt = io.openPrompt();
  const view = outputLayout(io);
  const print = (lines: readonly string[]) => printLines(lines, io);
  try {
    const asked = await promptUser(request, {
      prompt,
      print,
      clock: systemClock,
      signal,
      elsewhere: "leave with Ctrl-C and give other arguments with --input",
      ...view,
    });
    if (asked === "left" || asked === "expired") return null;
    const read = readCallAnswer(proposed, asked.answer);
    if (!read.ok) throw new TypeError(`the answer is not a decision: ${read.problem}`);
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

/**
 * Asks on the terminal whether to do what cannot be undone; `--yes` says so beforehand.
 * @returns whether to go on
 * @throws UsageError without a terminal
 */
export async function confirmed(
  question: string,
  given: { readonly yes?: boolean; readonly json?: boolean },
  io: Pick<CliIo, "openPrompt" | "onStop">,
): Promise<boolean> {
  if (given.yes === true) return true;
  if (given.json === true || io.openPrompt === null) {
    throw new UsageError(`${question} This cannot be undone; confirm with --yes.`, "not_confirmed");
  }
  const leave = new AbortController();
  const release = io.onStop(() => leave.abort());
  const prompt = io.openPrompt();
  try {
    const line = await prompt.line(`${question} This cannot be undone. y/N › `, {
      signal: leave.signal,
    });
    return ["y", "yes"].includes(line?.trim().toLowerCase() ?? "");
  } finally {
    prompt.close();
    release();
  }
}
