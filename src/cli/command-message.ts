import { StratagraphError } from "../errors.ts";
import type { PendingRequest } from "../state/human-request.ts";
import { shellCommand } from "./shell-command.ts";
import { programName } from "./program-name.ts";
import type { CliIo } from "./io.ts";
import { exampleAnswer } from "./view/request-lines.ts";

/** An error's message for people at the command line: where it advises callers of the API, with what to type instead. */
export function commandMessage(error: StratagraphError, { env }: Pick<CliIo, "env">): string {
  const typed = advice[error.code]?.(error as StratagraphError & ErrorFacts, programName(env));
  return typed === undefined ? error.message : `${error.statement} ${typed}`;
}

/** Facts of the errors below. By their codes: the classes themselves would load what runs agents, which help does without. */
interface ErrorFacts {
  readonly threadId: string;
  readonly status: string | null;
  readonly agent: string;
  readonly reason: string;
  readonly interrupts: readonly PendingRequest[];
}

/** What to type, by the code of an error. */
const advice: Readonly<Record<string, (error: ErrorFacts, program: string) => string>> = {
  ambiguous_answer: () => "Answer by id, some of them or all: --answer ID=ANSWER, repeated.",
  approval_mismatch: () => "Leave out --answer to see what is asked now.",
  definition_changed: () =>
    "Go on with the definition that it was begun under, or give --accept-changes to go on with this one.",
  foreign_thread: ({ agent }) =>
    `Give another --thread, or --accept-agent to have "${agent}" go on with it.`,
  no_plan: (_error, program) => `"${program} show" tells where it stands.`,
  nothing_to_answer: ({ status }) =>
    status === "AWAITING_HUMAN" ? "Leave out --answer to be asked again." : "Leave out --answer.",
  nothing_to_resume: () => "Give MESSAGE or --input to run a turn.",
  recovery_needed: ({ threadId, reason }, program) => {
    const recover = `${program} recover AGENT ${shellCommand([threadId])}`;
    return `Recover it (${recover}${reason === "missing_node" ? " --accept-changes" : ""}).`;
  },
  unfinished_turn: ({ threadId, interrupts }, program) => {
    const resume = `${program} run AGENT ${shellCommand(["--thread", threadId])}`;
    const answers = interrupts.map((request) => {
      const example = exampleAnswer(request);
      return shellCommand([
        "--answer",
        interrupts.length > 1 ? `${request.id}=${example}` : example,
      ]);
    });
    return interrupts.length === 0
      ? `Resume it first without MESSAGE (${resume}), or give another --thread.`
      : `Answer first without MESSAGE (${[resume, ...answers].join(" ")}), or give another --thread.`;
  },
  unknown_checkpoint: (_error, program) =>
    `Give an id or its beginning, latest, or latest~3 for the third before it; "${program} history" lists them.`,
  unknown_thread: (_error, program) =>
    `"${program} threads" lists those of this folder's database, or of DATABASE_URL.`,
};
