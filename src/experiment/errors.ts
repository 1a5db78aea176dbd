import { type DefinitionProblem, problemsMessage } from "../definition/check/problems.ts";
import { errorMessage, StratagraphError } from "../errors.ts";

/** A log holds less than its run has written, or something else: it was cut or changed by others. */
export class LogChangedError extends StratagraphError {
  readonly code = "experiment_log_changed";

  constructor(
    readonly runId: string,
    readonly file: string,
    problem: string,
  ) {
    super(
      `The log ${file} of run "${runId}" ${problem}. Put the log back as the run left it, or begin the run again with --fresh.`,
    );
  }
}

/** There is a log of a run that nothing else is known of. */
export class LogExistsError extends StratagraphError {
  readonly code = "experiment_log_exists";

  constructor(
    readonly runId: string,
    readonly file: string,
  ) {
    super(
      `There is a log of run "${runId}" already, ${file}, but no checkpoint to resume from. ` +
        "Move it away, give the run another run_id, or begin it again with --fresh.",
    );
  }
}

/** There is a memory of a run that nothing else is known of, or that is another thread's. */
export class MemoryExistsError extends StratagraphError {
  readonly code = "experiment_memory_exists";

  constructor(readonly runId: string) {
    super(
      `There is a memory of run "${runId}" already, but no checkpoint here to resume from. ` +
        "Give the run another run_id, or begin it again with --fresh.",
    );
  }
}

/** The memory of a run holds less than its checkpoint says, or another run of the same id has changed it. */
export class MemoryChangedError extends StratagraphError {
  readonly code = "experiment_memory_changed";

  constructor(
    readonly runId: string,
    /** Changes that the run has made. */
    readonly expected: number,
    /** Changes that are there. */
    readonly found: number,
  ) {
    super(
      `The memory of run "${runId}" is not what the run has left: expected ${expected.toLocaleString("en")} changes, got ${found.toLocaleString("en")}. ` +
        "Without a database it lasts as long as its process. Begin the run again with --fresh.",
    );
  }
}

/** What the user is to say at the beginning of a cycle cannot be made. */
export class CyclePromptError extends StratagraphError {
  readonly code = "experiment_cycle_prompt";

  constructor(
    readonly runId: string,
    readonly cycle: number,
    options: { readonly cause: unknown },
  ) {
    super(
      `cycle_prompt gives nothing for cycle ${cycle.toLocaleString("en")} of run "${runId}": ${errorMessage(options.cause)}`,
      options,
    );
  }
}

/** The log of a run cannot be read or written. */
export class LogAccessError extends StratagraphError {
  readonly code = "experiment_log_access";
  override readonly kind = "run";

  constructor(
    readonly runId: string,
    readonly file: string,
    options: { readonly cause: NodeJS.ErrnoException },
  ) {
    const { code = "", message } = options.cause;
    super(
      `The log ${file} of run "${runId}" cannot be read or written (${code || message}). Once it can be, the run resumes from its last checkpoint.`,
      options,
    );
  }
}

/** One thing that a config says otherwise than it did when the run began. */
export interface ConfigChange {
  readonly key: string;
  readonly before: unknown;
  readonly now: unknown;
}

/** A run was begun with another config. */
export class ExperimentChangedError extends StratagraphError {
  readonly code = "experiment_changed";

  constructor(
    readonly runId: string,
    readonly changes: readonly ConfigChange[],
  ) {
    const onlyMore =
      changes.length === 1 &&
      changes[0]?.key === "cycle_count" &&
      Number(changes[0].now) > Number(changes[0].before);
    const what = changes.map(({ key, before, now }) => `${key} (${show(before)} → ${show(now)})`);
    super(
      `Run "${runId}" was begun with another config: ${what.join(", ")}. ` +
        (onlyMore
          ? "Go on to the new number of cycles with --extend, or begin again with --fresh."
          : "Put the config back, give the run another run_id, or begin again with --fresh."),
    );
  }
}

/** A tool cannot be used in an unattended run. */
export class ExperimentToolError extends StratagraphError {
  readonly code = "experiment_tool";

  constructor(
    readonly tool: string,
    problem: string,
  ) {
    super(`Experiments cannot use the tool "${tool}": ${problem}.`);
  }
}

/** The graph was given no config, or one of several runs. */
export class ExperimentInputError extends StratagraphError {
  readonly code = "experiment_input";

  constructor(problem: string) {
    super(`The experiment cannot begin: ${problem}.`);
  }
}

/** A number that is not one of its kind was given to an option of a run. */
export class ExperimentOptionError extends StratagraphError {
  readonly code = "experiment_option";

  constructor(
    readonly option: string,
    problem: string,
  ) {
    super(`${option}: ${problem}.`);
  }
}

function show(value: unknown): string {
  const text = value === undefined ? "left out" : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** The config of an experiment is not valid. The message lists the problems, one a line. */
export class InvalidExperimentError extends StratagraphError {
  readonly code = "invalid_experiment";

  constructor(readonly problems: readonly DefinitionProblem[]) {
    super(problemsMessage("The experiment", problems));
  }
}

/** A text in the memory of a run is not what was written. */
export class CorruptMemoryError extends StratagraphError {
  readonly code = "corrupt_memory";
  override readonly kind = "run";

  constructor(
    readonly runId: string,
    readonly key: string,
  ) {
    super(
      `Expected the text ${JSON.stringify(key)} in the memory of run ${JSON.stringify(runId)} as it was written, but it does not have the hash that it was given. ` +
        "Restore the database from a backup, or begin the run again with --fresh.",
    );
  }
}
