import { deadline } from "../../async.ts";
import { memorySection, type MemoryNote } from "../../context/memory-section.ts";
import type { MemorySection } from "../../context/reasoning-context.ts";
import { errorMessage } from "../../errors.ts";
import type { MemoryEntry } from "../../memory/entry.ts";
import { MemoryTimeoutError } from "../../memory/errors.ts";
import type { MemoryHit, MemoryReasons } from "../../memory/memory.ts";
import { agentNamespace } from "../../memory/namespace.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { TurnMemories, TurnMemory } from "../../state/turn.ts";
import { truncateText } from "../../values/text.ts";
import type { MemoryNode, NodeMemories } from "../loop/loop-config.ts";
import { type AgentMemoryOptions, recallWith, rememberWith } from "./recall.ts";
import { findForTurn, rounded, shortReasons } from "./find-for-turn.ts";
import { textOf } from "./remembered-text.ts";

/** Milliseconds that a turn waits for the store and the encoder, each time. */
const timeLimitMs = 10_000;
/** Tokens of the memory section, if a definition sets none; never more than this share of the model's window. */
const usualTokens = 1_500;
const windowShare = 1 / 8;
/** Characters of an error that are stored. */
const errorCharacters = 300;

/**
 * Waits for the memory as long as a turn may.
 *
 * @throws MemoryTimeoutError, the reason of an outer signal, and what `work` throws
 */
export async function inTime<T>(
  { clock }: Pick<AgentMemoryOptions, "clock">,
  outer: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = deadline({
    clock,
    outer,
    remainingMs: timeLimitMs,
    timeUp: () => new MemoryTimeoutError(timeLimitMs / 1000),
  });
  try {
    return await limit.race(work(limit.signal));
  } finally {
    limit.release();
  }
}

/** Entries as they were last read, for turns that cannot read them again. Bounded; the oldest are dropped. */
export class LastRead {
  static readonly #most = 500;
  readonly #entries = new Map<string, MemoryEntry>();

  /** Replaces what is known of some ids: those that were not found are gone. */
  put(ids: readonly string[], found: readonly MemoryEntry[]): void {
    for (const id of ids) this.#entries.delete(id);
    for (const entry of found) this.#entries.set(entry.id, entry);
    for (const id of this.#entries.keys()) {
      if (this.#entries.size <= LastRead.#most) break;
      this.#entries.delete(id);
    }
  }

  get(ids: readonly string[], now: Date): readonly MemoryEntry[] {
    const at = now.toISOString();
    return ids.flatMap((id) => {
      const entry = this.#entries.get(id);
      const isThere = entry !== undefined && (entry.expires_at === null || entry.expires_at > at);
      return isThere ? [entry] : [];
    });
  }
}

/** An entry of the turn with its text as models read it. */
interface ReadMemory {
  readonly item: TurnMemory;
  readonly entry: MemoryEntry;
  readonly text: string;
}

/** Reads and checks the memories of a turn for one of its nodes. */
export class TurnMemoryReader implements NodeMemories {
  readonly #options: AgentMemoryOptions;
  readonly #node: MemoryNode;
  readonly #lastRead: LastRead;
  #read: Promise<readonly ReadMemory[]> | null = null;
  #adopted: readonly TurnMemory[] = [];

  constructor(options: AgentMemoryOptions, node: MemoryNode, lastRead: LastRead) {
    this.#options = options;
    this.#node = node;
    this.#lastRead = lastRead;
  }

  async begin(of: {
    readonly request: string;
    readonly turnNumber: number;
    readonly profile: ModelProfile;
  }): Promise<TurnMemories> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    const took = () => Math.round(clock.monotonic() - startedAt);
    try {
      const hits = await this.#inTime((signal) =>
        findForTurn(this.#options, this.#node, { request: of.request, signal }),
      );
      const found = await this.#admit(hits, of);
      const { shown, dropped } = this.#render(found.admitted, of.profile, clock.now());
      const tokens = new Map(shown.map((one) => [one.id, one.tokens]));
      return {
        items: found.admitted.flatMap(({ item }) => {
          const own = tokens.get(item.id);
          return own === undefined ? [] : [{ ...item, tokens: own }];
        }),
        dropped: [...found.dropped, ...dropped.map((id) => ({ id, reason: "budget" }))],
        took_ms: took(),
      };
    } catch (thrown) {
      return { items: [], dropped: [], error: this.#problem(thrown), took_ms: took() };
    }
  }

