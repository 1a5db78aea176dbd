import {
  END,
  START,
  StateGraph,
  isCommand,
  type CompiledStateGraph,
  type RetryPolicy,
} from "@langchain/langgraph";
import { z } from "zod";
import { overrideGraph } from "../../compile/override-graph.ts";
import { ModelCallError } from "../../models/errors.ts";
import { isRecord } from "../../state/is-record.ts";
import { noConfigError } from "../config/config-of.ts";
import { experimentJsonSchema } from "../config/experiment-json-schema.ts";
import { act, afterAct } from "./act.ts";
import { begin } from "./begin.ts";
import type { NodeConfig } from "./cycle-event.ts";
import { CycleRuns, type CycleRun } from "./cycle-run.ts";
import {
  cycleOutputSchema,
  cycleStateSchema,
  type CycleState,
  type CycleUpdate,
} from "./cycle-state.ts";
import { endCycle } from "./end-cycle.ts";
import { reflect } from "./reflect.ts";
import type { ExperimentServices } from "./run-parts.ts";
import { startCycle } from "./start-cycle.ts";
import { afterThink, think } from "./think.ts";

/** An experiment's run as a LangGraph graph: takes `{ config }`, and returns the state's public channels. */
export type ExperimentGraph = CompiledStateGraph<
  CycleState,
  CycleUpdate,
  "begin" | "start_cycle" | "think" | "act" | "reflect" | "end_cycle"
>;

export interface ExperimentGraphOptions {
  /** Absolute path of the folder that logs are written to. */
  readonly logFolder: string;
  /** How often, and after what, a model that was out of reach is asked again. Default: twelve tries in some twenty minutes. */
  readonly retries?: RetryPolicy;
}

export interface CompiledExperiment {
  readonly graph: ExperimentGraph;
  /** What its nodes work with. */
  readonly runs: CycleRuns;
}

/**
 * Twelve tries in some twenty minutes: a model server that is started again in the night does not end a run. It
 * comes after the quick retries of the model itself.
 */
const modelRetries: RetryPolicy = {
  maxAttempts: 12,
  initialInterval: 2_000,
  backoffFactor: 2,
  maxInterval: 180_000,
  jitter: true,
};

/** Nodes run until the last cycle has ended, which may be a million cycles. */
const recursionLimit = 2 ** 31;

/**
 * Compiles the graph in which cycles run: `begin`, then for each cycle `start_cycle`, `think` and `act` in turn,
 * `reflect`, `end_cycle`. A checkpoint is kept after every node, before the next one runs.
 */
export function compileExperimentWith(
  services: ExperimentServices,
  { logFolder, retries = modelRetries }: ExperimentGraphOptions,
): CompiledExperiment {
  const runs = new CycleRuns(services, logFolder);
  const inCycle =
    <Result>(body: (state: CycleState, cycle: CycleRun) => Promise<Result>) =>
    async (state: CycleState, config: NodeConfig): Promise<Result> =>
      body(state, await runs.at(state, config));
  const ending = async (ended: CycleState, cycle: CycleRun): Promise<CycleUpdate> => {
    const update = await endCycle(ended, cycle);
    if (update.status === "COMPLETED") runs.release(cycle.parts.run.run_id);
    return update;
  };
  const asking = { retryPolicy: { ...retries, retryOn: isPassing, logWarning: false } };
  const state = cycleStateSchema();
  const graph = new StateGraph({
    state,
    input: z.object({ config: configSchema() }),
    output: cycleOutputSchema(state),
  })
    .addNode("begin", (given) => begin(given as unknown as CycleState, runs))
    .addNode("start_cycle", inCycle(startCycle) as never)
    .addNode("think", inCycle(think) as never, asking)
    .addNode("act", inCycle(act) as never)
    .addNode("reflect", inCycle(reflect) as never, asking)
    .addNode("end_cycle", inCycle(ending) as never)
    .addEdge(START, "begin")
    .addEdge("begin", "start_cycle")
    .addEdge("start_cycle", "think")
    .addConditionalEdges("think", along(afterThink), ["act", "think", "reflect"])
    .addConditionalEdges("act", along(afterAct), ["think", "reflect"])
    .addEdge("reflect", "end_cycle")
    .addConditionalEdges("end_cycle", along(afterCycle), ["start_cycle", END])
    .compile({
      name: "experiment",
      description: "Runs one agent for many cycles on its own memory, and logs everything.",
      ...(services.checkpointer && { checkpointer: services.checkpointer }),
    });
  graph.config = {
    ...graph.config,
    recursionLimit,
    // Where LangGraph looks for it when a caller names none.
    configurable: { ...graph.config?.configurable, __pregel_durability: "sync" },
  };
  return { graph: refusingOthers(graph as unknown as ExperimentGraph), runs };
}

/**
 * Makes the graph refuse what is no input at all by its own error: its schema does so with zod's. `invoke` and
 * `streamEvents` go through `stream`. The graph itself is changed; graphs derived by `withConfig` do the same.
 */
function refusingOthers(compiled: ExperimentGraph): ExperimentGraph {
  return overrideGraph(compiled, (graph) => {
    const stream = graph.stream.bind(graph);
    return {
      stream: async (input: unknown, options?: never) => {
        const isInput = input !== null && input !== undefined && !isCommand(input);
        if (isInput && !(isRecord(input) && Object.hasOwn(input, "config"))) throw noConfigError();
        return stream(input as never, options);
      },
    };
  });
}

/** Edges read the state alone, so that LangGraph takes them after an edit of it too. */
function along<To>(route: (state: CycleState) => To): (state: unknown) => To {
  return (state) => route(state as CycleState);
}

function afterCycle({ cycle_number, run }: CycleState): "start_cycle" | typeof END {
  return cycle_number < (run?.cycle_count ?? 0) ? "start_cycle" : END;
}

/** A model that is out of reach for now. */
function isPassing(thrown: unknown): boolean {
  return thrown instanceof ModelCallError && thrown.transient;
}

/** Shown by clients; what is given is checked when the run begins. */
function configSchema() {
  const { $schema: _draft, ...shown } = experimentJsonSchema();
  return z.any().meta({ description: "The config of one run, as in a file.", ...shown });
}
