import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { pendingTasks } from "../../compile/guards/waiting.ts";
import { StratagraphError } from "../../errors.ts";
import { diffValues, type ValueChange } from "../../values/diff.ts";
import { isRecord } from "../../values/json.ts";
import type { DurableSaver, CheckpointSummary } from "../../durable-saver.ts";

/**
 * Why a checkpoint was written. `input`: a turn received its input. `node`: nodes ran. `tool_result`: one of them ran
 * tools. `turn_complete`: a turn ended, successfully or not. `manual`: the state was edited, or a fork or a replay
 * began there.
 */
export type CheckpointTrigger = "input" | "node" | "tool_result" | "turn_complete" | "manual";

/** `interrupted`: it waits for a person. `failure`: it threw, and runs again when the thread is resumed. */
export type NodeOutcome = "success" | "failure" | "interrupted";

/** A checkpoint in a thread's history. */
export interface CheckpointView extends CheckpointSummary {
  /** Supersteps before it on its own branch, from 0. Branches of one thread share numbers. */
  readonly sequenceNum: number;
  readonly trigger: CheckpointTrigger;
  /** Outcomes of the nodes whose run produced it (`success`), and of nodes that started from it without completing. */
  readonly nodeOutcomes: Readonly<Record<string, NodeOutcome>>;
}

/** Reads the parts of a view that its summary lacks. */
export interface ViewSource {
  readonly archive: Pick<DurableSaver, "definitionOf">;
  readonly checkpointer: Pick<BaseCheckpointSaver, "getTuple">;
}

/** Returns views of summaries, in their order. Values are loaded only for checkpoints where tasks stopped. */
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

/** @param toolNodes the nodes that run tools, in addition to `tools` of the standard loop */
function triggerOf(
  { source, status, nodes }: Pick<CheckpointSummary, "source" | "status" | "nodes">,
  toolNodes: ReadonlySet<string>,
): CheckpointTrigger {
  if (source === "update" || source === "fork") return "manual";
  if (source === "input") return "input";
  // Until its last node has run, a new input carries the status of the previous turn.
  if (nodes.includes("finalize") && status !== null && ends.has(status)) return "turn_complete";
  return nodes.some((node) => toolNodes.has(node)) ? "tool_result" : "node";
}

const ends: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** Lets threads with a damaged definition be listed; the nodes that run tools are then unknown. */
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
  // A damaged checkpoint is listed too; the outcomes of its tasks are unknown.
  const tuple = await checkpointer.getTuple(config).catch(() => undefined);
  const tasks = tuple === undefined ? [] : pendingTasks(tuple);
  const outcomes: Record<string, NodeOutcome> = {};
  for (const { node, state } of tasks) {
    if (state === "interrupted") outcomes[node] = "interrupted";
    if (state === "failed") outcomes[node] = "failure";
  }
  return outcomes;
}

/** Maximum number of changes shown per channel. */
export const maxChanges = 50;

/** How a channel differs between two states. */
export interface ChannelDiff {
  readonly channel: string;
  readonly kind: "added" | "removed" | "changed";
  /** In the order of the value; at most {@link maxChanges}. */
  readonly changes: readonly ValueChange[];
  /** Number of further changes that were left out. */
  readonly omitted: number;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the differences of the state `after` from the state `before`, by channel. Equal states have none, and every
 * channel that differs is listed. The size of each difference is bounded.
 */
export function diffStates(before: Values, after: Values): readonly ChannelDiff[] {
  const channels = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...channels].flatMap((channel) => {
    const [was, is] = [valueOf(before, channel), valueOf(after, channel)];
    const kind = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    const from = was === undefined ? emptyLike(is) : was;
    const to = is === undefined ? emptyLike(was) : is;
    const inside = diffValues(from, to, { limit: maxChanges });
    // A list that is added whole is shown by its elements, an empty one as it is.
    const { changes, omitted } = inside.changes.length > 0 ? inside : diffValues(was, is);
    return changes.length === 0 ? [] : [{ channel, kind, changes, omitted }];
  });
}

function valueOf(values: Values, channel: string): unknown {
  return Object.hasOwn(values, channel) ? values[channel] : undefined;
}

function emptyLike(value: unknown): unknown {
  return Array.isArray(value) ? [] : undefined;
}
