import type { CheckpointView, Threads } from "../runtime/threads/threads.ts";
import { AmbiguousCheckpointError, UnknownCheckpointError } from "./thread-errors.ts";
import { UsageError } from "./usage-error.ts";
import { shortIds } from "./view/short-id.ts";

/** Which checkpoint of a thread is meant. */
export interface CheckpointReference {
  /** As it was given, without the thread. */
  readonly text: string;
  /** `latest`, or an id or its beginning. */
  readonly start: string;
  /** How many checkpoints before that, along its own branch. */
  readonly back: number;
}

const latest = "latest";
const pageSize = 200;
const shownCandidates = 5;
const shownLast = 3;

/**
 * Reads `ID`, the beginning of one, `latest`, and either of them with `~3` behind it: the third before.
 * @throws UsageError
 */
export function parseReference(text: string): CheckpointReference {
  const [, start = "", steps] = /^([^~]*)(?:~(\d{1,6})?)?$/.exec(text) ?? [];
  if (start === "") {
    throw new UsageError(
      `"${text}" names no checkpoint: expected an id or its beginning, latest, or latest~3 for the third before it.`,
      "invalid_checkpoint",
    );
  }
  const back = steps ?? (text.endsWith("~") ? 1 : 0);
  return { text, start: start.toLowerCase(), back: Number(back) };
}

/** The same behind `THREAD/`, where it is of another thread. An id has no slashes, and a thread may. */
export function parseThreadReference(
  text: string,
  threadId: string,
): { readonly threadId: string; readonly reference: CheckpointReference } {
  const slash = text.lastIndexOf("/");
  if (slash < 0) return { threadId, reference: parseReference(text) };
  return { threadId: text.slice(0, slash), reference: parseReference(text.slice(slash + 1)) };
}

/**
 * Finds the checkpoint that is meant. Reads the thread's history from its end, as far as need be.
 * @throws UnknownCheckpointError, AmbiguousCheckpointError, and what reading the history throws
 */
export async function findCheckpoint(
  threads: Pick<Threads, "history">,
  threadId: string,
  reference: CheckpointReference,
): Promise<CheckpointView> {
  const { text, back } = reference;
  const start = await findStart(threads, threadId, reference);
  if (back === 0) return start;
  let wanted = start.parentId;
  let passed = 1;
  // Parents come after their children.
  for await (const item of checkpointsOf(threads, threadId)) {
    if (item.id !== wanted) continue;
    if (passed === back) return item;
    wanted = item.parentId;
    passed += 1;
  }
  const before = passed === 1 ? "no checkpoint" : `only ${passed - 1}`;
  const problem = `there is ${before} before ${start.id}`;
  throw new UnknownCheckpointError(threadId, text, problem);
}

async function findStart(
  threads: Pick<Threads, "history">,
  threadId: string,
  { text, start }: CheckpointReference,
): Promise<CheckpointView> {
  const last: string[] = [];
  const matching: CheckpointView[] = [];
  for await (const item of checkpointsOf(threads, threadId)) {
    if (start === latest || item.id === start) return item;
    if (last.length < shownLast) last.push(item.id);
    if (item.id.startsWith(start)) matching.push(item);
    // Ids are in the order of time.
    else if (item.id < start) break;
  }
  const [only, ...others] = matching;
  if (only === undefined) {
    const short = shortIds(last);
    const problem = start === latest ? "it has none" : "none begins so";
    throw new UnknownCheckpointError(threadId, text, problem, last.map(short));
  }
  if (others.length === 0) return only;
  const short = shortIds(matching.map(({ id }) => id));
  throw new AmbiguousCheckpointError(
    threadId,
    start,
    matching.slice(0, shownCandidates).map(({ id }) => short(id)),
    Math.max(0, matching.length - shownCandidates),
  );
}

async function* checkpointsOf(
  threads: Pick<Threads, "history">,
  threadId: string,
): AsyncGenerator<CheckpointView> {
  let cursor: string | null | undefined;
  do {
    const page = await threads.history(threadId, {
      limit: pageSize,
      ...(typeof cursor === "string" && { cursor }),
    });
    yield* page.items;
    cursor = page.next;
  } while (cursor !== null);
}
