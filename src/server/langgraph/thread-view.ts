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
import { StateViewer } from "../checkpoints/shown-state.ts";
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
}

type Runtime = CompileServices & { readonly threads: Threads };

/** Shows threads to one caller. All states of one answer share a limit of {@link maxAnswerBytes}. */
export class ThreadPresenter {
  #left = maxAnswerBytes;

  constructor(
    private readonly runtime: Runtime,
    private readonly principal: Principal,
  ) {}

  /** @param head the thread's newest state, if it was read already; null leaves it out */
  async show(thread: FoundThread, head?: ShownHead | null): Promise<ShownThread> {
    const shown = head === undefined ? await this.head(thread.threadId) : head;
    const bytes = shown === null ? 0 : Buffer.byteLength(JSON.stringify(shown));
    const fits = bytes <= this.#left;
    if (fits) this.#left -= bytes;
    return {
      thread_id: thread.threadId,
      created_at: thread.createdAt,
      updated_at: thread.updatedAt,
      metadata: metadataOf(thread),
      status: thread.state,
      config: {},
      values: fits && shown !== null ? shown.values : null,
      interrupts: fits && shown !== null ? shown.interrupts : {},
    };
  }

  /** Null where there is none, or none that the caller can be shown. */
  async head(threadId: string): Promise<ShownHead | null> {
    if (!hasScope(this.principal, "checkpoints:read")) return null;
    const viewer = new StateViewer(this.runtime, threadId, this.principal);
    try {
      return await readHead(this.runtime, viewer, threadId);
    } catch (thrown) {
      if (isUnreadable(thrown)) return null;
      throw thrown;
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
  return {
    values: await viewer.shown(values, { values }),
    interrupts: shown.interrupts as ShownHead["interrupts"],
  };
}

/** Whether a state is damaged or too large: its thread is shown without it. */
function isUnreadable(thrown: unknown): boolean {
  if ((Object(thrown) as { code?: unknown }).code === "corrupt_checkpoint") return true;
  if (!(thrown instanceof HttpProblem)) return false;
  const code = thrown.facts.extensions?.["code"];
  return code === "state_too_large" || code === "corrupt_checkpoint";
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
