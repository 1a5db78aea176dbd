import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { z } from "zod";
import { type Clock, systemClock } from "../clock.ts";
import { StratagraphError } from "../errors.ts";
import { makePrivateFolder } from "./private-folder.ts";

/** Who has a folder. */
const lockHolder = z.object({
  /** Different for every lock ever taken. */
  token: z.string().regex(/^[0-9a-f]+$/),
  pid: z.number().int(),
  /** {@link processStart} of the process; absent where the system does not say. */
  processStart: z.string().optional(),
  threadId: z.number().int(),
  host: z.string(),
  /** ISO time. */
  since: z.string(),
});
export type LockHolder = z.infer<typeof lockHolder>;

/** Another process, or another thread of this one, has the folder open. `since` is when it took it, in ISO time. */
export class FolderLockedError extends StratagraphError {
  readonly code = "folder_locked";
  override readonly kind = "run";
  readonly pid: number;
  readonly since: string;
  readonly host: string;

  constructor(
    readonly folder: string,
    readonly lockFile: string,
    holder: LockHolder,
  ) {
    super(
      `${folder} is in use by ${describe(holder)} since ${holder.since}. ${advice(holder, lockFile)}`,
    );
    this.pid = holder.pid;
    this.since = holder.since;
    this.host = holder.host;
  }
}

export interface FolderLock {
  readonly folder: string;
  /** Gives the folder back; twice is once. The end of the process does it too, unless the process is killed. */
  release(): void;
}

/** Names in the folder: the lock, and the folder of the database. */
const LOCK = "lock";
export const DATABASE = "database";

/** Whether something in a folder is part of an embedded database. */
function isOwnName(name: string): boolean {
  return name === DATABASE || name === LOCK || name.startsWith(`${LOCK}.`);
}

/**
 * Takes a folder for this thread of this process, by the file `lock` in it, and makes the folder if need be. The lock
 * of a process that no longer runs is taken over. A worker thread ended by `terminate()` leaves its lock until the
 * process ends, since no thread can tell whether another lives.
 *
 * No other user can enter the folder then. A folder that also holds other things keeps its mode, since others may use
 * those; the database in it is closed all the same.
 *
 * @throws {FolderLockedError} when another process or thread has it, or one on another machine, of which nothing can be
 *   known from here.
 */
export function lockFolder(folder: string, clock: Clock = systemClock): FolderLock {
  const { isReplaceable } = makePrivateFolder(folder, isOwnName);
  if (isReplaceable) warnOfOthers(folder);
  const lockFile = join(folder, LOCK);
  const self: LockHolder = {
    token: randomBytes(8).toString("hex"),
    pid: process.pid,
    processStart: processStart(process.pid),
    threadId,
    host: hostname(),
    since: clock.now().toISOString(),
  };
  const holder = take(lockFile, self);
  if (holder) throw new FolderLockedError(folder, lockFile, holder);

  const release = (): void => {
    held.delete(release);
    if (held.size === 0) process.off("exit", releaseAll);
    if (readHolder(lockFile)?.token === self.token) unlinkSync(lockFile);
  };
  if (held.size === 0) process.once("exit", releaseAll);
  held.add(release);
  return { folder, release };
}

function warnOfOthers(folder: string): void {
  process.emitWarning(
    `Other users can replace the database in ${folder}. Choose a folder that only you can write to.`,
    { type: "StratagraphWarning", code: "STRATAGRAPH_FOLDER_ACCESS" },
  );
}

/** What to call for each lock of this thread when the process ends. */
const held = new Set<() => void>();

function releaseAll(): void {
  for (const release of held) release();
}

/**
 * Creates `path` holding `self`, or returns the living holder that kept it from doing so.
 *
 * Of several processes that find the same dead holder, the one that creates the file `path.<token of the dead>` is the
 * heir, and it alone moves that file onto `path`. A process that comes late finds the heir's file gone and may create
 * it anew, but then `path` no longer names the dead holder, so it steps back. An heir that dies before the move leaves
 * a file which is itself such a lock, and is taken over the same way.
 */
function take(path: string, self: LockHolder): LockHolder | undefined {
  for (;;) {
    if (create(path, self)) return undefined;
    const holder = readHolder(path);
    if (!holder) continue; // Released just now.
    if (isAlive(holder)) return holder;
    const heirPath = `${path}.${holder.token}`;
    const heir = take(heirPath, self);
    if (heir) return heir;
    if (readHolder(path)?.token === holder.token) {
      renameSync(heirPath, path);
      return undefined;
    }
    unlinkSync(heirPath);
  }
}

/** Creates the file with its content atomically, by a link to a finished one, so that no reader sees half a lock. */
function create(path: string, self: LockHolder): boolean {
  const draft = `${path}.draft-${self.token}`;
  writeFileSync(draft, JSON.stringify(self), { flag: "wx", mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(draft);
  }
}

/** A lock whose machine lost power while it was written: it is stale. */
const NOBODY: LockHolder = { token: "0", pid: 0, threadId: 0, host: "", since: "" };

function readHolder(path: string): LockHolder | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return lockHolder.parse(JSON.parse(text));
  } catch {
    return NOBODY;
  }
}

function isAlive(holder: LockHolder): boolean {
  if (holder === NOBODY) return false;
  return holder.host !== hostname() || isRunning(holder.pid, holder.processStart);
}

function describe(holder: LockHolder): string {
  if (holder.host !== hostname()) return `process ${holder.pid} on ${holder.host}`;
  return holder.pid === process.pid
    ? `thread ${holder.threadId} of this process (${holder.pid})`
    : `process ${holder.pid}`;
}

function advice(holder: LockHolder, lockFile: string): string {
  if (holder.host !== hostname())
    return `If that machine is gone, delete ${lockFile}. To share one database, set DATABASE_URL.`;
  return "End it, choose another folder, or set DATABASE_URL to share one Postgres database.";
}

/**
 * When a process started, as text that tells it from every other process that has had or will have its id: boot and
 * clock ticks on Linux, the start date elsewhere. Undefined where the system does not say, or no such process runs.
 */
export function processStart(pid: number): string | undefined {
  return process.platform === "linux" ? linuxStart(pid) : startDate(pid);
}

/**
 * Whether the process that had `pid` and started at `start` still runs. Without `start` a process with a reused id
 * counts as the same one. A process that ended and was not yet collected by its parent does not run.
 */
export function isRunning(pid: number, start: string | undefined): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, as another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  if (process.platform === "linux" && linuxStat(pid)?.state === "Z") return false;
  const running = processStart(pid);
  return start === undefined || running === undefined || running === start;
}

function linuxStart(pid: number): string | undefined {
  const stat = linuxStat(pid);
  if (!stat) return undefined;
  const boot = readText("/proc/sys/kernel/random/boot_id");
  return boot === undefined ? undefined : `${boot.trim()}/${stat.startTicks}`;
}

/** proc_pid_stat(5): the command name in parentheses may hold anything, the fields after it are words. */
function linuxStat(pid: number): { state: string; startTicks: string } | undefined {
  const text = readText(`/proc/${pid}/stat`);
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, startTicks] = [fields?.[0], fields?.[19]];
  return state === undefined || startTicks === undefined ? undefined : { state, startTicks };
}

function startDate(pid: number): string | undefined {
  try {
    const options = {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      stdio: "pipe",
    } as const;
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], options).trim() || undefined;
  } catch {
    return undefined; // No `ps` here, as on Windows, or no such process.
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
