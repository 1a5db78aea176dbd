/** The options of `stratagraph run`, as the command line gives them. */
export interface RunOptions {
  readonly input?: string;
  readonly thread?: string;
  /** Answers to what the thread waits for. */
  readonly answer?: readonly string[];
  readonly model?: string;
  readonly temperature?: number;
  readonly tools?: string;
  readonly root?: string;
  /** False: keep nothing. */
  readonly save: boolean;
  readonly json?: boolean;
}

export interface RunArguments extends RunOptions {
  readonly agent: string;
  readonly message: string | undefined;
}
