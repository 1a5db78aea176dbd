import {
  type ClientCall,
  clientCallsIn,
  type PendingRequest,
  publicRequest,
  requestOf,
} from "../../state/human-request.ts";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import type { TriedChannel } from "../../compile/guards/updates.ts";
import {
  namespaceInside,
  namespaceOf,
  pendingTasks,
  type StoredTask,
} from "../../compile/guards/waiting.ts";
import {
  keptSubtasks,
  waitingSubtasks,
  waitsOfSubtasks,
} from "../../compile/planner/subtask-log.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { buildDefinition } from "../../definition/build-definition.ts";
import { type DefinitionDocument, normalizeDocument } from "../../definition/definition-hash.ts";
import { passFinding, type Rail } from "../../definition/rail.ts";
import {
  type AgentSpec,
  agentSpecSchema,
  splitClientTools,
} from "../../definition/schema/agent.ts";
import { checkFromJsonSchema } from "../../definition/schema/json-schema.ts";
import type { AgentTool, ToolDefinition } from "../../definition/tool/tool.ts";
import type { GraphState, GraphUpdate, PlanningState } from "../../state/channels.ts";
import {
  pendingSubtask,
  type Subtask,
  type SubtaskStates,
  type TaskPlan,
} from "../../state/plan.ts";
import type { Redactions } from "../../state/rails.ts";
import { isRecord } from "../../values/json.ts";
import type { DurableSaver, CheckpointSummary } from "../../durable-saver.ts";
import { type CheckpointView, viewsOf } from "./checkpoint-view.ts";

/** The whole state of a thread at one checkpoint. */
export interface StoredState extends CheckpointView {
  /** All channels with a value, except LangGraph's internal ones. Deeply frozen if the checkpointer freezes values. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The nodes to run next at this checkpoint; empty if none were left. */
  readonly next: readonly string[];
  /** The tasks of `next`, with their state. */
  readonly tasks: readonly StoredTask[];
  /** Calls of client tools that wait for results at this checkpoint, those of nested agents included. */
  readonly toolCalls: readonly ClientCall[];
  /** Pending requests at this checkpoint, nested agents included: to people, and for the results of client tools. */
  readonly waiting: readonly PendingRequest[];
  /** The version of each channel. Equal versions mean equal values, across threads too. */
  readonly channelVersions: Readonly<Record<string, string | number>>;
  /** SHA-256 (hex) over the checkpoint's content; null if the checkpointer stores none. */
  readonly integrityHash: string | null;
}

export async function storedState(
  tuple: CheckpointTuple,
  summary: CheckpointSummary,
  source: {
    readonly archive: Pick<DurableSaver, "definitionOf">;
    readonly checkpointer: Pick<BaseCheckpointSaver, "getTuple">;
  },
): Promise<StoredState> {
  const [view] = await viewsOf([summary], source);
  const tasks = pendingTasks(tuple);
  const waiting = await storedRequests(source.checkpointer, tuple);
  return {
    ...(view as CheckpointView),
    values: valuesOf(tuple),
    next: [...new Set(tasks.map(({ node }) => node))],
    tasks: tasks.map(({ id: _id, ...task }) => task),
    toolCalls: clientCallsIn(waiting),
    waiting,
    channelVersions: ownOnly(tuple.checkpoint.channel_versions),
    integrityHash: summary.integrityHash ?? null,
  };
}

/** Returns the agent's channels, without those that LangGraph uses for scheduling. */
export function valuesOf({ checkpoint }: Pick<CheckpointTuple, "checkpoint">) {
  return ownOnly(checkpoint.channel_values);
}

function ownOnly<Value>(channels: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(channels).filter(([name]) => !/^(branch:|join:|__)/.test(name)),
  );
}

/**
 * Restores an agent from the definition stored with its threads, to inspect what it reads. Its tools cannot be called,
 * it has no code, and its schemas have lost their `default`s and key order.
 *
 * @returns null if the stored document is no valid definition
 */
