import type { components } from "../../api/schema.d.ts";
import { formatDuration } from "../../components/format.ts";

export type Plan = components["schemas"]["ThreadPlan"];
export type Subtask = Plan["subtasks"][number];

/** A version of a plan: how it was after something had changed. */
export interface PlanMoment {
  /** Milliseconds since 1970; null for the first plan, before anything ran. */
  readonly at: number | null;
  /** What changed, in words. */
  readonly changes: readonly string[];
  /** Ids of the subtasks that changed. */
  readonly changed: ReadonlySet<string>;
}

interface Event {
  readonly at: number;
  /** At one time, ends come first: what they were waited for begins then. */
  readonly order: number;
  readonly text: string;
  readonly ids: readonly string[];
}

/**
 * Returns the versions of a plan in order: the first plan, each begin and end of subtasks, and each plan for gaps. What
 * happened in the same millisecond is one version.
 */
export function planMoments({ subtasks }: Pick<Plan, "subtasks">): readonly PlanMoment[] {
  const first = subtasks.filter(({ depth }) => depth === 0);
  const events = [...subtasks.flatMap(eventsOf), ...gapEvents(subtasks)].toSorted(
    (a, b) => a.at - b.at || a.order - b.order,
  );
  const moments: PlanMoment[] = [
    {
      at: null,
      changes: [`Planned ${counted(first.length)}`],
      changed: new Set(first.map(({ id }) => id)),
    },
  ];
  let index = 0;
  while (index < events.length) {
    const { at } = events[index]!;
    let end = index;
    while (events[end]?.at === at) end += 1;
    const own = events.slice(index, end);
    moments.push({
      at,
      changes: own.map(({ text }) => text),
      changed: new Set(own.flatMap(({ ids }) => ids)),
    });
    index = end;
  }
  return moments;
}

function eventsOf(subtask: Subtask): readonly Event[] {
  const { id, status, started_at: start, ended_at: end, attempts } = subtask;
  const events: Event[] = [];
  if (start !== null)
    events.push({ at: Date.parse(start), order: 2, text: `${id} started`, ids: [id] });
  if (end !== null) {
    const took =
      start === null ? "" : ` after ${formatDuration(Date.parse(end) - Date.parse(start))}`;
    const tries = attempts > 1 ? ` in ${attempts} attempts` : "";
    const text = status === "skipped" ? `${id} skipped` : `${id} ${status}${took}${tries}`;
    events.push({ at: Date.parse(end), order: 0, text, ids: [id] });
  }
  return events;
}

/** A plan for gaps was there when the first of its subtasks began. */
function gapEvents(subtasks: readonly Subtask[]): readonly Event[] {
  const deepest = Math.max(0, ...subtasks.map(({ depth }) => depth));
  return Array.from({ length: deepest }, (_, index) => index + 1).flatMap((depth) => {
    const own = subtasks.filter((subtask) => subtask.depth === depth);
    const at = bornAt(subtasks, depth);
    if (own.length === 0 || !Number.isFinite(at)) return [];
    const text = `Plan ${depth + 1}, for gaps, added ${counted(own.length)}`;
    return [{ at, order: 1, text, ids: own.map(({ id }) => id) }];
  });
}

/** Returns when the subtasks of a plan were added; the end of what came before, while none of them has begun. */
function bornAt(subtasks: readonly Subtask[], depth: number): number {
  const times = (of: readonly Subtask[], name: "started_at" | "ended_at") =>
    of.flatMap((subtask) => (subtask[name] === null ? [] : [Date.parse(subtask[name])]));
  const begun = times(
    subtasks.filter((subtask) => subtask.depth === depth),
    "started_at",
  );
  if (begun.length > 0) return Math.min(...begun);
  return Math.max(
    ...times(
      subtasks.filter((subtask) => subtask.depth < depth),
      "ended_at",
    ),
  );
}

function counted(count: number): string {
  return `${count} ${count === 1 ? "subtask" : "subtasks"}`;
}

/** Returns the subtasks as they were at a moment, in the order of the plan; without those that were added later. */
export function subtasksAt(
  { subtasks }: Pick<Plan, "subtasks">,
  { at }: Pick<PlanMoment, "at">,
): readonly Subtask[] {
  const known = new Map<number, boolean>([[0, true]]);
  const isKnown = (depth: number): boolean => {
    const found = known.get(depth) ?? (at !== null && bornAt(subtasks, depth) <= at);
    known.set(depth, found);
    return found;
  };
  return subtasks.filter(({ depth }) => isKnown(depth)).map((subtask) => subtaskAt(subtask, at));
}

function subtaskAt(subtask: Subtask, at: number | null): Subtask {
  const { started_at: start, ended_at: end } = subtask;
  if (at !== null && end !== null && Date.parse(end) <= at) return subtask;
  const hasBegun = at !== null && start !== null && Date.parse(start) <= at;
  if (hasBegun && end === null) return subtask;
  return {
    ...subtask,
    status: hasBegun ? "running" : "pending",
    started_at: hasBegun ? start : null,
    ended_at: null,
    error: null,
    result: null,
    result_bytes: 0,
    is_waiting: false,
  };
}
