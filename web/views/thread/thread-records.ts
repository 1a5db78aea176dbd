import type { components } from "../../api/schema.d.ts";

export type Thread = components["schemas"]["Thread"];
export type Run = components["schemas"]["RunOfAnyAgent"];
export type Step = components["schemas"]["StepSummary"];
export type PathEntry = components["schemas"]["PathEntry"];

/** Whether a run has not ended. */
export function isOpenRun({ status }: Pick<Run, "status">): boolean {
  return !["complete", "failed", "cancelled", "dead"].includes(status);
}

/** Returns a function that finds the entry of a path in which a step was made: the last of its node that had begun. */
export function entryFinder(path: readonly PathEntry[]): (step: Step) => PathEntry | undefined {
  const byNode = groupBy(
    // A time is parsed once, however many steps look for it.
    path.map((entry) => ({ entry, from: Date.parse(entry.started_at ?? "") })),
    ({ entry: { namespace, node } }) => JSON.stringify([namespace, node]),
  );
  return (step) => {
    const began = Date.parse(step.started_at);
    const own = byNode.get(JSON.stringify([step.namespace, step.node])) ?? [];
    // Where the checkpoint before is not stored, the time is none.
    return own.findLast(({ from }) => !(from > began))?.entry;
  };
}

/** Returns items by key, both in the order in which they come. */
export function groupBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** Why a step has failed; null if it has not: a call without success, or a reply that was refused. */
export function failureOf(step: Step): string | null {
  const call = step.calls.find(({ outcome }) => outcome !== null && outcome !== "success");
  if (call !== undefined) return call.error ?? `${call.tool}: ${call.outcome}`;
  return step.problem === "" ? null : step.problem;
}
