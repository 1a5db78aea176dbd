import { deadline } from "../../async.ts";
import type { AgentSpec } from "../../definition/schema/agent.ts";
import { StratagraphError } from "../../errors.ts";
import { MemoryBusyError, MemoryTimeoutError } from "../../memory/errors.ts";
import type { ConsolidateOptions, Memory } from "../../memory/memory.ts";
import { instanceIdOf } from "../../memory/namespace.ts";
import { extractionRequest, readExtract } from "../../memory/write/extract-model.ts";
import { factsOfAnswer, factsOfRequest } from "../../memory/write/extract-rules.ts";
import { patternSteps, recordPattern } from "../../memory/write/patterns.ts";
import {
  approximateTokens,
  entryKeys,
  type Extract,
  type TurnCall,
  turnEntries,
} from "../../memory/write/turn-entries.ts";
import type { GraphState } from "../../state/channels.ts";
import type { MemoryWritten } from "../../state/turn.ts";
import { isRecord } from "../../values/json.ts";
import { callModelWithSignal } from "../loop/context.ts";
import type { AgentMemory } from "../loop/loop-config.ts";
import type { NodeContext } from "../loop/node.ts";
import { readPlanningState } from "../planner/planning.ts";
import { cancelSignal } from "../run/run-config.ts";
import { type EndedTurn, endedTurn } from "./finished-turn.ts";

/** Milliseconds that a turn waits at its end. */
const limitsMs = { extraction: 20_000, write: 10_000, consolidation: 10_000 } as const;

/** Tokens of a thread's short-term entries that consolidation leaves alone, if a definition sets none. */
const usualTokens = 8_000;

/** Entries of a thread whose tokens are counted. */
const mostCounted = 1_000;

/** Tools that read and write memory are no part of how a request was done. */
const memoryToolNames = new Set(["recall", "remember"]);

type Run = Pick<NodeContext, "loop" | "rails" | "config" | "callModel" | "signal">;

interface Writing {
  readonly state: GraphState;
  readonly run: Run;
  readonly turn: EndedTurn;
  readonly spec: AgentSpec;
  readonly threadId: string;
  readonly memory: Memory;
  readonly namespace: readonly string[];
}

/**
 * Writes what a COMPLETED or FAILED turn leaves in long-term memory: what was said, what happened, facts, and the
 * sequence of its tools. Running again writes nothing twice. A failing memory never fails the turn: its errors are
 * returned. Null if nothing may be remembered: the turn was cancelled, or input rails refused its input.
 */
export async function writeMemory(
  state: GraphState,
  run: Run,
  agentMemory: AgentMemory,
): Promise<MemoryWritten | null> {
  const threadId: unknown = run.config.configurable?.["thread_id"];
  const turn = endedTurn(state, run);
  if (turn === null || typeof threadId !== "string") return null;
  const { spec } = run.loop.definition;
  const { memory } = agentMemory;
  const namespace = agentMemory.namespace(turn.user);
  const writing: Writing = { state, run, turn, spec, threadId, memory, namespace };
  const errors: string[] = [];
  const attempt = async <T>(otherwise: T, ms: number, work: Work<T>): Promise<T> => {
    try {
      return await inTime(run, ms, work);
    } catch (thrown) {
      errors.push(errorCode(thrown));
      return otherwise;
    }
  };
  const { long_term: longTerm, procedural } = spec.memory_config;
  // A planner's graph is a part of its agent's turn, which leaves the entries.
  const plans = run.loop.attempts.plans === true;
  let written: Omit<MemoryWritten, "procedural" | "errors"> = noEntries;
  if (longTerm.enabled && !plans) written = await writeEntries(writing, attempt);
  const recorded = procedural.enabled
    ? await attempt(0, limitsMs.write, (signal) => writePattern(writing, signal))
    : 0;
  const isDue = longTerm.enabled && !plans && longTerm.consolidation?.automatic !== false;
  const consolidation = isDue
    ? await attempt(null, limitsMs.consolidation, (signal) => consolidate(writing, signal))
    : null;
  return {
    ...written,
    procedural: recorded,
    ...(consolidation !== null && { consolidation }),
    ...(errors.length > 0 && { errors }),
  };
}

type Work<T> = (signal: AbortSignal) => Promise<T>;
type Attempt = <T>(otherwise: T, ms: number, work: Work<T>) => Promise<T>;

const noEntries = { short_term: 0, episodic: 0, semantic: 0 } as const;

/** Stores the entries in one transaction, so that those of an earlier run of the node are either all there or none. */
async function writeEntries(
  { turn, run, memory, namespace, threadId, spec }: Writing,
  attempt: Attempt,
): Promise<Omit<MemoryWritten, "procedural" | "errors">> {
  const instanceId = instanceIdOf(spec.name, threadId);
  const keys = entryKeys(turn.run, { instanceId });
  const stored = await attempt(null, limitsMs.write, () =>
    memory.list({ namespace, exact: true, keys }, { limit: keys.length }),
  );
  if (stored === null) return noEntries;
  if (stored.length > 0) return countTypes(stored);
  const read = await askModel(turn, run);
  const extract = read?.extract ?? extractByRules(turn);
  const entries = turnEntries(turn, extract, { namespace, threadId, instanceId });
  const added = await attempt(null, limitsMs.write, (signal) => memory.add(entries, { signal }));
  if (added === null) return noEntries;
  return { ...countTypes(entries), ...(read !== null && { extracted_by: read.model }) };
}

