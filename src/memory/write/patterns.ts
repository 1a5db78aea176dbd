import { createHash } from "node:crypto";
import { isRecord } from "../../values/json.ts";
import { headOf, truncateText } from "../../values/text.ts";
import type { MemoryEntry, NewMemoryEntry } from "../entry.ts";
import type { Memory } from "../memory.ts";

/** A call of a sequence: the tool, and the names of its arguments. */
export interface PatternStep {
  readonly tool: string;
  /** Sorted. */
  readonly arguments: readonly string[];
}

/** A sequence of tools that led to success, as `metadata.data.pattern` of a procedural entry. */
interface Pattern {
  readonly name: string;
  readonly steps: readonly PatternStep[];
  /** Turns that succeeded with it. */
  readonly frequency: number;
  /** The last runs that counted, so that none counts twice. */
  readonly runs: readonly string[];
  /** Requests that it served, shortened. */
  readonly requests: readonly string[];
}

/** A sequence that a successful turn has shown. */
export interface ShownPattern {
  readonly run: string;
  readonly request: string;
  readonly steps: readonly PatternStep[];
}

const limits = {
  steps: 50,
  arguments: 50,
  name: 200,
  runs: 50,
  requests: 3,
  request: 160,
} as const;

/** Importance of a pattern, and of a sequence that is none yet. */
const importance = { pattern: 0.8, candidate: 0.3 } as const;

/** How often a change is tried again that another process was faster than. */
const tries = 20;

/**
 * The steps of a sequence of calls that may become a pattern: at least 2, in their order. Null if they are fewer, or too
 * many to be worth repeating. Two sequences are the same if the tools are the same in the same order, with the same
 * argument names; repeated calls count each.
 */
export function patternSteps(
  calls: readonly { readonly tool: string; readonly arguments: readonly string[] }[],
): readonly PatternStep[] | null {
  if (calls.length < 2 || calls.length > limits.steps) return null;
  const steps = calls.map((call) => ({
    tool: call.tool,
    arguments: call.arguments.toSorted(),
  }));
  const fits = steps.every(
    ({ tool, arguments: keys }) =>
      keys.length <= limits.arguments &&
      [tool, ...keys].every((name) => name !== "" && name.length <= limits.name),
  );
  return fits ? steps : null;
}

/** The key of a sequence in its namespace. */
export function patternKey(steps: readonly PatternStep[]): string {
  const signature = JSON.stringify(steps.map((step) => [step.tool, step.arguments]));
  return `pattern:${createHash("sha256").update(signature).digest("hex")}`;
}

/**
 * Counts a sequence that led to success, once for a run. After `minFrequency` runs its entry has the tag `pattern`,
 * before that `candidate`. Runs that end at the same time all count.
 *
 * @returns false if other processes changed the entry again and again, and the run was not counted
 */
export async function recordPattern(
  { run, request, steps }: ShownPattern,
  at: {
    readonly memory: Pick<Memory, "add" | "list" | "store">;
    readonly namespace: readonly string[];
    readonly minFrequency: number;
    readonly signal?: AbortSignal;
  },
): Promise<boolean> {
  const { memory, namespace, minFrequency, signal } = at;
  const key = patternKey(steps);
  const example = exampleOf(request);
  for (let tried = 0; tried < tries; tried += 1) {
    signal?.throwIfAborted();
    const filter = { namespace, exact: true, keys: [key] };
    const [entry] = await memory.list(filter, { limit: 1 });
    const known = entry === undefined ? null : patternOf(entry);
    if (known?.runs.includes(run) === true) return true;
    const pattern = counted(known, { run, example, steps });
    const parts = partsOf(pattern, minFrequency);
    if (entry === undefined) {
      const fresh = { ...parts, namespace, key, memory_type: "procedural" } as const;
      const [added] = await memory.add([fresh], signal && { signal });
      if (added?.isNew === true) return true;
      continue;
    }
    const { content, importance: weight } = parts;
    const metadata = { ...entry.metadata, ...parts.metadata };
    const change = {
      ...(content !== entry.content && { content }),
      importance: weight,
      metadata,
    };
    if (await memory.store.update(entry.id, change, entry.updated_at)) return true;
  }
  return false;
}

function counted(
  known: Pattern | null,
  of: { readonly run: string; readonly example: string; readonly steps: readonly PatternStep[] },
): Pattern {
  const { frequency = 0, runs = [], requests = [] } = known ?? {};
  const others = requests.filter((request) => request !== of.example);
  return {
    name: nameOf(of.steps),
    steps: of.steps,
    frequency: frequency + 1,
    runs: [...runs, of.run].slice(-limits.runs),
    requests: [...others, of.example].filter((one) => one !== "").slice(-limits.requests),
  };
}

/** Returns the tools in order, repeated ones once: `search_orders → refund ×2`. */
function nameOf(steps: readonly PatternStep[]): string {
  const parts: { tool: string; times: number }[] = [];
  for (const { tool } of steps) {
    const last = parts.at(-1);
    if (last?.tool === tool) last.times += 1;
    else parts.push({ tool, times: 1 });
  }
  const name = parts
    .map(({ tool, times }) => (times === 1 ? tool : `${tool} ×${times}`))
    .join(" → ");
  return name.length <= limits.name ? name : `${headOf(name, limits.name - 1)}…`;
}

/** Returns the parts of an entry that follow from its pattern. Its content is what a search for similar requests finds. */
function partsOf(pattern: Pattern, minFrequency: number) {
  const isPattern = pattern.frequency >= minFrequency;
  const steps = pattern.steps.map(({ tool, arguments: keys }) => `${tool}(${keys.join(", ")})`);
  const content = [
    `How requests like these were done: ${pattern.requests.map((one) => JSON.stringify(one)).join(", ")}`,
    truncateText(`Steps: ${steps.join(" → ")}`, 8_000),
  ].join("\n");
  const metadata: NewMemoryEntry["metadata"] = {
    source: "agent",
    tags: [isPattern ? "pattern" : "candidate"],
    // The interface of plain JSON has no index signature.
    data: { pattern: { ...pattern } },
  };
  return { content, importance: isPattern ? importance.pattern : importance.candidate, metadata };
}

/** Returns null for an entry that holds no pattern; it is counted anew. */
function patternOf({ metadata: { data } }: MemoryEntry): Pattern | null {
  const stored = data !== undefined && Object.hasOwn(data, "pattern") ? data["pattern"] : null;
  if (!isRecord(stored)) return null;
  const { frequency, runs, requests } = stored as Partial<Record<keyof Pattern, unknown>>;
  if (typeof frequency !== "number" || !isTexts(runs) || !isTexts(requests)) return null;
  return { name: "", steps: [], frequency, runs, requests };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function exampleOf(request: string): string {
  const line = request
    .slice(0, 4 * limits.request)
    .replace(/\0|\p{Surrogate}/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= limits.request ? line : `${headOf(line, limits.request - 1)}…`;
}
