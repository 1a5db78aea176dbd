import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { StratagraphError } from "../../errors.ts";
import { memoryLimits, type MemoryEntry, type MemoryType } from "../../memory/entry.ts";
import type { Memory } from "../../memory/memory.ts";
import { agentNamespace } from "../../memory/namespace.ts";
import type { MemoryFilter } from "../../memory/store.ts";
import { nearestName } from "../../nearest-name.ts";
import { type CliIo, UsageError } from "../io.ts";
import { loadDefinition } from "../load.ts";
import { openDatabase } from "../threads/open.ts";
import { namespaceText } from "../view/memory-lines.ts";

/** The options that select memories. */
export interface MemoryScopeOptions {
  /** A name, or a file with a definition. */
  readonly agent?: string;
  readonly user?: string;
  /** Labels. */
  readonly namespace?: readonly string[];
}

export interface MemoryFilterOptions extends MemoryScopeOptions {
  readonly thread?: string;
  readonly type?: readonly MemoryType[];
  readonly tag?: readonly string[];
  /** ISO 8601. */
  readonly since?: string;
  /** ISO 8601. */
  readonly until?: string;
}

/** Whose memories a command is about. */
export interface MemoryScope {
  /** Null where no agent was given, or only its name. */
  readonly definition: AgentDefinition | null;
  /** Null selects all agents. */
  readonly agent: string | null;
  /** A user of any agent, where no agent was given. */
  readonly user: string | null;
  /** Null: everything, or all that is of the user. */
  readonly namespace: readonly string[] | null;
}

/** @throws UsageError, and what loading a definition throws */
export async function readScope(
  { agent: given, user, namespace }: MemoryScopeOptions,
  io: Pick<CliIo, "cwd">,
): Promise<MemoryScope> {
  if (namespace !== undefined && (given !== undefined || user !== undefined)) {
    throw new UsageError("--namespace replaces --agent and --user. Drop one of them.");
  }
  const definition =
    given !== undefined && /\.(?:ya?ml|json|[cm]?[jt]s)$/i.test(given)
      ? await loadDefinition(given, io.cwd)
      : null;
  const agent = definition?.spec.name ?? given ?? null;
  if (namespace !== undefined) return { definition, agent, user: null, namespace };
  if (agent === null) return { definition, agent, user: user ?? null, namespace: null };
  return { definition, agent, user: null, namespace: agentNamespace(agent, user) };
}

/** The one namespace to write to. @throws UsageError */
export function namespaceOf({ namespace }: MemoryScope): readonly string[] {
  if (namespace !== null) return namespace;
  throw new UsageError("Say who remembers: give --agent NAME (and --user), or --namespace A/B.");
}

