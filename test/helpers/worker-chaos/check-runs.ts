import type { Pool } from "pg";
import { callsOfRun, type Effect } from "./agent.ts";
import type { ChaosOutcome } from "./run-chaos.ts";

interface RunRow {
  readonly id: string;
  readonly thread_id: string;
  readonly turn_id: string;
  readonly seq: number;
  readonly message: string;
  readonly state: string;
  readonly code: string | null;
  readonly epoch: number;
  readonly attempts: number;
  readonly last_event: number;
  readonly ended_at: Date | null;
}

interface EventRow {
  readonly run_id: string;
  readonly seq: number;
  readonly event: string;
  readonly call: string | null;
}

interface CallRow {
  readonly turn_id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly ended_at: Date | null;
}

export interface ChaosReport {
  /** Each says which rule was broken, and by what. */
  readonly violations: readonly string[];
  /** Runs by how they ended. */
  readonly ends: Readonly<Record<string, number>>;
  /** Calls that began in more than one process, or more than once. */
  readonly repeated: number;
  /** Calls of `send` without a recorded end. */
  readonly unknown: number;
}

/** Attempts after which a run is dead. */
const maxAttempts = 5;

/** Compares the tables with what tools have done, when all has ended. */
export async function checkRuns(
  pool: Pool,
  outcome: ChaosOutcome,
  effects: readonly Effect[],
): Promise<ChaosReport> {
  const { rows: runs } = await pool.query<RunRow>(
    `select id, thread_id, request->>'turn_id' as turn_id, seq, request->'input'->>'message' as message, state, result->'cause'->>'code' as code, epoch,
      attempts, last_event, ended_at
    from stratagraph.run order by thread_id, seq`,
  );
  const { rows: events } = await pool.query<EventRow>(
    `select run_id, seq, event, case when event in ('tool_call', 'tool_result') then data->>'id' end as call
    from stratagraph.run_event order by run_id, seq`,
  );
  const { rows: calls } = await pool.query<CallRow>(
    `select run as turn_id, call_id, tool, ended_at from stratagraph.tool_journal`,
  );
  const { rows: forks } = await pool.query<{ thread_id: string; parent: string }>(
    `select thread_id, coalesce(parent_checkpoint_id, 'none') as parent from stratagraph.checkpoints
    where checkpoint_ns = '' and metadata->>'source' = 'loop' group by 1, 2 having count(*) > 1`,
  );
  const broken = [
    ...outcome.crashed.map((name) => `Worker ${name} ended although no fault ended it.`),
    ...checkAccepted(runs, outcome),
    ...checkEnds(runs, calls),
    ...checkEvents(runs, events),
    ...checkOrder(runs, effects, outcome),
    ...checkForks(runs, forks),
  ];
  const checked = checkCalls(runs, { calls, effects, outcome });
  const ends: Record<string, number> = {};
  for (const { state, code } of runs) {
    const end = code === null ? state : `${state} (${code})`;
    ends[end] = (ends[end] ?? 0) + 1;
  }
  return { ...checked, violations: [...broken, ...checked.violations], ends };
}

/**
 * Where no turn has failed, each checkpoint has one successor: two would be those of two claims. The input of a turn may
 * be there twice, since a turn that has not begun begins anew.
 */
function checkForks(
  runs: readonly RunRow[],
  forks: readonly { readonly thread_id: string; readonly parent: string }[],
): readonly string[] {
  const abandoned = new Set(
    runs.flatMap(({ state, thread_id: id }) => (state === "complete" ? [] : [id])),
  );
  return forks.flatMap(({ thread_id: id, parent }) =>
    abandoned.has(id)
      ? []
      : [`Thread ${id} has two checkpoints after ${parent}: two claims have written them.`],
  );
}

/** None is lost, and none is there twice. */
function checkAccepted(runs: readonly RunRow[], { accepted }: ChaosOutcome): readonly string[] {
  const ids = new Map(runs.map(({ id, message }) => [id, message]));
  const lost = [...accepted].flatMap(([id, message]) =>
    ids.get(id) === message ? [] : [`Run ${id} (${message}) was accepted, and is lost.`],
  );
  const twice = runs.flatMap(({ id, message }) =>
    accepted.has(id) ? [] : [`Run ${id} (${message}) was created by a request that was refused.`],
  );
  return [...lost, ...twice];
}

/** Each run has ended; one that failed had a call of a tool that was cut and must not be repeated. */
function checkEnds(runs: readonly RunRow[], calls: readonly CallRow[]): readonly string[] {
  const cut = new Set(
    calls.flatMap(({ tool, ended_at: ended, turn_id: turn }) =>
      tool === "send" && ended === null ? [turn] : [],
    ),
  );
  return runs.flatMap((run) => {
    const { message, state, code, epoch, attempts, ended_at: ended } = run;
    const name = `Run ${message} of thread ${run.thread_id}`;
    if (ended === null) return [`${name} is ${state} and has not ended.`];
    if (state === "complete") return [];
    if (state === "dead" && attempts > maxAttempts) return [];
    const isCut = code === "unknown_outcome" && epoch > 1 && cut.has(run.turn_id);
    if (state === "failed" && isCut) return [];
    return [`${name} ended as ${state} (${code}) after ${attempts} attempts, without a reason.`];
  });
}

