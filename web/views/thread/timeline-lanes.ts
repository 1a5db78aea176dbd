import type { Tone } from "../../components/tone.ts";
import { groupBy } from "./step-rows.ts";
import type { PathEntry, Step } from "./thread-records.ts";

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
  const subtasks = new Map<string, Bar>();
  path.forEach((entry, index) => {
    const bar = barOf(entry, made.get(entry), { index, now });
    const { within, namespace } = entry;
    if (within.at(-2) === "execute") {
      subtasks.set(namespace, joined(subtasks.get(namespace), { ...bar, label: within.at(-1)! }));
      return;
    }
    const lane = [...within, entry.node].join(" › ");
    lanes.set(lane, [...(lanes.get(lane) ?? []), bar]);
  });
  for (const [namespace, bar] of subtasks) {
    const entry = path.find((one) => one.namespace === namespace)!;
    const lane = [...entry.within.slice(0, -2), "subtasks"].join(" › ");
    lanes.set(lane, [...(lanes.get(lane) ?? []), bar]);
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
  const byNode = groupBy(path, ({ namespace, node }) => JSON.stringify([namespace, node]));
  const byNamespace = groupBy(path, ({ namespace }) => namespace);
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
    const began = Date.parse(step.started_at);
    const own = byNode.get(JSON.stringify([step.namespace, step.node])) ?? [];
    const entry = own.findLast(({ started_at: at }) => at === null || Date.parse(at) <= began);
    const caller =
      step.model_ms > 0 && step.calls.length > 0 && entry !== undefined
        ? callerAfter(entry, byNamespace.get(step.namespace) ?? [], step.tool_ms)
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

function callerAfter(
  entry: PathEntry,
  path: readonly PathEntry[],
  toolMs: number,
): PathEntry | undefined {
  return path.find(
    (one) =>
      one.turn === entry.turn &&
      one.superstep > entry.superstep &&
      one.outcome === "success" &&
      Date.parse(one.ended_at ?? "") - startOf(one) >= toolMs - 2,
  );
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

/** Where times are on the timeline, in parts of its width from 0 to 1. */
export interface TimeScale {
  readonly from: number;
  readonly to: number;
  /** Milliseconds in which nothing ran, or people were waited for. */
  readonly idleMs: number;
  readonly at: (time: number) => number;
  /** The time at a part of the width. */
  readonly timeAt: (part: number) => number;
  /** Spans that are drawn shorter than they were. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
}

/** Gaps from this part of the active time on are shortened, to this part of it. */
const shortenedGap = 0.04;

/** Makes a scale on which spans without activity are short, if that is wished. */
export function timeScale(lanes: readonly Lane[], isShortened: boolean): TimeScale {
  const active = activeSpans(lanes.flatMap(({ bars }) => bars));
  const first = active[0]?.from ?? 0;
  const last = active.at(-1)?.to ?? first + 1;
  const from = Math.min(first, ...lanes.map(({ bars }) => bars[0]?.from ?? first));
  const to = Math.max(last, from + 1, ...lanes.map(({ bars }) => bars.at(-1)?.to ?? last));
  const activeMs = Math.max(
    1,
    active.reduce((sum, span) => sum + span.to - span.from, 0),
  );
  const shortMs = activeMs * shortenedGap;
  /** Spans of the timeline with the length that each is drawn with. */
  const spans: { from: number; to: number; length: number; isGap: boolean }[] = [];
  const add = (begin: number, end: number, isGap: boolean) => {
    if (end <= begin) return;
    const isShort = isGap && isShortened && end - begin > shortMs;
    spans.push({ from: begin, to: end, length: isShort ? shortMs : end - begin, isGap: isShort });
  };
  let until = from;
  for (const span of active) {
    add(until, span.from, true);
    add(Math.max(until, span.from), span.to, false);
    until = Math.max(until, span.to);
  }
  add(until, to, true);
  const whole = spans.reduce((sum, { length }) => sum + length, 0);
  const starts: number[] = [];
  let before = 0;
  for (const { length } of spans) {
    starts.push(before / whole);
    before += length;
  }
  const at = (time: number): number => {
    const index = lastIndex(spans, (span) => span.from <= time);
    const span = spans[index];
    if (span === undefined) return 0;
    const part = Math.min(1, (time - span.from) / (span.to - span.from));
    return starts[index]! + (part * span.length) / whole;
  };
  const timeAt = (part: number): number => {
    const index = lastIndex(starts, (start) => start <= part);
    const span = spans[index];
    if (span === undefined) return from;
    const inside = ((part - starts[index]!) * whole) / span.length;
    return span.from + Math.min(1, inside) * (span.to - span.from);
  };
  const gaps = spans.filter(({ isGap }) => isGap).map((span) => ({ from: span.from, to: span.to }));
  return { from, to, idleMs: to - from - activeMs, at, timeAt, gaps };
}

/** Returns the place of the last item that something holds for, in a list where it holds for the first ones only. */
function lastIndex<Item>(items: readonly Item[], holds: (item: Item) => boolean): number {
  let [low, high] = [-1, items.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(items[middle]!)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Returns when something ran, joined and in order. While a node waits, only its requests and calls count. */
function activeSpans(bars: readonly Bar[]): readonly { from: number; to: number }[] {
  const spans = bars
    .flatMap((bar): readonly Pick<Bar, "from" | "to">[] => (bar.isWaiting ? bar.parts : [bar]))
    .toSorted((a, b) => a.from - b.from);
  const joinedSpans: { from: number; to: number }[] = [];
  for (const { from, to } of spans) {
    const last = joinedSpans.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else joinedSpans.push({ from, to });
  }
  return joinedSpans;
}

/** A bar as it is drawn, or several that are too close to be told apart. */
export interface DrawnBar {
  readonly bars: readonly Bar[];
  /** Pixels. */
  readonly left: number;
  readonly width: number;
}

/** Pixels below which bars are drawn as one. */
const leastWidth = 3;

/** Returns the bars of a lane between two places, in pixels: as many as can be told apart. */
export function barsInSight(
  lane: Lane,
  { scale, width, from, to }: { scale: TimeScale; width: number; from: number; to: number },
): readonly DrawnBar[] {
  const drawn: { bars: Bar[]; left: number; width: number }[] = [];
  for (const bar of lane.bars) {
    const left = scale.at(bar.from) * width;
    const right = Math.max(left + leastWidth, scale.at(bar.to) * width);
    if (right < from || left > to) continue;
    const last = drawn.at(-1);
    const isClose = last !== undefined && left < last.left + last.width + 1;
    const isSmall = right - left <= 2 * leastWidth || (last?.width ?? 0) <= 2 * leastWidth;
    if (isClose && isSmall) {
      last.bars.push(bar);
      last.width = Math.max(last.width, right - last.left);
    } else drawn.push({ bars: [bar], left, width: right - left });
  }
  return drawn;
}
