import type { Tone } from "../../components/tone.ts";
import { entryFinder, groupBy, type PathEntry, type Step } from "./thread-records.ts";

/** Something that took time. */
export interface Bar {
  readonly id: string;
  readonly label: string;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
  /** Whether it waited for people or for an event most of the time. */
  readonly isWaiting: boolean;
  /** The step that it made; null without one. */
  readonly step: string | null;
  readonly namespace: string;
  /** Its requests to models and its calls. */
  readonly parts: readonly BarPart[];
}

export interface BarPart {
  readonly kind: "model" | "tool";
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
  /** Position among the calls that ran concurrently, and how many they were. */
  readonly row: number;
  readonly rows: number;
}

export interface Lane {
  readonly name: string;
  /** In order of time, none over another. */
  readonly bars: readonly Bar[];
}

/** A turn, or one of its attempts. */
export interface Section {
  readonly label: string;
  readonly hasFailed: boolean;
  readonly from: number;
  readonly to: number;
}

export interface TimelineContent {
  readonly lanes: readonly Lane[];
  readonly sections: readonly Section[];
}

/**
 * Arranges what a thread ran in lanes: one a node, more where it ran beside itself. Subtasks of a planner are one bar
 * each. Entries that have not ended last until `now`.
 */
export function timelineOf(
  path: readonly PathEntry[],
  steps: readonly Step[],
  now: number,
): TimelineContent {
  const made = workByEntry(path, steps);
  const lanes = new Map<string, Bar[]>();
  const add = (lane: string, bar: Bar) => {
    const own = lanes.get(lane);
    if (own === undefined) lanes.set(lane, [bar]);
    else own.push(bar);
  };
  const subtasks = new Map<string, Bar>();
  path.forEach((entry, index) => {
    const bar = barOf(entry, made.get(entry), { index, now });
    const { within, namespace } = entry;
    if (within.at(-2) === "execute") {
      subtasks.set(namespace, joined(subtasks.get(namespace), { ...bar, label: within.at(-1)! }));
      return;
    }
    add([...within, entry.node].join(" › "), bar);
  });
  for (const [namespace, bar] of subtasks) {
    const entry = path.find((one) => one.namespace === namespace)!;
    add([...entry.within.slice(0, -2), "subtasks"].join(" › "), bar);
  }
  return {
    // What runs within a node comes below it.
    lanes: [...lanes]
      .toSorted(([, a], [, b]) => firstOf(a) - firstOf(b))
      .flatMap(([name, bars]) => packed(name, bars)),
    sections: sectionsOf(path, now),
  };
}

function firstOf(bars: readonly Bar[]): number {
  return bars.reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY);
}

/** What steps did in an entry of the path. */
interface Work {
  readonly step: string;
  readonly parts: readonly BarPart[];
  readonly hasFailed: boolean;
}

/**
 * Returns the work of steps by the entries in which it was done. Calls that a model requested are made by a node after
 * its own, the first that took long enough.
 */
function workByEntry(
  path: readonly PathEntry[],
  steps: readonly Step[],
): ReadonlyMap<PathEntry, Work> {
  const find = entryFinder(path);
  const byTurn = groupBy(path, ({ namespace, turn }) => JSON.stringify([namespace, turn]));
  const places = new Map(
    [...byTurn.values()].flatMap((own) => own.map((one, at) => [one, { own, at }] as const)),
  );
  const work = new Map<PathEntry, Work>();
  const add = (entry: PathEntry | undefined, more: Work) => {
    if (entry === undefined) return;
    const known = work.get(entry);
    work.set(entry, {
      step: more.step,
      parts: [...(known?.parts ?? []), ...more.parts],
      hasFailed: known?.hasFailed === true || more.hasFailed,
    });
  };
  for (const step of steps) {
    const entry = find(step);
    const place = entry && places.get(entry);
    const caller =
      step.model_ms > 0 && step.calls.length > 0 && place !== undefined
        ? callerAfter(place.own, { at: place.at, toolMs: step.tool_ms })
        : undefined;
    const { model, tools } = partsOf(step, caller === undefined ? null : startOf(caller));
    const hasFailed = step.calls.some(({ outcome }) => outcome !== null && outcome !== "success");
    const isOwn = caller === undefined;
    add(entry, {
      step: step.id,
      parts: isOwn ? [...model, ...tools] : model,
      hasFailed: step.problem !== "" || (isOwn && hasFailed),
    });
    if (!isOwn) add(caller, { step: step.id, parts: tools, hasFailed });
  }
  return work;
}

