import { setMaxListeners } from "node:events";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { GraphState } from "../../state/channels.ts";
import type { TurnFailure } from "../../state/turn.ts";
import { noUsage, type Usage } from "../../state/usage.ts";
import type { AgentGraph } from "../agent-graph.ts";
import { cancellable, propagateRedactions } from "../run/run-config.ts";
import { InvalidInputError } from "../errors.ts";
import { checkInput } from "../input.ts";
import { propagateBounds } from "../loop/loop-config.ts";
import type { NodeContext, NodeRails } from "../loop/node.ts";

/** An agent in a node of another agent. */
export interface Subagent {
  readonly definition: AgentDefinition;
  /** It has no checkpointer of its own: its checkpoints are in the outer thread, in its node's namespace. */
  readonly graph: AgentGraph;
}

/** The result of one turn of a nested agent. */
export interface SubagentTurn {
  readonly status: string;
  /** Null unless it is COMPLETED. */
  readonly output: unknown;
  readonly failure: TurnFailure | null;
  readonly usage: Usage;
  /** The output channels of its graph; empty if the input was refused. */
  readonly state: Partial<GraphState>;
}

/**
 * Runs one turn of an agent in the namespace of `config`. After an interrupt or a crash LangGraph resumes the turn, and
 * `given` is not read. If `signal` aborts, the turn ends CANCELLED, with everything written.
 *
 * @throws GraphInterrupt with all its human requests, and errors that end a run
 */
export async function runSubagent(
  { definition, graph }: Subagent,
  given: { readonly input: unknown; readonly messages: readonly BaseMessage[] },
  at: {
    readonly config: RunnableConfig;
    readonly signal: AbortSignal;
    readonly rails: Pick<NodeRails, "redactions" | "unredact">;
    readonly boundsInside: NodeContext["boundsInside"];
  },
): Promise<SubagentTurn> {
  const refused = refusedInput(definition, at.rails.unredact(given.input));
  if (refused !== null) return failed("FAILED", refused, {});
  allowListeners(at.config);
  const { recursionLimit } = graph.config ?? {};
  const within = propagateBounds(at.config, at.boundsInside("node"));
  const config = {
    ...propagateRedactions(within, at.rails.redactions()),
    ...(recursionLimit !== undefined && { recursionLimit }),
  };
  const input = {
    input: given.input,
    ...(given.messages.length > 0 && { messages: [...given.messages] }),
  };
  // LangGraph merges this config over that of the surrounding node.
  const state = (await AsyncLocalStorageProviderSingleton.runWithConfig(config, () =>
    graph.invoke(input, cancellable(config, at.signal)),
  )) as unknown as Partial<GraphState>;
  const { status = "CREATED", turn, usage = noUsage } = state;
  if (status === "COMPLETED") {
    return { status, output: state.output ?? null, failure: null, usage, state };
  }
  const cancelled = { cause: "cancelled", message: "its turn was cancelled" };
  return failed(status, turn?.failure ?? cancelled, state);
}

/**
 * Raises the listener limit: every nested graph listens on the signals of the outer run, however many run concurrently.
 */
function allowListeners({ signal, configurable }: RunnableConfig): void {
  const around = (configurable?.["__pregel_abort_signals"] ?? {}) as object;
  for (const one of [signal, ...Object.values(around)]) {
    if (one instanceof AbortSignal) setMaxListeners(0, one);
  }
}

/** @param input unredacted, as its schema describes it */
function refusedInput(definition: AgentDefinition, input: unknown): TurnFailure | null {
  try {
    checkInput(definition, input);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof InvalidInputError)) throw thrown;
    return { cause: thrown.code, message: thrown.message };
  }
}

function failed(status: string, failure: TurnFailure, state: Partial<GraphState>): SubagentTurn {
  return { status, output: null, failure, usage: state.usage ?? noUsage, state };
}
