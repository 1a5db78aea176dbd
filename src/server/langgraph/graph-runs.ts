import type { GraphRequest } from "../../engine/graph/graph-request.ts";
import type { RunResult } from "../../engine/run-request.ts";
import { awaiting } from "../../engine/run-results.ts";
import type { RunTail } from "../../engine/run-tail.ts";
import { ConflictError, NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { Run, RunSummary } from "../../storage/platform/runs/runs.ts";
import { isRecord } from "../../values/json.ts";
import { checkScopes } from "../authenticate.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import type { Call } from "../route.ts";
import { asQueued, isUnderWay, RunDesk } from "../runs/run-desk.ts";
import { findAssistant } from "./assistants.ts";
import { commandOf, optionsOf } from "./new-run.ts";
import type { NewGraphRun } from "./run-schemas.ts";

/** Milliseconds in which a cancelled run ends. */
const cancelMs = 30_000;

/** Queues runs of LangGraph's protocol, waits for them and cancels them. */
export class GraphRuns {
  readonly #desk: RunDesk;

  constructor(private readonly base: ApiBase) {
    this.#desk = new RunDesk(base);
  }

  /**
   * Queues a run.
   *
   * @param threadId null for a thread of its own
   * @throws NotFoundError; HttpProblem `invalid_input`, also for `reject` while a run is under way; ConflictError for a thread of
   * another agent
   */
  async create(
    { principal }: Pick<Call<unknown, unknown, unknown>, "principal">,
    threadId: string | null,
    body: NewGraphRun,
    of: { readonly protocol?: true } = {},
  ): Promise<Run> {
    const { platform, ids, clock } = this.base;
    const { tenantId } = principal;
    const options = optionsOf(body);
    const command = commandOf(body);
    if (command !== null && (command.resume !== undefined || command.goto !== undefined))
      checkScopes(principal, ["requests:answer"]);
    const agent = await findAssistant(platform.agents, tenantId, body.assistant_id);
    const { queue } = this.base;
    const strategy = options.multitask_strategy;
    const input = isRecord(body.input) && command === null ? body.input : null;
    const after = body.after_seconds ?? 0;
    const requestOf = (before: Run | null): GraphRequest => ({
      ...options,
      ...of,
      definition_id: definitionOf(before) ?? agent.id,
      turn_id: turnOf(before) ?? ids(),
      assistant_id: agent.agentId,
      input,
      ...(command !== null && { command: withIds(command, before) }),
    });
    const given = {
      kind: "graph" as const,
      metadata: body.metadata ?? {},
      ...(after > 0 && { runAt: new Date(clock.now().getTime() + after * 1_000).toISOString() }),
    };
    const place = { threadId: threadId ?? ids(), agent: agent.name, definitionId: agent.id };
    if (threadId === null) {
      const isEphemeral = body.on_completion !== "keep";
      const first = { ...given, ...place, isEphemeral, request: requestOf(null) };
      const run = await queue.add((claim) =>
        platform.runs.createOnNewThread(tenantId, first, claim),
      );
      platform.usage.count(tenantId, { runs: 1 });
      return asQueued(run);
    }
    if (body.if_not_exists !== "create") {
      const known = await platform.instances.onThread(tenantId, threadId);
      if (known === null) throw new NotFoundError("thread", threadId);
    }
    const instance = await platform.instances.create(tenantId, place);
    const before = input === null ? await this.#newest(tenantId, threadId) : null;
    const isWaitedFor = strategy === "rollback" || strategy === "interrupt";
    const others = isWaitedFor ? await this.#underWay(tenantId, threadId) : [];
    if (strategy === "rollback")
      for (const other of others) await this.cancel(principal, other, "rollback");
    const request = requestOf(before);
    const next = {
      ...given,
      instanceId: instance.id,
      definitionId: request.definition_id,
      request,
      isExclusive: strategy === "reject",
    };
    const run = await queue
      .add((claim) => platform.runs.create(tenantId, next, claim))
      .catch(refuseBusy);
    platform.usage.count(tenantId, { runs: 1 });
    if (strategy === "interrupt")
      for (const other of others) await this.#desk.cancel(principal, other);
    return asQueued(run);
  }

  /** @throws NotFoundError also for a run of another thread */
  async find({ tenantId }: Principal, runId: string, threadId?: string): Promise<Run> {
    const run = await this.base.platform.runs.get(tenantId, runId);
    if (threadId !== undefined && run.threadId !== threadId) throw new NotFoundError("run", runId);
    return run;
  }

  /**
   * Waits until a run is neither queued nor running, or `signal` aborts. Returns whether it is over, with its tail if it
   * ended in this process.
   */
  async awaitEnd(
    { tenantId, id }: Pick<Run, "tenantId" | "id">,
    signal: AbortSignal,
  ): Promise<{ readonly isOver: boolean; readonly tail?: RunTail }> {
    const { platform, signals } = this.base;
    let tail: RunTail | undefined;
    const follower = signals.follow(id, { signal });
    try {
      for (;;) {
        follower.reset();
        tail = signals.tailOf(tenantId, id) ?? tail;
        const known = tail?.state ?? null;
        const state = known ?? (await platform.runs.progress(tenantId, id)).state;
        if (!isUnderWay(state)) return { isOver: true, ...(known !== null && { tail: tail! }) };
        if (signal.aborted) return { isOver: false };
        await follower.changed();
      }
    } finally {
      follower.release();
    }
  }

  /**
   * Cancels a run; one that has ended or waits stays as it is. `rollback` waits for the end, and removes the run with its
   * checkpoints; runs of `/v1`, and runs that end before they see the request, stay.
   *
   * @throws HttpProblem `conflict` if a run to be removed did not end in time
   */
  async cancel(principal: Principal, run: Run, action: "interrupt" | "rollback"): Promise<void> {
    if (!isUnderWay(run.state)) return;
    await this.#desk.cancel(principal, run, { rollsBack: action === "rollback" });
    if (action === "interrupt") return;
    const late = new AbortController();
    const stop = this.base.clock.after(cancelMs, () => late.abort());
    try {
      if (!(await this.awaitEnd(run, late.signal)).isOver) {
        throw new HttpProblem("conflict", { detail: `The run ${run.id} has not ended in time.` });
      }
    } finally {
      stop();
    }
    const { rollback } = await this.find(principal, run.id);
    if (rollback === "done") await this.remove(principal, run);
  }

  /** Removes a run with its events. @throws ConflictError while it is queued or running */
  async remove({ tenantId, keyId }: Principal, run: Run): Promise<void> {
    const { platform } = this.base;
    await platform.runs.remove(tenantId, run.id);
    const entry = { action: "run.delete", subject: run.id };
    await platform.audit.append(tenantId, { actor: `key:${keyId}`, ...entry });
  }

  async #newest(tenantId: string, threadId: string): Promise<Run | null> {
    const { runs } = this.base.platform;
    const { items } = await runs.list(tenantId, { threadId, limit: 1 });
    return items[0] === undefined ? null : runs.get(tenantId, items[0].id);
  }

  async #underWay(tenantId: string, threadId: string): Promise<readonly Run[]> {
    const { runs } = this.base.platform;
    const filter = { threadId, state: ["queued", "running"], limit: 100 } as const;
    const { items } = await runs.list(tenantId, filter);
    return Promise.all(items.map(({ id }: RunSummary) => runs.get(tenantId, id)));
  }
}

