import { errorMessage, StratagraphError } from "../errors.ts";
import type { PendingRequest } from "../state/human-request.ts";
import type { CliIo } from "./io.ts";
import { programName, shellCommand } from "./command-line.ts";
import { printJson, snakeCase } from "./output.ts";
import { answerWords } from "./view/run/request-lines.ts";
import { labelledLines, plainText } from "./view/terminal.ts";
import { outputLayout } from "./view/values.ts";

export const exitCodes = { done: 0, runFailed: 1, wrongUse: 2, waits: 3 } as const;

/** Facts of an error that are said elsewhere, or mean nothing outside the process. */
const unsaid = new Set([
  "code",
  "kind",
  "transient",
  "leavesTurnOpen",
  "name",
  "message",
  "cause",
  "stack",
]);

/**
 * Tells what was thrown: as text on stderr, and as the one JSON document on stdout where that was asked for. Only what
 * unexpected errors come with their stack.
 * @returns the exit code
 */
export function reportError(thrown: unknown, io: CliIo, asJson: boolean): number {
  const known = thrown instanceof StratagraphError;
  if (asJson) {
    const message = known ? { message: commandMessage(thrown, io) } : {};
    printJson({ error: { ...errorJson(thrown), ...message } }, io);
  }
  if (!asJson || !known) {
    const { width, style } = outputLayout({ stdout: io.stderr, env: io.env });
    const said = known ? commandMessage(thrown, io) : stackOf(thrown);
    const [first = "", ...others] = plainText(said).split("\n");
    const coded = known ? [`${first} [${thrown.code}]`, ...others] : [first, ...others];
    // The lines of a stack are read by programs.
    const lines = labelledLines("error:", coded.join("\n"), {
      width: known ? width : Number.POSITIVE_INFINITY,
      colour: style.red,
    });
    io.stderr.write(lines.map((line) => `${line}\n`).join(""));
  }
  return known && thrown.kind === "usage" ? exitCodes.wrongUse : exitCodes.runFailed;
}

/** An error as JSON: its code, its message, and the facts that it carries, in snake_case. */
export function errorJson(thrown: unknown): Record<string, unknown> {
  if (!(thrown instanceof StratagraphError)) {
    return { code: "internal", message: errorMessage(thrown) };
  }
  const facts = Object.entries(thrown).filter(
    ([name, value]) => !unsaid.has(name) && isData(value),
  );
  return {
    code: thrown.code,
    message: thrown.message,
    ...Object.fromEntries(facts.map(([name, value]) => [snakeCase(name), value])),
  };
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

function isData(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function";
  if (Array.isArray(value)) return value.every(isData);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isData);
}

/** An error's message for people at the command line: where it advises callers of the API, with what to type instead. */
function commandMessage(error: StratagraphError, { env }: Pick<CliIo, "env">): string {
  const typed = advice[error.code]?.(error as StratagraphError & ErrorFacts, programName(env));
  return typed === undefined ? error.message : `${error.statement} ${typed}`;
}

/** Facts of the errors below. By their codes: the classes themselves would load what runs agents, which help does without. */
interface ErrorFacts {
  readonly threadId: string;
  readonly status: string | null;
  readonly agent: string;
  readonly reason: string;
  readonly expected: string;
  readonly interrupts: readonly PendingRequest[];
}

/** What to type, by the code of an error. */
const advice: Readonly<Record<string, (error: ErrorFacts, program: string) => string>> = {
  ambiguous_answer: () => "Answer some or all of them by id: --answer ID=ANSWER, repeated.",
  approval_mismatch: () => "Omit --answer to see the current request.",
  definition_changed: () =>
    "Resume with the definition that it began with, or give --accept-changes to resume with this one.",
  foreign_thread: ({ agent }) =>
    `Give another --thread, or --accept-agent to have "${agent}" continue it.`,
  no_plan: (_error, program) => `"${program} show" prints its state.`,
  nothing_to_answer: ({ status }) =>
    status === "AWAITING_HUMAN"
      ? "Omit --answer to be asked again."
      : "Omit --answer or --tool-results.",
  nothing_to_resume: () => "Give MESSAGE or --input to run a turn.",
  recovery_needed: ({ threadId, reason }, program) => {
    const recover = `${program} recover AGENT ${shellCommand([threadId])}`;
    return `Recover it (${recover}${reason === "missing_node" ? " --accept-changes" : ""}).`;
  },
  unfinished_turn: ({ threadId, interrupts }, program) => {
    const resume = `${program} run AGENT ${shellCommand(["--thread", threadId])}`;
    return interrupts.length === 0
      ? `Resume it first without MESSAGE (${resume}), or give another --thread.`
      : `Answer first without MESSAGE (${resume} ${answerWords(interrupts)}), or give another --thread.`;
  },
  wrong_answer_kind: ({ expected }) =>
    expected === "answer"
      ? "Answer with --answer."
      : 'Return results with --tool-results \'[{"call_id":…,"output":…}]\'.',
  unknown_checkpoint: (_error, program) =>
    `Give an id, a prefix of one, latest, or latest~3 for the third before it; "${program} history" lists them.`,
  unknown_thread: (_error, program) =>
    `"${program} threads" lists the threads of this folder's database, or of DATABASE_URL.`,
};
