import { deadline } from "../../async.ts";
import { createResultSummaryStore } from "./context.ts";
import { movesTo, type Status } from "../../state/lifecycle.ts";
import {
  Command,
  interrupt,
  isGraphInterrupt,
  type LangGraphRunnableConfig,
} from "@langchain/langgraph";
import type { RunnableConfig } from "@langchain/core/runnables";
import { yieldToEventLoop } from "../../event-loop.ts";
import type { GraphState, GraphUpdate, RunContext } from "../../state/channels.ts";
import type { AgentEventBody } from "../../state/events.ts";
import { addUsage, noUsage } from "../../state/usage.ts";
import type { ModelProgress } from "../../models/agent-model.ts";
import { createNodeLog } from "../../models/calls/node-log.ts";
import { ModelCallError } from "../../models/errors.ts";
import { TurnTimeoutError } from "../errors.ts";
import {
  isOutputGated,
  cancelSignal,
  gateOutput,
  inheritedRedactions,
  turnIdIn,
  unstreamed,
  withInheritedRedactions,
  stripOutput,
} from "../run/run-config.ts";
import { areEventsRead, callCount, turnTime } from "../run/turn-calls.ts";
import {
  agentBounds,
  type AgentBounds,
  boundedConfig,
  inheritedBounds,
  type LoopConfig,
  memoryUser,
  outermostTurn,
  nodeMemories,
  recoveredMemories,
} from "./loop-config.ts";
import { createNodeRails } from "./node-rails.ts";
import { cancelTurn, failTurn, leavesTurnOpen } from "./end-turn.ts";
import type { NodeBody, NodeContext, NodeResult } from "./node.ts";

export interface LoopNodeOptions {
  /** Whether the turn's timeout and cancellation abort the node. Default true. */
  readonly isBounded?: boolean;
  /** Whether the body ends on its own soon after its signal aborts, and is awaited then. Default false. */
  readonly endsItself?: boolean;
}

/**
 * Makes a graph node from its body. It enforces the turn's timeout and adds up active time and model usage. Expected
 * errors of a run (timeout, failing models) become a FAILED turn, and a cancellation a CANCELLED one. Other errors,
 * interrupts included, end the run unchanged.
 */
