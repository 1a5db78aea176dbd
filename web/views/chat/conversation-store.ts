import { batch, signal } from "@preact/signals";
import { isOfThread, onChange } from "../../api/changes.ts";
import { api, ApiError, bodyOf } from "../../api/client.ts";
import { pauseBeforeRetry, readEvents, type StreamEvent } from "../../api/events.ts";
import { asApiError } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { runUrl } from "../../links.ts";
import {
  isOver,
  isRunOver,
  newTurn,
  type Run,
  type Said,
  type Turn,
  turnOf,
  withEvent,
} from "./conversation.ts";
import {
  eventsRequest,
  jsonRequest,
  lastNumber,
  lastRun,
  openEvents,
  pathOf,
  readRun,
  type TurnsPage,
  turnsPage,
} from "./run-requests.ts";

export type Thread = components["schemas"]["Thread"];

/** Milliseconds between two renderings of a stream. */
const renderMs = 40;

export interface TurnOptions {
  /** `provider:model`; empty for the agent's own. */
  readonly model: string;
}

/**
 * The conversation of a thread with an agent: its turns from the end back, and the one under way as its events come. A
 * lost stream goes on after the last event that was read.
 */
export class Conversation {
  /** Oldest first; null until they are loaded. */
  readonly turns = signal<readonly Turn[] | null>(null);
  /** The turn that runs or waits. */
  readonly open = signal<Turn | null>(null);
  /** The last run of the thread. */
  readonly run = signal<Run | null>(null);
  readonly thread = signal<Thread | null>(null);
  readonly error = signal<ApiError | null>(null);
  /** Number of the oldest turn that is loaded, if there are earlier ones. */
  readonly earlier = signal<string | null>(null);
  readonly isReconnecting = signal(false);
  /** Messages that were sent into the turn, and that no step has read. */
  readonly unread = signal<readonly string[]>([]);
  threadId: string | null;

  readonly #closed = new AbortController();
  #stream: AbortController | null = null;
  #isLoadingEarlier = false;
  #waiting: StreamEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #endChanges: () => void;

