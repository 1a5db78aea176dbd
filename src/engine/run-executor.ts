import type { Clock } from "../clock.ts";
import type { CompileServices } from "../compile/compile-agent.ts";
import { AnswerError, TurnCancelledError } from "../compile/errors.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";
import { durableSaver } from "../durable-saver.ts";
import { StratagraphError } from "../errors.ts";
import { DefinitionChangedError } from "../runtime/definition-changed.ts";
import { TurnDrainedError } from "../runtime/drain-control.ts";
import { type ExecuteResult, executeAgentWith } from "../runtime/execute-agent.ts";
import { threadConfig } from "../runtime/run-turn.ts";
import { noUsage } from "../state/usage.ts";
import { LeaseLostError } from "../storage/errors.ts";
import { InvalidValueError } from "../storage/platform/errors.ts";
import type { Platform } from "../storage/platform/open-platform.ts";
import type { RunClaim, StoredRunEvent } from "../storage/platform/runs/events.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import type { FinishedState } from "../storage/platform/runs/run-rows.ts";
import type { ThreadEvent } from "../storage/platform/time/thread-events.ts";
import type { ThreadFences } from "../storage/tenant-pool.ts";
import { RepeatedEvents } from "./repeated-events.ts";
import { type RunEvent, RunEventWriter } from "./run-events.ts";
import { RunInbox } from "./run-inbox.ts";
import type { RunRequest, RunResult } from "./run-request.ts";
import {
  causeOf,
  deadlineOf,
  deadResult,
  endedResult,
  endEvents,
  endNotice,
  takenCodes,
  toRunResult,
} from "./run-results.ts";
import { errorEvent, write } from "./graph/graph-events.ts";
import { runGraph } from "./graph/graph-run.ts";
import { requestWriter, withRollback } from "./run-rollback.ts";
import type { RunSignals } from "./run-signals.ts";
import { RunWatch } from "./run-watch.ts";
import { resumptionWith, waitFor } from "./time/event-waits.ts";

/** What a run of a tenant executes on. */
export interface RunServices {
  readonly services: CompileServices;
  /** Those of the services' database. */
  readonly fences: ThreadFences;
}

/** An agent, ready to be executed. */
export interface LoadedAgent {
  readonly definition: AgentDefinition;
  /** Those that were given, or with more agents and tools. */
  readonly services: CompileServices;
}

export interface RunExecutorOptions {
  readonly platform: Pick<Platform, "claims" | "events" | "threadEvents" | "timers" | "webhooks">;
  /** Calls `work` with the services of a tenant, which stay open meanwhile. */
  readonly useServices: <T>(tenantId: string, work: (of: RunServices) => Promise<T>) => Promise<T>;
  /** Loads a version of an agent. */
  readonly loadAgent: (
    services: CompileServices,
    of: { readonly tenantId: string; readonly definitionId: string },
  ) => Promise<LoadedAgent>;
  readonly signals: RunSignals;
  /** Called when a run that was to wait was queued again: an event that it waits for is there. */
  readonly onQueued?: () => void;
  /** Called when deliveries to webhooks were queued. */
  readonly onDeliveries?: () => void;
  readonly clock: Clock;
  /** Workers that may be lost with a request of a run until the run is dead. Default 5. */
  readonly maxAttempts?: number;
  /** Called with what went wrong outside of runs. */
  readonly onError: (error: unknown) => void;
  /** Called when an execution of a run has ended here, after the end was written. */
  readonly onEnd?: (end: RunEnd) => void;
}

/** How an execution of a run ended in this process. */
export interface RunEnd {
  readonly run: Run;
  /** `handed_over`: another worker continues. */
  readonly state: FinishedState | "dead" | "handed_over";
  readonly code: string | null;
  /** Milliseconds of this execution. */
  readonly ms: number;
}

/** A result, with the state in which the run has it. */
type EndedRun = RunResult & { readonly state: FinishedState | "dead" };

