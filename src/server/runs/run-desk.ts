import { InactiveAgentError } from "../../compile/errors.ts";
import type { GivenAnswers } from "../../compile/guards/answers.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { RunRequest, RunResult } from "../../engine/run-request.ts";
import { awaiting, cancelledResult, endNotice } from "../../engine/run-results.ts";
import { StratagraphError } from "../../errors.ts";
import { NothingToCancelError } from "../../runtime/threads/cancel.ts";
import type { StoredAgent } from "../../storage/platform/agents.ts";
import { ConflictError, NotFoundError } from "../../storage/platform/errors.ts";
import type { Queryable } from "../../storage/pool.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import type { RunState } from "../../storage/platform/runs/run-rows.ts";
import { isRecord } from "../../values/json.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem, jsonPointer } from "../problems.ts";
import { awaitsAnswers, checkFit, inputOf, waitingIn } from "./run-checks.ts";
import { requestOf, resultOf, runPath } from "./run-views.ts";
import type { ResumeBody, StartBody, TurnBody, WrittenToolResult } from "./schemas.ts";

/** States after which a run takes a new turn. */
const over: readonly RunState[] = ["complete", "failed", "cancelled", "dead"];

export function isUnderWay(state: RunState): boolean {
  return state === "queued" || state === "running";
}

/** A run as its creation answers, also if it has begun in this process. */
export function asQueued(run: Run): Run {
  return { ...run, state: "queued" };
}

/** Queues runs, their turns and answers, and cancels them. What a caller got wrong is refused before anything is written. */
export class RunDesk {
  constructor(private readonly base: ApiBase) {}

  /** @throws NotFoundError also for a run of another agent */
  find(
    { tenantId }: Principal,
    of: { readonly agent_id: string; readonly run_id: string },
  ): Promise<Run> {
    return this.base.platform.runs.get(tenantId, of.run_id, { agentId: of.agent_id });
  }

  /**
   * Queues a run on a new thread or an existing one.
   *
   * @throws NotFoundError; InactiveAgentError; HttpProblem `invalid_input`, AttachmentError; HttpProblem `conflict` for a thread of
   * another agent, and for one that waits for answers
   */
  async start({ tenantId }: Principal, agentId: string, body: StartBody): Promise<Run> {
    const { platform, ids, signals } = this.base;
    const { agent, ...given } = await this.checkInput(tenantId, agentId, body.input);
    const threadId = body.thread_id ?? ids();
    if (body.thread_id) {
      await this.checkThread(tenantId, { threadId, agentId: agent.agentId });
      await this.#refuseAwaiting(tenantId, threadId);
    }
    const { model_override: model, user, priority } = body.config ?? {};
    const runAt = this.#runAt(body);
    const { id: instanceId } = await platform.instances.create(tenantId, {
      threadId,
      agent: agent.name,
      definitionId: agent.id,
    });
    const first = {
      instanceId,
      definitionId: agent.id,
      request: {
        definition_id: agent.id,
        turn_id: ids(),
        ...given,
        ...(model && { model }),
        ...(user && { user }),
      },
      ...(priority !== undefined && { priority }),
      ...(runAt && { runAt }),
      ...(body.metadata && { metadata: body.metadata }),
    };
    const run = await this.base.queue.add((claim) => platform.runs.create(tenantId, first, claim));
    platform.usage.count(tenantId, { runs: 1 });
    signals.receive(run.id);
    return asQueued(run);
  }

  /**
   * Queues a run again with its next turn, or with the results of client tools that its open turn waits for.
   *
   * @throws HttpProblem `invalid_input` for an input or results that do not fit, `conflict`; AttachmentError; ConflictError
   */
  async nextTurn(
    { tenantId }: Principal,
    run: Run,
    { path, body }: { readonly path: string; readonly body: TurnBody },
  ): Promise<Run> {
    const { tool_results: results, ...input } = body.input;
    const { definition_id, model, user } = requestOf(run);
    const override = body.config?.model_override;
    const shared = {
      definition_id,
      ...((override ?? model) && { model: override ?? model }),
      ...(user !== undefined && { user }),
    };
    if (results) return this.#giveResults(tenantId, run, { input, results, shared });
    if (awaiting.includes(run.state)) throw awaitsAnswers(run, path);
    const definition = await this.#definition(tenantId, definition_id);
    const given = await inputOf(definition, input);
    await this.#refuseAwaiting(tenantId, run.threadId);
    const request = { ...shared, turn_id: this.base.ids(), ...given };
    return this.#requeue(tenantId, { run, kind: "turn", request, from: over });
  }