export function loopNode(
  name: string,
  loop: LoopConfig,
  body: NodeBody,
  { isBounded = true, endsItself = false }: LoopNodeOptions = {},
) {
  const { name: agent, execution_config } = loop.definition.spec;
  const timeoutSeconds = execution_config.timeout_seconds;
  const beginsTurn = name === "initialize";
  return async (stored: GraphState, config: LangGraphRunnableConfig) => {
    // Models and tools without I/O would otherwise block the event loop.
    await yieldToEventLoop();
    const state = withInheritedRedactions(stored, config);
    const time = turnTime(config);
    const storedMs = beginsTurn ? null : (state.turn?.elapsed_ms ?? 0);
    const elapsedBefore = time.elapsed(loop.clock.monotonic(), storedMs);
    const cancel = cancelSignal(config);
    const limit = deadline({
      clock: loop.clock,
      outer: [config.signal, cancel],
      remainingMs: timeoutSeconds * 1000 - elapsedBefore,
      timeUp: () => new TurnTimeoutError(timeoutSeconds),
    });
    const { signal } = limit;
    const now = superstep(config);
    const within = agentsAround(config);
    const givenTurnId = within.length === 0 ? turnIdIn(config) : undefined;
    const newTurnId = beginsTurn ? (givenTurnId ?? loop.ids()) : "";
    const newTurnStart = beginsTurn ? loop.clock.now().toISOString() : "";
    const isInside = isOutputGated(config);
    // Streamed output cannot be taken back.
    const isHeld = isInside || loop.rails.output.length > 0;
    const outer = inheritedBounds(config);
    const own = boundedConfig(loop, outer?.loop ?? null);
    const around = outer?.bounds ?? noBounds;
    const [rules] = loop.bounds;
    const calls = callCount(state, { config, maxCalls: rules?.maxCalls, beginsTurn });
    let isOver = false;
    let spent = noUsage;
    let kept: () => NodeResult["update"] = () => ({});
    const summaries = createResultSummaryStore(state.result_summaries);
    const begunAt = loop.clock.monotonic();
    const callModel: NodeContext["callModel"] = async (model, request, of) => {
      const isUnseen = of.isUnseen === true || isHeld;
      const tags = isUnseen && { tags: [...(config.tags ?? []), "nostream"] };
      const usedMs = elapsedBefore + loop.clock.monotonic() - begunAt;
      const asked = {
        ...request,
        timeLeftMs: timeoutSeconds * 1000 - usedMs,
        onProgress: (progress: ModelProgress) => {
          const event = progressEvent(progress, isUnseen);
          if (event !== null) emit(event);
        },
      };
      try {
        const reply = await log.call(model, asked, { ...config, ...tags, signal }, of);
        spent = addUsage(spent, reply.usage);
        return reply;
      } catch (thrown) {
        if (thrown instanceof ModelCallError) spent = addUsage(spent, thrown.usage);
        throw thrown;
      }
    };
    const tell: NodeContext["emit"] = (event, of) => {
      const told = isHeld ? stripOutput(event, isInside) : event;
      if (told === null) return;
      writer?.({
        ...told,
        node: name,
        within,
        turn_number: of?.turnNumber ?? state.turn_number ?? 0,
        attempt_number: of?.attemptNumber ?? state.attempt_number ?? 0,
      });
    };
    const writer = areEventsRead(config) ? config.writer : undefined;
    const emit: NodeContext["emit"] = (event, of) => {
      if (isOver) return;
      if (event.type === "status") log.status(event.status);
      if (writer === undefined) return;
      if (event.type !== "status") return tell(event, of);
      const from = state.status ?? "CREATED";
      const moves = statusMoves(writer, within, { status: event.status, stored: from, beginsTurn });
      for (const move of moves) tell(move, of);
    };
    const inherited = inheritedRedactions(config);
    const { redactions } = stored;
    const suffix = suffixBeside(state, name);
    const rails = createNodeRails({
      loop: own,
      signal,
      redactions,
      inherited,
      suffix,
      callModel,
      emit,
    });
    const threadId: unknown = config.configurable?.["thread_id"];
    const turnId = beginsTurn ? newTurnId : state.turn?.run;
    const outermost = turnAround(config, turnId);
    const log = createNodeLog({
      ...own,
      agent,
      turn: outermost,
      isOutermost: outermost?.turnId === turnId,
      turnStart: beginsTurn ? newTurnStart : null,
      isPlanner: own.attempts.plans === true,
      withholdsText: isHeld,
      secrets: own.secrets?.hasRevealed() === true ? own.secrets : null,
      redact: (value) => rails.redact(value),
    });
    // A resumed turn keeps its user, whatever the resumed run was given.
    const user = beginsTurn ? userOf(config) : state.turn?.user;
    memoryUser.set(config, { user });
    const memories =
      own.memory?.forNode({
        loop: own,
        state,
        rails,
        signal,
        user,
        threadId: typeof threadId === "string" ? threadId : null,
        isInside: within.length > 0,
        isReadOnly: false,
        ...(within.length === 0 && { recovered: recoveredMemories.in(config) }),
      }) ?? null;
    nodeMemories.set(config, memories);
    const run: NodeContext = {
      node: name,
      within,
      newTurnId,
      newTurnStart,
      superstep: now,
      loop: own,
      around,
      calls,
      boundsInside: (origin) => {
        if (rules === undefined) return { loop: own, bounds: around };
        const values = () => {
          const { input, execution, attempt } = state;
          return rails.unredact({ input, execution, attempt });
        };
        return { loop: own, bounds: [...around, agentBounds(rules, { values, calls, origin })] };
      },
      config: isHeld ? gateOutput(config) : config,
      context: config.context as RunContext | undefined,
      signal,
      endedResults: [],
      startedSteps: [],
      summaries,
      superstepsLeft:
        (config.recursionLimit ?? Infinity) - (now - (state.turn?.first_superstep ?? now)),
      rails,
      memories,
      callModel,
      addUsage(usage) {
        spent = addUsage(spent, usage);
      },
      usage: () => spent,
      onInterrupted(update) {
        kept = typeof update === "function" ? update : () => update;
      },
      emit,
      interrupt: (request) => interrupt(request),
    };
    let result: NodeResult;
    try {
      // A self-terminating body may be resuming earlier work; let it finish that first.
      if (isBounded && !endsItself) signal.throwIfAborted();
      const given = body(state, run);
      const isRaced = isBounded && !endsItself && given instanceof Promise;
      result = isRaced ? await limit.race(given) : await given;
      if (isBounded && endsItself) signal.throwIfAborted();
    } catch (thrown) {
      if (isGraphInterrupt(thrown)) await calls.flush();
      const cause: unknown = signal.aborted ? signal.reason : thrown;
      if (!isBounded) throw cause;
      const isCancelled =
        cancel?.aborted === true && cause === cancel.reason && !leavesTurnOpen(cause);
      const cut = isCancelled ? cancelTurn(state, cause) : failTurn(state, run, cause);
      result = { ...cut, update: { ...kept(), ...cut.update } };
    } finally {
      isOver = true;
      limit.release();
    }
    log.written(result);
    const made = summaries.added();
    const adopted = memories?.adopted() ?? null;
    const { messages } = result.update;
    const update: GraphUpdate = {
      ...result.update,
      ...(isInside && messages && { messages: unstreamed(messages) }),
      ...(made !== null && { result_summaries: made }),
      ...rails.update(),
      usage: addUsage(spent, result.update.usage ?? {}),
      turn: {
        ...(adopted !== null && { memories: adopted }),
        ...result.turn,
        ...(beginsTurn && { first_superstep: now, ...(user !== undefined && { user }) }),
        agent,
        elapsed_ms: time.elapsed(loop.clock.monotonic(), elapsedBefore),
      },
    };
    return new Command({ update, goto: result.goto as string | string[] });
  };
}