/** What is written with the end of a run. */
interface Remainder {
  /** Events that are not in the log yet. */
  readonly events: readonly RunEvent[];
  /** Ids of messages that the completed turn contains. */
  readonly messages: readonly string[];
}

interface ExecutionOf {
  readonly agent: LoadedAgent;
  readonly writer: RunEventWriter;
  readonly signal: AbortSignal;
  readonly drain: AbortSignal;
  readonly inbox: RunInbox;
  /** Whether an earlier claim has begun to execute the request. */
  readonly isContinued: boolean;
  /** Waits until the checkpoints so far are stored. */
  flush: () => Promise<void>;
}

/** Events of a turn that are read when it is continued. The step under way has few. */
const maxLogRead = 500;

/**
 * Executes claimed runs: the turn of their request, with its events in their log and its end in their row. A run that is
 * claimed again continues where the earlier claim ended, and of a turn that has ended the result is written.
 */
export class RunExecutor {
  readonly #watch: RunWatch;

  constructor(private readonly options: RunExecutorOptions) {
    this.#watch = new RunWatch(options.platform.claims, options.clock);
  }

  /**
   * Executes a run. Resolves when its end is written, the run was handed over or the claim is lost; rejects if the end
   * could not be written.
   */
  readonly execute = async (run: Run, signal: AbortSignal, drain: AbortSignal): Promise<void> => {
    const { signals, platform } = this.options;
    const { claims, events } = platform;
    const claim: RunClaim = { id: run.id, tenantId: run.tenantId, epoch: run.epoch };
    const ending = new AbortController();
    const lose = (error: unknown) => ending.abort(error);
    const log = run.kind === "graph" ? [] : await this.#turnSoFar(run);
    const tail = signals.openTail(run);
    const leave = () => signals.closeTail(run.id, tail);
    // Others may continue the run at once, while what executes here takes long to end.
    ending.signal.addEventListener("abort", () => {
      if (!(ending.signal.reason instanceof TurnCancelledError)) leave();
    });
    const writer = new RunEventWriter({
      clock: this.options.clock,
      append: async (batch) => {
        // As many as one call takes.
        for (let from = 0; from < batch.length; from += 500) {
          const stored = await events.append(claim, batch.slice(from, from + 500));
          if (stored === null) throw new LeaseLostError({ runId: run.id, epoch: run.epoch });
          tail.append(stored);
        }
        signals.notify(run.id);
      },
      onFailure: lose,
      repeated: new RepeatedEvents(log),
    });
    const inbox = new RunInbox(this.options.clock, () => platform.threadEvents.readMessages(run));
    const execution = { writer, signal: ending.signal, drain, inbox, flush: async () => {} };
    const handOver = async () => {
      await Promise.all([writer.flush(), execution.flush()]);
      await claims.handOver(claim);
    };
    // Once handed over, the fence refuses what this execution writes. An end before that would be stored as a cancelled turn.
    const stop = () => {
      leave();
      void handOver().then(() => lose(signal.reason), lose);
    };
    // A worker was lost before it had cancelled the run.
    if (run.cancelRequestedAt !== null) ending.abort(new TurnCancelledError(run.id, null));
    const stopWatching = this.#watch.begin(claim, { ending, onNotice: inbox.notice });
    const from = this.options.clock.monotonic();
    const report = (state: RunEnd["state"], code: string | null) =>
      this.options.onEnd?.({ run, state, code, ms: this.options.clock.monotonic() - from });
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    try {
      const last = log.at(-1);
      if (last?.event === "message" && last.data["done"] === false) {
        const reason = "the run continues on another worker";
        writer.write({ event: "message_reset", data: { reason } });
      }
      const hasEvents = run.kind === "graph" ? run.lastEvent > 0 : log.length > 0;
      const isContinued = run.attempts > 1 || hasEvents;
      const { maxAttempts = 5 } = this.options;
      const isDead = run.attempts > maxAttempts;
      const ended = await withRollback(this.options, run, async () =>
        isDead
          ? deadResult(run.request as unknown as RunRequest)
          : this.#run(run, Object.assign(execution, { isContinued })),
      );
      const rest = { events: await writer.takeRest(), messages: inbox.taken };
      const state = isDead && ended.status !== "cancelled" ? "dead" : ended.status;
      tail.end(state, await this.#finish(run, { ...ended, state }, rest));
      report(state, ended.cause?.code ?? null);
    } catch (thrown) {
      const isLost = ending.signal.aborted && !(ending.signal.reason instanceof TurnCancelledError);
      const cause: unknown = isLost ? ending.signal.reason : thrown;
      if (thrown instanceof TurnDrainedError) await handOver();
      else if (isOutage(cause)) throw cause;
      else if (!isLost && !(thrown instanceof LeaseLostError)) throw thrown;
      report("handed_over", null);
    } finally {
      signal.removeEventListener("abort", stop);
      stopWatching();
      leave();
      signals.notify(run.id);
    }
  };

  /** Sends at once what was queued for webhooks. */
  wakeWebhooks(): void {
    this.options.onDeliveries?.();
  }

  /** Looks at once whether a run of this process has a request to cancel it, and at its next step for messages. */
  notice(runId: string): void {
    this.#watch.look(runId);
  }

  /** The events of the request that earlier claims have written, or the last of them. */
  async #turnSoFar({ tenantId, id, lastEvent }: Run): Promise<readonly StoredRunEvent[]> {
    if (lastEvent === 0) return [];
    const newest = (limit: number) =>
      this.options.platform.events.read(tenantId, id, {
        after: Math.max(0, lastEvent - limit),
        limit,
      });
    // Most claims are the first of their request.
    if ((await newest(1)).at(-1)?.event === "done") return [];
    const read = await newest(maxLogRead);
    return read.slice(read.findLastIndex(({ event }) => event === "done") + 1);
  }