export function storedDefinition(stored: unknown): AgentDefinition | null {
  const document = normalizeDocument(stored);
  if (!isRecord(document) || !agentSpecSchema.safeParse(document["spec"]).success) return null;
  return definitionOf(document as unknown as DefinitionDocument);
}

function definitionOf({ spec, tools, agents }: DefinitionDocument): AgentDefinition {
  const { spec: parsed } = splitClientTools(agentSpecSchema.parse(spec));
  return {
    ...buildDefinition({
      spec: parsed,
      tools: Object.values(tools).map(toolWithoutCode),
      agents: new Map(Object.entries(agents).map(([name, agent]) => [name, definitionOf(agent)])),
      rails: railsWithoutCode(parsed),
    }),
    hasAllTools: true,
  };
}

/** Returns the agent's rails without their code; a dry run checks nothing. */
function railsWithoutCode({ guardrail_config: config }: AgentSpec): readonly Rail[] {
  const named = (entries: readonly { readonly type: string; readonly name?: string }[]) =>
    entries.flatMap(({ type, name }) => (type === "custom" && name !== undefined ? [name] : []));
  const sides = { input: named(config.input_rails), output: named(config.output_rails) } as const;
  return (["input", "output"] as const).flatMap((side) =>
    sides[side].map((name): Rail => ({
      name,
      on: new Set([side]),
      onError: "pass",
      check: () => passFinding,
    })),
  );
}

function toolWithoutCode(definition: ToolDefinition): AgentTool {
  return {
    kind: "stateless",
    definition,
    input: checkFromJsonSchema(definition.input_schema),
    run() {
      throw new TypeError(`the code of ${definition.name} is not stored with the thread`);
    },
  };
}

/** The stored state of a planner that has a plan. */
export interface Planning extends PlanningState {
  readonly plan: TaskPlan;
  /** Ids of subtasks that wait for a person and are not settled. */
  readonly waiting: readonly string[];
}

/** Reads the channels of a planner's graph, or the output of its node; null without a plan, and for anything else. */
export function planningIn(value: unknown): Planning | null {
  if (!isRecord(value) || !isPlan(value["plan"]) || !isRecord(value["subtasks"])) return null;
  const { plan, subtasks, depth, gaps, criteria_met } = value;
  return {
    plan,
    subtasks: subtasks as SubtaskStates,
    depth: typeof depth === "number" ? depth : 0,
    gaps: Array.isArray(gaps) ? gaps.map(String) : [],
    criteria_met: typeof criteria_met === "boolean" ? criteria_met : null,
    waiting: [],
  };
}

/** Reads the checkpoint of a planner's graph, with the subtask log that is stored until the last subtask has ended. */
export function activePlanning({
  checkpoint,
  pendingWrites = [],
}: Pick<CheckpointTuple, "checkpoint" | "pendingWrites">): Planning | null {
  const stored = planningIn(checkpoint.channel_values);
  if (stored === null) return null;
  const subtasks = { ...stored.subtasks, ...keptSubtasks(pendingWrites) };
  const asked = waitingSubtasks(pendingWrites);
  const ids = stored.plan.subtasks.map(({ id }) => id);
  return { ...stored, subtasks, waiting: ids.filter((id) => asked.has(id)) };
}

/** Returns a state for every subtask of the plan, in its order. */
export function allSubtasks({
  plan,
  subtasks,
}: Pick<Planning, "plan" | "subtasks">): SubtaskStates {
  return Object.fromEntries(
    plan.subtasks.map(({ id, worker = "" }) => [id, subtasks[id] ?? pendingSubtask(worker, 0)]),
  );
}

function isPlan(value: unknown): value is TaskPlan {
  return isRecord(value) && Array.isArray(value["subtasks"]) && value["subtasks"].every(isSubtask);
}

function isSubtask(value: unknown): value is Subtask {
  return isRecord(value) && typeof value["id"] === "string" && Array.isArray(value["dependencies"]);
}

