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
