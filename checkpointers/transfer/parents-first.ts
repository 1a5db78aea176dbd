interface Related {
  readonly namespace: string;
  readonly id: string;
  readonly parentId: string | null;
}

/** The same, each after its parent if that is among them, and otherwise as they were. */
export function parentsFirst<Entry extends Related>(entries: readonly Entry[]): Entry[] {
  const waiting = new Map(entries.map((entry) => [keyOf(entry.namespace, entry.id), entry]));
  const ordered: Entry[] = [];
  for (const entry of entries) {
    const line: Entry[] = [];
    let next: Entry | undefined = entry;
    while (next && waiting.delete(keyOf(next.namespace, next.id))) {
      line.push(next);
      next = next.parentId === null ? undefined : waiting.get(keyOf(next.namespace, next.parentId));
    }
    ordered.push(...line.toReversed());
  }
  return ordered;
}

function keyOf(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}