/** Returns the first entry of a turn after one that took long enough to make the calls. */
function callerAfter(
  turn: readonly PathEntry[],
  { at, toolMs }: { readonly at: number; readonly toolMs: number },
): PathEntry | undefined {
  const superstep = turn[at]?.superstep ?? 0;
  for (let next = at + 1; next < turn.length; next++) {
    const one = turn[next]!;
    const isLater = one.superstep > superstep && one.outcome === "success";
    if (isLater && Date.parse(one.ended_at ?? "") - startOf(one) >= toolMs - 2) return one;
  }
  return undefined;
}

function startOf({ started_at: start, ended_at: end }: PathEntry): number {
  return Date.parse(start ?? end ?? "");
}

const toneOfOutcome: Readonly<Record<PathEntry["outcome"], Tone>> = {
  success: "idle",
  failure: "bad",
  interrupted: "wait",
  pending: "live",
};

function barOf(
  entry: PathEntry,
  work: Work | undefined,
  { index, now }: { index: number; now: number },
): Bar {
  const { node, namespace, started_at: start, ended_at: end, outcome } = entry;
  const parts = work?.parts ?? [];
  const to = end === null ? now : Date.parse(end);
  const from = start === null ? (parts[0]?.from ?? to) : Date.parse(start);
  return {
    id: `${index}`,
    label: node,
    from: Math.min(from, to),
    to: Math.max(from, to, ...parts.map((part) => part.to)),
    tone: work?.hasFailed === true && outcome === "success" ? "bad" : toneOfOutcome[outcome],
    isWaiting: entry.was_interrupted || outcome === "interrupted",
    step: work?.step ?? null,
    namespace,
    parts,
  };
}

/**
 * The requests to models of a step come first, then its calls, one after the other or all at once.
 *
 * @param callsAt when the calls began; null: after the requests
 */
function partsOf(
  step: Step,
  callsAt: number | null,
): { readonly model: readonly BarPart[]; readonly tools: readonly BarPart[] } {
  const began = Date.parse(step.started_at);
  const model: BarPart[] = [];
  const tools: BarPart[] = [];
  if (step.model_ms > 0)
    model.push({
      kind: "model",
      label: step.model,
      from: began,
      to: began + step.model_ms,
      tone: "live",
      row: 0,
      rows: 1,
    });
  const sum = step.calls.reduce((total, { latency_ms: ms }) => total + ms, 0);
  const isConcurrent = step.calls.length > 1 && step.tool_ms < sum - 0.001;
  let from = callsAt ?? began + step.model_ms;
  step.calls.forEach(({ tool, outcome, latency_ms: ms }, index) => {
    if (outcome === null) return;
    tools.push({
      kind: "tool",
      label: tool,
      from,
      to: from + ms,
      tone: outcome === "success" ? "good" : "bad",
      row: isConcurrent ? index : 0,
      rows: isConcurrent ? step.calls.length : 1,
    });
    if (!isConcurrent) from += ms;
  });
  return { model, tools };
}

/** Returns one bar for two of the same subtask. */
function joined(before: Bar | undefined, bar: Bar): Bar {
  if (before === undefined) return bar;
  const worst = (["bad", "wait", "live"] as const).find((tone) =>
    [before.tone, bar.tone].includes(tone),
  );
  return {
    ...before,
    from: Math.min(before.from, bar.from),
    to: Math.max(before.to, bar.to),
    tone: worst ?? "good",
    isWaiting: before.isWaiting || bar.isWaiting,
    parts: [...before.parts, ...bar.parts],
  };
}

/** Returns as many lanes as are needed so that no bar is over another. */
function packed(name: string, bars: readonly Bar[]): readonly Lane[] {
  const rows: Bar[][] = [];
  for (const bar of bars.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    const row = rows.find((one) => one.at(-1)!.to <= bar.from);
    if (row === undefined) rows.push([bar]);
    else row.push(bar);
  }
  return rows.map((own, index) => ({ name: index === 0 ? name : "", bars: own }));
}

function sectionsOf(path: readonly PathEntry[], now: number): readonly Section[] {
  const sections = new Map<string, Section & { turn: number; attempt: number }>();
  for (const { namespace, turn, attempt, started_at: start, ended_at: end } of path) {
    if (namespace !== "") continue;
    const to = end === null ? now : Date.parse(end);
    const from = start === null ? to : Date.parse(start);
    const key = `${turn}.${attempt}`;
    const known = sections.get(key);
    sections.set(key, {
      turn,
      attempt,
      label: "",
      hasFailed: false,
      from: Math.min(known?.from ?? from, from),
      to: Math.max(known?.to ?? to, to),
    });
  }
  const all = [...sections.values()];
  return all.map(({ turn, attempt, from, to }) => {
    const hasFailed = all.some((one) => one.turn === turn && one.attempt > attempt);
    const label = attempt > 0 || hasFailed ? `Turn ${turn}, attempt ${attempt}` : `Turn ${turn}`;
    return { label: hasFailed ? `${label}, failed` : label, hasFailed, from, to };
  });
}
