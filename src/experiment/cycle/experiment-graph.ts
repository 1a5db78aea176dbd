import {
  type CompiledStateGraph,
  END,
  isCommand,
  type RetryPolicy,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { z } from "zod";
import { overrideGraph, withOwnSchemas } from "../../compile/agent-graph.ts";
import { cleanText } from "../../context/clean-text.ts";
import { ModelCallError } from "../../models/errors.ts";
import { isRecord } from "../../values/json.ts";
import { noConfigError, runOf } from "../config/config-changes.ts";
import { experimentJsonSchema } from "../config/experiment-schema.ts";
import { ExperimentInputError, MemoryExistsError } from "../errors.ts";
import { loggedReply, type LogMessage } from "../log/log-entry.ts";
import { act, afterAct } from "./act.ts";
import { askForWords } from "./ask-model.ts";
import { type CycleRun, CycleRuns } from "./cycle-run.ts";
import {
  cycleOutputSchema,
  type CycleState,
  cycleStateSchema,
  type CycleUpdate,
  type NodeConfig,
} from "./cycle-state.ts";
import type { ExperimentServices } from "./run-resources.ts";
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
    if (update.status === "COMPLETED") runs.release(cycle.resources.run.run_id);
    return update;
  };
  const asking = { retryPolicy: { ...retries, retryOn: isPassing, logWarning: false } };
  const builder = new StateGraph({
    state: cycleStateSchema,
    input: z.object({ config: configSchema() }),
    output: cycleOutputSchema,
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
    .addConditionalEdges("end_cycle", along(afterCycle), ["start_cycle", END]);
  const graph = withOwnSchemas(
    builder.compile({
      name: "experiment",
      description: "Runs one agent for many cycles on its own memory, and logs everything.",
      ...(services.checkpointer && { checkpointer: services.checkpointer }),
    }),
  );
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

/**
 * Begins a run: checks the config, finds the model and the tools, and checks that no other log or memory is in the way.
 * @throws what is wrong with the config; ExperimentInputError on a thread that has a run, LogExistsError,
 * MemoryExistsError
 */
async function begin(state: CycleState, runs: CycleRuns): Promise<CycleUpdate> {
  if (state.run !== null) {
    throw new ExperimentInputError(
      `this thread has the run "${state.run.run_id}" already; begin another on a new thread`,
    );
  }
  const run = runOf(state.config);
  const { log, memory } = await runs.resourcesOf(run);
  await log.expectNone();
  if ((await memory.lastChange()) > 0) throw new MemoryExistsError(run.run_id);
  return { run, run_id: run.run_id, model_name: run.model_name, status: "EXECUTING" };
}

/** Ends a cycle with what it has come to. */
async function endCycle(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { run } = cycle.resources;
  const { metrics } = state;
  const reflection = state.reflection_history.at(-1) ?? "";
  await cycle.write({
    event_type: "CYCLE_END",
    payload: { final_reflection: reflection, metrics },
  });
  cycle.tell({ reflection });
  const isOver = state.cycle_number >= run.cycle_count;
  return { log: cycle.written().log, status: isOver ? "COMPLETED" : "EXECUTING" };
}

/** Asks for the cycle's reflection, and keeps it. */
async function reflect(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { run } = cycle.resources;
  cycle.tell({ doing: "reflecting" });
  const request: LogMessage = { role: "user", content: run.reflection_prompt };
  const history = [...state.message_history, request];
  const { reply, sent } = await askForWords(history, cycle);
  cycle.tell({ spent: reply.usage });
  const response: LogMessage = { role: "assistant", content: cleanText(reply.message.text) };
  await cycle.write({
    event_type: "LLM_INVOCATION",
    payload: {
      prompt_messages: [...sent],
      response_message: response,
      model_options: run.model_options as Record<string, unknown>,
      ...loggedReply(reply),
    },
  });
  return {
    message_history: [...history, response],
    reflection_history: [...state.reflection_history, response.content.trim()],
    usage: reply.usage,
    ...cycle.written(),
  };
}