/** The log of each run has the numbers 1 to n, one end, and each call once. */
function checkEvents(runs: readonly RunRow[], events: readonly EventRow[]): readonly string[] {
  const byRun = groupBy(events, ({ run_id: run }) => run);
  return runs.flatMap(({ id, message, last_event: last }) => {
    const log = byRun.get(id) ?? [];
    const broken: string[] = [];
    const numbers = log.map(({ seq }) => seq);
    if (numbers.length !== last || numbers.some((seq, at) => seq !== at + 1))
      broken.push(`Run ${message} has events ${numbers.join(" ")}, and ${last} as the last one.`);
    const ends = log.filter(({ event }) => event === "done");
    if (ends.length !== 1 || ends[0]?.seq !== log.length)
      broken.push(`Run ${message} has ${ends.length} ends in ${log.length} events.`);
    const told = log.flatMap(({ event, call }) => (call === null ? [] : [`${event} ${call}`]));
    for (const twice of told.filter((one, at) => told.indexOf(one) !== at))
      broken.push(`Run ${message} has ${twice} twice in its log.`);
    return broken;
  });
}

/** The runs of a thread call their tools in the order in which they were created, one run after the other. */
function checkOrder(
  runs: readonly RunRow[],
  effects: readonly Effect[],
  { stopped }: ChaosOutcome,
): readonly string[] {
  const broken: string[] = [];
  const seqs = new Map(runs.map((run) => [run.message, run]));
  const newest = new Map<string, RunRow>();
  // A stopped process may still begin the call that it was about to make.
  for (const { what, run: message, pid } of effects) {
    const run = seqs.get(message);
    if (what === "ended" || run === undefined || stopped.has(pid)) continue;
    const last = newest.get(run.thread_id);
    if (last && last.seq > run.seq)
      broken.push(`A tool of run ${message} was called after one of ${last.message}.`);
    newest.set(run.thread_id, run);
  }
  return broken;
}

/** A call whose end is recorded was made once after it, and `send` at most once ever. */
function checkCalls(
  runs: readonly RunRow[],
  of: {
    readonly calls: readonly CallRow[];
    readonly effects: readonly Effect[];
    readonly outcome: ChaosOutcome;
  },
): Pick<ChaosReport, "violations" | "repeated" | "unknown"> {
  const violations: string[] = [];
  const byMessage = new Map(runs.map((run) => [run.message, run]));
  const recorded = new Map(
    of.calls.map((call) => [`${call.turn_id} ${call.call_id}`, call] as const),
  );
  let repeated = 0;
  let unknown = 0;
  for (const [name, lines] of groupBy(of.effects, ({ run, step }) => `${run} ${step}`)) {
    const [{ tool, step }] = lines as [Effect];
    const begun = lines.filter(({ what }) => what === "began").length;
    if (begun > 1) repeated += 1;
    if (begun > 1 && tool === "send")
      violations.push(`Call ${name} of send was made ${begun} times.`);
    // A turn may begin anew while its first checkpoint is on its way, since an idempotent call does not wait for it.
    if (step > 0 && lines.some(({ callId }) => callId !== lines[0]?.callId))
      violations.push(`Call ${name} was repeated under another id.`);
  }
  for (const [name, lines] of groupBy(of.effects, (one) => `${one.run} ${one.callId}`)) {
    const [{ run: message, tool, callId }] = lines as [Effect];
    const run = byMessage.get(message);
    if (run === undefined) {
      violations.push(`A tool was called for ${message}, which is no run.`);
      continue;
    }
    const call = recorded.get(`${run.turn_id} ${callId}`);
    if (call === undefined) violations.push(`Call ${name} was made, and the journal lacks it.`);
    else if (call.ended_at === null && tool === "send") unknown += 1;
    const end = call?.ended_at?.getTime();
    if (end === undefined) continue;
    if (lines.every(({ what }) => what === "began"))
      violations.push(`Call ${name} has a recorded end, and has not ended.`);
    // A stopped process may still begin the call that it was about to make.
    const late = lines.find(
      ({ what, at, pid }) => what === "began" && at > end && !of.outcome.stopped.has(pid),
    );
    if (late)
      violations.push(`Call ${name} was made ${late.at - end} ms after its end was recorded.`);
  }
  const byRun = groupBy(of.effects, ({ run }) => run);
  for (const { message, state, epoch } of runs) {
    const lines = byRun.get(message) ?? [];
    const made = new Set(lines.map(({ step }) => step)).size;
    if (state === "complete" && made !== callsOfRun)
      violations.push(`Run ${message} completed with ${made} of ${callsOfRun} calls.`);
    const again = lines.filter(({ what }) => what === "began").length - made;
    if (again > epoch - 1)
      violations.push(`Run ${message} repeated ${again} calls in ${epoch} claims.`);
  }
  return { violations, repeated, unknown };
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
