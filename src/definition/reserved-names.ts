import type { GraphState } from "../state/channels.ts";

/** LangGraph gives a channel and a node no common name. */
const channels: Readonly<Record<keyof GraphState, true>> = {
  input: true,
  messages: true,
  turn_number: true,
  execution: true,
  attempt: true,
  attempt_number: true,
  current_step: true,
  steps: true,
  nodes: true,
  branches: true,
  status: true,
  usage: true,
  summary: true,
  result_summaries: true,
  output: true,
  turn: true,
  rails: true,
  redactions: true,
};

/** Names that no node of a workflow may have: the nodes around it, the channels of the state, what every object has. */
export const reservedNames: ReadonlySet<string> = new Set([
  "initialize",
  "plan",
  "reflect",
  "finalize",
  ...Object.keys(channels),
  // LangGraph looks names up in plain objects.
  ...Object.getOwnPropertyNames(Object.prototype),
]);
