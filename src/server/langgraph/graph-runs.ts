import type { GraphRequest } from "../../engine/graph-request.ts";
import { valuesOf } from "../../runtime/threads/stored.ts";
import { ConflictError, NotFoundError } from "../../storage/platform/errors.ts";
import { hasScope } from "../../storage/platform/api-keys.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { Run, RunState, RunSummary } from "../../storage/platform/runs/runs.ts";
import { isRecord } from "../../values/json.ts";
import { checkScopes } from "../authenticate.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem, jsonPointer } from "../problems.ts";
import { isUnderWay, RunDesk } from "../runs/run-desk.ts";
import { findAssistant } from "./assistants.ts";
import { refuseRollback, type RunBody, statuses } from "./run-schemas.ts";
import { ThreadPresenter } from "./thread-view.ts";

/** Milliseconds between two looks at a run that another process executes. */
const pollMs = 250;

/** Runs of LangGraph's protocol. */
export class GraphRuns {
  readonly #desk: RunDesk;

  constructor(private readonly base: ApiBase) {
    this.#desk = new RunDesk(base);
  }

  /**
   * Queues a run.
   *
   * @param threadId undefined for a thread of its own
   * @throws NotFoundError; HttpProblem `missing_scope`, `invalid_input`; ConflictError
   */
  async create(principal: Principal, threadId: string | undefined, body: RunBody): Promise<Run> {
    const { tenantId } = principal;
    const { platform, ids, clock } = this.base;
    checkBody(body);
    if (body.command?.resume !== undefined) checkScopes(principal, ["requests:answer"]);
    const assistant = await findAssistant(platform.agents, tenantId, body.assistant_id);
    const isNew = threadId === undefined;
    const thread = threadId ?? ids();
    const instance = isNew ? null : await platform.instances.onThread(tenantId, thread);
    if (!isNew && instance === null && body.if_not_exists !== "create")
      throw new NotFoundError("thread", thread);
    const strategy = body.multitask_strategy ?? "reject";
    const active =
      strategy === "interrupt"
        ? await this.underWay(principal, { threadId: thread, status: "all" })
        : [];
    const turnId = beginsTurn(body) ? ids() : await this.#openTurn(tenantId, thread);
    const { id: instanceId } = await platform.instances.create(tenantId, {
      threadId: thread,
      agent: assistant.name,
      definitionId: assistant.id,
    });
    const request = requestOf(body, {
      definition_id: assistant.id,
      assistant_id: assistant.agentId,
      turn_id: turnId ?? ids(),
      multitask_strategy: strategy,
    });
    const seconds = body.after_seconds ?? 0;
    const run = await platform.runs
      .create(tenantId, {
        instanceId,
        kind: "graph",
        request,
        ...(body.metadata && { metadata: body.metadata }),
        ...(seconds > 0 && {
          runAt: new Date(clock.now().getTime() + seconds * 1_000).toISOString(),
        }),
        rejectsBusy: strategy === "reject",
      })
      .catch(refuseBusy);
    for (const { id } of active) await this.cancel(principal, id);
    this.base.queue.wake();
    return run;
  }

  /** @throws NotFoundError also for a run of another thread */
  async get(
    { tenantId }: Principal,
    of: { readonly runId: string; readonly threadId?: string | null | undefined },
  ): Promise<Run> {
    const run = await this.base.platform.runs.get(tenantId, of.runId);
    if (of.threadId && run.threadId !== of.threadId) throw new NotFoundError("run", of.runId);
    return run;
  }

  /** Newest first. @throws NotFoundError for an unknown thread */
  async list(
    { tenantId }: Principal,
    threadId: string,
    of: { readonly limit?: number; readonly offset?: number; readonly status?: string },
  ): Promise<readonly object[]> {
    const { runs, instances } = this.base.platform;
    const instance = await instances.onThread(tenantId, threadId);
    if (instance === null) throw new NotFoundError("thread", threadId);
    const { limit = 10, offset = 0, status } = of;
    const state = (Object.keys(statuses) as RunState[]).filter(
      (one) => status === undefined || statuses[one] === status,
    );
    if (state.length === 0) return [];
    const found: RunSummary[] = [];
    let after: string | undefined;
    while (found.length < offset + limit) {
      const page = await runs.list(tenantId, {
        threadId,
        state,
        limit: Math.min(200, offset + limit - found.length),
        ...(after !== undefined && { after }),
      });
      found.push(...page.items);
      if (page.next === null) break;
      after = page.next;
    }
    return found.slice(offset, offset + limit).map((run) => ({
      ...shownOf(run),
      assistant_id: instance.agentId ?? "",
      kwargs: {},
      multitask_strategy: "enqueue",
    }));
  }

  /** Rails have not seen the input of a run: it is shown to keys that read what rails redact. */
  show(run: Run, principal: Principal): object {
    const request = run.request as unknown as Partial<GraphRequest>;
    const { assistant_id = "", multitask_strategy = "enqueue", ...rest } = request;
    const { definition_id: _version, turn_id: _turn, ...kwargs } = rest;
    const { input: _input, command: _command, ...settings } = kwargs;
    const isWhole = hasScope(principal, "checkpoints:unredacted");
    const shown = isWhole ? kwargs : settings;
    return {
      ...shownOf(run),
      assistant_id,
      multitask_strategy,
      kwargs: run.kind === "graph" ? shown : {},
    };
  }

  /** Runs that are queued or running. */
  async underWay(
    { tenantId }: Principal,
    of: {
      readonly threadId?: string | null | undefined;
      readonly status: "pending" | "running" | "all";
    },
  ): Promise<readonly RunSummary[]> {
    const state: RunState[] = [
      ...(of.status === "running" ? [] : (["queued"] as const)),
      ...(of.status === "pending" ? [] : (["running"] as const)),
    ];
    const { items } = await this.base.platform.runs.list(tenantId, {
      state,
      limit: 200,
      ...(of.threadId && { threadId: of.threadId }),
    });
    return items;
  }