/** Returns the pending requests at a checkpoint, nested agents included. */
export async function storedRequests(
  checkpointer: Pick<BaseCheckpointSaver, "getTuple">,
  tuple: CheckpointTuple,
): Promise<readonly PendingRequest[]> {
  const found = new Map<string, PendingRequest>();
  for (const { id, value } of waitsOfSubtasks(tuple.pendingWrites ?? [])) {
    found.set(String(id), publicRequest(requestOf(String(id), value, "subtask")));
  }
  for (const task of pendingTasks(tuple)) {
    if (task.state !== "interrupted") continue;
    const namespace = namespaceInside(task, namespaceOf(tuple));
    const thread_id: unknown = tuple.config.configurable?.["thread_id"];
    const inside = await checkpointer.getTuple({
      configurable: { thread_id, checkpoint_ns: namespace },
    });
    // Before version 1.7 LangGraph stored one interrupt per task: the last one of a nested graph.
    const requests = inside === undefined ? [] : await storedRequests(checkpointer, inside);
    const own = (tuple.pendingWrites ?? []).flatMap(([id, channel, value]) =>
      id === task.id && channel === "__interrupt__" ? requestsIn(value, task.node) : [],
    );
    for (const request of requests.length > 0 ? requests : own) found.set(request.id, request);
  }
  return [...found.values()];
}

/** Reads stored interrupts. LangGraph stores a list per task; before version 1.7 it stored one. */
function requestsIn(value: unknown, node: string): readonly PendingRequest[] {
  return [value].flat().flatMap((one: unknown) => {
    if (!isRecord(one)) return [];
    return [publicRequest(requestOf(String(one["id"]), one["value"], node))];
  });
}

/** Returns the state that the next nodes at a checkpoint will read. */
export function graphStateAt(graph: AgentGraph, tuple: CheckpointTuple): GraphState {
  const values: Record<string, unknown> = { ...valuesOf(tuple) };
  for (const [name, channel] of ownChannels(graph)) {
    if (name in values) continue;
    const empty = channel.fromCheckpoint(undefined);
    if (empty.isAvailable()) values[name] = empty.get();
  }
  return values as unknown as GraphState;
}

/** Returns the state after a node's writes, each channel merged by its reducer. Nothing is stored. */
export function stateAfter(graph: AgentGraph, state: GraphState, update: GraphUpdate): GraphState {
  const values: Record<string, unknown> = { ...state };
  const channels = new Map(ownChannels(graph));
  for (const [name, value] of Object.entries(update)) {
    const channel = channels.get(name);
    if (channel === undefined || value === undefined) continue;
    const written = channel.fromCheckpoint(values[name]);
    written.update([value]);
    values[name] = written.get();
  }
  return values as unknown as GraphState;
}

function ownChannels({ channels }: AgentGraph): readonly (readonly [string, TriedChannel])[] {
  return Object.entries(channels as unknown as Record<string, TriedChannel>).filter(
    ([name]) => !/^(branch:|join:|__)/.test(name),
  );
}

/**
 * Returns the redactions of the outer agents when a nested agent's checkpoint ran: from the checkpoints it ran from, or
 * the current ones if these are gone.
 */
export async function redactionsAround(
  source: Pick<BaseCheckpointSaver, "getTuple">,
  inside: CheckpointTuple,
): Promise<Redactions> {
  const namespace = namespaceOf(inside);
  if (namespace === "") return {};
  const thread_id: unknown = inside.config.configurable?.["thread_id"];
  const { parents = {} } = inside.metadata ?? {};
  const path = namespace.split("|");
  const around = await Promise.all(
    path.map(async (_, depth) => {
      const checkpoint_ns = path.slice(0, depth).join("|");
      const now = { thread_id, checkpoint_ns };
      const checkpoint_id = parents[checkpoint_ns];
      const then =
        checkpoint_id === undefined
          ? undefined
          : await source.getTuple({ configurable: { ...now, checkpoint_id } });
      const tuple = then ?? (await source.getTuple({ configurable: now }));
      return tuple === undefined ? {} : redactionsIn(tuple);
    }),
  );
  return Object.assign({}, ...around) as Redactions;
}

export function redactionsIn({ checkpoint }: Pick<CheckpointTuple, "checkpoint">): Redactions {
  return (checkpoint.channel_values["redactions"] as Redactions | undefined) ?? {};
}
