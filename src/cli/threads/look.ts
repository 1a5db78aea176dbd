import { type CliIo, UsageError } from "../io.ts";
import { systemClock } from "../../clock.ts";
import { compressActions } from "../../context/call-lines.ts";
import { nearestName } from "../../nearest-name.ts";
import { checkThreadId } from "../../runtime/errors.ts";
import { UnknownStepError, UnknownTurnError } from "../../runtime/threads/context-options.ts";
import { toActionRecords } from "../../state/action-record.ts";
import { isStepRecord, type StepRecord } from "../../state/step-record.ts";
import type { ThreadVerification } from "../../durable-saver.ts";
import type { CheckpointRef, StoredState } from "../../runtime/threads/threads.ts";
import { StoppedError } from "../agents/with-runtime.ts";
import { commandLine, programName } from "../command-line.ts";
import { pageOf, type PageOptions } from "../options.ts";
import { printJson, printLines, snakeKeys } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { count } from "../view/figures.ts";
import { plainLine, plainText } from "../view/terminal.ts";
import { actionLines, attemptLines, type StepAction } from "../view/thread/action-lines.ts";
import { historyLines, threadTable } from "../view/thread/history-lines.ts";
import { diffLines, stateLines } from "../view/thread/state-lines.ts";
import { plainData, plainJson } from "../../values/diff.ts";
import { outputLayout } from "../view/values.ts";
import {
  findCheckpoint,
  hasDatabase,
  parseReference,
  parseThreadReference,
  withKnownThread,
  withThreads,
} from "./open.ts";

export interface ThreadsOptions extends PageOptions {
  readonly status?: string;
  readonly agent?: string;
}

const none = { items: [], next: null };

