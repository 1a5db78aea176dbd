/**
 * Runs the experiment `killed` to its end, and kills its own process, as kill -9 does, at the given moment: before or
 * after a model call, a line of the log, a change of the memory, or a checkpoint. Before that it goes on with what the
 * process before it left. Prints how many moments there were when it came to the end.
 *
 *   tsx killed-run.ts <runtime options as JSON> <folder of logs> <run left behind, or -> <run to begin> <moment>
 */
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createRuntime, runExperiment, type Runtime } from "../../../src/app.ts";
import { systemClock } from "../../../src/clock.ts";
import { parseExperiment } from "../../../src/experiment/config/load-experiment.ts";
import type { RunMemory } from "../../../src/experiment/memory/run-memory.ts";
import type { AgentModel } from "../../../src/models/agent-model.ts";
import { killedConfig } from "./killed-config.ts";

const [options = "{}", logFolder = "", left = "-", next = "-", moment = "0"] =
  process.argv.slice(2);
let moments = 0;
let fatal = Number.POSITIVE_INFINITY;

function pass(): void {
  moments += 1;
  if (moments === fatal) process.kill(process.pid, "SIGKILL");
}

/** The object, with a moment before and after each call of these methods. */
function between<Target extends object>(target: Target, names: readonly (keyof Target)[]): Target {
  return new Proxy(target, {
    get(_, name) {
      const value = target[name as keyof Target] as unknown;
      if (typeof value !== "function") return value;
      if (!names.includes(name as keyof Target)) return value.bind(target) as unknown;
      return async (...args: unknown[]) => {
        pass();
        const result: unknown = await value.apply(target, args);
        pass();
        return result;
      };
    },
  });
}

const made = await createRuntime({
  ...(JSON.parse(options) as object),
  env: {},
  clock: {
    ...systemClock,
    // A line of the log asks for the time just before it is written.
    now() {
      pass();
      return systemClock.now();
    },
  },
});
const runtime: Runtime = {
  ...made,
  checkpointer: between(made.checkpointer as BaseCheckpointSaver, ["put", "putWrites"]),
  models: {
    resolve: async (wanted) => between<AgentModel>(await made.models.resolve(wanted), ["call"]),
  },
  experimentMemory: {
    of: (runId) =>
      between<RunMemory>(made.experimentMemory.of(runId), ["write", "delete", "rewind"]),
  },
};
const run = (runId: string) =>
  runExperiment(parseExperiment(killedConfig(runId)), { runtime, logFolder });

if (left !== "-") {
  const [ended] = (await run(left)).runs;
  if (ended?.status !== "done") throw new Error(`${left}: ${ended?.failure}`);
  console.log(`ended ${left}`);
}
if (next !== "-") {
  moments = 0;
  fatal = Number(moment);
  const [ended] = (await run(next)).runs;
  if (ended?.status !== "done") throw new Error(`${next}: ${ended?.failure}`);
  console.log(`survived ${moments}`);
}
await made.close();
process.exit(0);