  async cancel(principal: Principal, runId: string): Promise<void> {
    await this.#desk.cancel(principal, { id: runId });
  }

  /** @throws HttpProblem `conflict` while it is queued or running */
  async remove({ tenantId }: Principal, runId: string): Promise<void> {
    if (await this.base.platform.runs.delete(tenantId, runId)) return;
    throw new HttpProblem("conflict", { detail: "The run is under way. Cancel it first." });
  }

  /** Waits until a run is neither queued nor running. @throws the signal's reason */
  async ended({ tenantId }: Principal, runId: string, signal: AbortSignal): Promise<RunState> {
    const { signals, platform } = this.base;
    for (;;) {
      const waiting = new AbortController();
      const either = AbortSignal.any([signal, waiting.signal]);
      const signalled = signals.next(runId, { ms: pollMs, signal: either });
      try {
        const { state } = await platform.runs.progress(tenantId, runId);
        if (!isUnderWay(state)) return state;
        signal.throwIfAborted();
        await signalled;
      } finally {
        waiting.abort();
      }
    }
  }

  /** The values of the thread at the end of a run, as its caller may see them; `__error__` for one that failed. */
  async valuesAtEnd(principal: Principal, run: Run, signal: AbortSignal): Promise<unknown> {
    const { tenantId } = principal;
    const state = await this.ended(principal, run.id, signal);
    if (state === "failed" || state === "dead") {
      const { result } = await this.base.platform.runs.get(tenantId, run.id);
      const { code, message } = (result?.["cause"] ?? {}) as Record<string, unknown>;
      return { __error__: { error: code ?? "Error", message: message ?? "The run failed." } };
    }
    const head = await this.base.runtimes.use(tenantId, ({ runtime }) =>
      new ThreadPresenter(runtime, principal).head(run.threadId),
    );
    if (head === null) return null;
    const interrupts = Object.values(head.interrupts).flat();
    return { ...head.values, ...(interrupts.length > 0 && { __interrupt__: interrupts }) };
  }

  /** The id of the turn that a thread is in. */
  async #openTurn(tenantId: string, threadId: string): Promise<string | undefined> {
    return this.base.runtimes.use(tenantId, async ({ runtime: { checkpointer } }) => {
      const configurable = { thread_id: threadId, checkpoint_ns: "" };
      const tuple = await checkpointer?.getTuple({ configurable });
      const { turn } = tuple === undefined ? {} : (valuesOf(tuple) as { turn?: unknown });
      const run = isRecord(turn) ? turn["run"] : undefined;
      return typeof run === "string" ? run : undefined;
    });
  }
}

function beginsTurn({ input, command }: RunBody): boolean {
  return !command && input !== null && input !== undefined;
}

/** @throws HttpProblem `invalid_input` */
function checkBody({ command, webhook, multitask_strategy: strategy, ...body }: RunBody): void {
  const refuse = (path: readonly string[], detail: string) =>
    new HttpProblem("invalid_input", {
      detail: "The run cannot be made like this. Nothing was written.",
      errors: [{ pointer: jsonPointer([...path]), detail }],
    });
  refuseRollback(strategy);
  if (command?.update) throw refuse(["command", "update"], "use POST /threads/{thread_id}/state");
  if (command?.goto) throw refuse(["command", "goto"], "the agent decides which nodes follow");
  if (webhook) throw refuse(["webhook"], "make a webhook with POST /v1/webhooks");
  const namespace = body.checkpoint?.checkpoint_ns ?? "";
  if (namespace !== "")
    throw refuse(["checkpoint", "checkpoint_ns"], "runs start at states of the thread itself");
}

function requestOf(
  body: RunBody,
  own: Pick<GraphRequest, "definition_id" | "assistant_id" | "turn_id" | "multitask_strategy">,
): GraphRequest {
  const { command, config, durability, metadata } = body;
  const checkpointId = body.checkpoint?.checkpoint_id ?? body.checkpoint_id;
  const { model, temperature, user } = { ...config?.configurable, ...body.context };
  const { recursion_limit: recursionLimit, tags } = config ?? {};
  const { interrupt_before: before, interrupt_after: after } = body;
  return {
    ...own,
    ...(command ? { command: { resume: command.resume } } : { input: body.input ?? null }),
    stream_mode: body.stream_mode ? [body.stream_mode].flat() : ["values"],
    subgraphs: body.stream_subgraphs ?? false,
    ...(checkpointId && { checkpoint: { checkpoint_id: checkpointId } }),
    ...(before && { interrupt_before: before }),
    ...(after && { interrupt_after: after }),
    ...(recursionLimit !== undefined && { recursion_limit: recursionLimit }),
    ...(tags && { tags }),
    ...(metadata && { metadata }),
    ...(durability && { durability }),
    ...(typeof model === "string" && { model }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof user === "string" && { user }),
  };
}

function shownOf(run: RunSummary) {
  return {
    run_id: run.id,
    thread_id: run.threadId,
    created_at: run.createdAt,
    updated_at: run.endedAt ?? run.startedAt ?? run.createdAt,
    status: statuses[run.state],
    metadata: run.metadata,
  };
}

/** @throws HttpProblem `invalid_input` where a run is under way, as LangGraph's server answers */
function refuseBusy(thrown: unknown): never {
  if (!(thrown instanceof ConflictError) || thrown.subject !== "thread") throw thrown;
  throw new HttpProblem("invalid_input", {
    detail: `${thrown.message} Or choose another multitask_strategy.`,
    extensions: { code: "thread_busy" },
  });
}
