/** A checkpoint as far as branches are concerned. */
interface Linked {
  readonly id: string;
  readonly parent_id: string | null;
}

/** What is drawn left of a row: lanes are numbered from 0, from the left. */
export interface LaneRow {
  /** Lane of the row's own checkpoint. */
  readonly lane: number;
  /** Lanes from above that end in the checkpoint: one for each child. */
  readonly into: readonly number[];
  /** Lanes that pass by, from above to below. */
  readonly through: readonly number[];
  /** Whether the checkpoint has a parent, to which its lane leads below. */
  readonly hasParent: boolean;
  /** Whether it is on the branch that ends in the newest checkpoint. That branch is always lane 0. */
  readonly isCurrent: boolean;
}

/**
 * Returns the lanes of checkpoints, as a git log draws them. Children come before their parents: newest first. A parent
 * that is not in the list, as on a page that is not loaded, leaves its lane open to the end.
 */
export function lanesOf(checkpoints: readonly Linked[]): readonly LaneRow[] {
  /** The parent that each lane leads to; null for a free lane. */
  const lanes: (string | null)[] = [];
  let current = checkpoints[0]?.id ?? null;
  return checkpoints.map(({ id, parent_id: parent }) => {
    const into = lanes.flatMap((awaited, lane) => (awaited === id ? [lane] : []));
    const through = lanes.flatMap((awaited, lane) =>
      awaited === null || awaited === id ? [] : [lane],
    );
    const free = lanes.indexOf(null);
    const lane = into[0] ?? (free === -1 ? lanes.length : free);
    for (const one of into) lanes[one] = null;
    lanes[lane] = parent;
    const isCurrent = id === current;
    if (isCurrent) current = parent;
    return { lane, into, through, hasParent: parent !== null, isCurrent };
  });
}

/** Returns how many lanes rows have, at least 1. */
export function laneCount(rows: readonly LaneRow[]): number {
  return rows.reduce(
    (most, { lane, through }) => Math.max(most, lane + 1, (through.at(-1) ?? 0) + 1),
    1,
  );
}
