/** A runtime of one tenant. */
interface ClosableRuntime {
  close(): Promise<void>;
}

/** Runtimes of tenants, opened on first use and closed when they were not used for longest. */
export class TenantRuntimes<Runtime extends ClosableRuntime> {
  readonly #entries = new Map<string, Entry<Runtime>>();
  /** Those that are in use, and no longer given to others. */
  readonly #retired = new Set<Entry<Runtime>>();
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  /** @param options.max runtimes that stay open while none of them is in use beyond it; default 100 */
  constructor(
    private readonly open: (tenantId: string) => Promise<Runtime>,
    private readonly options: {
      readonly max?: number;
      /** Called with what closing a runtime throws. */
      readonly onError?: (error: unknown) => void;
    } = {},
  ) {}

  /** Runs `work` on the runtime of a tenant, which stays open meanwhile. */
  async use<T>(tenantId: string, work: (runtime: Runtime) => Promise<T>): Promise<T> {
    const entry = this.#entries.get(tenantId) ?? { runtime: this.open(tenantId), users: 0 };
    // The last one is the one that was used last.
    this.#entries.delete(tenantId);
    this.#entries.set(tenantId, entry);
    entry.users += 1;
    try {
      return await work(await entry.runtime);
    } catch (thrown) {
      // A runtime that could not be opened is opened anew by the next call.
      const isOpen = await entry.runtime.then(
        () => true,
        () => false,
      );
      if (!isOpen && this.#entries.get(tenantId) === entry) this.#entries.delete(tenantId);
      throw thrown;
    } finally {
      entry.users -= 1;
      if (entry.users === 0 && this.#retired.delete(entry)) this.#close(entry);
      // In the background: a slow one of another tenant does not delay this one.
      this.#closeUnused();
    }
  }

  /** Has later uses open new runtimes. The present ones stay open as long as they are in use. */
  renew(): void {
    for (const entry of this.#entries.values()) {
      if (entry.users === 0) this.#close(entry);
      else this.#retired.add(entry);
    }
    this.#entries.clear();
  }

  /** Closes all runtimes. Those in use are closed too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const entry of [...this.#entries.values(), ...this.#retired]) this.#close(entry);
    this.#entries.clear();
    this.#retired.clear();
    await Promise.all(this.#closing);
  }

  #closeUnused(): void {
    const max = this.#isClosed ? 0 : (this.options.max ?? 100);
    for (const [tenantId, entry] of this.#entries) {
      if (this.#entries.size <= max) break;
      if (entry.users > 0) continue;
      this.#entries.delete(tenantId);
      this.#close(entry);
    }
  }

  #close({ runtime }: Entry<Runtime>): void {
    const closing = runtime
      .catch(() => undefined)
      .then((opened) => opened?.close())
      .catch((error: unknown) => this.options.onError?.(error))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

interface Entry<Runtime> {
  readonly runtime: Promise<Runtime>;
  users: number;
}
