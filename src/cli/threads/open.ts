import { type CliIo, UsageError } from "../io.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, type Runtime } from "../../app.ts";
import { StratagraphError } from "../../errors.ts";
import { nearestName } from "../../nearest-name.ts";
import { checkThreadId } from "../../runtime/errors.ts";
import type { CheckpointView, Threads } from "../../runtime/threads/threads.ts";
import type { RuntimeServices } from "../run/prepare-run.ts";
import { shortIds } from "../view/figures.ts";

/** The folder of the embedded database. */
export function databaseFolder({ cwd }: Pick<CliIo, "cwd">): string {
  return join(cwd, ".stratagraph");
}

/** Whether there is a database to read: looking for threads makes none. */
export function hasDatabase(io: Pick<CliIo, "cwd" | "env">): boolean {
  return Boolean(io.env["DATABASE_URL"]) || existsSync(databaseFolder(io));
}

/** A runtime on the database, which is made if need be. */
export function openDatabase(io: CliIo, services: RuntimeServices = {}): Promise<Runtime> {
  const folder = databaseFolder(io);
  const open = io.openRuntime ?? createRuntime;
  return open({ root: io.cwd, env: io.env, ...services, folder });
}

/** Opens the database, made if need be, and closes it after `use`. */
export async function withThreads<Result>(
  io: CliIo,
  use: (threads: Threads) => Promise<Result>,
  services?: RuntimeServices,
): Promise<Result> {
  const runtime = await openDatabase(io, services);
  try {
    return await use(runtime.threads);
  } finally {
    await runtime.close();
  }
}

/**
 * The same for a thread that is there, or is said not to be.
 * @throws InvalidThreadIdError, UnknownThreadError
 */
export async function withKnownThread<Result>(
  threadId: string,
  io: CliIo,
  use: (threads: Threads) => Promise<Result>,
  services?: RuntimeServices,
): Promise<Result> {
  requireThread(threadId, io);
  return withThreads(io, (threads) => knownThreads(threads, use), services);
}

/**
 * Refuses an id that no thread can have, and any where there is no database.
 * @throws InvalidThreadIdError, UnknownThreadError
 */
export function requireThread(threadId: string, io: Pick<CliIo, "cwd" | "env">): void {
  checkThreadId(threadId);
  if (!hasDatabase(io)) throw new UnknownThreadError(threadId, null);
}

/**
 * Says of a thread that is not there which is meant.
 * @throws UnknownThreadError
 */
export async function knownThreads<Result>(
  threads: Threads,
  use: (threads: Threads) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(threads);
  } catch (thrown) {
    throw (await unknownThread(thrown, threads)) ?? thrown;
  }
}

/** What to say instead where there is no such thread; null for anything else. */
async function unknownThread(
  thrown: unknown,
  threads: Pick<Threads, "list">,
): Promise<UnknownThreadError | null> {
  if (!(thrown instanceof StratagraphError) || thrown.code !== "no_checkpoint") return null;
  const { threadId, checkpointId } = thrown as { threadId?: unknown; checkpointId?: unknown };
  if (typeof threadId !== "string" || checkpointId !== null) return null;
  const { items } = await threads.list({ limit: 200 });
  const known = items.map((thread) => thread.threadId);
  return new UnknownThreadError(threadId, nearestName(threadId, known) ?? null, { cause: thrown });
}

/** Which checkpoint of a thread is meant. */
export interface CheckpointReference {
  /** As it was given, without the thread. */
  readonly text: string;
  /** `latest`, or an id or its beginning. */
  readonly start: string;
  /** How many checkpoints before that, along its own branch. */
  readonly back: number;
}

const latest = "latest";
const pageSize = 200;
const shownCandidates = 5;
const shownLast = 3;

/**
 * Reads `ID`, the beginning of one, `latest`, and either of them with `~3` behind it: the third before.
 * @throws UsageError
 */
export function parseReference(text: string): CheckpointReference {
  const [, start = "", steps] = /^([^~]*)(?:~(\d{1,6})?)?$/.exec(text) ?? [];
  if (start === "") {
    throw new UsageError(
      `"${text}" is not a checkpoint reference: expected an id, a prefix of one, latest, or latest~3 for the third before it.`,
      "invalid_checkpoint",
    );
  }
  const back = steps ?? (text.endsWith("~") ? 1 : 0);
  return { text, start: start.toLowerCase(), back: Number(back) };
}

