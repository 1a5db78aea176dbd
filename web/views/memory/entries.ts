import type { components } from "../../api/schema.d.ts";

export type Entry = components["schemas"]["MemoryEntry"];
type Hit = components["schemas"]["MemoryHit"];
export type MemoryType = Entry["memory_type"];
/** An entry, with its score if it was searched for. */
export type Found = Entry & Partial<Pick<Hit, "score" | "why">>;

export const memoryTypes: readonly MemoryType[] = [
  "short_term",
  "episodic",
  "semantic",
  "procedural",
];

/** Says what was forgotten. */
export function forgottenText(gone: components["schemas"]["ForgottenMemory"]): string {
  const entries = gone.entries === 1 ? "1 memory" : `${gone.entries} memories`;
  return `Forgotten: ${entries}, ${gone.archived} archived, ${gone.uses} references from contexts`;
}
