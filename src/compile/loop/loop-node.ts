import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import type { GraphState, GraphUpdate, RunContext } from "../../state/channels.ts";
import type { TurnState } from "../../state/turn.ts";
import { addUsage, noUsage } from "../../state/usage.ts";
import { cancelSignal } from "../cancellation.ts";
import { cancelTurn, failTurn } from "./end-turn.ts";
import type { LoopNodeName, LoopParts } from "./parts.ts";
import type { NodeBody, NodeResult, NodeRun } from "./node-body.ts";
import { turnSignal } from "./turn-signal.ts";

/**
 * Makes a graph node from its body: bounds it by the turn's time, adds up active time and what models cost, and turns
 * what may go wrong in a run (timeout, no model answers) into a FAILED turn and a cancellation into a CANCELLED one.
 * Anything else that is thrown ends the run as it is.
 */
export function loopNode(name: LoopNodeName, parts: LoopParts, body: NodeBody) {
  const timeoutSeconds = parts.definition.spec.execution_config.timeout_seconds;
  const isBounded = name !== "initialize" && name !== "finalize";
  return async (state: GraphState, config: LangGraphRunnableConfig) => {
    const startedAt = parts.clock.monotonic();
    const elapsedBefore = name === "initialize" ? 0 : (state.turn?.elapsed_ms ?? 0);
    const cancel = cancelSignal(config);
    const bounds = turnSignal({
      clock: parts.clock,
      outer: [config.signal, cancel],
      remainingMs: timeoutSeconds * 1000 - elapsedBefore,
      timeoutSeconds,
    });
    const { signal } = bounds;
    const now = superstep(config);
    let isOver = false;
    let spent = noUsage;
    const run: NodeRun = {
      parts,
      signal,
      ended: [],
      superstepsLeft:
        (config.recursionLimit ?? Infinity) - (now - (state.turn?.first_superstep ?? now)),
      model: () => parts.model(config.context as RunContext | undefined),
      async ask(model, request, unseen) {
        const tags = unseen && { tags: [...(config.tags ?? []), "nostream"] };
        const reply = await model.call(request, { ...config, ...tags, signal });
        spent = addUsage(spent, reply.usage);
        return reply;
      },
      emit(event, of) {
        if (isOver) return;
        config.writer?.({
          ...event,
          node: name,
          turn_number: of?.turnNumber ?? state.turn_number ?? 0,
          attempt_number: of?.attemptNumber ?? state.attempt_number ?? 0,
        });
      },
    };
    let result: NodeResult;
    try {
      if (isBounded) signal.throwIfAborted();
      const given = body(state, run);
      result = isBounded && given instanceof Promise ? await bounds.race(given) : await given;
    } catch (thrown) {
      const cause: unknown = signal.aborted ? signal.reason : thrown;
      if (!isBounded) throw cause;
      const isCancelled = cancel?.aborted === true && cause === cancel.reason;
      result = isCancelled ? cancelTurn(state, run) : failTurn(state, run, cause);
    } finally {
      isOver = true;
      bounds.release();
    }
    const elapsed = elapsedBefore + (parts.clock.monotonic() - startedAt);
    const turn = {
      ...state.turn,
      ...(name === "initialize" && { first_superstep: now }),
      ...result.turn,
      elapsed_ms: elapsed,
    } as TurnState;
    const usage = addUsage(spent, result.update.usage ?? {});
    const update: GraphUpdate = { ...result.update, usage, turn };
    return new Command({ update, goto: result.goto });
  };
}

/** Number of the superstep in its thread. */
function superstep(config: LangGraphRunnableConfig): number {
  const step: unknown = config.metadata?.["langgraph_step"];
  return typeof step === "number" ? step : 0;
}