/** The same behind `THREAD/`, where it is of another thread. An id has no slashes, and a thread may. */
export function parseThreadReference(
  text: string,
  threadId: string,
): { readonly threadId: string; readonly reference: CheckpointReference } {
  const slash = text.lastIndexOf("/");
  if (slash < 0) return { threadId, reference: parseReference(text) };
  return { threadId: text.slice(0, slash), reference: parseReference(text.slice(slash + 1)) };
}

/**
 * Finds the checkpoint that is meant. Reads the thread's history from its end, as far as need be.
 * @throws UnknownCheckpointError, AmbiguousCheckpointError, and what reading the history throws
 */
export async function findCheckpoint(
  threads: Pick<Threads, "history">,
  threadId: string,
  reference: CheckpointReference,
): Promise<CheckpointView> {
  const { text, back } = reference;
  const start = await findStart(threads, threadId, reference);
  if (back === 0) return start;
  let wanted = start.parentId;
  let passed = 1;
  // Parents come after their children.
  for await (const item of checkpointsOf(threads, threadId)) {
    if (item.id !== wanted) continue;
    if (passed === back) return item;
    wanted = item.parentId;
    passed += 1;
  }
  const before = passed === 1 ? "no checkpoint" : `only ${passed - 1}`;
  const problem = `there is ${before} before ${start.id}`;
  throw new UnknownCheckpointError(threadId, text, problem);
}

async function findStart(
  threads: Pick<Threads, "history">,
  threadId: string,
  { text, start }: CheckpointReference,
): Promise<CheckpointView> {
  const last: string[] = [];
  const matching: CheckpointView[] = [];
  for await (const item of checkpointsOf(threads, threadId)) {
    if (start === latest || item.id === start) return item;
    if (last.length < shownLast) last.push(item.id);
    if (item.id.startsWith(start)) matching.push(item);
    // Ids are in the order of time.
    else if (item.id < start) break;
  }
  const [only, ...others] = matching;
  if (only === undefined) {
    const short = shortIds(last);
    const problem = start === latest ? "it has no checkpoints" : "no id has this prefix";
    throw new UnknownCheckpointError(threadId, text, problem, last.map(short));
  }
  if (others.length === 0) return only;
  const short = shortIds(matching.map(({ id }) => id));
  throw new AmbiguousCheckpointError(
    threadId,
    start,
    matching.slice(0, shownCandidates).map(({ id }) => short(id)),
    Math.max(0, matching.length - shownCandidates),
  );
}

async function* checkpointsOf(
  threads: Pick<Threads, "history">,
  threadId: string,
): AsyncGenerator<CheckpointView> {
  let cursor: string | null | undefined;
  do {
    const page = await threads.history(threadId, {
      limit: pageSize,
      ...(typeof cursor === "string" && { cursor }),
    });
    yield* page.items;
    cursor = page.next;
  } while (cursor !== null);
}

/** No thread of this id is kept here. */
class UnknownThreadError extends StratagraphError {
  readonly code = "unknown_thread";

  constructor(
    readonly threadId: string,
    /** The nearest that is there, or null. */
    readonly suggestion: string | null,
    options?: { cause?: unknown },
  ) {
    const hint = suggestion === null ? "" : ` Did you mean "${suggestion}"?`;
    super(`There is no thread "${threadId}" here.${hint}`, options);
  }
}

/** No planner of a thread's last turn has a plan. */
export class NoPlanError extends StratagraphError {
  readonly code = "no_plan";

  constructor(readonly threadId: string) {
    super(
      `The last turn of thread "${threadId}" has no plan: no planner node has created one yet.`,
    );
  }
}

/** A thread has no such checkpoint. */
class UnknownCheckpointError extends StratagraphError {
  readonly code = "unknown_checkpoint";

  constructor(
    readonly threadId: string,
    /** As it was given. */
    readonly reference: string,
    problem: string,
    /** Ids of checkpoints that are there, or none. */
    readonly suggestions: readonly string[] = [],
  ) {
    const hint = suggestions.length === 0 ? "" : ` The latest are ${suggestions.join(", ")}.`;
    super(`Thread "${threadId}" has no checkpoint "${reference}": ${problem}.${hint}`);
  }
}

/** The beginning of an id fits several checkpoints. */
class AmbiguousCheckpointError extends StratagraphError {
  readonly code = "ambiguous_checkpoint";

  constructor(
    readonly threadId: string,
    /** As it was given. */
    readonly reference: string,
    /** Ids that begin so, newest first; the first few. */
    readonly candidates: readonly string[],
    more: number,
  ) {
    const rest = more > 0 ? ` and ${more.toLocaleString("en")} more` : "";
    super(
      `Several checkpoints of thread "${threadId}" start with "${reference}": ${candidates.join(", ")}${rest}. Give a longer prefix.`,
    );
  }
}
