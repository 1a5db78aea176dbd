/** What a person is asked when a run waits: the value of a LangGraph interrupt. Plain JSON. */
export interface HumanRequest {
  /** `tool_approval`: `proposed` is the list of tool calls that wait. */
  readonly kind: "approval" | "input" | "edit" | "tool_approval";
  /** The graph node that waits. */
  readonly node: string;
  /** The agent nodes around it, outermost first. */
  readonly within: readonly string[];
  readonly prompt: string;
  /** What is to be approved or edited; null where something is asked for. */
  readonly proposed: unknown;
  /** JSON Schema of an answer. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** ISO 8601; null when the answer may take any time. */
  readonly expires_at: string | null;
  /**
   * SHA-256 of what is approved, which an answer may name. Left out where something is asked for, and by earlier versions.
   */
  readonly hash?: string;
  /** What was wrong with the answer before; left out at first. */
  readonly problem?: string;
}

/** A tool call as a person sees it. */
export interface ProposedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly reason: string;
  /** SHA-256 of the name and the arguments, which a decision on the call may name. Left out by earlier versions. */
  readonly hash?: string;
  /** The names of the arguments in the order in which to show them: those that decide come first. */
  readonly order?: readonly string[];
}

/** A request that waits, under the id by which it is answered. */
export interface PendingRequest extends HumanRequest {
  readonly id: string;
}
