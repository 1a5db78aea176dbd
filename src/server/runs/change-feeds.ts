import { sleep } from "../../async.ts";
import type { RunSignals } from "../../engine/run-signals.ts";
import {
  isOpenRun,
  readRunChanges,
  type RunChange,
} from "../../storage/platform/runs/run-versions.ts";
import type { ApiBase } from "../ports.ts";

/** Milliseconds between two reads of one tenant: a run has at most four changes a second. */
const coalesceMs = 250;
/** Milliseconds between two looks at all open runs, in case no notice came. */
const lookMs = 2_000;
/** Runs that wait to be read, or to be taken by a stream. With more, clients read their lists again. */
const maxDirty = 5_000;

const runId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type FeedBase = Pick<ApiBase, "platform" | "signals" | "clock">;

/** Changes of runs since they were taken last. */
export interface TakenChanges {
  /** The newest change of each run. */
  readonly runs: readonly RunChange[];
  /** Whether changes were left out. */
  readonly isCut: boolean;
}

/** The changes of the runs of tenants: those of one tenant are read once for all of its streams. */
export class ChangeFeeds {
  readonly #feeds = new Map<string, TenantFeed>();

  constructor(private readonly base: FeedBase) {}

  /** Follows the runs of a tenant until the subscription is closed. */
  subscribe(tenantId: string): ChangeSubscription {
    let feed = this.#feeds.get(tenantId);
    if (feed === undefined) {
      const made = new TenantFeed(tenantId, this.base, () => {
        if (this.#feeds.get(tenantId) === made) this.#feeds.delete(tenantId);
      });
      feed = made;
      this.#feeds.set(tenantId, feed);
    }
    return feed.subscribe();
  }
}

/** Reads the changes of one tenant while it has subscriptions. */
class TenantFeed {
  readonly #subscriptions = new Set<ChangeSubscription>();
  readonly #stop = new AbortController();
  readonly #changed: ChangedRuns;
  /** Versions of runs that may change. */
  readonly #open = new Map<string, string>();
  readonly #ready: Promise<void>;

  constructor(
    private readonly tenantId: string,
    private readonly base: FeedBase,
    private readonly onEnd: () => void,
  ) {
    this.#changed = new ChangedRuns(base.signals);
    this.#ready = this.#read(true).then(() => undefined);
    void this.#follow();
  }

  subscribe(): ChangeSubscription {
    const subscription = new ChangeSubscription(this.#ready, () => {
      this.#subscriptions.delete(subscription);
      if (this.#subscriptions.size === 0) this.#end();
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async #follow(): Promise<void> {
    const { clock } = this.base;
    const { signal } = this.#stop;
    try {
      await this.#ready;
      let readAt = clock.monotonic();
      let lookedAt = readAt;
      while (!signal.aborted) {
        await this.#changed.wait(clock, lookedAt + lookMs - clock.monotonic());
        await pause(clock, readAt + coalesceMs - clock.monotonic(), signal);
        if (signal.aborted) return;
        readAt = clock.monotonic();
        const isLook = readAt - lookedAt >= lookMs;
        if (isLook) lookedAt = readAt;
        const { isCut } = this.#changed;
        const runs = await this.#read(isLook);
        for (const subscription of this.#subscriptions) subscription.add({ runs, isCut });
      }
    } catch (thrown) {
      for (const subscription of this.#subscriptions) subscription.fail(thrown);
    } finally {
      this.#end();
    }
  }

  /** Returns the changes since the last read. */
  async #read(isLook: boolean): Promise<readonly RunChange[]> {
    const open = this.#open;
    const ids = new Set([...this.#changed.take(), ...(isLook ? open.keys() : [])]);
    const of = { ids: [...ids], withOpen: isLook };
    const runs = await readRunChanges(this.base.platform.tables, this.tenantId, of);
    const found = new Set(runs.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) open.delete(id);
    return runs.filter((run) => {
      const version = `${run.state} ${run.lastEvent}`;
      const isNew = open.get(run.id) !== version;
      if (isOpenRun(run)) open.set(run.id, version);
      else open.delete(run.id);
      return isNew;
    });
  }

  #end(): void {
    this.#stop.abort();
    this.#changed.release();
    this.#changed.wake();
    this.onEnd();
  }
}

/** The changes that one stream has not sent. */
export class ChangeSubscription {
  readonly #runs = new Map<string, RunChange>();
  #isCut = false;
  #failure: { readonly thrown: unknown } | null = null;
  #wake: (() => void) | null = null;

  /**
   * @param ready resolves once later changes are not missed; rejects if the runs cannot be read
   * @param close ends the subscription. Twice is once
   */
  constructor(
    readonly ready: Promise<void>,
    readonly close: () => void,
  ) {}

  add({ runs, isCut }: TakenChanges): void {
    for (const run of runs) this.#runs.set(run.id, run);
    if (isCut || this.#runs.size > maxDirty) this.#isCut = true;
    if (this.#runs.size > maxDirty) this.#runs.clear();
    if (this.#runs.size > 0 || this.#isCut) this.wake();
  }

  fail(thrown: unknown): void {
    this.#failure = { thrown };
    this.wake();
  }

  wake(): void {
    this.#wake?.();
    this.#wake = null;
  }

  /** Resolves at the next change, at once if there was one, and after `ms` at the latest. */
  async wait(clock: FeedBase["clock"], ms: number): Promise<void> {
    if (this.#runs.size > 0 || this.#isCut || this.#failure !== null || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(ms, () => this.wake());
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  /** @throws why the runs cannot be read any more */
  take(): TakenChanges {
    if (this.#failure !== null) throw this.#failure.thrown;
    const taken = { runs: [...this.#runs.values()], isCut: this.#isCut };
    this.#runs.clear();
    this.#isCut = false;
    return taken;
  }
}

/** The runs of all tenants that have changed since they were taken. */
class ChangedRuns {
  readonly #ids = new Set<string>();
  #isCut = false;
  #wake: (() => void) | null = null;
  readonly release: () => void;

  constructor(signals: Pick<RunSignals, "listen">) {
    this.release = signals.listen((key) => {
      if (!runId.test(key)) return;
      if (this.#ids.size < maxDirty) this.#ids.add(key);
      else this.#isCut = true;
      this.wake();
    });
  }

  /** Whether there were more than are held. */
  get isCut(): boolean {
    return this.#isCut;
  }

  wake(): void {
    this.#wake?.();
    this.#wake = null;
  }

  take(): readonly string[] {
    const ids = [...this.#ids];
    this.#ids.clear();
    this.#isCut = false;
    return ids;
  }

  /** Resolves at the next change, at once if there was one, and after `ms` at the latest. */
  async wait(clock: ApiBase["clock"], ms: number): Promise<void> {
    if (this.#ids.size > 0 || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(ms, () => this.wake());
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Waits, and no longer once `signal` aborts. */
async function pause(clock: ApiBase["clock"], ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, { clock, signal }).catch(() => undefined);
}
