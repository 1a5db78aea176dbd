/** What there is to know of a stored checkpoint to decide whether it may go. */
export interface HistoryEntry {
  readonly namespace: string;
  readonly id: string;
  readonly parentId: string | null;
  /** ISO 8601; null where nothing tells. */
  readonly createdAt: string | null;
  /**
   * The checkpoint of the whole graph under which a subgraph's was made. Null for those of the whole graph, and for
   * subgraph checkpoints that do not say: their namespaces are treated like threads of their own.
   */
  readonly rootId: string | null;
  readonly source: string | null;
  readonly status: string | null;
  /** Delta channels of which this checkpoint counts the steps since they were last stored whole. */
  readonly deltaChannels: readonly string[];
}

export interface Retention {
  /** See `prune`. */
  readonly keep: "latest" | "turn_ends";
  /** Checkpoints made at this time or later stay. Default: none does for its age. */
  readonly olderThan?: Date | undefined;
}

/** Ways in which a turn ends, as agents write them into the channel `status`. */
export const turnEnds: readonly string[] = ["COMPLETED", "FAILED", "CANCELLED"];

/** The checkpoints that may go, of a whole thread's in the order of their ids. */
export function removableCheckpoints(
  history: readonly HistoryEntry[],
  retention: Retention,
): HistoryEntry[] {
  const kept = new Set<HistoryEntry>();
  const { olderThan } = retention;
  for (const entry of history) if (olderThan && !isOlder(entry, olderThan)) kept.add(entry);
  const heads = headsOf(history);
  for (const head of heads.values()) kept.add(head);
  if (retention.keep === "turn_ends") {
    for (const entry of endsOfTurns(history)) kept.add(entry);
  }
  for (const entry of ofSubgraphs(history, kept, heads.get(""))) kept.add(entry);
  for (const entry of ancestorsLeanedOn(history, kept)) kept.add(entry);
  return history.filter((entry) => !kept.has(entry));
}

function isOlder({ createdAt }: HistoryEntry, time: Date): boolean {
  return createdAt !== null && new Date(createdAt) < time;
}

/** The newest of each namespace that stands for itself. */
function headsOf(history: readonly HistoryEntry[]): Map<string, HistoryEntry> {
  const own = history.filter((entry) => entry.rootId === null);
  return new Map(own.map((entry) => [entry.namespace, entry]));
}

/**
 * A turn ends with the last checkpoint whose status says so, where the next input came in, and where nothing follows:
 * ends of branches are results.
 */
function endsOfTurns(history: readonly HistoryEntry[]): HistoryEntry[] {
  const { children, inherited } = statusesOf(history);
  return history.filter((entry) => {
    if (entry.rootId !== null) return false;
    const after = children.get(keyOf(entry.namespace, entry.id)) ?? [];
    if (after.length === 0 || after.some(({ source }) => source === "input")) return true;
    return saysEnd(entry) && !inherited.has(entry) && !after.some(saysEnd);
  });
}

function saysEnd({ status }: HistoryEntry): boolean {
  return status !== null && turnEnds.includes(status);
}

/** Which checkpoints still show the status of the turn before: from the one that takes the input in, until it changes. */
function statusesOf(history: readonly HistoryEntry[]): {
  readonly children: ReadonlyMap<string, readonly HistoryEntry[]>;
  readonly inherited: ReadonlySet<HistoryEntry>;
} {
  const children = new Map<string, HistoryEntry[]>();
  for (const entry of history) {
    if (entry.parentId === null) continue;
    const parent = keyOf(entry.namespace, entry.parentId);
    children.set(parent, [...(children.get(parent) ?? []), entry]);
  }
  const inherited = new Set(history.filter(({ source }) => source === "input"));
  // Whatever is added on the way is visited too.
  for (const { namespace, id, status } of inherited) {
    for (const child of children.get(keyOf(namespace, id)) ?? [])
      if (child.status === status) inherited.add(child);
  }
  return { children, inherited };
}

/** The checkpoints of subgraphs without which those of the whole graph that are kept could not be resumed or replayed. */
function ofSubgraphs(
  history: readonly HistoryEntry[],
  kept: ReadonlySet<HistoryEntry>,
  head: HistoryEntry | undefined,
): HistoryEntry[] {
  const keptRoots = new Set<string>();
  for (const { namespace, id } of kept) if (namespace === "") keptRoots.add(id);
  const newestUnder = new Map<string, HistoryEntry>();
  const newestOfMemory = new Map<string, HistoryEntry>();
  const needed: HistoryEntry[] = [];
  for (const entry of history) {
    const { namespace, rootId } = entry;
    if (rootId === null) {
      // A replay starts subgraphs that remember from their newest checkpoint before it.
      if (entry !== head && namespace === "" && keptRoots.has(entry.id))
        needed.push(...newestOfMemory.values());
      continue;
    }
    // A namespace without a task is that of a subgraph which keeps its state from turn to turn.
    if (!namespace.includes(":")) newestOfMemory.set(namespace, entry);
    // A subgraph goes on from the newest that it made for the task at hand.
    if (keptRoots.has(rootId)) newestUnder.set(keyOf(namespace, rootId), entry);
    // The checkpoint under which this one was made may be on its way.
    else if (head === undefined || rootId > head.id) needed.push(entry);
  }
  return [...needed, ...newestUnder.values(), ...newestOfMemory.values()];
}

/**
 * Most checkpoints hold no value of a delta channel: it is put together from what was written to it since the nearest
 * ancestor that holds one. A count of steps says that there is none. Updates by hand hold none and count nothing, so
 * they are taken to lean on their parent for every channel that the namespace counts anywhere.
 */
function ancestorsLeanedOn(
  history: readonly HistoryEntry[],
  kept: ReadonlySet<HistoryEntry>,
): HistoryEntry[] {
  const channelsOf = new Map<string, Set<string>>();
  for (const { namespace, deltaChannels } of history) {
    for (const channel of deltaChannels) {
      const channels = channelsOf.get(namespace) ?? new Set();
      channelsOf.set(namespace, channels.add(channel));
    }
  }
  if (channelsOf.size === 0) return [];
  const byKey = new Map(history.map((entry) => [keyOf(entry.namespace, entry.id), entry]));
  const ancestors: HistoryEntry[] = [];
  for (const [namespace, channels] of channelsOf) {
    for (const channel of channels) {
      const visited = new Set<HistoryEntry>();
      for (const start of kept) {
        let entry: HistoryEntry | undefined = start.namespace === namespace ? start : undefined;
        while (entry && !visited.has(entry) && leansOnParent(entry, channel)) {
          visited.add(entry);
          entry = entry.parentId === null ? undefined : byKey.get(keyOf(namespace, entry.parentId));
          if (entry) ancestors.push(entry);
        }
      }
    }
  }
  return ancestors;
}

function leansOnParent({ deltaChannels, source }: HistoryEntry, channel: string): boolean {
  return deltaChannels.includes(channel) || source === "update" || source === "fork";
}

function keyOf(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}
