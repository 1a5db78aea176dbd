import type { BaseMessage } from "@langchain/core/messages";
import { Annotation, type BaseChannel } from "@langchain/langgraph";
import { z } from "zod";
import type { Status } from "./lifecycle.ts";
import { statuses } from "./lifecycle.ts";
import { reduceBranches, type Branch, type BranchUpdate } from "./branch.ts";
import {
  append,
  mergeByKey,
  reduceMessages,
  reduceResultSummaries,
  reduceStatus,
  type ResultSummaries,
} from "./reducers.ts";
import type { RailRecord, Redactions } from "./rails.ts";
import { reduceSubtasks, type SubtaskStates, type TaskPlan } from "./plan.ts";
import type { CurrentStep, StepRecord } from "./step-record.ts";
import { reduceTier } from "./tier-patch.ts";
import { reduceTurn, type TurnState } from "./turn.ts";
import { addUsage, noUsage, type Usage, usageSchema } from "./usage.ts";

/** A JSON Schema document, for display only. */
type DisplaySchema = Readonly<Record<string, unknown>>;

/** The additional channels of a planner's graph. */
export interface PlanningState {
  /** All subtasks planned so far, plans for gaps included; null before the first plan. */
  readonly plan: TaskPlan | null;
  readonly subtasks: SubtaskStates;
  /** Number of plans made for gaps. */
  readonly depth: number;
  /** The gaps found when the results were last judged. */
  readonly gaps: readonly string[];
  /** Whether the last judgement found no gap; null before the first one, and if the result could not be judged. */
  readonly criteria_met: boolean | null;
}

/** The value of every channel of an agent's graph, as nodes read it. Channels that were never written are undefined. */
export interface GraphState {
  readonly input: unknown;
  readonly messages: readonly BaseMessage[];
  readonly turn_number: number | undefined;
  readonly execution: unknown;
  readonly attempt: unknown;
  readonly attempt_number: number | undefined;
  readonly current_step: CurrentStep | null | undefined;
  readonly steps: readonly StepRecord[];
  readonly nodes: Readonly<Record<string, unknown>>;
  /** Empty unless a workflow is running. */
  readonly branches: readonly Branch[];
  readonly status: Status | undefined;
  readonly usage: Usage;
  /** A model's summary of the beginning of the thread; null if models read it unsummarized. */
  readonly summary: RunningSummary | null | undefined;
  /** Summaries of tool results, rendered instead of their previews. */
  readonly result_summaries: ResultSummaries;
  readonly output: unknown;
  readonly turn: TurnState | undefined;
  /** Rail records of all turns. */
  readonly rails: readonly RailRecord[];
  /** The redacted values by placeholder. */
  readonly redactions: Redactions;
}

/**
 * The update that a node may return: any part of the state. Lists are appended to, `usage` is added, `nodes`, `turn`,
 * `result_summaries` and `redactions` are merged by key (`nodes: null` empties them). A tier is replaced, or changed by
 * a `TierPatch`.
 */
export type GraphUpdate = Partial<
  Omit<GraphState, "usage" | "nodes" | "turn" | "branches"> & PlanningState
> & {
  readonly usage?: Partial<Usage>;
  readonly nodes?: Readonly<Record<string, unknown>> | null;
  readonly turn?: Partial<TurnState>;
  readonly branches?: BranchUpdate;
};

/** The JSON Schemas shown for the values that a definition describes. */
export interface ChannelSchemas {
  readonly input: DisplaySchema;
  readonly output: DisplaySchema;
  readonly execution?: DisplaySchema | undefined;
  readonly attempt?: DisplaySchema | undefined;
}

const count = z.number().int().nonnegative();

