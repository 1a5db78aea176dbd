/** The tools that experiments bring with them, which agents have unless the config lists others. */
export const defaultTools = Object.freeze([
  "memory_write",
  "memory_read",
  "memory_list",
  "memory_delete",
  "message_operator",
] as const);
