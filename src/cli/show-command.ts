import { systemClock } from "../clock.ts";
import { nearestName } from "../nearest-name.ts";
import type { StoredState } from "../runtime/threads/threads.ts";
import { findCheckpoint, parseReference } from "./checkpoint-reference.ts";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { snakeKeys } from "./snake-case.ts";
import { UsageError } from "./usage-error.ts";
import { plainData, plainJson } from "./view/plain-json.ts";
import { plainText } from "./view/plain-text.ts";
import { stateLines } from "./view/state-lines.ts";
import { viewOf } from "./view/view-of.ts";

export interface ShowOptions {
  /** One channel, whole. */
  readonly channel?: string;
  /** Cut nothing. */
  readonly full?: boolean;
  readonly json?: boolean;
}

/**
 * `stratagraph show`: the state of a thread at a checkpoint.
 * @throws UsageError, UnknownThreadError, UnknownCheckpointError, AmbiguousCheckpointError, and
 * CorruptCheckpointError for a checkpoint that is damaged
 */
export async function showCommand(
  given: ShowOptions & { readonly thread: string; readonly checkpoint: string | undefined },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, checkpoint = "latest", channel, full = false } = given;
  const reference = parseReference(checkpoint);
  const state = await withKnownThread(threadId, io, async (threads) => {
    const { id } = await findCheckpoint(threads, threadId, reference);
    return threads.stateAt({ threadId, checkpointId: id });
  });
  if (channel !== undefined) {
    showChannel(state, channel, { io, json: given.json ?? false });
  } else if (given.json) {
    printJson({ ...snakeKeys(state), values: plainData(state.values) }, io);
  } else {
    printLines(stateLines(state, { ...viewOf(io), full, now: systemClock.now() }), io);
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
      `Checkpoint ${id} has no value in a channel "${channel}". ${hint}${near === undefined ? "." : ""}`,
      "unknown_channel",
    );
  }
  if (json) {
    printJson({ thread_id: threadId, checkpoint_id: id, channel, value: plainData(value) }, io);
  } else {
    printLines([plainText(typeof value === "string" ? value : plainJson(value))], io);
  }
}
