import { createHash } from "node:crypto";
import { canonicalJson, isRecord } from "../values/json.ts";
import type { CurrentStep } from "./step-record.ts";
import { comparePaths, type MergeOrder, type TierMerges, type TierPatches } from "./tier-patch.ts";
import { StateUpdateError } from "./reducers.ts";

/** The position of a branch that has reached the end of the workflow and waits for the others. */
export const endOfWorkflow = "END";

/**
 * A path of execution through a workflow: its current node and the data it carries. A fan-out splits one branch into
 * several; a join merges several into one.
 */
export interface Branch {
  readonly id: string;
  /** Number of the superstep in which it was made. */
  readonly superstep: number;
  /** The node that runs next on it, or {@link endOfWorkflow}. */
  readonly at: string;
  /** The previous node; empty at the entry point. */
  readonly from: string;
  /** ISO 8601: when it reached `at`. */
  readonly since: string;
  /** The last llm node of the branch; `last` in expressions refers to it. */
  readonly last: string | null;
  /** `step_index` of this attempt's records along the branch, ascending; those of routers are left out. */
  readonly steps: readonly number[];
  /** Steps in progress, whose calls wait for a tool node. More than one only after branches were joined. */
  readonly open: readonly CurrentStep[];
  /**
   * Tier keys without a merge that the previous node changed while other branches ran. A bare key is from an older
   * version.
   */
  readonly wrote: readonly (WrittenKey | string)[];
  /** Its position in the definition's order of branches; left out without merges. */
  readonly path?: readonly number[];
  /** Writes to ordered keys along the branch since the fan-out. */
  readonly gave?: readonly GivenItems[];
  /** How often each node on a cycle was entered in this attempt. */
  readonly visits: Readonly<Record<string, number>>;
  /** Rejections along the branch that were not followed by an approval, in order. Left out if there are none. */
  readonly rejections?: readonly Rejection[];
}

/** A person's rejection and its reason. */
export interface Rejection {
  /** The human node that asked. */
  readonly node: string;
  /** Empty if none was given. */
  readonly reason: string;
  /** `step_index` of the last record on the branch before it; -1 if there was none. */
  readonly after: number;
}

/** A key such as `execution.sum`, and a hash of the value written: equal values have equal hashes. */
export interface WrittenKey {
  readonly key: string;
  readonly value: string;
}

/** Elements that a branch added to a list with the merge `append`, or one value of a key with the merge `last`. */
export interface GivenItems {
  readonly key: string;
  readonly path: readonly number[];
  readonly items: number;
}

/** Branches that leave a node and those that replace them; `only` replaces all branches. */
export type BranchUpdate =
  | { readonly leave: readonly string[]; readonly enter: readonly Branch[] }
  | { readonly only: readonly Branch[] };

/** Merges branch updates. The order in which nodes of one superstep write does not matter. */
export function reduceBranches(
  branches: readonly Branch[],
  update: BranchUpdate | readonly Branch[],
): readonly Branch[] {
  // `updateState` callers write the whole list.
  if (Array.isArray(update)) return update as readonly Branch[];
  if (!isRecord(update) || !("only" in update || "leave" in update)) {
    throw new StateUpdateError("branches", "a list of branches");
  }
  if ("only" in update) return update.only;
  const left = new Set(update.leave);
  const stay = left.size === 0 ? branches : branches.filter(({ id }) => !left.has(id));
  return update.enter.length === 0 ? stay : [...stay, ...update.enter];
}

/** Returns two nodes of one superstep that wrote different values to one tier key. */
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

/** Returns the keys without a merge that patches change. */
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

/** Returns how a node changes merged keys; undefined if it runs alone, or no key is merged. */
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

/** Returns a branch's position among those that leave a node, and the earlier writes to ordered keys. */
export function branchOrder(
  arrived: readonly Branch[],
  to: {
    /** The order of the node that they leave; undefined if it ran alone. */
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

/** Joins the data of branches that arrive at one node. */
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
    // Several may have a last node: the first in the order of arrival wins.
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