/** Returns the outermost turn of the thread, and passes it on to nested agents; null without a thread. */
function turnAround({ configurable }: RunnableConfig, turnId: string | undefined) {
  const threadId: unknown = configurable?.["thread_id"];
  if (typeof threadId !== "string" || turnId === undefined) return null;
  const around = outermostTurn.in({ configurable });
  if (around?.threadId === threadId) return around;
  const own = { threadId, turnId };
  outermostTurn.set({ configurable }, own);
  return own;
}

/**
 * Returns the event of a model call under way; null if there is nothing to report.
 *
 * @param isUnseen the tokens are not streamed, so that none become void
 */
function progressEvent(progress: ModelProgress, isUnseen: boolean): AgentEventBody | null {
  switch (progress.type) {
    case "slow":
      return { type: "model_wait", model: progress.model, reason: "first_token", until: null };
    case "wait":
      return { ...progress, type: "model_wait" };
    case "fallback":
      return { ...progress, type: "model_fallback" };
    case "reset":
      return isUnseen ? null : { ...progress, type: "message_reset" };
  }
}

/** Returns a suffix that keeps placeholders of concurrent branches distinct, since neither knows those of the other. */
function suffixBeside({ branches }: GraphState, node: string): string {
  const isAlone = branches.every(({ at }) => at === node);
  return isAlone ? "" : `_B${branches.findIndex(({ at }) => at === node) + 1}`;
}

/** Returns the number of the superstep in its thread. */
function superstep(config: LangGraphRunnableConfig): number {
  const step: unknown = config.metadata?.["langgraph_step"];
  return typeof step === "number" ? step : 0;
}

/**
 * Reads the outer agents from the checkpoint namespace: `node:task|node:task`, of which the last is the node itself.
 */
function agentsAround(config: LangGraphRunnableConfig): readonly string[] {
  const namespace: unknown = config.configurable?.["checkpoint_ns"];
  if (typeof namespace !== "string" || !namespace.includes("|")) return noAgents;
  return namespace
    .split("|")
    .slice(0, -1)
    .map((part) => part.slice(0, part.lastIndexOf(":")));
}

/** Returns the user of a turn that begins: that of the agent around it, or else the run's. */
function userOf(config: LangGraphRunnableConfig): string | undefined {
  const around = memoryUser.in(config);
  return around === undefined ? (config.context as RunContext | undefined)?.user : around.user;
}

const noBounds: readonly AgentBounds[] = Object.freeze([]);

const noAgents: readonly string[] = Object.freeze([]);

type StatusEvent = Extract<AgentEventBody, { type: "status" }>;

/** The last reported status of a run, by its outer agents. A run and its nested agents share one writer. */
const told = new WeakMap<object, Map<string, Status>>();

/**
 * Returns the status events for a new status: every lifecycle move from the last reported status, so that nodes need
 * not know what ran before or concurrently. Empty if the status is current or cannot be reached, as after another
 * branch has ended the turn. A resumed run first reports its current status, which is no move.
 */
function statusMoves(
  writer: object,
  within: readonly string[],
  of: {
    readonly status: Status;
    /** The status in the node's input state. */
    readonly stored: Status;
    /** Whether the node begins a turn. */
    readonly beginsTurn: boolean;
  },
): readonly StatusEvent[] {
  const { status, stored, beginsTurn } = of;
  const statuses = told.get(writer) ?? new Map<string, Status>();
  told.set(writer, statuses);
  const agent = within.join("/");
  const before = statuses.get(agent);
  const events = (moves: readonly Status[]): readonly StatusEvent[] => {
    statuses.set(agent, moves.at(-1) ?? before ?? stored);
    return moves.map((one) => ({ type: "status", status: one }));
  };
  if (beginsTurn) {
    const isNext = (before ?? stored) === "COMPLETED";
    return events(isNext ? [status] : ["CREATED", status]);
  }
  if (before !== undefined) return events(movesTo(before, status) ?? []);
  const resumed: StatusEvent = { type: "status", status: stored, resumed: true };
  return [resumed, ...events(movesTo(stored, status) ?? [])];
}