  constructor(
    readonly agentId: string,
    threadId: string | null,
    /** Called with the id of the thread that the first message begins. */
    private readonly onThread: (threadId: string) => void,
  ) {
    this.threadId = threadId;
    if (threadId === null) this.turns.value = [];
    else void this.refresh();
    this.#endChanges = onChange((change) => {
      const { threadId: own } = this;
      if (own !== null && isOfThread(own)(change) && this.#stream === null) void this.refresh();
    });
  }

  close(): void {
    this.#closed.abort();
    this.#stream?.abort();
    this.#endChanges();
    clearTimeout(this.#timer);
  }

  /** Whether the turn runs. */
  get isRunning(): boolean {
    const { value: open } = this.open;
    return open !== null && open.end === null;
  }

  /** Loads the newest turns and the last run again, and follows the run if it is under way. */
  async refresh(): Promise<void> {
    const { threadId } = this;
    const { signal: aborted } = this.#closed;
    if (threadId === null) return;
    try {
      const [thread, run, page] = await Promise.all([
        bodyOf(
          api.GET("/v1/threads/{thread_id}", {
            params: { path: { thread_id: threadId } },
            signal: aborted,
          }),
        ),
        lastRun(threadId, aborted),
        turnsPage(threadId, null, aborted),
      ]);
      if (aborted.aborted || this.#stream !== null) return;
      await this.#take(thread, run, page);
    } catch (thrown) {
      if (!aborted.aborted) this.error.value = asApiError(thrown);
    }
  }

  async #take(thread: Thread, run: Run | null, page: TurnsPage): Promise<void> {
    const isUnderWay = run !== null && !isRunOver(run.status);
    const isNewest = (one: TurnsPage["turns"][number]) =>
      run !== null && one.turn_id !== null && one.turn_id === run.turn_id;
    const listed = page.turns.toReversed();
    const openTurn = isUnderWay ? listed.find(isNewest) : undefined;
    const settled = listed
      .filter((one) => one !== openTurn)
      .map((one) => (run !== null && isNewest(one) ? withEnd(turnOf(one), run) : turnOf(one)));
    const oldest = settled[0]?.number ?? Number.POSITIVE_INFINITY;
    const before = this.turns.value?.filter(({ number }) => number !== null && number < oldest);
    const asked = openTurn?.asked ?? this.open.value?.asked ?? [];
    const isMissing = run !== null && !isUnderWay && !listed.some(isNewest) && run.result !== null;
    const events = isUnderWay ? await openEvents(run, this.#closed.signal) : [];
    if (this.#closed.signal.aborted || this.#stream !== null) return;
    batch(() => {
      this.error.value = null;
      this.thread.value = thread;
      this.run.value = run;
      // A turn that ended before it began, as when a rail refused its input.
      const ended = isMissing
        ? [withEnd(this.open.value ?? newTurn(`turn of ${run.turn_id}`), run)]
        : [];
      this.turns.value = [...(before ?? []), ...settled, ...ended];
      if (before === undefined || before.length === 0) this.earlier.value = page.next_cursor;
      const begun = newTurn(this.open.value?.key ?? `turn of ${run?.turn_id ?? ""}`, asked);
      this.open.value = isUnderWay ? events.reduce<Turn>(withEvent, begun) : null;
    });
    if (run !== null && (run.status === "queued" || run.status === "running"))
      void this.#follow(run, lastNumber(events, run.last_event));
  }

  /** Loads the turns before those that are there. */
  async loadEarlier(): Promise<void> {
    const { threadId } = this;
    const { value: cursor } = this.earlier;
    if (threadId === null || cursor === null || this.#isLoadingEarlier) return;
    this.#isLoadingEarlier = true;
    try {
      const page = await turnsPage(threadId, cursor, this.#closed.signal);
      batch(() => {
        this.turns.value = [...page.turns.toReversed().map(turnOf), ...(this.turns.value ?? [])];
        this.earlier.value = page.next_cursor;
      });
    } catch (thrown) {
      if (!this.#closed.signal.aborted) this.error.value = asApiError(thrown);
    } finally {
      this.#isLoadingEarlier = false;
    }
  }

  /**
   * Begins a turn. A run of an earlier version of the agent is not continued: its thread is.
   *
   * @throws ApiError if the server refuses it; nothing has changed then
   */
  async send(input: object, said: Said, { model }: TurnOptions): Promise<void> {
    const { value: run } = this.run;
    const override = model === "" ? {} : { config: { model_override: model } };
    this.open.value = newTurn(`turn ${Date.now()}`, [said]);
    try {
      if (run !== null && (await this.#isOfNewestVersion(run))) {
        const path = `${runUrl(run)}/turns/stream`;
        const first = jsonRequest(path, { input, ...override });
        await this.#follow(run, run.last_event, first);
        return;
      }
      const queued = await bodyOf(
        api.POST("/v1/agents/{agent_id}/runs", {
          params: { path: { agent_id: this.agentId } },
          body: {
            input,
            ...override,
            ...(this.threadId !== null && { thread_id: this.threadId }),
          } as never,
        }),
      );
      const { run_id: id, thread_id: thread } = queued as { run_id: string; thread_id: string };
      this.threadId = thread;
      this.onThread(thread);
      await this.#follow({ agent_id: this.agentId, run_id: id }, 0);
    } catch (thrown) {
      if (this.#stream === null) this.open.value = null;
      throw thrown;
    }
  }

  async #isOfNewestVersion(run: Run): Promise<boolean> {
    if (run.agent_id !== this.agentId || run.kind === "graph") return false;
    const agent = await bodyOf(
      api.GET("/v1/agents/{agent_id}", { params: { path: { agent_id: this.agentId } } } as never),
    );
    const { updated_at: updated } = agent as { updated_at: string };
    return Date.parse(updated) <= Date.parse(run.created_at);
  }

  /** Sends a message into the turn that runs. @throws ApiError */
  async addMessage(content: string): Promise<void> {
    const { value: run } = this.run;
    if (run === null) return;
    await bodyOf(
      api.POST("/v1/agents/{agent_id}/runs/{run_id}/events", {
        params: { path: pathOf(run) },
        body: { as: "message", payload: { content } },
      }),
    );
    this.unread.value = [...this.unread.value, content];
  }

  /** Answers requests to people by their ids. @throws ApiError */
  async answer(answers: Readonly<Record<string, unknown>>): Promise<void> {
    const { value: run } = this.run;
    if (run === null) return;
    const after = run.last_event;
    await bodyOf(
      api.POST("/v1/agents/{agent_id}/runs/{run_id}/resume", {
        params: { path: pathOf(run) },
        body: { answers } as never,
      }),
    );
    this.#begins();
    void this.#follow(run, after);
  }

  /** Gives results of client tools, with which the turn goes on. @throws ApiError */
  async giveResults(results: readonly object[]): Promise<void> {
    const { value: run } = this.run;
    if (run === null) return;
    const first = jsonRequest(`${runUrl(run)}/turns/stream`, { input: { tool_results: results } });
    await this.#follow(run, run.last_event, first);
  }

  /** Asks the run to end. */
  async cancel(): Promise<void> {
    const { value: run } = this.run;
    if (run === null) return;
    await bodyOf(
      api.POST("/v1/agents/{agent_id}/runs/{run_id}/cancel", { params: { path: pathOf(run) } }),
    ).catch((thrown: unknown) => {
      this.error.value = asApiError(thrown);
    });
    if (this.#stream === null) await this.refresh();
  }

  #begins(): void {
    const { value: open } = this.open;
    if (open !== null) this.open.value = { ...open, end: null };
  }

  /**
   * Reads the events of a turn until it ends or waits.
   *
   * @param first the request that begins the turn, and is answered with its first events
   * @throws ApiError if the server refuses `first`
   */
  async #follow(
    run: Pick<Run, "agent_id" | "run_id">,
    after: number,
    first?: Request,
  ): Promise<void> {
    const own = new AbortController();
    this.#stream?.abort();
    this.#stream = own;
    const aborted = AbortSignal.any([own.signal, this.#closed.signal]);
    let last = after;
    let isBegun = first === undefined;
    let isEnded = false;
    let next = first;
    const isCurrent = () => this.#stream === own && !aborted.aborted;
    if (first === undefined) void this.#loadRun(run);
    for (let failures = 0; isCurrent() && !isEnded; failures++) {
      try {
        const request = next ?? eventsRequest(run, last);
        next = undefined;
        await readEvents(request, {
          signal: aborted,
          onEvent: (event) => {
            if (!isBegun) void this.#loadRun(run);
            isBegun = true;
            failures = 0;
            this.isReconnecting.value = false;
            if (isEnded || Number(event.id) <= last) return;
            last = Number(event.id) || last;
            this.#show(event);
            isEnded = event.event === "done";
            if (isEnded) own.abort();
          },
        });
        isBegun = true;
        // A stream without its end: the server closes it when the run is over, or when it shuts down.
        if (!isEnded && (await this.#isSettled(run))) isEnded = true;
      } catch (thrown) {
        const failure = asApiError(thrown);
        if (isEnded || !isCurrent()) break;
        if (failure.status >= 400 && failure.status < 500) {
          this.#stream = null;
          if (!isBegun) throw failure;
          this.error.value = failure;
          return;
        }
        // A turn that was not taken is sent again by the person, not by the page.
        if (!isBegun && !(await this.#isTaken(run))) {
          this.#stream = null;
          throw failure;
        }
        isBegun = true;
        this.isReconnecting.value = true;
      }
      if (!isEnded) await pauseBeforeRetry(failures, aborted);
    }
    if (this.#stream !== own) return;
    this.#stream = null;
    this.#flush();
    this.isReconnecting.value = false;
    if (!this.#closed.signal.aborted) await this.refresh();
  }

  async #loadRun(run: Pick<Run, "agent_id" | "run_id">): Promise<Run | null> {
    const loaded = await readRun(run, this.#closed.signal).catch(() => null);
    if (loaded !== null && !this.#closed.signal.aborted) this.run.value = loaded;
    return loaded;
  }

  async #isSettled(run: Pick<Run, "agent_id" | "run_id">): Promise<boolean> {
    const loaded = await this.#loadRun(run);
    return loaded !== null && loaded.status !== "queued" && loaded.status !== "running";
  }

  /** Whether a request that was lost has reached the server: the run has another turn, or the same goes on. */
  async #isTaken(run: Pick<Run, "agent_id" | "run_id">): Promise<boolean> {
    const { value: before } = this.run;
    const now = await readRun(run, this.#closed.signal).catch(() => null);
    return now !== null && before !== null && now.last_event > before.last_event;
  }

  /** Tokens come faster than a screen shows them. */
  #show(event: StreamEvent): void {
    this.#waiting.push(event);
    this.#timer ??= setTimeout(() => this.#flush(), renderMs);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const events = this.#waiting;
    this.#waiting = [];
    const { value: open } = this.open;
    if (open === null || events.length === 0) return;
    const read = events.filter(({ event }) => event === "user_message").length;
    batch(() => {
      this.open.value = events.reduce<Turn>(withEvent, open);
      if (read > 0) this.unread.value = this.unread.value.slice(read);
    });
  }
}

function withEnd(turn: Turn, { result, cause, status }: Run): Turn {
  const end = result?.output.status ?? status;
  const isFailed = end === "failed" || status === "dead";
  const isAnswer = cause === null || turn.answer !== cause.message;
  return {
    ...turn,
    end: isOver({ end }) ? end : turn.end,
    error: isFailed ? cause : null,
    answer: isAnswer ? turn.answer : null,
  };
}