/** The other conditions of a filter. */
export function conditionsOf(given: MemoryFilterOptions): Omit<MemoryFilter, "namespace"> {
  const { thread, type, tag, since, until } = given;
  return {
    ...(thread !== undefined && { threadId: thread }),
    ...(type !== undefined && { types: type }),
    ...(tag !== undefined && { tags: tag }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

/** The prefixes of a scope: the one that was given, those of the user of any agent, or all that have entries. */
export async function prefixesOf(
  { namespace, user }: MemoryScope,
  { store }: Pick<Memory, "store">,
  { archived = false }: { readonly archived?: boolean } = {},
): Promise<readonly (readonly string[])[]> {
  if (namespace !== null) return [namespace];
  const found = new Map<string, readonly string[]>();
  const add = (one: readonly string[]) => {
    const prefix = user === null ? one.slice(0, 1) : one.slice(0, 4);
    const isOfUser = prefix[0] === "agents" && prefix[2] === "users" && prefix[3] === user;
    if (user === null || isOfUser) found.set(JSON.stringify(prefix), prefix);
  };
  for (const one of await store.namespaces([])) add(one);
  if (archived) for await (const entry of archivedEntries(store, {})) add(entry.namespace);
  return [...found.values()];
}

/** The prefix that a scope reads; empty for all entries. @throws UsageError where a user is known to several agents */
export async function prefixOf(
  scope: MemoryScope,
  memory: Pick<Memory, "store">,
  options?: { readonly archived?: boolean },
): Promise<readonly string[]> {
  const { namespace, user } = scope;
  if (namespace !== null || user === null) return namespace ?? [];
  const [only, ...others] = await prefixesOf(scope, memory, options);
  // No agent remembers the user, so nothing is stored there.
  if (only === undefined) return agentNamespace("none", user);
  if (others.length === 0) return only;
  const agents = [only, ...others].map(([, agent = ""]) => agent).toSorted();
  throw new UsageError(
    `Several agents remember user "${user}": ${agents.join(", ")}. Give --agent.`,
    "ambiguous_user",
  );
}

const pageSize = 1_000;

/** All archived entries of a filter, newest first. */
export async function* archivedEntries(
  store: Pick<Memory["store"], "archived">,
  filter: MemoryFilter,
): AsyncGenerator<MemoryEntry> {
  let after: string | undefined;
  for (;;) {
    const page = await store.archived(filter, {
      limit: pageSize,
      ...(after !== undefined && { after }),
    });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.id;
  }
}

/** Runs `use` on the memories of the database, which is made if need be. */
export async function withMemory<Result>(
  { definition }: Pick<MemoryScope, "definition">,
  io: CliIo,
  use: (memory: Memory, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const runtime = await openDatabase(io);
  const abort = new AbortController();
  const release = io.onStop(() => abort.abort(new MemoryStoppedError()));
  try {
    const model = definition?.spec.memory_config.long_term.embedding_model;
    const memory = await runtime.memory?.(model);
    if (memory === undefined) throw new TypeError("the runtime has no memory");
    return await use(memory, abort.signal);
  } finally {
    release();
    await runtime.close();
  }
}

/** A signal ended a command: what it had done before is done. */
class MemoryStoppedError extends StratagraphError {
  readonly code = "stopped";
  override readonly kind = "run";

  constructor() {
    super("Stopped before completion. What was stored before stays; run it again for the rest.");
  }
}

const wholeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Entries that are looked through for a part of an id. */
const mostScanned = 200_000;
const shownCandidates = 5;

/**
 * The entries that ids, their ends or their beginnings mean, in order.
 * @throws UnknownMemoryError, AmbiguousMemoryError
 */
export async function findEntries(
  references: readonly string[],
  { store }: { readonly store: Pick<Memory["store"], "get" | "list"> },
): Promise<readonly MemoryEntry[]> {
  const asked = references.map((text) => text.toLowerCase());
  const whole = asked.filter((id) => wholeId.test(id));
  const known = new Map((await store.get(whole)).map((entry) => [entry.id, entry]));
  const prefixes = asked.filter((id) => !wholeId.test(id));
  const matching = new Map<string, MemoryEntry[]>(prefixes.map((prefix) => [prefix, []]));
  const seen: string[] = [];
  if (prefixes.length > 0) {
    for await (const entry of allEntries(store)) {
      if (seen.length < 1_000) seen.push(entry.id);
      for (const [part, found] of matching) if (hasPart(entry.id, part)) found.push(entry);
    }
  }
  return asked.map((reference) => {
    const [only, ...others] = matching.get(reference) ?? [known.get(reference)];
    if (only === undefined) throw new UnknownMemoryError(reference, nearestName(reference, seen));
    if (others.length === 0) return only;
    const ids = [only, ...others].map((entry) => entry?.id ?? "");
    throw new AmbiguousMemoryError(reference, ids.slice(0, shownCandidates));
  });
}

/** Ends are what tables show; a few characters of one are an end of many. */
function hasPart(id: string, part: string): boolean {
  return id.startsWith(part) || (part.length >= 4 && id.endsWith(part));
}

async function* allEntries(store: Pick<Memory["store"], "list">): AsyncGenerator<MemoryEntry> {
  let after: string | undefined;
  for (let read = 0; read < mostScanned; read += pageSize) {
    const page = await store.list({}, { limit: pageSize, ...(after !== undefined && { after }) });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.id;
  }
}

/** No entry has this id. */
class UnknownMemoryError extends StratagraphError {
  readonly code = "unknown_memory";

  constructor(
    readonly id: string,
    suggestion: string | undefined,
  ) {
    const hint = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
    super(
      `There is no memory "${id.slice(0, memoryLimits.name)}".${hint} "stratagraph memory list" lists them.`,
    );
  }
}

/** Several ids begin or end with this. */
class AmbiguousMemoryError extends StratagraphError {
  readonly code = "ambiguous_memory";

  constructor(
    readonly id: string,
    /** The first few. */
    readonly candidates: readonly string[],
  ) {
    super(
      `Several memories have an id with "${id}": ${candidates.join(", ")}. Give a longer part.`,
    );
  }
}

/** Whose memories they are, for sentences. */
export function scopeText({ namespace, agent, user }: MemoryScope): string {
  if (user !== null) return `of user ${user} with every agent`;
  if (namespace === null) return "of every agent";
  const [, , , own] = namespace;
  if (agent === null) return `under ${namespaceText(namespace)}`;
  return own === undefined ? `of agent ${agent}` : `of agent ${agent} for user ${own}`;
}
