import { StratagraphError } from "../errors.ts";

/** The options of the command line that go on with a thread all the same, by the codes of what refuses to. */
const options: Readonly<Record<string, readonly [inCode: string, here: string]>> = {
  definition_changed: ["pass acceptChanges: true", "give --accept-changes"],
  foreign_thread: ["pass acceptAgent: true", "give --accept-agent"],
};

/** A thread that is of another definition or agent, said with the option of the command line that goes on with it. */
class AgentMismatchError extends StratagraphError {
  readonly code: string;

  constructor(cause: StratagraphError, [inCode, here]: readonly [string, string]) {
    super(cause.message.replace(inCode, here), { cause });
    const { message: _message, ...facts } = cause;
    Object.assign(this, facts);
    this.code = cause.code;
  }
}

/** What was thrown, in the words of the command line. */
export function toldHere(thrown: unknown): unknown {
  // By its code: the class itself would load what runs agents, which help does without.
  const option = thrown instanceof StratagraphError ? options[thrown.code] : undefined;
  return option === undefined ? thrown : new AgentMismatchError(thrown as StratagraphError, option);
}
