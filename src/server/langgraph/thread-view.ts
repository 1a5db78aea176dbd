import { z } from "zod";
import type { CompileServices } from "../../compile/compile-agent.ts";
import { pendingTasks } from "../../compile/guards/waiting.ts";
import type { Threads } from "../../runtime/threads/threads.ts";
import { valuesOf } from "../../runtime/threads/stored.ts";
import { hasScope } from "../../storage/platform/api-keys.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { Instance } from "../../storage/platform/runs/instances.ts";
import { type FoundThread, threadStates } from "../../storage/platform/runs/thread-search.ts";
import { isRecord } from "../../values/json.ts";
import { maxStateBytes, StateViewer } from "../checkpoints/shown-state.ts";
import { HttpProblem } from "../problems.ts";

type Values = Readonly<Record<string, unknown>>;

export const anything = z.record(z.string(), z.unknown());
const interruptSchema = z.looseObject({ id: z.string().optional(), value: z.unknown() });

export const threadSchema = z
  .looseObject({
    thread_id: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    metadata: anything,
    status: z.enum(threadStates),
    config: anything,
    values: anything
      .nullable()
      .describe(
        "Null without a state, without the scope `checkpoints:read`, and where it is too large.",
      ),
    interrupts: z.record(z.string(), z.array(interruptSchema)),
  })
  .meta({ id: "LangGraphThread" });
export type ShownThread = z.output<typeof threadSchema>;

/** Bytes of JSON of the states in one answer. */
export const maxAnswerBytes = 33_554_432;

/** The newest state of a thread as a caller may see it. */
export interface ShownHead {
  readonly values: Values;
  readonly interrupts: ShownThread["interrupts"];
  /** Bytes of its JSON. */
  readonly bytes: number;
}

type Runtime = CompileServices & { readonly threads: Threads };

/** Shows threads to one caller. All states of one answer share a limit of {@link maxAnswerBytes}. */
export class ThreadPresenter {
  #left = maxAnswerBytes;
  #bytesRead = 0;

  constructor(
    private readonly runtime: Runtime,
    private readonly principal: Principal,
  ) {}

  /** @param head the thread's newest state, if it was read already; null leaves it out */
  async show(thread: FoundThread, head?: ShownHead | null): Promise<ShownThread> {
    const shown = head === undefined && this.#left > 0 ? await this.head(thread.threadId) : head;
    const fits = shown && shown.bytes <= this.#left;
    // Further states are not read.
    if (shown) this.#left = fits ? this.#left - shown.bytes : 0;
    return {
      thread_id: thread.threadId,
      created_at: thread.createdAt,
      updated_at: thread.updatedAt,
      metadata: metadataOf(thread),
      status: thread.state,
      config: {},
      values: fits ? shown.values : null,
      interrupts: fits ? shown.interrupts : {},
    };
  }

  /** Bytes of JSON of the states that were read. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Null where there is none, or none that the caller can be shown. */
  async head(threadId: string): Promise<ShownHead | null> {
    if (!hasScope(this.principal, "checkpoints:read")) return null;
    const viewer = new StateViewer(this.runtime, threadId, this.principal);
    try {
      const head = await readHead(this.runtime, viewer, threadId);
      this.#bytesRead += head?.bytes ?? 0;
      return head;
    } catch (thrown) {
      const bytes = unreadableBytes(thrown);
      this.#bytesRead += bytes;
      this.#left = Math.max(0, this.#left - bytes);
      return null;
    }
  }
}

async function readHead(
  { checkpointer }: Runtime,
  viewer: StateViewer,
  threadId: string,
): Promise<ShownHead | null> {
  const configurable = { thread_id: threadId, checkpoint_ns: "" };
  const tuple = await checkpointer?.getTuple({ configurable });
  if (tuple === undefined) return null;
  const values = valuesOf(tuple);
  const waiting = new Set(
    pendingTasks(tuple).flatMap(({ id, state }) => (state === "interrupted" ? [id] : [])),
  );
  const interrupts: Record<string, unknown[]> = {};
  for (const [task, channel, value] of tuple.pendingWrites ?? []) {
    if (channel !== "__interrupt__" || !waiting.has(task)) continue;
    interrupts[task] = [...(interrupts[task] ?? []), ...[value].flat()];
  }
  viewer.setLatest(values);
  const shown = await viewer.shown({ interrupts }, { values });
  const head = {
    values: await viewer.shown(values, { values }),
    interrupts: shown.interrupts as ShownHead["interrupts"],
  };
  return { ...head, bytes: Buffer.byteLength(JSON.stringify(head)) };
}

/**
 * The bytes that reading a state cost that is damaged or too large: its thread is shown without it.
 *
 * @throws what was thrown, for other reasons
 */
function unreadableBytes(thrown: unknown): number {
  if ((Object(thrown) as { code?: unknown }).code === "corrupt_checkpoint") return 0;
  const { code } = (thrown instanceof HttpProblem && thrown.facts.extensions) || {};
  if (code === "state_too_large") return maxStateBytes;
  throw thrown;
}

/** The metadata of a thread, with its agent as LangGraph's server writes it there. */
export function metadataOf({ metadata, agent, agentId }: Instance): Record<string, unknown> {
  return {
    ...metadata,
    ...(agent !== null && { graph_id: agent }),
    ...(agent !== null && agentId !== null && { assistant_id: agentId }),
  };
}

/**
 * Whether a value contains another one, as `@>` of Postgres' jsonb has it.
 *
 * @param step called for each comparison; lists are compared element by element
 */
export function containsJson(value: unknown, part: unknown, step: () => void): boolean {
  step();
  if (Array.isArray(part)) {
    if (!Array.isArray(value)) return false;
    return part.every((one) => value.some((other) => containsJson(other, one, step)));
  }
  if (isRecord(part)) {
    if (!isRecord(value)) return false;
    return Object.entries(part).every(
      ([key, one]) => Object.hasOwn(value, key) && containsJson(value[key], one, step),
    );
  }
  return value === part;
}