function countTypes(
  entries: readonly { readonly memory_type?: string }[],
): Pick<MemoryWritten, "short_term" | "episodic" | "semantic"> {
  const count = (type: string) => entries.filter((entry) => entry.memory_type === type).length;
  return {
    short_term: count("short_term"),
    episodic: count("episodic"),
    semantic: count("semantic"),
  };
}

function extractByRules({ request, answer }: EndedTurn): Extract {
  const stated = factsOfRequest(request);
  const facts = answer === null ? stated : [...stated, ...factsOfAnswer(answer, stated)];
  return { facts, summary: null, entities: [] };
}

/**
 * Has the turn's extraction model read it, in at most half of the time that the turn has left. Null without such a
 * model, and if it fails, takes too long or returns nothing of use. Facts that it does not see are found by rules.
 */
async function askModel(
  turn: EndedTurn,
  run: Run,
): Promise<{ readonly extract: Extract; readonly model: string } | null> {
  const { extractor } = run.loop;
  if (extractor === null || run.signal.aborted) return null;
  const half = turn.timeLeftMs / 2;
  if (half <= 0) return null;
  try {
    const request = extractionRequest(turn);
    const reply = await inTime(run, Math.min(limitsMs.extraction, half), (signal) =>
      callModelWithSignal(signal, run, { model: extractor, request, purpose: "memory" }),
    );
    const extract = readExtract(reply);
    if (extract === null) return null;
    const facts = extract.facts.length > 0 ? extract.facts : extractByRules(turn).facts;
    return { extract: { ...extract, facts }, model: reply.model };
  } catch {
    return null;
  }
}

/** Counts the sequence of the turn's successful calls, or of a planner's workers; returns how many were counted. */
async function writePattern(
  { state, run, turn, spec, memory, namespace }: Writing,
  signal: AbortSignal,
): Promise<number> {
  if (state.status !== "COMPLETED" || turn.isIncomplete) return 0;
  const plans = run.loop.attempts.plans === true;
  const calls = plans ? workersOf(state) : successfulCalls(turn);
  const steps = patternSteps(calls);
  if (steps === null) return 0;
  const { min_frequency: minFrequency } = spec.memory_config.procedural;
  const shown = { run: turn.run, request: turn.request, steps };
  const isCounted = await recordPattern(shown, { memory, namespace, minFrequency, signal });
  if (!isCounted) throw new MemoryBusyError(null);
  return 1;
}

/** Returns the workers of the completed subtasks, in the order of the plan. */
function workersOf(state: GraphState): readonly TurnCall[] {
  const { plan, subtasks } = readPlanningState(state);
  return (plan?.subtasks ?? []).flatMap(({ id }) => {
    const subtask = Object.hasOwn(subtasks, id) ? subtasks[id] : undefined;
    if (subtask?.status !== "done") return [];
    return [{ tool: subtask.worker, arguments: [], outcome: "success" as const }];
  });
}

/** Returns the successful calls, without those of memory tools. Attempts share what their calls have done. */
function successfulCalls({ calls }: EndedTurn): readonly TurnCall[] {
  return calls.filter(({ tool, outcome }) => outcome === "success" && !memoryToolNames.has(tool));
}

/** Consolidates the thread if its short-term entries have grown over their limit; null if they have not. */
async function consolidate(
  { memory, namespace, threadId, spec, turn }: Writing,
  signal: AbortSignal,
): Promise<NonNullable<MemoryWritten["consolidation"]> | null> {
  const settings = spec.memory_config.long_term.consolidation ?? {};
  const maxTokens = settings.max_tokens ?? usualTokens;
  const entries = await memory.list(
    { namespace, exact: true, threadId, types: ["short_term"] },
    { limit: mostCounted },
  );
  const tokens = entries.reduce((sum, { content }) => sum + approximateTokens(content), 0);
  if (tokens <= maxTokens) return null;
  const options = consolidateOptions(settings);
  try {
    const {
      left: _left,
      busy: _busy,
      ...counts
    } = await memory.consolidate({
      ...options,
      namespace,
      threadId,
      maxTokens,
      goal: turn.request,
      signal,
    });
    return counts;
  } catch (thrown) {
    // Another process is at it.
    if (thrown instanceof MemoryBusyError) return null;
    throw thrown;
  }
}

type Settings = NonNullable<AgentSpec["memory_config"]["long_term"]["consolidation"]>;

function consolidateOptions(of: Settings): Omit<ConsolidateOptions, "namespace"> {
  const { strategy, weights } = of;
  const options = {
    strategy,
    maxEntries: of.max_entries,
    minAgeHours: of.min_age_hours,
    importanceThreshold: of.importance_threshold,
    maxEntryTokens: of.max_entry_tokens,
    halfLifeHours: of.half_life_hours,
    archiveEvicted: of.archive_evicted,
    weights,
  };
  const set = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set);
}

/**
 * @throws MemoryTimeoutError, the reason of the signal that cancels the run, and what `work` throws
 */
async function inTime<T>({ loop, config }: Run, ms: number, work: Work<T>): Promise<T> {
  const limit = deadline({
    clock: loop.clock,
    // A turn that ends because its time is up is remembered too.
    outer: [config.signal, cancelSignal(config)],
    remainingMs: ms,
    timeUp: () => new MemoryTimeoutError(ms / 1000),
  });
  try {
    return await limit.race(work(limit.signal));
  } finally {
    limit.release();
  }
}

/** Returns a word for an error that holds no text of an entry. */
function errorCode(thrown: unknown): string {
  if (thrown instanceof StratagraphError) return thrown.code;
  const code: unknown = isRecord(thrown) ? thrown["code"] : undefined;
  if (typeof code === "string" && /^\w{1,50}$/.test(code)) return code;
  return thrown instanceof Error ? thrown.name : "unknown";
}
