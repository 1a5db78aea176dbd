/** The tools that work on the memory. */
export const memoryToolNames: readonly string[] = Object.freeze([
  "memory_write",
  "memory_read",
  "memory_list",
  "memory_delete",
]);

/** The tool that sends messages to the operator. */
export const operatorToolName = "message_operator";

/**
 * The tools that experiments bring with them, in the order in which models are told of them. Agents have all of them
 * unless a config lists others.
 */
export const experimentToolNames: readonly string[] = Object.freeze([
  ...memoryToolNames,
  operatorToolName,
]);
