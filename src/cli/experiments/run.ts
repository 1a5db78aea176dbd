import { join, relative, resolve } from "node:path";
import { createRuntime, runExperiment } from "../../app.ts";
import { systemClock } from "../../clock.ts";
import { loadExperiment, type Experiment } from "../../experiment/config/load-experiment.ts";
import type { RunSpec } from "../../experiment/config/run-spec.ts";
import type { ExperimentResult } from "../../experiment/run-experiment.ts";
import type { ExperimentEvent } from "../../experiment/run-progress.ts";
import { ollamaUrl } from "../../models/providers/ollama.ts";
import { checkOllamaServers } from "../../models/providers/ollama-reach.ts";
import { existingFile, existingFolder, loadTools } from "../load.ts";
import type { CliIo } from "../io.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { commandLine } from "../command-line.ts";
import { experimentOptions, optionWords, type OptionValues } from "../options.ts";
import { experimentEnding, experimentOpening } from "../view/experiment/experiment-lines.ts";
import { ExperimentView } from "../view/experiment/experiment-view.ts";
import { outputLayout } from "../view/values.ts";

export interface ExperimentRunOptions extends OptionValues<typeof experimentOptions> {
  readonly fresh?: boolean;
  /** Folder that logs are written to. */
  readonly logs: string;
  readonly json?: boolean;
}

/**
 * `stratagraph experiment run`: every run of an experiment, or what is left of them. A signal ends them where they stand.
 * @throws whatever is wrong with its use, before anything is written
 */
export async function experimentRunCommand(
  given: ExperimentRunOptions & { readonly config: string },
  io: CliIo,
): Promise<number> {
  const experiment = await loadExperiment(
    await existingFile(resolve(io.cwd, given.config), given.config),
  );
  const tools = given.tools === undefined ? [] : await loadTools(given.tools, io);
  const root = resolve(io.cwd, given.root ?? ".");
  if (given.root !== undefined) await existingFolder(root, given.root);
  const report = given.json ? jsonReport(io) : liveReport(experiment, given, io);
  const abort = new AbortController();
  const release = io.onStop((reason) => {
    report.stopping();
    abort.abort(new Error(reason));
  });
  const runtime = await createRuntime({
    tools,
    root,
    env: io.env,
    folder: join(io.cwd, ".stratagraph"),
  });
  try {
    report.begin();
    const result = await runExperiment(experiment, {
      runtime,
      logFolder: resolve(io.cwd, given.logs),
      signal: abort.signal,
      onEvent: (event) => report.event(event),
      beforeRuns: (runs) => checkOllamaServers(ollamaUrls(runs, io), systemClock),
      ...(given.fresh === true && { fresh: true }),
      ...(given.extend === true && { extend: true }),
      ...(given.parallel !== undefined && { parallel: given.parallel }),
    });
    report.leave();
    report.end(result);
    return result.runs.every(({ status }) => status === "done")
      ? exitCodes.done
      : exitCodes.runFailed;
  } finally {
    report.leave();
    await runtime.close();
    release();
  }
}

/** Addresses of the Ollama servers that these runs need. */
function ollamaUrls(runs: readonly RunSpec[], { env }: CliIo): readonly string[] {
  return runs
    .filter(({ model_name: ref }) => ref.startsWith("ollama:"))
    .map(({ model_name: ref, ollama_client_config: client }) => ollamaUrl(ref, client?.host, env));
}

interface ExperimentReport {
  begin(): void;
  event(event: ExperimentEvent): void;
  stopping(): void;
  /** Takes away whatever was on the screen for the time of the experiment only. */
  leave(): void;
  end(result: ExperimentResult): void;
}

function jsonReport(io: CliIo): ExperimentReport {
  return {
    begin() {},
    event() {},
    stopping() {},
    leave() {},
    end: ({ runs, logFolder }) => printJson({ log_folder: logFolder, runs }, io),
  };
}

function liveReport(
  experiment: Experiment,
  given: ExperimentRunOptions & { readonly config: string },
  io: CliIo,
): ExperimentReport {
  const { width, style } = outputLayout(io);
  const { runs } = experiment;
  const parallel = given.parallel ?? experiment.parallel;
  const view = new ExperimentView({ sink: io.stdout, style, clock: systemClock, runs, parallel });
  const startedAt = systemClock.monotonic();
  return {
    begin: () => view.say(experimentOpening({ ...experiment, parallel }, { width, style })),
    event: (event) => view.event(event),
    stopping: () => view.stopping(),
    leave: () => view.end(),
    end({ runs: ended, logFolder }) {
      const logs = relative(io.cwd, logFolder) || ".";
      const lines = experimentEnding(ended, {
        width,
        style,
        elapsedMs: systemClock.monotonic() - startedAt,
        logs,
        // Without --fresh, since the command resumes what this one left.
        again: commandLine(
          ["experiment", "run", given.config, ...optionWords(experimentOptions, given)],
          io,
        ),
        report: commandLine(["experiment", "report", logs], io),
      });
      printLines(lines, io);
    },
  };
}
