import { setMaxListeners } from "node:events";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { GraphState } from "../../state/channels.ts";
import type { TurnFailure } from "../../state/turn.ts";
import { noUsage, type Usage } from "../../state/usage.ts";
import type { AgentGraph } from "../agent-graph.ts";
import { cancellable } from "../cancellation.ts";
import { InvalidInputError } from "../errors.ts";
import { checkInput } from "../input.ts";
import { handDownBounds } from "../loop/inherited-bounds.ts";
import { handDownRedactions } from "../loop/inherited-redactions.ts";
import type { NodeRun } from "../loop/node-body.ts";
import type { RailDesk } from "../loop/rail-desk.ts";

/** An agent that is a node of another. */
export interface Subagent {
  readonly definition: AgentDefinition;
  /** Without a checkpointer of its own: it is kept with the thread of the graph around it, in its node's namespace. */
  readonly graph: AgentGraph;
}

/** What one turn of an agent within another came to. */
export interface SubagentTurn {
  readonly status: string;
  /** Null unless it is COMPLETED. */
  readonly output: unknown;
  readonly failure: TurnFailure | null;
  readonly usage: Usage;
  /** All that its graph returns; empty where the input was refused. */
  readonly state: Partial<GraphState>;
}

/**
 * Runs one turn of an agent in the namespace that `config` names. When the run goes on after an interrupt or a crash,
 * LangGraph goes on with the turn where it was, and `given` is not read. When `signal` aborts, the turn ends CANCELLED, with
 * everything written.
 *
 * @throws GraphInterrupt with all that it asks people, and what ends a run
 */
export async function runSubagent(
  { definition, graph }: Subagent,
  given: { readonly input: unknown; readonly messages: readonly BaseMessage[] },
  at: {
    readonly config: RunnableConfig;
    readonly signal: AbortSignal;
    readonly rails: Pick<RailDesk, "redactions" | "reveal">;
    readonly inside: NodeRun["inside"];
  },
): Promise<SubagentTurn> {
  const refused = refusedInput(definition, at.rails.reveal(given.input));
  if (refused !== null) return failed("FAILED", refused, {});
  allowListeners(at.config);
  const { recursionLimit } = graph.config ?? {};
  const within = handDownBounds(at.config, at.inside("node"));
  const config = {
    ...handDownRedactions(within, at.rails.redactions()),
    ...(recursionLimit !== undefined && { recursionLimit }),
  };
  const input = {
    input: given.input,
    ...(given.messages.length > 0 && { messages: [...given.messages] }),
  };
  // LangGraph merges what it is given over the config of the node that it runs in.
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

/** Every graph that runs listens on the signals of the run around it, however many run side by side. */
function allowListeners({ signal, configurable }: RunnableConfig): void {
  const around = (configurable?.["__pregel_abort_signals"] ?? {}) as object;
  for (const one of [signal, ...Object.values(around)]) {
    if (one instanceof AbortSignal) setMaxListeners(0, one);
  }
}

/** @param input with nothing redacted in it, as its schema describes it */
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