/** The channels of an agent's graph as a zod object with reducers, defaults, and descriptions for Studio. */
export function stateSchema(schemas: ChannelSchemas): z.ZodObject {
  const shape = {
    input: shown(schemas.input, "The turn's validated input."),
    messages: messagesChannel(),
    turn_number: count.describe("Number of the turn in this thread, from 0."),
    execution: written(
      shown(schemas.execution ?? { type: "object" }, "Tier 1: survives failed attempts of a turn."),
      reduceTier,
    ),
    attempt: written(
      shown(schemas.attempt ?? { type: "object" }, "Tier 2: fresh for every attempt."),
      reduceTier,
    ),
    attempt_number: count.describe("Number of the attempt in this turn, from 0."),
    current_step: z.any().describe("The step under way, until its tools have ended; else null."),
    steps: reduced(
      z.array(z.any()).describe("One finished record for every reasoning step, all turns."),
      (): readonly StepRecord[] => [],
      append<StepRecord>,
    ),
    nodes: reduced(
      z.record(z.string(), z.any()).describe("Last output of each workflow node."),
      () => ({}),
      mergeByKey,
    ),
    branches: reduced(
      z.array(z.any()).describe("Where a workflow is under way, on each of its parallel branches."),
      (): readonly Branch[] => [],
      reduceBranches,
    ),
    status: written(z.enum(statuses).describe("Where the turn is in its life."), reduceStatus),
    usage: reduced(
      usageSchema.describe("What the thread has spent, all turns."),
      () => noUsage,
      addUsage,
    ),
    summary: reduced(
      z
        .object({
          text: z.string(),
          covers: z.object({ turns: count, steps: count, messages: count }),
          model: z.string(),
          at: z.string(),
        })
        .nullable()
        .describe(
          "A model's summary of the oldest turns of the thread, which models read instead of them; else null.",
        ),
      // Few threads have one; without a default nothing is stored for the others.
      (): RunningSummary | null => null,
      (_, next: RunningSummary | null) => next,
    ),
    result_summaries: reduced(
      z
        .record(z.string(), z.object({ text: z.string(), model: z.string() }))
        .describe("What models said of large tool results, read instead of their previews."),
      (): ResultSummaries => ({}),
      reduceResultSummaries,
    ),
    output: shown(schemas.output, "The turn's validated output; null until there is one."),
    turn: written(
      z.any().describe("Bookkeeping of the turn: times, failed attempts, why it failed."),
      reduceTurn,
    ),
    rails: reduced(
      z.array(z.any()).describe("What guardrails said, all turns."),
      (): readonly RailRecord[] => [],
      append<RailRecord>,
    ),
    redactions: reduced(
      z.record(z.string(), z.any()).describe("Redacted values by placeholder."),
      (): Redactions => ({}),
      mergeByKey,
    ),
  } satisfies Record<keyof GraphState, z.ZodType>;
  return asStateSchema(z.object(shape));
}

/** The channels of an agent's graph and those of a planner. */
export function planningStateSchema(schemas: ChannelSchemas): z.ZodObject {
  const shape = {
    plan: reduced(
      z.any().describe("All that was planned so far: subtasks, and what they are judged by."),
      (): TaskPlan | null => null,
      (_, next: TaskPlan | null) => next,
    ),
    subtasks: reduced(
      z.record(z.string(), z.any()).describe("Where each subtask is, and what came of it, by id."),
      (): SubtaskStates => ({}),
      reduceSubtasks,
    ),
    depth: reduced(
      count.describe("How many plans for gaps were made."),
      () => 0,
      (_, next: number) => next,
    ),
    gaps: reduced(
      z.array(z.string()).describe("What was missing when the results were last judged."),
      (): readonly string[] => [],
      (_, next: readonly string[]) => next,
    ),
    criteria_met: reduced(
      z.boolean().nullable().describe("Whether the last judgement found no gap."),
      (): boolean | null => null,
      (_, next: boolean | null) => next,
    ),
  } satisfies Record<keyof PlanningState, z.ZodType>;
  return asStateSchema(z.object({ ...stateSchema(schemas).shape, ...shape }));
}

/**
 * Returns the input schema of a graph: `{ input }`, or `{ messages }` whose last human message becomes `input.message`.
 * `input` becomes null if it is left out, so that a node can tell a new input from the last turn's.
 *
 * @param refuse called with the input before anything is stored; throws to refuse it.
 */
export function inputSchema(
  schemas: ChannelSchemas,
  refuse: { input(value: unknown): void; messages(list: readonly unknown[]): void },
): z.ZodObject {
  return z.object({
    input: shown(schemas.input, "The turn's input.")
      .superRefine((value) => {
        if (value !== null) refuse.input(value);
      })
      .prefault(null)
      // Clients would otherwise read it as required, although it may be left out.
      .optional(),
    messages: messagesChannel((list) => refuse.messages(list)).optional(),
  });
}

