import type { Scope } from "../../expression/expression.ts";

/** What `cycle_prompt` may read. */
export const promptScope = {
  cycle_number: { kind: "int" },
  cycle_count: { kind: "int" },
  run_id: { kind: "string" },
} as const satisfies Scope;
