import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph";
import { createRuntime, runExperiment, type Runtime } from "../../src/app.ts";
import type { ExperimentInput } from "../../src/experiment/config/experiment-schema.ts";
import { parseExperiment } from "../../src/experiment/config/load-experiment.ts";
import type { LogEntry } from "../../src/experiment/log/log-entry.ts";
import type { RunExperimentOptions } from "../../src/experiment/run-experiment.ts";
import type { ExperimentEvent } from "../../src/experiment/run-progress.ts";
import { ManualClock } from "./manual-clock.ts";
import { ScriptedModel, type ScriptedReply } from "./scripted-model.ts";
import { tempFolder } from "./temp-folder.ts";

/** A runtime in memory for experiments, with a folder of logs. */
export async function experimentRuntime(
  script: readonly ScriptedReply[] | null,
  options: { toolCalling?: boolean; checkpointer?: BaseCheckpointSaver } = {},
) {
  const { toolCalling = true, checkpointer = new MemorySaver() } = options;
  const model = new ScriptedModel(script ?? [], toolCalling);
  const runtime = await createRuntime({
    env: {},
    clock: new ManualClock(),
    ...(script !== null && { models: model }),
    checkpointer,
  });
  const logFolder = join(tempFolder(), "logs");
  const events: ExperimentEvent[] = [];
  return {
    runtime,
    model,
    events,
    logFolder,
    log: (runId: string) => readLogLines(logFolder, runId),
    run: (config: Partial<ExperimentInput> = {}, more: Partial<RunExperimentOptions> = {}) =>
      runWith(runtime, config, {
        logFolder,
        onEvent: (event) => void events.push(event),
        ...more,
      }),
  };
}

/** Two cycles of `test:scripted` unless the config says otherwise. */
function runWith(
  runtime: Runtime,
  config: Partial<ExperimentInput>,
  options: RunExperimentOptions,
) {
  const experiment = parseExperiment(
    {
      run_id: "drift",
      cycle_count: 2,
      system_prompt: "You are a test.",
      cycle_prompt: "Cycle ${cycle_number} of ${cycle_count}.",
      reflection_prompt: "Reflect.",
      ...(config.matrix?.model_name === undefined && { model_name: "test:scripted" }),
      ...config,
    },
    { instances: { "test:scripted": undefined as never } },
  );
  return runExperiment(experiment, { runtime, ...options });
}

export function readLogLines(logFolder: string, runId: string): readonly LogEntry[] {
  const lines = readFileSync(join(logFolder, `${runId}.jsonl`), "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LogEntry);
}

/** Without what runs of one config may differ in. */
export function withoutTimes(entries: readonly LogEntry[]): readonly unknown[] {
  return entries.map(({ timestamp: _timestamp, payload, ...entry }) => {
    const { latency_ms: _latency, first_token_ms: _first, ...said } = payload as Timed;
    return { ...entry, payload: said };
  });
}

type Timed = { readonly latency_ms?: number; readonly first_token_ms?: number | null };
