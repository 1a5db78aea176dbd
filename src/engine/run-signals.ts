import type { Clock } from "../clock.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import { RunTail } from "./run-tail.ts";

/** Milliseconds between two looks at what is followed while no notices arrive. */
const pollMs = 250;
/** The same while notices arrive, of which one may be lost. */
const carriedPollMs = 2_000;

/** The key of a thread, which collides with none of a run: those are UUIDs. Notices have no spaces. */
export function threadSignal(tenantId: string, threadId: string): string {
  return `thread:${tenantId}:${encodeURIComponent(threadId)}`;
}

/** The thread of a key; null for the key of a run. */
export function threadOfSignal(key: string): { tenantId: string; threadId: string } | null {
  const [kind, tenantId = "", threadId = ""] = key.split(":");
  return kind === "thread" ? { tenantId, threadId: decodeURIComponent(threadId) } : null;
}

/** Keys and what stands for their states: a text that changes when the run or the newest run of the thread does. */
export type Versions = ReadonlyMap<string, string>;

/**
 * Wakes those who follow runs. Other processes send notices of their changes through the database. Where none arrive, and
 * in case one is lost, this process looks at all that is followed from time to time, with one statement.
 */
export class RunSignals {
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #tails = new Map<string, RunTail>();
  readonly #listeners = new Set<(key: string) => void>();
  #versions: Versions = new Map();
  #isCarried = false;
  #cancelLook: (() => void) | null = null;
  #isLooking = false;

  constructor(private readonly clock: Pick<Clock, "after">) {}

  /** Whether notices of other processes arrive. */
  get isCarried(): boolean {
    return this.#isCarried;
  }

  /** Takes what this process tells others. */
  send: (key: string) => void = () => {};

  /** Begins the tail of a run. Close it when the run does not execute here any longer. */
  openTail(run: Pick<Run, "id" | "tenantId" | "lastEvent">): RunTail {
    const tail = new RunTail(run);
    this.#tails.set(run.id, tail);
    // Those who follow it need not read the log from now on.
    this.receive(run.id);
    return tail;
  }

  /** Those who have the tail may read it on. Twice is once. */
  closeTail(runId: string, tail: RunTail): void {
    tail.leave();
    if (this.#tails.get(runId) === tail) this.#tails.delete(runId);
    // Those who follow it read the log from now on.
    this.receive(runId);
  }

  /** The tail of a run that executes in this process. */
  tailOf(tenantId: string, runId: string): RunTail | undefined {
    const tail = this.#tails.get(runId);
    return tail?.tenantId === tenantId ? tail : undefined;
  }

  /** Reads the versions of keys. Default: unknown, so that every look wakes all. */
  look: (keys: readonly string[]) => Promise<Versions> = async () => new Map();

  /** Tells all processes that a run has changed, or that a thread has a new one. */
  notify(key: string): void {
    this.receive(key);
    this.send(key);
  }

  /** Tells this process that a run has changed. */
  receive(key: string): void {
    for (const listener of this.#listeners) listener(key);
    for (const follower of this.#followers.get(key) ?? []) follower.tell();
  }

  /** Calls a function with the key of each change, of all tenants, until the returned function is called. */
  listen(listener: (key: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether notices of other processes arrive from now on. All who follow look once, since some may have been missed. */
  setCarried(isCarried: boolean): void {
    this.#isCarried = isCarried;
    for (const key of this.#followers.keys()) this.receive(key);
    this.#cancelLook?.();
    this.#cancelLook = null;
    this.#lookLater();
  }

  /** Follows a run, or a thread by its {@link threadSignal}, until it is released. */
  follow(key: string, { signal }: { readonly signal?: AbortSignal } = {}): Follower {
    return new Follower(key, {
      clock: this.clock,
      signal,
      add: (of, follower) => {
        const followers = this.#followers.get(of) ?? new Set();
        this.#followers.set(of, followers.add(follower));
        this.#lookLater();
      },
      remove: (of, follower) => {
        const followers = this.#followers.get(of);
        if (followers?.delete(follower) !== true || followers.size > 0) return;
        this.#followers.delete(of);
        if (this.#followers.size > 0) return;
        this.#cancelLook?.();
        this.#cancelLook = null;
      },
    });
  }

  /**
   * Registers for the next signal of a run, and returns the promise of it: register, then read the log, then await.
   * It resolves after `ms` milliseconds at the latest, and at once when `signal` aborts; it never rejects.
   */
  async next(
    key: string,
    { ms = Infinity, signal }: { readonly ms?: number; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const follower = this.follow(key, { ...(signal && { signal }) });
    await follower.changed(ms);
    follower.release();
  }

  #lookLater(): void {
    if (this.#cancelLook !== null || this.#isLooking || this.#followers.size === 0) return;
    const ms = this.#isCarried ? carriedPollMs : pollMs;
    this.#cancelLook = this.clock.after(ms, () => void this.#lookAtAll());
  }

  async #lookAtAll(): Promise<void> {
    this.#cancelLook = null;
    this.#isLooking = true;
    const keys = [...this.#followers.keys()];
    try {
      const versions = await this.look(keys);
      for (const key of keys) {
        const version = versions.get(key);
        // The version before the first look is unknown, and so is that of a run that was deleted.
        if (version === undefined || version !== this.#versions.get(key)) this.receive(key);
      }
      this.#versions = versions;
    } catch {
      // Those who follow need no answer now. They learn of a lost database from what they read themselves.
    }
    this.#isLooking = false;
    this.#lookLater();
  }
}

interface FollowerOptions {
  readonly clock: Pick<Clock, "after">;
  readonly signal: AbortSignal | undefined;
  readonly add: (key: string, follower: Follower) => void;
  readonly remove: (key: string, follower: Follower) => void;
}

/** One who follows a run, a thread, or a thread and one of its runs: reset, then read the log, then await a change. */
export class Follower {
  #hasChanged = false;
  #also: string | null = null;
  #wake: (() => void) | null = null;

  constructor(
    private readonly key: string,
    private readonly of: FollowerOptions,
  ) {
    of.add(key, this);
    of.signal?.addEventListener("abort", this.tell);
  }

  /** Forgets the changes so far. What changes from now on is not missed. */
  reset(): void {
    this.#hasChanged = false;
  }

  /** Follows another key as well, in place of the last such one. */
  followAlso(key: string | null): void {
    if (key === this.#also) return;
    if (this.#also !== null) this.of.remove(this.#also, this);
    this.#also = key;
    if (key !== null) this.of.add(key, this);
  }

  /** Waits for a change since the last reset, or the end of its signal. False if none came within `ms` milliseconds. */
  async changed(ms = Infinity): Promise<boolean> {
    if (this.#hasChanged || this.of.signal?.aborted === true) return true;
    return new Promise((resolve) => {
      let cancel = () => {};
      this.#wake = () => {
        cancel();
        resolve(true);
      };
      if (ms === Infinity) return;
      cancel = this.of.clock.after(ms, () => {
        this.#wake = null;
        resolve(false);
      });
    });
  }

  /** Takes a change. */
  readonly tell = (): void => {
    this.#hasChanged = true;
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  };

  release(): void {
    this.followAlso(null);
    this.of.remove(this.key, this);
    this.of.signal?.removeEventListener("abort", this.tell);
    this.tell();
  }
}
