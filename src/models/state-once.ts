const stated = new Set<string>();

/** Warns of what is assumed, each sentence once in a process. */
export function stateOnce(note: string): void {
  if (stated.has(note)) return;
  stated.add(note);
  process.emitWarning(note, { type: "StratagraphWarning", code: "STRATAGRAPH_APPROXIMATION" });
}