const planningMask = {
  plan: true,
  subtasks: true,
  depth: true,
  gaps: true,
  criteria_met: true,
} as const;

/** Returns the output schema of a graph: its public channels. */
export function outputSchema(state: z.ZodObject): z.ZodObject {
  return state.pick({
    ...("plan" in state.shape ? planningMask : {}),
    output: true,
    status: true,
    messages: true,
    steps: true,
    usage: true,
    summary: true,
    execution: true,
    attempt: true,
    attempt_number: true,
    turn_number: true,
    turn: true,
    nodes: true,
    rails: true,
  });
}

/** Per-run overrides, which Studio shows next to its run button. */
export const contextSchema = z.object({
  model: z.string().optional().describe("provider:model for this run instead of the definition's."),
  temperature: z.number().min(0).max(2).optional(),
  user: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Whose memories the run reads and writes. Default: those that all users share."),
});
export type RunContext = z.output<typeof contextSchema>;

function messagesChannel(refuse: (list: readonly unknown[]) => void = () => {}) {
  const list = z.array(z.any()).superRefine((messages) => refuse(messages));
  const schema = list.meta({
    langgraph_type: "messages",
    description: "The conversation as people and chat clients see it.",
  });
  return reduced(schema, () => [], reduceMessages);
}

/** Factories of channels by schema. The channel of any other schema keeps the last value. */
const channels = new WeakMap<z.ZodType, () => BaseChannel>();

/** Returns a channel that is written through a reducer. Updates may have another shape than the stored value. */
function reduced<S extends z.ZodType, Value>(
  schema: S,
  initial: () => Value,
  reduce: (value: Value, update: never) => Value,
): S {
  channels.set(schema, () => Annotation({ default: initial, reducer: reduce }));
  return schema;
}

/** Returns a channel without a value until its first write; it is written through a reducer. */
function written<S extends z.ZodType, Value>(
  schema: S,
  reduce: (value: Value, update: never) => Value,
): S {
  channels.set(schema, () => Annotation({ reducer: reduce }));
  return schema;
}

/** Returns a schema that accepts any value and displays `jsonSchema`. */
function shown(jsonSchema: DisplaySchema, description: string) {
  const { $schema: _draft, $id: _id, id: _zodId, ...rest } = jsonSchema;
  return z.any().meta({ description, ...rest });
}

const stateSchemaMark = Symbol.for("langgraph.state.state_schema");

/**
 * Marks a zod object as one that makes its channels and checks its own updates.
 *
 * LangGraph's global registry retains every schema, and with it the graph, until the process ends: a server that
 * compiles definitions would grow with each. LangGraph also derives and compiles a partial zod schema for every write
 * of every node, which doubles the time of a step (2.1 against 1.1 ms for two nodes and 15 channels), and copies the
 * lists that it parses. The types guarantee the writes of this package's nodes, so they pass unchecked. Studio still
 * reads the zod object; a LangGraph `StateSchema` with a context would prevent that.
 */
function asStateSchema<T extends z.ZodObject>(schema: T): T {
  const fields = Object.entries(schema.shape);
  return Object.defineProperties(schema, {
    [stateSchemaMark]: { value: true },
    validateInput: { value: async (update: unknown) => update },
    getChannels: {
      value: () =>
        Object.fromEntries(
          fields.map(([key, field]) => [key, (channels.get(field) ?? Annotation)()]),
        ),
    },
    // LangGraph validates the updates of these channels, one promise after the other: none.
    getChannelKeys: { value: () => [] },
    getAllKeys: { value: () => fields.map(([key]) => key) },
  });
}

/**
 * A model's summary of the beginning of a thread, which models read instead of it. The covered records and messages
 * stay stored.
 */
export interface RunningSummary {
  readonly text: string;
  /** It covers the turns 0 to `turns` - 1, with these numbers of step records and chat messages. */
  readonly covers: { readonly turns: number; readonly steps: number; readonly messages: number };
  /** `provider:model` that wrote it. */
  readonly model: string;
  /** ISO 8601. */
  readonly at: string;
}
