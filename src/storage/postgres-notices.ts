import type { Client, ClientConfig } from "pg";
import type { Clock } from "../clock.ts";
import { NoticesKeptBackError } from "./errors.ts";

/** A notice longer than this is not sent: Postgres takes 8,000 bytes, in which several are joined. */
const maxPayload = 7_900;
/** Milliseconds between two statements that send notices. */
const coalesceMs = 5;
/** Milliseconds in which a notice that another session sent arrives. */
const answerMs = 2_000;
/** A session that was lost is replaced at once, and those that fail after it later and later. */
const promptRetryMs = 20;
const firstRetryMs = 500;
const lastRetryMs = 15_000;
/** Notices that wait to be sent while there is no connection. Later ones are dropped: receivers look from time to time. */
const maxWaiting = 10_000;

export interface NoticeHandlers {
  readonly clock: Clock;
  /**
   * Called with each new session, of this process alone, before it counts as connected: what it sets up lasts as long as
   * the session.
   */
  readonly prepare?: (session: Pick<Client, "query">) => Promise<void>;
  /** Called with each notice that another process has sent. */
  readonly onNotice: (text: string) => void;
  /** Called when notices begin to arrive, and when they may have been missed. */
  readonly onChange: (isConnected: boolean) => void;
  /** Called once for each loss of the connection, and if a pooler keeps the notices back. */
  readonly onError: (error: unknown) => void;
}

/** Short texts without spaces between the processes on a database. They may be lost, and arrive in no order. */
export interface Notices {
  /** Sends a text to the other processes soon. */
  send(text: string): void;
  close(): Promise<void>;
}

interface PostgresNoticesOptions extends NoticeHandlers {
  readonly config: ClientConfig;
  readonly channel: string;
  /** Sends a notice through another session. */
  readonly sendElsewhere: (channel: string, text: string) => Promise<void>;
}

/**
 * Notices on one session, by LISTEN and NOTIFY. A notice is sent at once, and those of the 5 milliseconds after it in
 * one statement, never in the transaction of other writes: commits with a notice wait for each other.
 */
export class PostgresNotices implements Notices {
  readonly #waiting = new Set<string>();
  readonly #check = `check-${crypto.randomUUID()}`;
  #client: Client | undefined;
  #isSending = false;
  #isClosed = false;
  #retryMs = firstRetryMs;
  #cancelRetry = () => {};
  #arrived = () => {};
  #connecting: Promise<void>;

  constructor(private readonly options: PostgresNoticesOptions) {
    this.#connecting = this.#connect();
  }

  send(text: string): void {
    if (text === "" || text.length > maxPayload || text.includes(" ")) return;
    if (this.#waiting.size >= maxWaiting) return;
    this.#waiting.add(text);
    void this.#flush();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelRetry();
    this.#arrived();
    await this.#connecting;
    const client = this.#client;
    this.#client = undefined;
    // What others wait for at the end of this process.
    if (client === undefined) return;
    for (let text = this.#next(); text !== ""; text = this.#next())
      await client
        .query("select pg_notify($1, $2)", [this.options.channel, text])
        .catch(() => undefined);
    await client.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const { config, channel, clock, onChange, onError } = this.options;
    const { default: pg } = await import("pg");
    if (this.#isClosed) return;
    const client = new pg.Client(config);
    let isLost = false;
    const connect = () => {
      this.#connecting = this.#connect();
    };
    const lose = (error: unknown) => {
      if (isLost) return;
      isLost = true;
      const wasConnected = this.#client === client;
      if (wasConnected) this.#client = undefined;
      client.end().catch(() => undefined);
      if (this.#isClosed) return;
      if (wasConnected) onChange(false);
      onError(error);
      const retryMs = wasConnected ? promptRetryMs : this.#retryMs;
      this.#cancelRetry = clock.after(retryMs, connect, { keepsAlive: false });
      if (!wasConnected) this.#retryMs = Math.min(this.#retryMs * 2, lastRetryMs);
    };
    client.on("error", lose);
    client.on("end", () => lose(new Error("The session for notices has ended.")));
    client.on("notification", (notice) => {
      const own = (client as Client & { readonly processID?: number }).processID;
      if (notice.processId !== own) this.#receive(notice.payload ?? "");
    });
    try {
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(channel)}`);
      if (!(await this.#isDelivered())) {
        isLost = true;
        await client.end().catch(() => undefined);
        if (!this.#isClosed) onError(new NoticesKeptBackError());
        return;
      }
      await this.options.prepare?.(client);
    } catch (error) {
      lose(error);
      return;
    }
    if (isLost || this.#isClosed) {
      await client.end().catch(() => undefined);
      return;
    }
    this.#client = client;
    this.#retryMs = firstRetryMs;
    onChange(true);
    void this.#flush();
  }

  /** Whether a notice of another session arrives, which a pooler by transaction prevents. */
  async #isDelivered(): Promise<boolean> {
    const { clock, channel, sendElsewhere } = this.options;
    let end = (_isDelivered: boolean) => {};
    const ended = new Promise<boolean>((resolve) => (end = resolve));
    const cancel = clock.after(answerMs, () => end(false));
    this.#arrived = () => end(true);
    try {
      await sendElsewhere(channel, this.#check);
      return await ended;
    } finally {
      cancel();
    }
  }

  #receive(payload: string): void {
    for (const text of payload.split(" ")) {
      if (text === this.#check) this.#arrived();
      else if (text !== "" && !text.startsWith("check-")) this.options.onNotice(text);
    }
  }

  async #flush(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    const { channel, clock } = this.options;
    while (this.#client !== undefined && this.#waiting.size > 0) {
      // A loss is heard as an event; what was not sent is looked for by the others.
      await this.#client
        .query("select pg_notify($1, $2)", [channel, this.#next()])
        .catch(() => undefined);
      await new Promise<void>((resolve) => {
        clock.after(coalesceMs, resolve, { keepsAlive: false });
      });
    }
    this.#isSending = false;
  }

  /** As many of the waiting notices as one statement takes. */
  #next(): string {
    let joined = "";
    for (const text of this.#waiting) {
      if (joined.length + text.length + 1 > maxPayload) break;
      this.#waiting.delete(text);
      joined = joined === "" ? text : `${joined} ${text}`;
    }
    return joined;
  }
}
