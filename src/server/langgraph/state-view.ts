import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import { z } from "zod";
import { isRecord } from "../../values/json.ts";
import type { StateViewer } from "../checkpoints/shown-state.ts";
import { HttpProblem } from "../problems.ts";
import { anything, maxAnswerBytes } from "./thread-view.ts";

export const checkpointKeySchema = z.strictObject({
  thread_id: z.string(),
  checkpoint_id: z.string().nullable(),
  checkpoint_ns: z.string(),
  checkpoint_map: anything.nullable(),
});
export type CheckpointKey = z.output<typeof checkpointKeySchema>;

export const stateSchema = z
  .looseObject({
    values: anything,
    next: z.array(z.string()),
    tasks: z.array(
      z.looseObject({
        id: z.string(),
        name: z.string(),
        error: z.string().nullable(),
        interrupts: z.array(z.looseObject({})),
        checkpoint: z.looseObject({}).nullable(),
        state: z.looseObject({}).nullable(),
      }),
    ),
    metadata: anything.optional(),
    created_at: z.string().nullable(),
    checkpoint: checkpointKeySchema.nullable(),
    parent_checkpoint: checkpointKeySchema.nullable(),
  })
  .partial()
  .meta({ id: "LangGraphThreadState" });
export type ShownState = Partial<z.output<typeof stateSchema>>;

/** The state of a thread without one. */
export const emptyState: ShownState = {
  values: {},
  next: [],
  tasks: [],
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
};

type Values = Readonly<Record<string, unknown>>;

/** Fields of a state that are answered; of the values some channels only. */
export class StateSelection {
  readonly #fields: ReadonlySet<string>;
  readonly #channels: ReadonlySet<string>;

  constructor(private readonly select: readonly string[] | undefined) {
    this.#fields = new Set(select);
    this.#channels = new Set(
      (select ?? []).flatMap((one) => (one.startsWith("values.") ? [one.slice(7)] : [])),
    );
  }

  has(field: string): boolean {
    if (this.select === undefined || this.#fields.has(field)) return true;
    return field === "values" && this.#channels.size > 0;
  }

  channels(values: Values): Values {
    if (this.select === undefined || this.#fields.has("values")) return values;
    return Object.fromEntries(Object.entries(values).filter(([name]) => this.#channels.has(name)));
  }

  fields(state: ShownState): ShownState {
    return Object.fromEntries(Object.entries(state).filter(([name]) => this.has(name)));
  }
}

/** Renders snapshots of graphs as LangGraph's protocol sends them. The states of one renderer share a limit of bytes. */
export class StateRenderer {
  readonly #selection: StateSelection;
  #left = maxAnswerBytes;

  constructor(
    private readonly viewer: StateViewer,
    select: readonly string[] | undefined,
  ) {
    this.#selection = new StateSelection(select);
  }

  /** @throws HttpProblem `invalid_input` if the states are too large together */
  async render(snapshot: StateSnapshot): Promise<ShownState> {
    const state = this.#selection.fields(await this.#state(snapshot, {}));
    this.#left -= Buffer.byteLength(JSON.stringify(state));
    if (this.#left >= 0) return state;
    throw new HttpProblem("invalid_input", {
      detail: `The states have more than ${maxAnswerBytes.toLocaleString("en")} bytes of JSON together. Ask for fewer, or for one channel with select=values.NAME.`,
      extensions: { code: "state_too_large" },
    });
  }

  /** @param around redactions of the agents around a nested one */
  async #state(snapshot: StateSnapshot, around: Values): Promise<ShownState> {
    const values = isRecord(snapshot.values) ? snapshot.values : {};
    const known = { ...around, ...redactionsIn(values) };
    const of = { values: { redactions: known } };
    const shown = this.#selection.has("values")
      ? await this.viewer.shown(this.#selection.channels(values), of)
      : {};
    const tasks = this.#selection.has("tasks")
      ? await Promise.all(snapshot.tasks.map((task) => this.#task(task, known)))
      : [];
    const { metadata } = await this.viewer.shown({ metadata: snapshot.metadata ?? null }, of);
    return {
      values: shown,
      next: [...snapshot.next],
      tasks,
      ...(isRecord(metadata) && { metadata }),
      created_at: snapshot.createdAt ?? null,
      checkpoint: checkpointKey(snapshot.config),
      parent_checkpoint: checkpointKey(snapshot.parentConfig),
    };
  }

  async #task(task: StateSnapshot["tasks"][number], around: Values) {
    const { state } = task;
    const result = isRecord(task.result) ? task.result : null;
    const known = { ...around, ...redactionsIn(result ?? {}) };
    const of = { values: { redactions: known } };
    const { error, interrupts, path } = await this.viewer.shown(
      { error: errorText(task.error), interrupts: task.interrupts, path: task.path ?? null },
      of,
    );
    const nested = state !== undefined && "values" in state ? state : null;
    const inside = state !== undefined && "configurable" in state ? state : null;
    return {
      id: task.id,
      name: task.name,
      error,
      interrupts: interrupts as unknown as Record<string, unknown>[],
      path,
      checkpoint: inside === null ? null : taskCheckpoint(inside),
      state: nested === null ? null : await this.#state(nested, known),
      result: result === null ? null : await this.viewer.shown(result, of),
    };
  }
}

/** The newest checkpoint of a nested agent has no id in the protocol. */
function taskCheckpoint(config: RunnableConfig): Record<string, unknown> | null {
  const key = checkpointKey(config);
  return key && Object.fromEntries(Object.entries(key).filter(([, value]) => value !== null));
}

function redactionsIn({ redactions }: Values): Values {
  return isRecord(redactions) ? redactions : {};
}

function errorText(error: unknown): string | null {
  if (error === null || error === undefined) return null;
  const { message } = Object(error) as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(error);
}

/** Returns the checkpoint of a config; null where it names no thread. */
export function checkpointKey(config: RunnableConfig | undefined): CheckpointKey | null {
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = config?.configurable ?? {};
  if (typeof thread_id !== "string") return null;
  return {
    thread_id,
    checkpoint_id: typeof checkpoint_id === "string" ? checkpoint_id : null,
    checkpoint_ns: typeof checkpoint_ns === "string" ? checkpoint_ns : "",
    checkpoint_map: isRecord(checkpoint_map) ? checkpoint_map : null,
  };
}