function definitionOf(run: Run | null): string | undefined {
  return (run?.request as Partial<GraphRequest> | undefined)?.definition_id;
}

function turnOf(run: Run | null): string | undefined {
  return (run?.request as Partial<GraphRequest> | undefined)?.turn_id;
}

/** The command with the id of the only request that a run waits with, so that no other request gets the answer. */
function withIds(
  command: NonNullable<GraphRequest["command"]>,
  run: Run | null,
): NonNullable<GraphRequest["command"]> {
  const { resume } = command;
  const result = run?.result as unknown as RunResult | null;
  if (resume === undefined || run === null || result === null || !awaiting.includes(run.state))
    return command;
  const ids = new Set([
    ...result.requests.map(({ id }) => id),
    ...result.tool_calls.map(({ request_id }) => request_id),
  ]);
  const [only] = ids;
  if (only === undefined || ids.size > 1) return command;
  const isById = isRecord(resume) && Object.hasOwn(resume, only);
  return isById ? command : { ...command, resume: { [only]: resume } };
}

function refuseBusy(thrown: unknown): never {
  if (!(thrown instanceof ConflictError)) throw thrown;
  throw new HttpProblem("invalid_input", {
    detail:
      "A run of the thread is queued or running. Wait for it, or use another multitask_strategy.",
    extensions: { code: "thread_busy" },
    cause: thrown,
  });
}
