import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";
import { isRecord } from "./is-record.ts";
import type { CurrentStep } from "./step-record.ts";
import type { TierMerges } from "./tier-merge.ts";
import { comparePaths, type MergeOrder, type TierPatches } from "./tier-patch.ts";
import { StateUpdateError } from "./update-error.ts";

/** Where a branch is when it has come to the end of the workflow and waits for the others. */
export const endOfWorkflow = "END";

/**
 * One way that a workflow is under way on: the node it has come to, and what it brings along. A fan-out makes several
 * of one; a join makes one of several.
 */
export interface Branch {
  readonly id: string;
  /** Number of the superstep in which it was made. */
  readonly superstep: number;
  /** The node that runs next on it, or {@link endOfWorkflow}. */
  readonly at: string;
  /** The node it comes from; empty at the entry point. */
  readonly from: string;
  /** ISO 8601: when it came to `at`. */
  readonly since: string;
  /** The llm node that spoke last on it, which `last` is about in expressions. */
  readonly last: string | null;
  /** `step_index` of the records of this attempt that were made on the way here, ascending; those of routers are left out. */
  readonly steps: readonly number[];
  /** Steps under way: their calls wait for a tool node. More than one only where branches have met. */
  readonly open: readonly CurrentStep[];
  /** Keys of the tiers without a merge that the node it comes from has changed beside others. A bare key is of an older version. */
  readonly wrote: readonly (WrittenKey | string)[];
  /** Its place in the definition's order of branches; left out without merges. */
  readonly path?: readonly number[];
  /** What was written to ordered keys on the way here since branches parted. */
  readonly gave?: readonly GivenItems[];
  /** How often nodes that can come round again were entered in this attempt. */
  readonly visits: Readonly<Record<string, number>>;
  /** What people rejected on the way here and have not approved since, in order. Left out where that is nothing. */
  readonly rejections?: readonly Rejection[];
}

/** What a person did not approve, and why. */
export interface Rejection {
  /** The human node that asked. */
  readonly node: string;
  /** Empty when none was given. */
  readonly reason: string;
  /** `step_index` of the last record on the branch before it; -1 where there was none. */
  readonly after: number;
}

/** A key such as `execution.sum`, and a hash of the value it got: equal values have equal hashes. */
export interface WrittenKey {
  readonly key: string;
  readonly value: string;
}

/** Elements that a branch put in a list whose merge is `append`, or one for a value whose merge is `last`. */
export interface GivenItems {
  readonly key: string;
  readonly path: readonly number[];
  readonly items: number;
}

/** Branches that leave a node and those that take their place; `only` replaces all that there are. */
export type BranchUpdate =
  | { readonly leave: readonly string[]; readonly enter: readonly Branch[] }
  | { readonly only: readonly Branch[] };

/** The order in which nodes of one superstep write makes no difference to which branches are there. */
export function reduceBranches(
  branches: readonly Branch[],
  update: BranchUpdate | readonly Branch[],
): readonly Branch[] {
  // Whoever edits the state by hand writes it whole.
  if (Array.isArray(update)) return update as readonly Branch[];
  if (!isRecord(update) || !("only" in update || "leave" in update)) {
    throw new StateUpdateError("branches", "a list of branches");
  }
  if ("only" in update) return update.only;
  const left = new Set(update.leave);
  const stay = left.size === 0 ? branches : branches.filter(({ id }) => !left.has(id));
  return update.enter.length === 0 ? stay : [...stay, ...update.enter];
}

/** Two nodes of one superstep that have given one key of a tier different values, each without the other's. */
export function conflictOf(
  branches: readonly Branch[],
): { readonly key: string; readonly nodes: readonly [string, string] } | null {
  const writers = new Map<string, { readonly from: string; readonly value: string | null }>();
  for (const { superstep, from, wrote } of branches) {
    for (const written of wrote) {
      const { key, value } = typeof written === "string" ? { key: written, value: null } : written;
      const place = `${superstep} ${key}`;
      const other = writers.get(place);
      if (other === undefined) writers.set(place, { from, value });
      else if (other.from !== from && (value === null || other.value !== value)) {
        return { key, nodes: [other.from, from] };
      }
    }
  }
  return null;
}

