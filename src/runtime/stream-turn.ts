import type { RunnableConfig } from "@langchain/core/runnables";
import { isInterrupted, type Command } from "@langchain/langgraph";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { cancellable } from "../compile/cancellation.ts";
import type { Durability } from "../compile/durability.ts";
import { ownerChecked } from "../compile/thread-owner.ts";
import { withWholeState } from "../compile/held-streams.ts";
import { publicRequest, readWaiting } from "../compile/waiting-requests.ts";
import type { GraphState, RunContext } from "../state/channels.ts";
import type { AgentEvent } from "../state/event.ts";
import type { PendingRequest } from "../state/human-request.ts";
import { isRecord } from "../state/is-record.ts";

export interface TurnRun {
  readonly graph: AgentGraph;
  /** The thread, without a checkpoint. */
  readonly thread: RunnableConfig;
  /** What is given to the graph, and from which checkpoint it goes on. */
  readonly input: { readonly input: unknown } | Command | null;
  readonly start: RunnableConfig;
  readonly context: RunContext;
  readonly durability: Durability;
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  readonly onToken?: ((text: string) => void) | undefined;
}

export interface StreamedTurn {
  readonly state: Partial<GraphState>;
  /** What waits for an answer. */
  readonly interrupts: readonly PendingRequest[];
}

/** Streams the run, hands on its events, and returns the last state. */
export async function streamTurn(run: TurnRun): Promise<StreamedTurn> {
  const checked = ownerChecked(run.start);
  const start = run.signal ? cancellable(checked, run.signal) : checked;
  const stream = await run.graph.stream(run.input, {
    ...withWholeState(start),
    context: run.context,
    durability: run.durability,
    subgraphs: true,
    streamMode: [
      "values",
      ...(run.onEvent ? (["custom"] as const) : []),
      ...(run.onToken ? (["messages"] as const) : []),
    ],
  });
  let state: Partial<GraphState> = {};
  let waits = false;
  for await (const [within, mode, chunk] of stream as AsyncIterable<[string[], string, unknown]>) {
    if (mode === "custom") {
      if (isAgentEvent(chunk)) run.onEvent?.(chunk);
    } else if (mode === "messages") {
      run.onToken?.(tokenText(chunk));
    } else if (within.length === 0) {
      if (isInterrupted(chunk)) waits = true;
      else state = chunk as Partial<GraphState>;
    }
  }
  if (!waits) return { state, interrupts: [] };
  // What is stored has also what other branches did in the last superstep.
  const { snapshot, waiting } = await readWaiting(run.graph, run.thread);
  return {
    state: snapshot.values as Partial<GraphState>,
    interrupts: waiting.map(publicRequest),
  };
}

/** Graphs that tools run may write to the same stream. */
function isAgentEvent(chunk: unknown): chunk is AgentEvent {
  return isRecord(chunk) && typeof chunk["type"] === "string" && Array.isArray(chunk["within"]);
}

/** Empty for messages that nodes write: what models said has been streamed, and their events tell the rest. */
function tokenText(chunk: unknown): string {
  const [message, of] = chunk as [
    { text?: string; getType?(): string },
    Partial<Record<string, unknown>>?,
  ];
  const isOfNode = of?.["name"] !== undefined && of["name"] === of["langgraph_node"];
  return message.getType?.() === "ai" && !isOfNode ? (message.text ?? "") : "";
}