  async section(profile: ModelProfile, maxTokens?: number): Promise<MemorySection | null> {
    const found = await this.#texts();
    if (found.length === 0) return null;
    const { turn } = this.#node.state;
    const now = new Date(turn?.started_at ?? 0);
    const made = this.#render(found, profile, now, maxTokens);
    return made.messages.length === 0 ? null : made;
  }

  async texts(): Promise<readonly string[]> {
    return (await this.#texts()).map(({ text }) => text);
  }

  adopted(): TurnMemories | null {
    const { memories } = this.#node.state.turn ?? {};
    if (memories === undefined || this.#adopted.length === 0) return null;
    return { ...memories, items: this.#adopted };
  }

  async recordUses(): Promise<string | null> {
    const { state, threadId, isReadOnly } = this.#node;
    const { run, memories } = state.turn ?? {};
    if (isReadOnly || run === undefined || memories === undefined || memories.items.length === 0)
      return null;
    const uses = memories.items.map(({ id, score }) => ({ id, run, threadId, score }));
    try {
      await this.#inTime(() => this.#options.memory.recordUses(uses));
      return null;
    } catch (thrown) {
      return this.#problem(thrown);
    }
  }

  recall: NodeMemories["recall"] = (query, signal) =>
    recallWith(this.#options, this.#node, {
      query,
      signal,
      isBlocked: async (entry) => {
        const { loop, state } = this.#node;
        const checked = await this.#check(entry, {
          request: loop.requestOf(state.input),
          turnNumber: state.turn_number ?? 0,
        });
        return checked.blockedBy !== null;
      },
    });

  remember: NodeMemories["remember"] = (entry, call) =>
    rememberWith(this.#options, this.#node, { entry, call });

  /** Has the input rails check the texts, one after the other so that placeholders get the same numbers again. */
  async #admit(
    hits: readonly (Pick<MemoryHit, "entry" | "score"> & { readonly why: MemoryReasons | null })[],
    { request, turnNumber }: { readonly request: string; readonly turnNumber: number },
  ): Promise<{
    readonly admitted: readonly ReadMemory[];
    readonly dropped: TurnMemories["dropped"];
  }> {
    const admitted: ReadMemory[] = [];
    const dropped: TurnMemories["dropped"][number][] = [];
    for (const { entry, score, why } of hits) {
      this.#node.signal.throwIfAborted();
      const checked = await this.#check(entry, { request, turnNumber });
      if (checked.blockedBy !== null) {
        dropped.push({ id: entry.id, reason: `guardrail:${checked.blockedBy}` });
        continue;
      }
      const item: TurnMemory = {
        id: entry.id,
        type: entry.memory_type,
        score: rounded(score),
        tokens: 0,
        why: why === null ? { recovered: true } : shortReasons(why),
        read_at: entry.updated_at,
        ...(checked.isRedacted && { redacted: true }),
      };
      admitted.push({ item, entry, text: checked.text });
    }
    return { admitted, dropped };
  }

  async #check(
    entry: MemoryEntry,
    of: { readonly request: string; readonly turnNumber: number; readonly isRepeated?: boolean },
  ): Promise<{
    readonly text: string;
    readonly isRedacted: boolean;
    readonly blockedBy: string | null;
  }> {
    const { rails, loop } = this.#node;
    const known = rails.redact(textOf(entry));
    if (loop.rails.memory.length === 0) return { text: known, isRedacted: false, blockedBy: null };
    const { request, turnNumber, isRepeated = false } = of;
    const { value, blocked } = await rails.check(
      {
        on: "input",
        rails: "memory",
        value: known,
        tool: null,
        request,
        evidence: [],
        isRepeated,
      },
      { turnNumber, attemptNumber: 0, stepIndex: null, callId: null, memoryId: entry.id },
    );
    const isRedacted = value !== known;
    return { text: String(value), isRedacted, blockedBy: blocked?.rail ?? null };
  }

