import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, type Runtime } from "../app.ts";
import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";
import { checkThreadId } from "../runtime/thread-id.ts";
import type { Threads } from "../runtime/threads/threads.ts";
import type { CliIo } from "./io.ts";
import type { RuntimeServices } from "./prepare-run.ts";
import { UnknownThreadError } from "./thread-errors.ts";

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
  return createRuntime({ root: io.cwd, env: io.env, ...services, folder });
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
