import type {
  FoundThread,
  ThreadFilter,
  ThreadQuery,
  ThreadSearch,
} from "../../storage/platform/runs/thread-search.ts";
import { HttpProblem } from "../problems.ts";
import { containsJson, type ShownHead, type ThreadPresenter } from "./thread-view.ts";

type Values = Readonly<Record<string, unknown>>;

/** Threads whose states a search by values reads. */
const maxCandidates = 500;
const batchSize = 100;
/** Values that one search compares. */
const maxComparisons = 2_000_000;
/** Bytes of JSON of the states that one search reads. */
const maxBytes = 134_217_728;

/** A thread with its newest state; without it where it was not read. */
interface Match {
  readonly thread: FoundThread;
  readonly head?: ShownHead | null;
}

/** Finds threads, also by values of their newest state. */
export class ThreadFinder {
  constructor(
    private readonly threads: ThreadSearch,
    private readonly tenantId: string,
    private readonly presenter: ThreadPresenter,
  ) {}

  /**
   * Returns a page of threads, and whether more of them follow.
   *
   * @throws HttpProblem `invalid_input` if a search by values would read too many states
   */
  async page(
    query: ThreadQuery,
    values: Values = {},
  ): Promise<{ readonly matches: readonly Match[]; readonly hasMore: boolean }> {
    const { limit, offset = 0 } = query;
    if (Object.keys(values).length === 0) {
      const found = await this.threads.search(this.tenantId, { ...query, limit: limit + 1 });
      const matches = found.slice(0, limit).map((thread) => ({ thread }));
      return { matches, hasMore: found.length > limit };
    }
    const matches: Match[] = [];
    let skipped = 0;
    for await (const match of this.#matching(query, values)) {
      if (skipped < offset) skipped += 1;
      else if (matches.length === limit) return { matches, hasMore: true };
      else matches.push(match);
    }
    return { matches, hasMore: false };
  }

  /** @throws HttpProblem as `page` */
  async count(filter: ThreadFilter, values: Values = {}): Promise<number> {
    if (Object.keys(values).length === 0) return this.threads.count(this.tenantId, filter);
    let count = 0;
    const matching = this.#matching(filter, values);
    while ((await matching.next()).done !== true) count += 1;
    return count;
  }

  /** States are compared as the caller may see them: a filter reveals nothing that rails redacted. */
  async *#matching(filter: ThreadFilter, values: Values): AsyncGenerator<Match> {
    let comparisons = 0;
    const step = () => {
      comparisons += 1;
      if (comparisons > maxComparisons) throw tooWide();
    };
    for (let read = 0; ; read += batchSize) {
      const page = { ...filter, limit: batchSize, offset: read };
      const batch = await this.threads.search(this.tenantId, page);
      if (batch.length > 0 && read === maxCandidates) throw tooWide();
      for (const thread of batch) {
        const head = await this.presenter.head(thread.threadId);
        if (this.presenter.bytesRead > maxBytes) throw tooWide();
        if (head !== null && containsJson(head.values, values, step)) yield { thread, head };
      }
      if (batch.length < batchSize) return;
    }
  }
}

function tooWide(): HttpProblem {
  return new HttpProblem("invalid_input", {
    detail: `A search by values reads the newest states of at most ${maxCandidates} threads with 128 MiB of JSON, and compares at most ${maxComparisons.toLocaleString("en")} values. Narrow it by metadata, status or ids.`,
    extensions: { code: "search_too_wide" },
  });
}
