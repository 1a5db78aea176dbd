/** What an agent is run with, as the command line gives it. */
export interface AgentOptions {
  readonly model?: string;
  readonly temperature?: number;
  readonly tools?: string;
  readonly root?: string;
  /** Go on under a definition that differs from the one that the checkpoint was made under. */
  readonly acceptChanges?: boolean;
  /** Go on with a thread that belongs to another agent. */
  readonly acceptAgent?: boolean;
  readonly json?: boolean;
}

/** The options of `stratagraph run`. */
export interface RunOptions extends AgentOptions {
  readonly input?: string;
  readonly thread?: string;
  /** Answers to what the thread waits for. */
  readonly answer?: readonly string[];
  /** False: keep nothing. */
  readonly save: boolean;
}

export interface RunArguments extends RunOptions {
  readonly agent: string;
  readonly message: string | undefined;
}
