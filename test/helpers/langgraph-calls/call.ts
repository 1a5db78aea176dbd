import type { Client } from "@langchain/langgraph-sdk";

/** A call whose answers are compared; `docs/langgraph-protocol.md` has the differences. */
export interface Call {
  readonly name: string;
  readonly call: (client: Client) => Promise<unknown>;
  /** `value`: equal apart from ids and times. `shape`: the same keys and types. */
  readonly same: "value" | "shape";
  /** Documented differences of the shape. */
  readonly differs?: readonly string[];
}

/** The status of an error, for calls that are refused. */
export const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "no error",
    (thrown: unknown) => (thrown as { status?: number }).status,
  );

/** Differences of the shapes of all runs. */
const ofRuns: readonly RegExp[] = [
  // A model is called without a stream unless a stream mode shows its tokens.
  /(?:first_token_ms: null, not number|message_id: null, not string)$/,
  /messages\[\]\.(?:response_metadata|tool_calls\[\]|usage_metadata)\.\w+$/,
  // LangGraph's server adds facts of the run and of itself; this one the hash of the definition.
  /\.(?:assistant_id|created_by|graph_id|langgraph_\w+|ls_integration|run_attempt|run_id|user-agent)$/,
  /\.(?:definition_hash|checkpoint_map|checkpoint_ns|kwargs\.\w+|(?:parent_)?config\.(?:configurable|metadata|recursion_limit|tags))$/,
  // Channels that were never written are absent where a state is read from its checkpoint.
  /^- .*\.(?:branches|nodes|rails|redactions|result_summaries|summary)$/,
  // Lists of runs leave out what may be large, and no run shows the configuration that a server adds.
  /^- .*\[\]\.(?:kwargs|multitask_strategy|kwargs\.config\.configurable\.thread_id)$/,
];

/** Leaves out the differences that all runs have. */
export function ownDifferences(differences: readonly string[]): readonly string[] {
  return differences.filter((one) => !ofRuns.some((form) => form.test(one)));
}