/** `stratagraph threads`: the threads that are kept here, most recently updated first. */
export async function threadsCommand(given: ThreadsOptions, io: CliIo): Promise<number> {
  const { status, agent } = given;
  const filter = { ...(status !== undefined && { status }), ...(agent !== undefined && { agent }) };
  const page = hasDatabase(io)
    ? await withThreads(io, (threads) => threads.list({ ...pageOf(given), ...filter }))
    : none;
  const { items, next } = page;
  if (given.json) {
    printJson({ threads: items.map(snakeKeys), next }, io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  if (items.length === 0) {
    if (given.cursor !== undefined) printLines(["No more threads."], io);
    else if (Object.keys(filter).length > 0) printLines(["No matching threads."], io);
    else {
      const begin = `  ${programName(io.env)} run AGENT "…" --thread NAME`;
      printLines(["No threads yet. To start one:", begin], io);
    }
    return exitCodes.done;
  }
  const same = Object.entries({
    ...filter,
    ...(given.limit !== undefined && { limit: given.limit }),
  });
  const options = same.flatMap(([name, value]) => [`--${name}`, String(value)]);
  const older = commandLine(["threads", ...options, "--cursor", next ?? ""], io);
  const more = next === null ? [] : ["", `Older: ${older}`];
  printLines(
    [...threadTable(items, { ...view, now: systemClock.now() }), ...more.map(view.style.dim)],
    io,
  );
  return exitCodes.done;
}

export interface HistoryOptions extends PageOptions {
  readonly namespace?: string;
}

/**
 * `stratagraph history`: the checkpoints of a thread, newest first.
 * @throws UnknownThreadError
 */
export async function historyCommand(
  given: HistoryOptions & { readonly thread: string },
  io: CliIo,
): Promise<number> {
  const { thread, namespace } = given;
  const inside = namespace === undefined ? {} : { namespace };
  const { items, next } = await withKnownThread(thread, io, (threads) =>
    threads.history(thread, { ...pageOf(given), ...inside }),
  );
  if (given.json) {
    printJson({ thread_id: thread, checkpoints: items.map(snakeKeys), next }, io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  if (items.length === 0) {
    printLines(["No checkpoints."], io);
    return exitCodes.done;
  }
  printLines(historyLines({ items, next }, view), io);
  if (next !== null) {
    const limit = given.limit === undefined ? [] : ["--limit", String(given.limit)];
    const place = namespace === undefined ? [] : ["--namespace", namespace];
    const words = ["history", thread, ...place, ...limit, "--cursor", next];
    printLines(["", view.style.dim(`Older: ${commandLine(words, io)}`)], io);
  }
  return exitCodes.done;
}

export interface ShowOptions {
  /** One channel, whole. */
  readonly channel?: string;
  /** The action records of its steps. */
  readonly actions?: boolean;
  /** The lines of `compressActions`. */
  readonly attempts?: boolean;
  /** Of actions and attempts: those of one turn, and of one of its steps. */
  readonly turn?: number;
  readonly step?: number;
  /** Cut nothing. */
  readonly full?: boolean;
  readonly json?: boolean;
}

/**
 * `stratagraph show`: the state of a thread at a checkpoint.
 * @throws UsageError, UnknownThreadError, UnknownCheckpointError, AmbiguousCheckpointError, UnknownTurnError,
 * UnknownStepError, and CorruptCheckpointError for a checkpoint that is damaged
 */
export async function showCommand(
  given: ShowOptions & { readonly thread: string; readonly checkpoint: string | undefined },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, checkpoint = "latest", channel, full = false } = given;
  const views = [channel !== undefined, given.actions, given.attempts].filter(Boolean);
  if (views.length > 1) throw new UsageError("Give one of --channel, --actions and --attempts.");
  const isOfSteps = given.actions === true || given.attempts === true;
  if (!isOfSteps && (given.turn !== undefined || given.step !== undefined)) {
    throw new UsageError("--turn and --step need --actions or --attempts.");
  }
  const reference = parseReference(checkpoint);
  const state = await withKnownThread(threadId, io, async (threads) => {
    const { id } = await findCheckpoint(threads, threadId, reference);
    return threads.stateAt({ threadId, checkpointId: id });
  });
  if (channel !== undefined) {
    showChannel(state, channel, { io, json: given.json ?? false });
  } else if (isOfSteps) {
    showActions(state, given, io);
  } else if (given.json) {
    printJson({ ...snakeKeys(state), values: plainData(state.values) }, io);
  } else {
    printLines(stateLines(state, { ...outputLayout(io), full, now: systemClock.now() }), io);
  }
  return exitCodes.done;
}

function showChannel(
  { threadId, id, values }: StoredState,
  channel: string,
  { io, json }: { readonly io: CliIo; readonly json: boolean },
): void {
  const value = Object.hasOwn(values, channel) ? values[channel] : undefined;
  if (value === undefined) {
    const names = Object.keys(values);
    const near = nearestName(channel, names);
    const hint = near === undefined ? `It has ${names.join(", ")}` : `Did you mean ${near}?`;
    throw new UsageError(
      `Checkpoint ${id} has no value for channel "${channel}". ${hint}${near === undefined ? "." : ""}`,
      "unknown_channel",
    );
  }
  if (json) {
    printJson({ thread_id: threadId, checkpoint_id: id, channel, value: plainData(value) }, io);
  } else {
    printLines([plainText(typeof value === "string" ? value : plainJson(value))], io);
  }
}

function showActions({ threadId, id, values }: StoredState, given: ShowOptions, io: CliIo): void {
  const { json, full = false } = given;
  const actions = selectActions(values, { ...given, threadId });
  const about = { thread_id: threadId, checkpoint_id: id };
  const layout = { ...outputLayout(io), full };
  if (given.actions) {
    if (json) printJson({ ...about, actions }, io);
    else printLines(actionLines(actions, layout), io);
    return;
  }
  const attempts = compressActions(actions);
  if (json) printJson({ ...about, attempts }, io);
  else printLines(attemptLines(attempts, layout), io);
}

/** Returns the actions of a state, or those of one turn or step. Notes of later steps are part of them. */
function selectActions(
  { steps, turn_number: last }: StoredState["values"],
  { threadId, turn, step }: Pick<ShowOptions, "turn" | "step"> & { readonly threadId: string },
): readonly StepAction[] {
  const records = Array.isArray(steps) && steps.every(isStepRecord) ? steps : [];
  const lastTurn = typeof last === "number" ? last : -1;
  const isWhole = turn === undefined && step === undefined;
  const chosen = turn ?? Math.max(0, lastTurn);
  if (!isWhole && chosen > lastTurn) throw new UnknownTurnError(threadId, chosen, lastTurn + 1);
  const ofTurn = records.filter((one) => isWhole || one.turn_number === chosen);
  const found = toActionRecords(ofTurn).flatMap((action, at): StepAction[] => {
    const { turn_number, attempt_number } = ofTurn[at] as StepRecord;
    const isAskedFor = step === undefined || action.iteration === step;
    return isAskedFor ? [{ turn_number, attempt_number, ...action }] : [];
  });
  if (found.length > 0 || step === undefined) return found;
  const others = ofTurn.map(({ step_index, node }) => ({ step: step_index, node }));
  throw new UnknownStepError(threadId, chosen, step, others);
}

/**
 * `stratagraph diff`: how one checkpoint differs from another, which may be another thread's: `THREAD/ID`.
 * @throws UsageError, UnknownThreadError, UnknownCheckpointError, AmbiguousCheckpointError
 */
export async function diffCommand(
  given: {
    readonly thread: string;
    readonly a: string;
    readonly b: string;
    /** One channel alone. */
    readonly channel?: string;
    readonly json?: boolean;
  },
  io: CliIo,
): Promise<number> {
  const before = parseThreadReference(given.a, given.thread);
  const after = parseThreadReference(given.b, given.thread);
  checkThreadId(after.threadId);
  const compared = await withKnownThread(before.threadId, io, async (threads) => {
    const refOf = async ({ threadId, reference }: typeof before): Promise<CheckpointRef> => {
      const { id } = await findCheckpoint(threads, threadId, reference);
      return { threadId, checkpointId: id };
    };
    const [a, b] = [await refOf(before), await refOf(after)];
    const channels = await threads.diff(a, b);
    const { channel } = given;
    return { a, b, channels: channels.filter((of) => (channel ?? of.channel) === of.channel) };
  });
  if (given.json) {
    const { a, b, channels } = compared;
    printJson({ a: snakeKeys(a), b: snakeKeys(b), channels }, io);
  } else {
    printLines(diffLines(compared, outputLayout(io)), io);
  }
  return exitCodes.done;
}

/** Number of checkpoints between two reports of progress. */
const progressEvery = 1_000;

/**
 * `stratagraph verify`: reads every checkpoint of a thread, and lists those that are not as they were written.
 * @returns 1 where any is damaged
 * @throws UnknownThreadError, StoppedError
 */
export async function verifyCommand(
  given: { readonly thread: string; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const { thread: threadId } = given;
  const onProgress = ({ checked, total }: { checked: number; total: number }) => {
    if (checked % progressEvery !== 0) return;
    io.stderr.write(`Read ${checked.toLocaleString("en")} of ${count(total, "checkpoint")}\n`);
  };
  const stop = new AbortController();
  const release = io.onStop(() => stop.abort(new StoppedError()));
  const options = { onProgress, signal: stop.signal };
  const found = await withKnownThread(threadId, io, (threads) =>
    threads.verify(threadId, options),
  ).finally(release);
  const { checked, damaged, damagedAttachments } = found;
  if (given.json) {
    const attachments = damagedAttachments && { damaged_attachments: damagedAttachments };
    const shown = { thread_id: threadId, checked, damaged: damaged.map(snakeKeys) };
    printJson({ ...shown, ...attachments }, io);
  } else printLines(verificationLines(threadId, found), io);
  const isIntact = damaged.length === 0 && damagedAttachments === undefined;
  return isIntact ? exitCodes.done : exitCodes.runFailed;
}

function verificationLines(
  threadId: string,
  { checked, damaged, damagedAttachments = [] }: ThreadVerification,
): readonly string[] {
  const read = plainLine(`Read ${count(checked, "checkpoint")} of ${threadId}`);
  const attachments = damagedAttachments.map(
    (sha256) => `The attachment with SHA-256 ${sha256} is damaged.`,
  );
  if (damaged.length === 0) return [`${read}: all are intact.`, ...attachments];
  return [
    `${read}: ${damaged.length.toLocaleString("en")} ${damaged.length === 1 ? "is" : "are"} damaged.`,
    ...damaged.map(({ namespace, checkpointId, reason }) => {
      const within = namespace === "" ? "" : ` in ${namespace}`;
      return `  ${plainLine(`${checkpointId}${within}: ${reason}`)}`;
    }),
    ...attachments,
  ];
}
