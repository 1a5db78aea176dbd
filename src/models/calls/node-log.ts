import type { RunnableConfig } from "@langchain/core/runnables";
import type { Clock } from "../../clock.ts";
import type { CallLog, CallPurpose } from "./call-log.ts";
import type { GraphUpdate } from "../../state/channels.ts";
import type { Status } from "../../state/lifecycle.ts";
import type { TurnState } from "../../state/turn.ts";
import { noUsage } from "../../state/usage.ts";
import type { AgentModel, ModelReply, ModelRequest } from "../agent-model.ts";
import { callLogged } from "./log-call.ts";

/** Reports what a node of a turn does to a {@link CallLog}. */
export interface NodeLog {
  /** Calls a model, and logs its requests. @throws what the model throws */
  call(
    model: AgentModel,
    request: ModelRequest,
    config: RunnableConfig,
    of: { readonly purpose: CallPurpose; readonly step?: number | undefined },
  ): Promise<ModelReply>;
  status(status: Status): void;
  /** Logs the steps that a node writes, and the turn that it begins. */
  written(result: { readonly update: GraphUpdate; readonly turn?: Partial<TurnState> }): void;
}

export interface NodeLogOptions {
  readonly calls?: CallLog | undefined;
  readonly clock: Clock;
  readonly agent: string;
  /** The outermost turn and its thread; null without a thread. */
  readonly turn: { readonly threadId: string; readonly turnId: string } | null;
  /** Whether the node is one of the outermost agent. */
  readonly isOutermost: boolean;
  /** When the turn that the node begins started, ISO 8601; null for a node that begins none. */
  readonly turnStart: string | null;
  /** Whether its steps are subtasks, whose calls are logged by their workers. */
  readonly isPlanner: boolean;
  /** Whether output rails may still redact or refuse what models say. */
  readonly withholdsText: boolean;
  /** Null if no secret was revealed. */
  readonly secrets: { scrubValue<T>(value: T): T } | null;
  /** Replaces the values that rails have redacted so far. */
  readonly redact: (value: unknown) => unknown;
}

/** Returns the log of a node; without a {@link CallLog} one that only calls models. */
export function createNodeLog(options: NodeLogOptions): NodeLog {
  const { calls: log } = options;
  return log === undefined ? unlogged : loggedNode(log, options);
}

const unlogged: NodeLog = {
  call: (model, request, config) => model.call(request, config),
  status() {},
  written() {},
};

function loggedNode(log: CallLog, options: NodeLogOptions): NodeLog {
  const { clock, agent, turn, isOutermost, turnStart, withholdsText, redact } = options;
  const place = { threadId: null, turnId: null, ...turn, agent };
  const scrub = <T>(value: T): T => options.secrets?.scrubValue(value) ?? value;
  let isBegun = turnStart === null || !isOutermost;
  const begin = (status: Status, input: unknown) => {
    if (turn === null || turnStart === null) return;
    isBegun = true;
    const unknown = { output: null, failure: null, usage: noUsage, latencyMs: 0 };
    const made = { status, startedAt: turnStart, input, ...unknown };
    log.turn({ ...place, ...turn, ...made, isOver: false, checkpointId: null });
  };
  return {
    call(model, request, config, { purpose, step = null }) {
      // The judge of an input rail is called before the turn is written.
      if (!isBegun) begin("INITIALIZING", null);
      const about = { purpose, step, withholdsText, scrub, redact };
      return callLogged(model, request, config, { log, clock, ...place, ...about });
    },
    status(status) {
      if (isOutermost && turn !== null) log.status({ threadId: turn.threadId, agent, status });
    },
    written({ update, turn: written }) {
      const { steps = [], status } = update;
      if (isOutermost && written?.started_at !== undefined) {
        begin(status ?? "INITIALIZING", scrub(update.input ?? null));
      }
      const done = options.isPlanner ? [] : stepsWithCalls(steps);
      if (done.length > 0) log.steps({ ...place, steps: done });
    },
  };
}

function stepsWithCalls(steps: GraphUpdate["steps"]) {
  return (steps ?? []).filter(({ tool_results: results }) => results.length > 0);
}
