import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { StratagraphError } from "../../errors.ts";
import { isRecord } from "../../state/is-record.ts";
import type { CheckpointArchive, CheckpointSummary } from "./archive.ts";
import { pendingTasks } from "../../compile/pending-tasks.ts";

/**
 * Why a checkpoint was written. `input`: a turn was given its input. `node`: nodes ran. `tool_result`: one of them ran
 * tools. `turn_complete`: a turn came to its end, well or not. `manual`: somebody changed the state, or a fork or a
 * replay began there.
 */
export type CheckpointTrigger = "input" | "node" | "tool_result" | "turn_complete" | "manual";

/** `interrupted`: it waits for somebody. `failure`: it threw, and runs again when the thread is resumed. */
export type NodeOutcome = "success" | "failure" | "interrupted";

/** A checkpoint in a thread's history. */
export interface CheckpointView extends CheckpointSummary {
  /** Supersteps before it on its own branch, from 0. Branches of one thread share numbers. */
  readonly sequenceNum: number;
  readonly trigger: CheckpointTrigger;
  /** How the nodes ended that ran to make it (`success`), and those that were started from it and did not end. */
  readonly nodeOutcomes: Readonly<Record<string, NodeOutcome>>;
}

/** Reads what a view has beside its summary. */
export interface ViewSource {
  readonly archive: Pick<CheckpointArchive, "definitionOf">;
  readonly checkpointer: Pick<BaseCheckpointSaver, "getTuple">;
}

/** Views of summaries, in their order. Values are loaded only where tasks have stopped, to say which. */
export async function viewsOf(
  summaries: readonly CheckpointSummary[],
  { archive, checkpointer }: ViewSource,
): Promise<readonly CheckpointView[]> {
  const toolNodes = new Map<string | null, ReadonlySet<string>>();
  const views: CheckpointView[] = [];
  for (const summary of summaries) {
    const { definitionHash: hash } = summary;
    const tools =
      toolNodes.get(hash) ??
      toolNodesIn(hash === null ? null : await archive.definitionOf(hash).catch(nullIfCorrupt));
    toolNodes.set(hash, tools);
    views.push({
      ...summary,
      sequenceNum: (summary.step ?? -1) + 1,
      trigger: triggerOf(summary, tools),
      nodeOutcomes: { ...succeeded(summary), ...(await stopped(summary, checkpointer)) },
    });
  }
  return views;
}

/** @param toolNodes the nodes that run tools, beside `tools` of the standard loop */
function triggerOf(
  { source, status, nodes }: Pick<CheckpointSummary, "source" | "status" | "nodes">,
  toolNodes: ReadonlySet<string>,
): CheckpointTrigger {
  if (source === "update" || source === "fork") return "manual";
  if (source === "input") return "input";
  // Until its last node has run, an input that follows has the status of the turn before.
  if (nodes.includes("finalize") && status !== null && ends.has(status)) return "turn_complete";
  return nodes.some((node) => toolNodes.has(node)) ? "tool_result" : "node";
}

const ends: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** A thread is listed also where its definition is damaged; the nodes that run tools are not known then. */
function nullIfCorrupt(thrown: unknown): null {
  if (thrown instanceof StratagraphError && thrown.code === "corrupt_definition") return null;
  throw thrown;
}

/** @param document a stored definition */
function toolNodesIn(document: unknown): ReadonlySet<string> {
  const spec = isRecord(document) ? document["spec"] : undefined;
  const graph = isRecord(spec) ? spec["workflow_graph"] : undefined;
  const nodes: unknown = isRecord(graph) ? graph["nodes"] : undefined;
  const ofTools = (Array.isArray(nodes) ? nodes : []).flatMap((node: unknown) =>
    isRecord(node) && node["type"] === "tool" ? [String(node["name"])] : [],
  );
  return new Set(["tools", ...ofTools]);
}

function succeeded({ nodes }: CheckpointSummary): Record<string, NodeOutcome> {
  return Object.fromEntries(nodes.map((node) => [node, "success"]));
}

async function stopped(
  { threadId, namespace, id, interrupts, failures }: CheckpointSummary,
  checkpointer: ViewSource["checkpointer"],
): Promise<Record<string, NodeOutcome>> {
  if (interrupts === 0 && failures === 0) return {};
  const config = {
    configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id },
  };
  // A damaged checkpoint is listed too; what its tasks came to is not known.
  const tuple = await checkpointer.getTuple(config).catch(() => undefined);
  const tasks = tuple === undefined ? [] : pendingTasks(tuple);
  const outcomes: Record<string, NodeOutcome> = {};
  for (const { node, state } of tasks) {
    if (state === "interrupted") outcomes[node] = "interrupted";
    if (state === "failed") outcomes[node] = "failure";
  }
  return outcomes;
}