  /** @throws HttpProblem `conflict` unless the run waits for people, `invalid_input` for answers that do not fit */
  async resume({ tenantId, keyId }: Principal, run: Run, body: ResumeBody): Promise<Run> {
    const asked = waitingIn(run, "people");
    if (asked.length === 0) {
      throw new HttpProblem("conflict", {
        detail: `Expected a run that waits for people, got one that is ${run.state}.`,
        extensions: { run_status: run.state },
      });
    }
    const isById = body.answers !== undefined;
    const given: GivenAnswers = isById ? { byId: body.answers ?? {} } : { bare: body.answer };
    checkFit(run, given, { kinds: "people", place: isById ? "/answers" : "/answer" });
    const [only] = asked;
    const answers = body.answers ?? { [only?.id ?? ""]: body.answer };
    const { definition_id, turn_id, model, user } = requestOf(run);
    const shared = { ...(model !== undefined && { model }), ...(user !== undefined && { user }) };
    const requeued = await this.#requeue(tenantId, {
      run,
      kind: "resume",
      request: { definition_id, turn_id, ...shared, answers },
      from: awaiting,
    });
    for (const id of Object.keys(answers))
      await this.#record(tenantId, keyId, { action: "request.answer", subject: `${run.id}/${id}` });
    return requeued;
  }

  /**
   * Cancels a run. One that no worker has ends at once, with the open turn of its thread; a running one is asked to end.
   * Twice is once.
   *
   * @param of.rollsBack whether the worker of a graph's run also removes what it wrote to its thread; default false
   */
  async cancel(
    { tenantId, keyId }: Principal,
    { id }: Pick<Run, "id">,
    { rollsBack = false }: { readonly rollsBack?: boolean } = {},
  ): Promise<Run> {
    const { platform, executor, signals, queue } = this.base;
    const endOf = (ended: Run) => {
      const result = cancelledResult(requestOf(ended), ended.result as RunResult | null);
      const { turn_id, status, checkpoint_id } = result;
      return {
        result,
        events: [{ event: "done", data: { turn_id, status, checkpoint_id } }],
        within: (client: Queryable) =>
          platform.webhooks.enqueue(tenantId, endNotice(ended, result), client),
      };
    };
    const { run, was } = await platform.runs.requestCancel(tenantId, id, { rollsBack, endOf });
    // A worker has to remove what an earlier one has written.
    if (run.state === "queued") queue.wake(run);
    if (isUnderWay(was) || awaiting.includes(was))
      await this.#record(tenantId, keyId, { action: "run.cancel", subject: id });
    executor.wakeWebhooks();
    if (run.state === "running") executor.notice(id);
    else if ((run.state === "cancelled" || run.state === "dead") && ownsTurn(run))
      await this.#endTurn(tenantId, run);
    signals.notify(id);
    return run;
  }

  /**
   * Puts a dead run back into the queue. Twice is once.
   *
   * @throws ConflictError for a run in another state, and once a later run of its thread has begun
   */
  async retry({ tenantId, keyId }: Principal, { id }: Pick<Run, "id">): Promise<Run> {
    const { run, isRetried } = await this.base.platform.runs.retry(tenantId, id);
    if (!isRetried) return run;
    await this.#record(tenantId, keyId, { action: "run.retry", subject: id });
    this.base.queue.wake(run);
    this.base.signals.notify(id);
    return run;
  }

  /**
   * Waits until a run is neither queued nor running.
   *
   * @throws HttpProblem `timeout` and `unavailable`, which say that the run goes on; `conflict` if another turn has followed
   */
  async awaitEnd(
    queued: Run,
    of: { readonly path: string; readonly timeoutMs: number; readonly closing: AbortSignal },
  ): Promise<RunResult> {
    const { platform, signals, clock } = this.base;
    const { id, tenantId } = queued;
    const until = clock.monotonic() + of.timeoutMs;
    const { turn_id: turnId } = requestOf(queued);
    const refusal = (type: "timeout" | "unavailable" | "conflict", why: string) =>
      new HttpProblem(type, {
        detail: `${why} The run ${id} goes on: read it, or its events.`,
        extensions: { run_id: id },
        headers: { Location: of.path, ...(type === "unavailable" && { "Retry-After": "5" }) },
        isExecuted: true,
      });
    const follower = signals.follow(id, { signal: of.closing });
    try {
      for (;;) {
        follower.reset();
        const leftMs = until - clock.monotonic();
        const { state } = await platform.runs.progress(tenantId, id);
        if (!isUnderWay(state)) {
          const run = await platform.runs.get(tenantId, id);
          const result = resultOf(run);
          if (result?.turn_id === turnId) return result;
          if (!isUnderWay(run.state)) throw refusal("conflict", "Another turn has followed.");
        }
        if (of.closing.aborted) throw refusal("unavailable", "The server is shutting down.");
        if (leftMs <= 0)
          throw refusal("timeout", `The turn took more than ${of.timeoutMs / 1_000} s.`);
        await follower.changed(Math.max(1, leftMs));
      }
    } finally {
      follower.release();
    }
  }

  /**
   * The active version of an agent, with an input that fits it.
   *
   * @throws NotFoundError; InactiveAgentError; HttpProblem `invalid_input`, AttachmentError
   */
  async checkInput(
    tenantId: string,
    agentId: string,
    input: StartBody["input"],
  ): Promise<{ readonly agent: StoredAgent } & Awaited<ReturnType<typeof inputOf>>> {
    const agent = await this.#active(tenantId, agentId);
    const definition = await this.#definition(tenantId, agent.id);
    if (!definition.spec.is_active) throw new InactiveAgentError(agent.name);
    return { agent, ...(await inputOf(definition, input)) };
  }

  /** @throws ConflictError for a thread of another agent */
  async checkThread(
    tenantId: string,
    { threadId, agentId }: { readonly threadId: string; readonly agentId: string },
  ): Promise<void> {
    const { instances } = this.base.platform;
    const instance = await instances.onThread(tenantId, threadId);
    if (instance === null || instance.agent === null) return;
    const ofAgent = await instances.agentIds(tenantId, [instance.id]);
    if (ofAgent.get(instance.id) !== agentId) {
      throw new ConflictError(
        "thread",
        `The thread belongs to the agent ${JSON.stringify(instance.agent)}. Choose another thread.`,
      );
    }
  }

  /** @throws HttpProblem `invalid_input` for a run of an agent with a workflow: no step of it reads messages */
  async checkTakesMessages({ tenantId }: Principal, run: Run): Promise<void> {
    const { definition_id: definitionId } = requestOf(run);
    const { spec } = await this.#definition(tenantId, definitionId);
    if (spec.workflow_graph === undefined) return;
    throw new HttpProblem("invalid_input", {
      detail: `Expected an agent without a workflow, got ${JSON.stringify(spec.name)}, whose nodes read no messages. Send an event that a wait node waits for.`,
      errors: [{ pointer: "/as", detail: "expected event" }],
      extensions: { code: "no_loop" },
    });
  }

  #runAt({ config }: StartBody): string | null {
    const seconds = config?.after_seconds;
    if (seconds === undefined || seconds === null) return config?.run_at ?? null;
    return new Date(this.base.clock.now().getTime() + seconds * 1_000).toISOString();
  }

  /** The active version. @throws NotFoundError; InactiveAgentError for an agent that was deactivated */
  async #active(tenantId: string, agentId: string): Promise<StoredAgent> {
    const { agents } = this.base.platform;
    try {
      return await agents.get(tenantId, agentId);
    } catch (thrown) {
      if (!(thrown instanceof NotFoundError)) throw thrown;
      const { items } = await agents.versions(tenantId, agentId, { limit: 1 });
      throw items[0] === undefined ? thrown : new InactiveAgentError(items[0].name);
    }
  }

  async #definition(tenantId: string, definitionId: string): Promise<AgentDefinition> {
    const { runtimes, loadAgent } = this.base;
    return runtimes.use(tenantId, async ({ runtime }) => {
      const { definition } = await loadAgent(runtime, { tenantId, definitionId });
      return definition;
    });
  }

  /** @throws HttpProblem `conflict` if a run on the thread waits for answers */
  async #refuseAwaiting(tenantId: string, threadId: string): Promise<void> {
    const { runs, instances } = this.base.platform;
    const { items } = await runs.list(tenantId, { threadId, state: awaiting, limit: 1 });
    const [run] = items;
    if (run === undefined) return;
    const agentId = (await instances.agentIds(tenantId, [run.instanceId])).get(run.instanceId);
    throw awaitsAnswers(run, agentId === undefined ? null : runPath(agentId, run.id));
  }

  async #giveResults(
    tenantId: string,
    run: Run,
    of: {
      readonly input: Omit<TurnBody["input"], "tool_results">;
      readonly results: readonly WrittenToolResult[];
      readonly shared: Omit<RunRequest, "turn_id">;
    },
  ): Promise<Run> {
    const others = Object.entries(of.input).filter(([, value]) => value !== null && value !== "");
    const [other] = others;
    if (other !== undefined) {
      throw new HttpProblem("invalid_input", {
        detail: "Results of tools continue the open turn, which has its input.",
        errors: [{ pointer: jsonPointer(["input", other[0]]), detail: "expected nothing" }],
      });
    }
    if (waitingIn(run, "tools").length === 0) {
      throw new HttpProblem("conflict", {
        detail: `Expected a run that waits for results of tools, got one that is ${run.state}.`,
        extensions: { run_status: run.state },
      });
    }
    const place = "/input/tool_results";
    checkFit(run, { toolResults: of.results }, { kinds: "tools", place });
    const { turn_id } = requestOf(run);
    const request = { ...of.shared, turn_id, tool_results: of.results };
    return this.#requeue(tenantId, { run, kind: "resume", request, from: awaiting });
  }

  async #requeue(
    tenantId: string,
    of: {
      readonly run: Run;
      readonly kind: "turn" | "resume";
      readonly request: object;
      readonly from: readonly RunState[];
    },
  ): Promise<Run> {
    const { run, ...given } = of;
    const queued = await this.base.platform.runs.requeue(tenantId, { runId: run.id, ...given });
    this.base.queue.wake(queued);
    this.base.signals.notify(run.id);
    return queued;
  }

  /** Ends the turn of a cancelled run on its thread, so that the thread takes another one. */
  async #endTurn(tenantId: string, run: Run): Promise<void> {
    const { threadId } = run;
    await this.base.runtimes.use(tenantId, async ({ runtime: { threads } }) => {
      try {
        const { values } = await threads.stateAt({ threadId });
        const { turn } = values;
        // The open turn may be another run's, behind which this one waited.
        if (!isRecord(turn) || turn["run"] !== requestOf(run).turn_id) return;
        await threads.cancel(threadId);
      } catch (thrown) {
        // The turn was not taken up, or has ended.
        const isNone = thrown instanceof StratagraphError && thrown.code === "no_checkpoint";
        if (!isNone && !(thrown instanceof NothingToCancelError)) throw thrown;
      }
    });
  }

  async #record(
    tenantId: string,
    keyId: string,
    entry: { readonly action: string; readonly subject: string },
  ): Promise<void> {
    await this.base.platform.audit.append(tenantId, { actor: `key:${keyId}`, ...entry });
  }
}

/** A run of a graph that continues a turn and has not begun leaves the turn as it is. */
function ownsTurn({ kind, startedAt }: Run): boolean {
  return kind !== "graph" || startedAt !== null;
}