  /** Returns the turn's entries that are still there, best first; read once for each node. */
  #texts(): Promise<readonly ReadMemory[]> {
    return (this.#read ??= this.#readTexts());
  }

  async #readTexts(): Promise<readonly ReadMemory[]> {
    const { state, loop, recovered = [] } = this.#node;
    const { memories } = state.turn ?? {};
    const items = memories?.items ?? [];
    if (items.length === 0) {
      return memories === undefined || recovered.length === 0 ? [] : this.#adopt(recovered);
    }
    const ids = items.map(({ id }) => id);
    let found: readonly MemoryEntry[];
    try {
      found = await this.#inTime(() => this.#options.memory.get(ids));
      this.#lastRead.put(ids, found);
    } catch {
      this.#node.signal.throwIfAborted();
      found = this.#lastRead.get(ids, this.#options.clock.now());
    }
    // A state that was imported or edited may have ids of others.
    const own = JSON.stringify(agentNamespace(this.#options.spec.name, this.#node.user));
    const entries = new Map(
      found
        .filter(({ namespace }) => JSON.stringify(namespace) === own)
        .map((entry) => [entry.id, entry]),
    );
    const read: ReadMemory[] = [];
    for (const item of items) {
      const entry = entries.get(item.id);
      if (entry === undefined) continue;
      const isSame = entry.updated_at === item.read_at;
      // An entry that has changed since is checked as a new one.
      const checked =
        isSame && item.redacted !== true
          ? { text: this.#node.rails.redact(textOf(entry)), blockedBy: null }
          : await this.#check(entry, {
              request: loop.requestOf(state.input),
              turnNumber: state.turn_number ?? 0,
              isRepeated: isSame,
            });
      if (checked.blockedBy === null) read.push({ item, entry, text: checked.text });
    }
    return read;
  }

  /** Has the rails check recovered entries, which become the memories of the turn. */
  async #adopt(recovered: readonly MemoryEntry[]): Promise<readonly ReadMemory[]> {
    const { state, loop } = this.#node;
    const hits = recovered.map((entry) => ({ entry, score: entry.last_score ?? 0, why: null }));
    const { admitted } = await this.#admit(hits, {
      request: loop.requestOf(state.input),
      turnNumber: state.turn_number ?? 0,
    });
    this.#adopted = admitted.map(({ item }) => item);
    return admitted;
  }

  #render(
    found: readonly ReadMemory[],
    profile: ModelProfile,
    now: Date,
    maxTokens = Infinity,
  ): MemorySection {
    const { max_tokens: own = usualTokens } = this.#options.spec.memory_config.long_term;
    const most = Math.min(own, maxTokens, Math.floor(profile.window * windowShare));
    const notes = found.map((one) => noteOf(one, this.#node.rails.redact(speakerOf(one.entry))));
    return memorySection(notes, { count: profile.count, now, maxTokens: most });
  }

  #inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return inTime(this.#options, [this.#node.signal], work);
  }

  /** Returns what is stored of an error: a secret in it is redacted. */
  #problem(thrown: unknown): string {
    const { secrets } = this.#node.loop;
    const message = errorMessage(thrown);
    return truncateText(secrets?.scrub(message) ?? message, errorCharacters);
  }
}

function noteOf({ item, entry, text }: ReadMemory, speaker: string): MemoryNote {
  return {
    text,
    entry: {
      id: item.id,
      type: entry.memory_type,
      score: item.score,
      created_at: entry.created_at,
      source: entry.metadata.source,
      speaker,
    },
  };
}

function speakerOf({ metadata }: MemoryEntry): string {
  return metadata.speaker ?? "";
}
