import { isOllama } from "./model-problems.ts";
import { optionNames, type ExperimentConfig } from "./experiment-schema.ts";
import type { MatrixPoint } from "./expand-matrix.ts";
import type { ExperimentModelOptions, RunSpec } from "./run-spec.ts";

/** The config of one run: that of the experiment with the values of a point of its matrix put in. */
export function runOfPoint(config: ExperimentConfig, { run_id, values }: MatrixPoint): RunSpec {
  const {
    model_options,
    matrix: _matrix,
    parallel: _parallel,
    ollama_client_config,
    ...rest
  } = config;
  const model_name = String(values.get("model_name")?.value ?? config.model_name);
  const prompt = values.get("system_prompt");
  const options = Object.fromEntries(
    optionNames.flatMap((name) => {
      const value = values.get(name)?.value ?? model_options[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ) as ExperimentModelOptions;
  return {
    ...rest,
    run_id,
    model_name,
    model_options: options,
    ollama_client_config:
      ollama_client_config !== undefined && isOllama(model_name) ? ollama_client_config : null,
    system_prompt: String(prompt?.value ?? config.system_prompt),
    variant: {
      model_name,
      seed: options.seed ?? null,
      system_prompt: prompt?.name ?? null,
    },
  };
}
