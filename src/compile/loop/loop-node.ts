import {
  Command,
  interrupt,
  isGraphInterrupt,
  type LangGraphRunnableConfig,
} from "@langchain/langgraph";
import { yieldToEventLoop } from "../../event-loop.ts";
import type { GraphState, GraphUpdate, RunContext } from "../../state/channels.ts";
import { addUsage, noUsage } from "../../state/usage.ts";
import { cancelSignal } from "../cancellation.ts";
import { callCount } from "../turn-calls.ts";
import { turnTime } from "../turn-time.ts";
import { TurnTimeoutError } from "../errors.ts";
import { cancelTurn, failTurn } from "./end-turn.ts";
import {
  agentBounds,
  boundedParts,
  inheritedBounds,
  type AgentBounds,
} from "./inherited-bounds.ts";
import { keptSummaries } from "./kept-summaries.ts";
import type { LoopParts } from "./parts.ts";
import type { NodeBody, NodeResult, NodeRun } from "./node-body.ts";
import { areAnswersHeld, holdAnswers, unstreamed, withoutAnswers } from "./held-answers.ts";
import { inheritedRedactions, withInherited } from "./inherited-redactions.ts";
import { openDesk } from "./open-desk.ts";
import { statusMoves } from "./status-moves.ts";
import { turnSignal } from "./turn-signal.ts";

export interface LoopNodeOptions {
  /** Whether the turn's time and its cancellation end the node. Default true. */
  readonly isBounded?: boolean;
  /** Whether the body ends by itself soon after its signal aborts, and is waited for then. Default false. */
  readonly endsItself?: boolean;
}

/**
 * Makes a graph node from its body: bounds it by the turn's time, adds up active time and what models cost, and turns
 * what may go wrong in a run (timeout, no model answers) into a FAILED turn and a cancellation into a CANCELLED one.
 * Anything else that is thrown, interrupts included, ends the run as it is.
 */
