import type { DefinitionProblem } from "./problems.ts";

/** Nested maps and lists of a definition. */
const maxDepth = 64;

/** Of what is nested so deep that it cannot be checked, that alone is said. */
export function nestingProblems(written: unknown): readonly DefinitionProblem[] {
  if (!isDeeperThan(written, maxDepth)) return [];
  return [{ path: [], message: `nested more than ${maxDepth} levels deep` }];
}

/** Walks level by level, so that no depth can exhaust the stack; a value that contains itself counts as too deep. */
function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= limit; depth += 1) {
    const next = new Set<unknown>();
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      for (const child of Object.values(one)) {
        if (typeof child === "object" && child !== null) next.add(child);
      }
    }
    if (next.size === 0) return false;
    level = [...next];
  }
  return true;
}
