import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { isSpoken } from "../../context/spoken-turns.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { TemplateValue } from "../../expression/template-value.ts";
import type { GraphState } from "../../state/channels.ts";
import type { TurnFailure } from "../../state/turn.ts";
import { noUsage } from "../../state/usage.ts";
import type { AgentGraph } from "../agent-graph.ts";
import { cancellable } from "../cancellation.ts";
import { InvalidInputError } from "../errors.ts";
import { checkInput } from "../input.ts";
import type { NodeRun } from "../loop/node-body.ts";
import { noAnswer } from "../loop/reasoning.ts";
import type { AgentNode } from "../plan/plan-node.ts";
import type { AttemptEnd, NodeAt, NodeDone, NodeWork } from "./node-work.ts";

/** An agent that is a node of another. */
export interface Subagent {
  readonly definition: AgentDefinition;
  /** Without a checkpointer of its own: it is kept with the thread of the graph around it, in its node's namespace. */
  readonly graph: AgentGraph;
}

export interface AgentNodeParts {
  readonly plan: AgentNode;
  readonly input: TemplateValue | null;
  readonly agent: Subagent;
}

/** The output of an agent node. */
interface AgentOutput extends Readonly<Record<string, unknown>> {
  readonly status: string;
  readonly output: unknown;
  readonly failure: TurnFailure | null;
}

/**
 * Runs one turn of another agent as a subgraph with its own two tiers, messages and steps. It is given its input, and
 * the conversation where that is shared; its output and what it has spent come back. What it asks people goes up as an
 * interrupt of the graph around it, and is answered there by its id. Its events come in LangGraph's `custom` stream of
 * the outermost graph whether or not that streams with `subgraphs`, which only puts the namespace beside them.
 */
export function agentNode({ plan, input, agent }: AgentNodeParts): NodeWork {
  return async (at) => {
    const given = input === null ? at.state.input : input.render(at.values);
    const messages = plan.conversation === "shared" ? at.state.messages.filter(isSpoken) : [];
    const refusal = refusedInput(agent.definition, given);
    const output =
      refusal === null ? await runTurn(agent, { input: given, messages }, at.run) : refusal;
    return judge(plan, agent.definition, output, at);
  };
}

function refusedInput(definition: AgentDefinition, input: unknown): AgentOutput | null {
  try {
    checkInput(definition, input);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof InvalidInputError)) throw thrown;
    return failed("FAILED", { cause: thrown.code, message: thrown.message });
  }
}

/**
 * When the run goes on after an interrupt or a crash, LangGraph goes on with the turn where it was, and `given` is not
 * read. Timeout and cancellation of the run end the turn CANCELLED, with everything written.
 */
async function runTurn(
  { graph }: Subagent,
  given: { readonly input: unknown; readonly messages: readonly BaseMessage[] },
  run: NodeRun,
): Promise<AgentOutput> {
  const { recursionLimit } = graph.config ?? {};
  const config = {
    ...withoutEmptyCheckpoint(run.config),
    ...(recursionLimit !== undefined && { recursionLimit }),
  };
  const input = {
    input: given.input,
    ...(given.messages.length > 0 && { messages: [...given.messages] }),
  };
  // LangGraph merges what it is given over the config of the node that it runs in.
  const state = (await AsyncLocalStorageProviderSingleton.runWithConfig(config, () =>
    graph.invoke(input, cancellable(config, run.signal)),
  )) as unknown as Partial<GraphState>;
  const { status = "CREATED", turn } = state;
  // All that its thread has spent, since it has had this one turn.
  run.spend(state.usage ?? noUsage);
  if (status === "COMPLETED") return { status, output: state.output ?? null, failure: null };
  const cancelled = { cause: "cancelled", message: "its turn was cancelled" };
  return failed(status, turn?.failure ?? cancelled);
}

/**
 * LangGraph 1.4 takes a `checkpoint_id` that is undefined for one that was asked for, and then runs nodes again that had
 * ended beside one that waits or failed. When an old checkpoint is replayed, they are to run again.
 */
function withoutEmptyCheckpoint(config: RunnableConfig): RunnableConfig {
  const { checkpoint_id: checkpointId, ...configurable } = config.configurable ?? {};
  const isReplay = configurable["__pregel_replay_state"] !== undefined;
  return isReplay || checkpointId !== undefined ? config : { ...config, configurable };
}

function failed(status: string, failure: TurnFailure): AgentOutput {
  return { status, output: null, failure };
}

/** A failure that no edge asks about ends the attempt. */
function judge(
  plan: AgentNode,
  { spec }: AgentDefinition,
  output: AgentOutput,
  at: NodeAt,
): NodeDone | AttemptEnd {
  const { failure } = output;
  if (failure === null) return { output, value: output.output };
  if (at.asks("status") || at.asks("failure")) return { output };
  return {
    end: noAnswer(
      `agent "${spec.name}" of node "${plan.name}" failed (${failure.cause}): ${failure.message}`,
    ),
  };
}
