import { StratagraphError } from "../errors.ts";
import { isStalePlan, PreparedStatementError } from "./errors.ts";
import type { DatabaseClient, QueryConfig, QueryResult } from "./pool.ts";

/** A statement of a transaction failed, and the code that ran it went on: nothing was written. */
export class TransactionFailedError extends StratagraphError {
  readonly code = "transaction_failed";
  override readonly kind = "run";

  constructor() {
    super(
      "The transaction was rolled back since one of its statements had failed. Nothing was written.",
    );
  }
}

/**
 * Has the server end the session of a transaction whose process does nothing for ten seconds, less than a lease of a run:
 * one that was stopped would keep its locks, and all other processes waiting.
 */
export const idleLimit = "set local idle_in_transaction_session_timeout = 10000";

/** A transaction whose begin may not be answered yet. */
export interface Begun {
  /** Resolves when the next statement may be sent: at once on a client that pipelines. Rejects with `failure` elsewhere. */
  readonly sent: Promise<unknown>;
  /** Resolves to the error with which the transaction did not begin; null if it began. Never rejects. */
  readonly failure: Promise<unknown>;
}

/**
 * Begins a transaction without waiting for the answer, where the client can. Statements that follow a begin which failed
 * after its first word fail as well, so that none runs without the settings: show `failure` rather than their errors.
 *
 * @param text `begin`, then settings, in one simple query
 */
export function begin(client: DatabaseClient, text: string): Begun {
  const answered = client.query(text);
  const failure = answered.then(
    () => null,
    (error: unknown) => error,
  );
  return { sent: client.pipelines === true ? Promise.resolve() : answered, failure };
}

export interface BeginText {
  /** `begin`, then settings, in one simple query. */
  readonly text: string;
  /** The error to throw for one of the begin. Default: that itself. */
  readonly shown?: (failure: unknown) => unknown;
}

/**
 * Keeps one plan for all values. By default Postgres plans a statement for its values each time while it estimates such
 * plans to be cheaper, which takes longer than most statements take to run.
 */
const onePlan = "set local plan_cache_mode = force_generic_plan";

/**
 * Runs one statement in a transaction of its own. Begin, statement and commit travel together where the client pipelines;
 * the commit of a statement that failed is a rollback.
 *
 * @throws TransactionFailedError; what the begin or the statement failed with
 */
export async function runAlone<Row>(
  client: DatabaseClient,
  beginText: BeginText,
  statement: QueryConfig,
): Promise<QueryResult<Row>> {
  const [result] = await runTogether<Row>(client, beginText, [statement]);
  return result!;
}

/**
 * Runs statements in a transaction of their own, as {@link runAlone} runs one.
 *
 * @throws TransactionFailedError; what the begin or the first statement that failed has failed with
 */
export async function runTogether<Row>(
  client: DatabaseClient,
  given: BeginText,
  statements: readonly QueryConfig[],
): Promise<QueryResult<Row>[]> {
  const { shown = (failure) => failure } = given;
  const areNamed = statements.every(({ name }) => name !== undefined);
  const text = areNamed ? `${given.text}; ${onePlan}` : given.text;
  if (client.pipelines !== true) return runInTurn<Row>(client, { text, shown }, statements);
  const begun = client.query(text);
  const ran = statements.map((statement) => client.query<Row>(statement));
  const ended = client.query("commit");
  await Promise.allSettled([begun, ...ran, ended]);
  await begun.catch((failure: unknown) => {
    throw shown(failure);
  });
  let results: QueryResult<Row>[];
  try {
    results = await Promise.all(ran);
  } catch (error) {
    // Nothing was executed, and the statement has another name now, or none.
    if (error instanceof PreparedStatementError || isStalePlan(error))
      return runInTurn<Row>(client, { text, shown }, statements);
    throw error;
  }
  try {
    if ((await ended).command === "ROLLBACK") throw new TransactionFailedError();
  } catch (error) {
    // Its answer shows that the session is idle, which an error does not.
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
  return results;
}

async function runInTurn<Row>(
  client: DatabaseClient,
  { text, shown }: Required<BeginText>,
  statements: readonly QueryConfig[],
): Promise<QueryResult<Row>[]> {
  try {
    await client.query(text).catch((failure: unknown) => {
      throw shown(failure);
    });
    const results: QueryResult<Row>[] = [];
    for (const statement of statements) results.push(await client.query<Row>(statement));
    await client.query("commit");
    return results;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}