export function loopNode(
  name: string,
  parts: LoopParts,
  body: NodeBody,
  { isBounded = true, endsItself = false }: LoopNodeOptions = {},
) {
  const { name: agent, execution_config } = parts.definition.spec;
  const timeoutSeconds = execution_config.timeout_seconds;
  const beginsTurn = name === "initialize";
  return async (stored: GraphState, config: LangGraphRunnableConfig) => {
    // Models and tools that do no I/O leave the event loop no other turn.
    await yieldToEventLoop();
    const state = withInherited(stored, config);
    const time = turnTime(config);
    const storedMs = beginsTurn ? null : (state.turn?.elapsed_ms ?? 0);
    const elapsedBefore = time.elapsed(parts.clock.monotonic(), storedMs);
    const cancel = cancelSignal(config);
    const bounds = turnSignal({
      clock: parts.clock,
      outer: [config.signal, cancel],
      remainingMs: timeoutSeconds * 1000 - elapsedBefore,
      timeUp: () => new TurnTimeoutError(timeoutSeconds),
    });
    const { signal } = bounds;
    const now = superstep(config);
    const within = agentsAround(config);
    const isInside = areAnswersHeld(config);
    // What is told as it comes cannot be taken back.
    const isHeld = isInside || parts.rails.output.length > 0;
    const outer = inheritedBounds(config);
    const own = boundedParts(parts, outer?.parts ?? null);
    const around = outer?.bounds ?? noBounds;
    const [rules] = parts.bounds;
    const calls = callCount(state, { config, maxCalls: rules?.maxCalls, beginsTurn });
    let isOver = false;
    let spent = noUsage;
    let kept: () => NodeResult["update"] = () => ({});
    const summaries = keptSummaries(state.result_summaries);
    const ask: NodeRun["ask"] = async (model, request, unseen) => {
      const isUnseen = unseen !== undefined || isHeld;
      const tags = isUnseen && { tags: [...(config.tags ?? []), "nostream"] };
      const reply = await model.call(request, { ...config, ...tags, signal });
      spent = addUsage(spent, reply.usage);
      return reply;
    };
    const tell: NodeRun["emit"] = (event, of) => {
      const told = isHeld ? withoutAnswers(event, isInside) : event;
      if (told === null) return;
      config.writer?.({
        ...told,
        node: name,
        within,
        turn_number: of?.turnNumber ?? state.turn_number ?? 0,
        attempt_number: of?.attemptNumber ?? state.attempt_number ?? 0,
      });
    };
    const emit: NodeRun["emit"] = (event, of) => {
      const { writer } = config;
      if (isOver || writer === undefined) return;
      if (event.type !== "status") return tell(event, of);
      const from = state.status ?? "CREATED";
      const moves = statusMoves(writer, within, { status: event.status, stored: from, beginsTurn });
      for (const move of moves) tell(move, of);
    };
    const inherited = inheritedRedactions(config);
    const { redactions } = stored;
    const suffix = suffixBeside(state, name);
    const rails = openDesk({ parts: own, signal, redactions, inherited, suffix, ask, emit });
    const run: NodeRun = {
      node: name,
      within,
      superstep: now,
      parts: own,
      around,
      calls,
      inside: (origin) => {
        if (rules === undefined) return { parts: own, bounds: around };
        const values = () => {
          const { input, execution, attempt } = state;
          return rails.reveal({ input, execution, attempt });
        };
        return { parts: own, bounds: [...around, agentBounds(rules, { values, calls, origin })] };
      },
      config: isHeld ? holdAnswers(config) : config,
      context: config.context as RunContext | undefined,
      signal,
      ended: [],
      begun: [],
      summaries,
      superstepsLeft:
        (config.recursionLimit ?? Infinity) - (now - (state.turn?.first_superstep ?? now)),
      rails,
      ask,
      spend(usage) {
        spent = addUsage(spent, usage);
      },
      spent: () => spent,
      keep(update) {
        kept = typeof update === "function" ? update : () => update;
      },
      emit,
      interrupt: (request) => interrupt(request),
    };
    let result: NodeResult;
    try {
      // What ends by itself may have been under way before, and ends what it left.
      if (isBounded && !endsItself) signal.throwIfAborted();
      const given = body(state, run);
      const isRaced = isBounded && !endsItself && given instanceof Promise;
      result = isRaced ? await bounds.race(given) : await given;
      if (isBounded && endsItself) signal.throwIfAborted();
    } catch (thrown) {
      if (isGraphInterrupt(thrown)) await calls.flush();
      const cause: unknown = signal.aborted ? signal.reason : thrown;
      if (!isBounded) throw cause;
      const isCancelled = cancel?.aborted === true && cause === cancel.reason;
      const cut = isCancelled ? cancelTurn(state) : failTurn(state, run, cause);
      result = { ...cut, update: { ...kept(), ...cut.update } };
    } finally {
      isOver = true;
      bounds.release();
    }
    const made = summaries.added();
    const { messages } = result.update;
    const update: GraphUpdate = {
      ...result.update,
      ...(isInside && messages && { messages: unstreamed(messages) }),
      ...(made !== null && { result_summaries: made }),
      ...rails.made(),
      usage: addUsage(spent, result.update.usage ?? {}),
      turn: {
        ...result.turn,
        ...(beginsTurn && { first_superstep: now }),
        agent,
        elapsed_ms: time.elapsed(parts.clock.monotonic(), elapsedBefore),
      },
    };
    return new Command({ update, goto: result.goto as string | string[] });
  };
}

/** Marks of branches beside each other are told apart, since neither knows of the other's. */
function suffixBeside({ branches }: GraphState, node: string): string {
  const isAlone = branches.every(({ at }) => at === node);
  return isAlone ? "" : `_B${branches.findIndex(({ at }) => at === node) + 1}`;
}

/** Number of the superstep in its thread. */
function superstep(config: LangGraphRunnableConfig): number {
  const step: unknown = config.metadata?.["langgraph_step"];
  return typeof step === "number" ? step : 0;
}

/** From the namespace of the checkpoint: `node:task|node:task`, of which the last is the node itself. */
function agentsAround(config: LangGraphRunnableConfig): readonly string[] {
  const namespace: unknown = config.configurable?.["checkpoint_ns"];
  if (typeof namespace !== "string" || !namespace.includes("|")) return noAgents;
  return namespace
    .split("|")
    .slice(0, -1)
    .map((part) => part.slice(0, part.lastIndexOf(":")));
}

const noBounds: readonly AgentBounds[] = Object.freeze([]);

const noAgents: readonly string[] = Object.freeze([]);
