import { StratagraphError } from "../../errors.ts";

/** A step that can be asked for. */
export interface KnownStep {
  readonly step: number;
  readonly node: string;
}

/** A thread has no such turn. */
export class UnknownTurnError extends StratagraphError {
  readonly code = "unknown_turn";

  constructor(
    readonly threadId: string,
    readonly turn: number,
    /** How many it has. */
    readonly turns: number,
  ) {
    const known =
      turns === 0
        ? "It has none yet."
        : turns === 1
          ? "It has turn 0 alone."
          : `It has the turns 0 to ${turns - 1}.`;
    super(`Thread "${threadId}" has no turn ${turn}. ${known}`);
  }
}

/** A turn has no such step. */
export class UnknownStepError extends StratagraphError {
  readonly code = "unknown_step";

  constructor(
    readonly threadId: string,
    readonly turn: number,
    readonly step: number,
    /** Those that the turn has. */
    readonly steps: readonly KnownStep[],
  ) {
    const list = steps.map((one) => `${one.step} (${one.node})`).join(", ");
    const known = list === "" ? "It has none yet." : `It has ${list}.`;
    super(`Turn ${turn} of thread "${threadId}" has no step ${step}. ${known}`);
  }
}

/** What a step read cannot be told: the checkpoint that it was made from is not kept. */
export class ContextNotKeptError extends StratagraphError {
  readonly code = "context_not_kept";

  constructor(
    readonly threadId: string,
    readonly turn: number,
    readonly step: number,
  ) {
    super(
      `The checkpoint that step ${step} of turn ${turn} of thread "${threadId}" was made from is not kept: it was pruned, or the agent keeps one checkpoint a turn (checkpoint_frequency: every_turn).`,
    );
  }
}

/** What a thread's agent is was not said, and is not kept with the thread. */
export class DefinitionNotKeptError extends StratagraphError {
  readonly code = "definition_not_kept";

  constructor(readonly threadId: string) {
    super(
      `The definition of the agent of thread "${threadId}" is not kept with it. Give the agent itself.`,
    );
  }
}

/** No model reads anything there. */
export class NothingReadError extends StratagraphError {
  readonly code = "nothing_read";

  constructor(
    readonly threadId: string,
    /** A sentence. */
    readonly reason: string,
  ) {
    super(`No model reads anything in thread "${threadId}" there: ${reason}`);
  }
}