  async #run(run: Run, of: Omit<ExecutionOf, "agent">): Promise<RunResult> {
    const request = run.request as unknown as RunRequest;
    const { tenantId, threadId } = run;
    try {
      return await this.options.useServices(tenantId, async ({ services, fences }) => {
        const { definition_id: definitionId } = request;
        const agent = await this.options.loadAgent(services, { tenantId, definitionId });
        const saver = durableSaver(agent.services.checkpointer, ["flush"]);
        if (saver !== null) of.flush = () => saver.flush(threadId);
        fences.fence(threadId, { runId: run.id, epoch: run.epoch });
        try {
          const readLast = () => agent.services.checkpointer?.getTuple(threadConfig(threadId));
          if (run.kind === "graph") {
            const { claims, events } = this.options.platform;
            const readEvents = (page: { readonly after: number; readonly limit: number }) =>
              events.read(tenantId, run.id, page);
            const writeRequest = requestWriter(claims, run);
            const ended = await runGraph(run, { ...of, agent, readEvents, writeRequest });
            if (of.inbox.hasFound) of.inbox.end(await readLast());
            return ended;
          }
          const result = await this.#turn(run, { ...of, agent });
          const last = await readLast();
          of.inbox.end(last);
          return toRunResult(result, { request, checkpointId: last?.checkpoint.id ?? null });
        } finally {
          fences.release(threadId);
        }
      });
    } catch (thrown) {
      const ended = of.signal.aborted && !(of.signal.reason instanceof TurnCancelledError);
      const isStopped = thrown instanceof LeaseLostError || thrown instanceof TurnDrainedError;
      if (ended || isOutage(thrown) || isStopped) throw thrown;
      if (run.kind === "graph") write(of.writer, errorEvent(thrown));
      return this.#refusal(run, thrown);
    }
  }

  async #turn(run: Run, of: ExecutionOf): Promise<ExecuteResult> {
    const request = run.request as unknown as RunRequest;
    const { definition, services } = of.agent;
    const { onEvent, onToken } = of.writer;
    const { model, user } = request;
    const options = {
      services,
      threadId: run.threadId,
      turnId: request.turn_id,
      signal: of.signal,
      drain: of.drain,
      inbox: of.inbox,
      onEvent,
      onToken,
      ...(model !== undefined && { model }),
      ...(user !== undefined && { user }),
    };
    if (run.kind === "turn") {
      const { input, attachments } = request;
      const files = attachments !== undefined && { attachments };
      return executeAgentWith(definition, input ?? {}, { ...options, ...files });
    }
    const { answers, tool_results: toolResults } = request;
    const given = {
      ...(answers !== undefined && { answers }),
      ...(toolResults !== undefined && { toolResults }),
    };
    try {
      return await executeAgentWith(definition, null, { ...options, ...given });
    } catch (thrown) {
      const isTaken = thrown instanceof AnswerError && takenCodes.has(thrown.code);
      if (!of.isContinued || !isTaken) throw thrown;
      // An earlier claim of this request has taken the answers.
      return executeAgentWith(definition, null, options);
    }
  }

  /** The end of a run whose turn was refused before anything was written, or broke. */
  #refusal(run: Run, thrown: unknown): RunResult {
    const before = run.result as unknown as RunResult | null;
    const cause = causeOf(thrown);
    if (cause.code === "internal") this.options.onError(thrown);
    // The requests are still pending, until the definition and the tools are again what the turn began with.
    const isPending = thrown instanceof AnswerError || thrown instanceof DefinitionChangedError;
    if (isPending && before !== null) return { ...before, cause };
    const { turn_id } = run.request as unknown as RunRequest;
    const usage = before?.turn_id === turn_id ? before.usage : noUsage;
    return endedResult({ turn_id }, { status: "failed", cause, usage });
  }

  async #finish(run: Run, ended: EndedRun, rest: Remainder): Promise<readonly StoredRunEvent[]> {
    try {
      return await this.#write(run, ended, rest);
    } catch (thrown) {
      if (!(thrown instanceof InvalidValueError)) throw thrown;
      // Larger than a row may be. The checkpoint has it.
      const { usage, checkpoint_id } = ended;
      const failed = { status: "failed", cause: causeOf(thrown) } as const;
      const result = endedResult(ended, { ...failed, usage, checkpoint_id });
      return this.#write(run, { ...result, state: failed.status }, rest);
    }
  }

  async #write(
    run: Run,
    { state, ...result }: EndedRun,
    rest: Remainder,
  ): Promise<readonly StoredRunEvent[]> {
    const { claims, threadEvents, timers, webhooks } = this.options.platform;
    const dueAt = deadlineOf(result, this.options.clock.now());
    const events = [...rest.events, ...endEvents(run, { ...result, state })];
    let deliveries = 0;
    let isQueued = false;
    const names = (result.waits ?? []).flatMap(({ event }) => event ?? []);
    const written = await claims.finish(
      { id: run.id, tenantId: run.tenantId, epoch: run.epoch },
      {
        state,
        result,
        events,
        within: async (client) => {
          // A refused run leaves open what an earlier one waits for.
          const continues = run.kind === "graph" && result.checkpoint_id !== null;
          [deliveries] = await Promise.all([
            webhooks.enqueue(run.tenantId, endNotice(run, result), client),
            continues && claims.endWaiting(run, client),
            dueAt !== null && timers.set(run, dueAt, client),
            rest.messages.length > 0 && threadEvents.settleMessages(run, rest.messages, client),
          ]);
          if (names.length === 0 || result.cause !== null) return;
          const decide = (event: ThreadEvent) => {
            const wait = waitFor(result, event.name);
            return wait === undefined ? null : resumptionWith(run, wait, event);
          };
          isQueued = await threadEvents.take(run, { names, decide }, client);
        },
      },
    );
    if (written === null) throw new LeaseLostError({ runId: run.id, epoch: run.epoch });
    if (isQueued) this.options.onQueued?.();
    if (deliveries > 0) this.options.onDeliveries?.();
    return written;
  }
}

/** An outage of the database is no failure of the run: it is claimed again soon, or when its lease has ended. */
function isOutage(thrown: unknown): boolean {
  return thrown instanceof StratagraphError && thrown.kind === "run" && thrown.transient;
}
