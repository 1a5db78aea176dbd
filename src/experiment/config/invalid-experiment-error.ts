import { problemsMessage, type DefinitionProblem } from "../../definition/problems.ts";
import { StratagraphError } from "../../errors.ts";

/** The config of an experiment is not valid. The message lists the problems, one a line. */
export class InvalidExperimentError extends StratagraphError {
  readonly code = "invalid_experiment";

  constructor(readonly problems: readonly DefinitionProblem[]) {
    super(problemsMessage("The experiment", problems));
  }
}
