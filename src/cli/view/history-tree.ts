/** A checkpoint as far as its place in the tree goes. */
export interface TreeItem {
  readonly id: string;
  readonly parentId: string | null;
}

export interface TreeLine {
  /** The branches that go past above it. */
  readonly rails: string;
  /** Lines that stand before the item's own: branches that come together in it. */
  readonly joins: readonly string[];
  /** `●` for the end of a branch, `○` for what lies before one. */
  readonly gutter: string;
}

/**
 * The tree of checkpoints as gutters of a list, one for each item. Items come newest first: children before their
 * parents. Empty gutters for a history without branches, which needs no drawing.
 */
export function treeLines(items: readonly TreeItem[]): readonly TreeLine[] {
  /** Which checkpoint each branch is drawn down to. */
  const lanes: (string | null)[] = [];
  const lines = items.map(({ id, parentId }) => {
    const mine = lanes.flatMap((wanted, lane) => (wanted === id ? [lane] : []));
    const rails = laneLine(lanes);
    const joins = mine.length > 1 ? [joinLine(lanes, mine)] : [];
    for (const lane of mine.slice(1)) lanes[lane] = null;
    const isTip = mine.length === 0;
    const lane = mine[0] ?? freeLane(lanes);
    lanes[lane] = id;
    const gutter = laneLine(lanes, lane, isTip ? "●" : "○");
    lanes[lane] = parentId;
    while (lanes.length > 0 && lanes.at(-1) === null) lanes.pop();
    return { rails, joins, gutter };
  });
  const isLinear = lines.every(({ gutter }) => gutter.length === 1);
  return isLinear ? lines.map(() => ({ rails: "", joins: [], gutter: "" })) : lines;
}

function freeLane(lanes: readonly (string | null)[]): number {
  const free = lanes.indexOf(null);
  return free < 0 ? lanes.length : free;
}

function laneLine(lanes: readonly (string | null)[], own = -1, mark = ""): string {
  return lanes
    .map((wanted, lane) => {
      if (lane === own) return mark;
      return wanted === null ? " " : "│";
    })
    .join(" ")
    .trimEnd();
}

/** `├─┴─╯`: the first of `mine` takes the others in, past the branches in between. */
function joinLine(lanes: readonly (string | null)[], mine: readonly number[]): string {
  const [first = 0] = mine;
  const last = mine.at(-1) ?? first;
  return lanes
    .map((wanted, lane) => {
      const between = lane > first && lane < last;
      const after = lane >= first && lane < last ? "─" : " ";
      if (lane === first) return `├${after}`;
      if (lane === last) return `╯${after}`;
      if (mine.includes(lane)) return `┴${after}`;
      if (wanted === null) return between ? `─${after}` : `  `;
      return between ? `┼${after}` : `│${after}`;
    })
    .join("")
    .trimEnd();
}