/** The keys without a merge that patches change. */
export function writtenKeys(patches: TierPatches, merges: TierMerges): readonly WrittenKey[] {
  return (["execution", "attempt"] as const).flatMap((tier) => {
    const { set = {}, remove = [] } = patches[tier] ?? {};
    const written = [
      ...Object.entries(set).map(([key, value]) => ({ key, value: hashOf(value) })),
      ...remove.map((key) => ({ key, value: "removed" })),
    ].map(({ key, value }) => ({ key: `${tier}.${key}`, value }));
    return written.filter(({ key }) => !Object.hasOwn(merges, key));
  });
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("base64");
}

/** How a node changes merged keys; undefined where it runs alone, or no key is merged. */
export function mergeOrder(
  branches: readonly Branch[],
  at: { readonly node: string; readonly superstep: number; readonly merges: TierMerges },
): MergeOrder | undefined {
  const { node, superstep, merges } = at;
  const others = branches.filter((branch) => branch.at !== node);
  if (others.length === 0 || Object.keys(merges).length === 0) return undefined;
  const path = firstPath(branches.filter((branch) => branch.at === node));
  const gave = branches.flatMap((branch) => branch.gave ?? []);
  return {
    merges,
    superstep,
    path,
    later: (key) =>
      gave
        .filter((given) => given.key === key && comparePaths(given.path, path) > 0)
        .reduce((sum, { items }) => sum + items, 0),
  };
}

/** The branch's place among those that go on from a node, and what was given to ordered keys before it. */
export function branchOrder(
  arrived: readonly Branch[],
  to: {
    /** Of the node that they go on from; undefined where it ran alone. */
    readonly order: MergeOrder | undefined;
    readonly patches: TierPatches;
    readonly target: number;
    readonly targets: number;
  },
): Required<Pick<Branch, "path" | "gave">> {
  const { order, patches, target, targets } = to;
  const path = order?.path ?? [];
  const gave =
    order === undefined || target > 0
      ? []
      : [...arrived.flatMap((branch) => branch.gave ?? []), ...givenItems(patches, order)];
  return { path: targets > 1 ? [...path, target] : path, gave };
}

function givenItems(patches: TierPatches, { path, merges }: MergeOrder): readonly GivenItems[] {
  return (["execution", "attempt"] as const).flatMap((tier) => {
    const { set = {}, remove = [], merge = {} } = patches[tier] ?? {};
    const replaced = [...Object.keys(set), ...remove]
      .filter((key) => merges[`${tier}.${key}`] === "last")
      .map((key) => ({ key: `${tier}.${key}`, path, items: 1 }));
    const appended = Object.entries(merge).flatMap(([key, change]) =>
      change.merge === "append"
        ? [{ key: `${tier}.${key}`, path, items: change.items.length }]
        : [],
    );
    return [...replaced, ...appended];
  });
}

function firstPath(branches: readonly Branch[]): readonly number[] {
  return branches.map(({ path = [] }) => path).toSorted(comparePaths)[0] ?? [];
}

/** What several branches that come to one node bring along together. */
export function joinBranches(
  arrived: readonly [Branch, ...Branch[]],
): Pick<Branch, "last" | "steps" | "open" | "visits" | "since" | "rejections"> {
  const [first] = arrived;
  if (arrived.length === 1) return first;
  const visits: Record<string, number> = {};
  for (const branch of arrived) {
    for (const [node, count] of Object.entries(branch.visits)) {
      visits[node] = Math.max(visits[node] ?? 0, count);
    }
  }
  const steps = [...new Set(arrived.flatMap((branch) => branch.steps))].toSorted((a, b) => a - b);
  const rejections = new Map(
    arrived
      .flatMap((branch) => branch.rejections ?? [])
      .map((one) => [`${one.after} ${one.node}`, one]),
  );
  return {
    // Several may have spoken: the first in the order in which they arrived.
    last: arrived.find((branch) => branch.last !== null)?.last ?? null,
    steps,
    open: arrived.flatMap((branch) => branch.open),
    visits,
    since: arrived.reduce((latest, { since }) => (since > latest ? since : latest), first.since),
    ...(rejections.size > 0 && {
      rejections: [...rejections.values()].toSorted((a, b) => a.after - b.after),
    }),
  };
}
