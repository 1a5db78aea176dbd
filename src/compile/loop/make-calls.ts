import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { GraphInterrupt, type Interrupt } from "@langchain/langgraph";
import { mergeOrder } from "../../state/branch.ts";
import type { GraphState } from "../../state/channels.ts";
import type { ToolPrediction } from "../../state/step-record.ts";
import { tierPatches } from "../../state/tier-patch.ts";
import { noUsage } from "../../state/usage.ts";
import { interruptIn } from "../../tools/handler-interrupts.ts";
import type { Secrets } from "../../tools/secrets/secrets.ts";
import {
  runToolCalls,
  type RunToolCallsOptions,
  type RunToolCallsResult,
} from "../../tools/run-tool-calls.ts";
import { callEnv, callLog, callRules } from "./call-rules.ts";
import { handDownBounds } from "./inherited-bounds.ts";
import { inspectResult } from "./inspect-result.ts";
import type { NodeRun } from "./node-body.ts";

/**
 * Makes the calls that a node has to make, within the definition's rules and guardrails.
 *
 * @throws GraphInterrupt where a handler asks a person, when the other calls have ended; and what ends a run
 */
export async function makeCalls(
  state: GraphState,
  run: NodeRun,
  of: {
    readonly calls: readonly ToolPrediction[];
    /** Calls that were asked for earlier in the turn. */
    readonly callsBefore: number;
    readonly concurrency?: number;
    /** `step_index` of the step that asked for a call. */
    readonly stepOf: (callId: string) => number;
  },
): Promise<RunToolCallsResult> {
  const { calls, callsBefore, concurrency, stepOf } = of;
  run.emit({ type: "status", status: "AWAITING_TOOL" });
  const { node, superstep, parts } = run;
  const { merge: merges } = parts.definition.spec.state_config;
  const given = callRules(calls, { state, run });
  // At once where nothing has to be awaited: branches beside each other keep their order.
  const rules = given instanceof Promise ? await given : given;
  const options: RunToolCallsOptions = {
    ...rules,
    calls,
    callsSoFar: callsBefore,
    ...(concurrency !== undefined && { concurrency }),
    state: { execution: state.execution, attempt: state.attempt },
    env: callEnv(run),
    log: callLog(state, run, stepOf),
    inspect: (result) => inspectResult(result, { state, run, stepIndex: stepOf(result.id) }),
    onFindings: (call, findings) =>
      run.rails.note(call, findings, {
        turnNumber: state.turn_number ?? 0,
        attemptNumber: state.attempt_number ?? 0,
        stepIndex: stepOf(call.id),
      }),
    // Where the node is cut off, what ended calls wrote is kept as their results are.
    onState: (after) =>
      run.keep(() =>
        tierPatches(state, after, mergeOrder(state.branches, { node, superstep, merges })),
      ),
    onResult: (result) => {
      run.ended.push(result);
      run.emit({ type: "tool_result", step_index: stepOf(result.id), result });
    },
  };
  try {
    // Agents that handlers run find their bounds in the config around them.
    const config = handDownBounds(run.config, run.inside("tool"));
    const made = await AsyncLocalStorageProviderSingleton.runWithConfig(config, () =>
      runToolCalls(options),
    );
    run.spend({ ...noUsage, tool_calls: run.calls.ofTools() });
    return made;
  } catch (thrown) {
    const interrupt = interruptIn(thrown);
    if (interrupt === undefined) throw thrown;
    run.emit({ type: "status", status: "AWAITING_HUMAN" });
    throw withoutSecrets(interrupt as GraphInterrupt, parts.secrets);
  }
}

/** What a handler asks is stored, and is read by people. */
function withoutSecrets(interrupt: GraphInterrupt, secrets: Secrets | undefined): GraphInterrupt {
  if (secrets?.hasGivenOut() !== true) return interrupt;
  const interrupts: readonly Interrupt[] = [interrupt.interrupts].flat();
  return new GraphInterrupt(
    interrupts.map((one) => ({ ...one, value: secrets.scrubValue(one.value) })),
  );
}
