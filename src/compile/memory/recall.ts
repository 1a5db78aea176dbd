import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { AgentSpec } from "../../definition/schema/agent.ts";
import { instanceIdOf, agentNamespace } from "../../memory/namespace.ts";
import type { MemoryEntry } from "../../memory/entry.ts";
import { absoluteDates } from "../../memory/write/absolute-dates.ts";
import type { Memory, MemoryHit } from "../../memory/memory.ts";
import type {
  MemoryNode,
  Recalled,
  RecallQuery,
  Remembered,
  RememberedAs,
} from "../loop/loop-config.ts";
import { isOffered, textOf, withoutPlaceholders } from "./remembered-text.ts";
import { truncateText } from "../../values/text.ts";

/** What an agent's memory needs of its definition and its services. */
export interface AgentMemoryOptions {
  readonly spec: Pick<AgentSpec, "name" | "memory_config">;
  readonly clock: Clock;
  readonly memory: Memory;
}

/** Characters of one recalled text, and of all of them. */
const contentCharacters = 4_000;
const totalCharacters = 20_000;
const usualTopK = 5;

/**
 * Searches the agent's memory for a tool call, and records the use of what it returns. Entries that input rails block are
 * left out: one of them would otherwise have the whole result blocked.
 */
export async function recallWith(
  { memory, spec }: AgentMemoryOptions,
  { user, threadId, state, isReadOnly }: MemoryNode,
  {
    query,
    signal,
    isBlocked,
  }: {
    readonly query: RecallQuery;
    readonly signal: AbortSignal;
    readonly isBlocked: (entry: MemoryEntry) => Promise<boolean>;
  },
): Promise<readonly Recalled[]> {
  const { min_frequency: minFrequency } = spec.memory_config.procedural;
  const { query: text, types, since, until, top_k: topK = usualTopK } = query;
  const hits = await memory.search({
    namespace: agentNamespace(spec.name, user),
    exact: true,
    text: withoutPlaceholders(text),
    ...(types !== undefined && types.length > 0 && { types }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    topK,
    signal,
  });
  const offered = hits.filter(({ entry }) => isOffered(entry, minFrequency));
  let left = totalCharacters;
  const recalled: Recalled[] = [];
  for (const hit of offered) {
    const content = truncateText(textOf(hit.entry), contentCharacters);
    if (content.length > left || (await isBlocked(hit.entry))) continue;
    left -= content.length;
    recalled.push({ ...aboutHit(hit), content });
  }
  const run = state.turn?.run;
  if (run !== undefined && !isReadOnly && recalled.length > 0) {
    // The answer does not depend on it.
    await memory
      .recordUses(recalled.map(({ id, score }) => ({ id, run, threadId, score })))
      .catch(() => undefined);
  }
  return recalled;
}

function aboutHit({ entry, score, why }: MemoryHit): Omit<Recalled, "content"> {
  const { source, speaker } = entry.metadata;
  const matched = [...new Set([...why.entities, ...why.terms])].slice(0, 10).join(", ");
  return {
    id: entry.id,
    type: entry.memory_type,
    said: entry.created_at,
    speaker: speaker ?? source,
    score: Math.round(score * 1000) / 1000,
    why: matched === "" ? "similar in meaning" : `matches ${matched}`,
  };
}

/** An entry that a model decides to store is worth more than one of many that are kept as they were said. */
const chosenImportance = 0.7;

/**
 * Stores an entry for a tool call, once for each call of a run. Values that rails have redacted are left out, and so are
 * secrets.
 */
export async function rememberWith(
  { memory, spec }: AgentMemoryOptions,
  { user, threadId, state, rails, loop }: MemoryNode,
  of: {
    readonly entry: Remembered;
    readonly call: { readonly callId: string; readonly now: Date };
  },
): Promise<RememberedAs> {
  const { content, type = "semantic", tags = [], expires_in_days: days } = of.entry;
  const { callId, now } = of.call;
  const run = state.turn?.run ?? null;
  const clean = (text: string) =>
    withoutPlaceholders(rails.redact(loop.secrets?.scrub(text) ?? text));
  const said = absoluteDates(clean(content), now);
  const [stored] = await memory.add([
    {
      namespace: agentNamespace(spec.name, user),
      key: keyOf([threadId, run, callId]),
      instance_id: threadId === null ? null : instanceIdOf(spec.name, threadId),
      thread_id: threadId,
      memory_type: type,
      content: said,
      importance: chosenImportance,
      metadata: {
        source: "agent",
        turn_id: run,
        tags: [...new Set(tags.map(clean))],
        speaker: spec.name,
      },
      created_at: now.toISOString(),
      ...(days !== undefined && {
        expires_at: new Date(now.getTime() + days * 86_400_000).toISOString(),
      }),
    },
  ]);
  return { id: stored?.id ?? "", content: said };
}

/** The key of what a call stores: short, whatever the thread's id is. */
function keyOf(call: readonly unknown[]): string {
  return `remember:${createHash("sha256").update(JSON.stringify(call)).digest("hex")}`;
}
