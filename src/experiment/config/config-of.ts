import { isRecord } from "../../state/is-record.ts";
import { ExperimentInputError } from "../errors.ts";
import { parseExperiment } from "./load-experiment.ts";
import type { RunSpec } from "./run-spec.ts";

/**
 * A run as a config of one run, which {@link runOf} reads; without how its model is reached, since that may change
 * between processes, and may hold what is not to be kept.
 */
export function configOf({ ollama_client_config: _client, ...run }: RunSpec): unknown {
  return run;
}

/** The error for an input that has no config. */
export function noConfigError(): ExperimentInputError {
  return new ExperimentInputError("expected { config }, the config of a run");
}

/**
 * The run that a graph was given: a config as in a file, without a matrix, or what {@link configOf} has made. The model
 * is not looked at: the runtime may have others than the built-in ones, and says so itself.
 *
 * @throws InvalidExperimentError; ExperimentInputError for no config, or one of several runs
 */
export function runOf(config: unknown): RunSpec {
  if (!isRecord(config)) throw noConfigError();
  const { variant, ...written } = config;
  const { runs } = parseExperiment(written, { instances: known(written["model_name"]) });
  const [run, ...others] = runs;
  if (run === undefined || others.length > 0) {
    throw new ExperimentInputError(
      `expected the config of one run, got a matrix of ${runs.length.toLocaleString("en")}; the command line runs them all`,
    );
  }
  const prompt = isRecord(variant) ? variant["system_prompt"] : null;
  const system_prompt = typeof prompt === "string" ? prompt : null;
  return { ...run, variant: { ...run.variant, system_prompt } };
}

function known(model: unknown) {
  return typeof model === "string" && model.includes(":") ? { [model]: undefined as never } : {};
}
