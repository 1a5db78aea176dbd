import { StratagraphError } from "../errors.ts";
import type { DefinitionChangedError } from "../runtime/definition-changed.ts";

/** A changed definition, said with the option of the command line that goes on all the same. */
export class ChangedAgentError extends StratagraphError {
  readonly code = "definition_changed";
  readonly threadId: string;
  readonly changes: DefinitionChangedError["changes"];

  constructor(cause: DefinitionChangedError) {
    const message = cause.message.replace("pass acceptChanges: true", "give --accept-changes");
    super(message, { cause });
    this.threadId = cause.threadId;
    this.changes = cause.changes;
  }
}

/** By its code: the class itself would load what runs agents, which help does without. */
export function isDefinitionChanged(thrown: unknown): thrown is DefinitionChangedError {
  return thrown instanceof StratagraphError && thrown.code === "definition_changed";
}
