import type { StoredState } from "../runtime/threads/threads.ts";
import { checkThreadId } from "../runtime/thread-id.ts";
import { findCheckpoint, parseReference } from "./checkpoint-reference.ts";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { prepareAgent, withPrepared } from "./prepare-run.ts";
import { printJson, printLines } from "./print.ts";
import { readJsonObject } from "./read-json-object.ts";
import { exitCodes } from "./report-error.ts";
import { resumeCommand } from "./resume-command.ts";
import type { AgentOptions } from "./run-arguments.ts";
import { shellCommand } from "./shell-command.ts";
import { UsageError } from "./usage-error.ts";
import { plainLine } from "./view/plain-text.ts";
import { exampleAnswer } from "./view/request-lines.ts";
import { viewOf } from "./view/view-of.ts";

export interface ForkOptions extends Pick<
  AgentOptions,
  "tools" | "acceptChanges" | "acceptAgent" | "json"
> {
  /** Updates by channel, as JSON. */
  readonly set?: string;
  readonly agent?: string;
  /** Id of the new thread. */
  readonly new?: string;
}

/**
 * `stratagraph fork`: a new thread that begins at a checkpoint of another. Nothing is run.
 * @throws UsageError, UnknownThreadError, UnknownCheckpointError, AmbiguousCheckpointError, and what loading the agent
 * and `fork` of threads throw
 */
export async function forkCommand(
  given: ForkOptions & { readonly thread: string; readonly checkpoint: string },
  io: CliIo,
): Promise<number> {
  const {
    thread: threadId,
    agent: file,
    set,
    new: newThreadId,
    acceptChanges,
    acceptAgent,
  } = given;
  const reference = parseReference(given.checkpoint);
  const modifiedState = set === undefined ? undefined : readJsonObject(set, "--set");
  if (modifiedState !== undefined && file === undefined) {
    throw new UsageError(
      "--set is checked by the agent that the thread is of: give it with --agent FILE.",
    );
  }
  if (newThreadId !== undefined) checkThreadId(newThreadId);
  const prepared = file === undefined ? null : await prepareAgent({ ...given, agent: file }, io);
  const fork = () =>
    withKnownThread(
      threadId,
      io,
      async (threads) => {
        const { id } = await findCheckpoint(threads, threadId, reference);
        const made = await threads.fork({
          threadId,
          checkpointId: id,
          ...(newThreadId !== undefined && { newThreadId }),
          ...(prepared !== null && { agent: prepared.definition }),
          ...(modifiedState !== undefined && { modifiedState }),
          ...(acceptChanges !== undefined && { acceptChanges }),
          ...(acceptAgent !== undefined && { acceptAgent }),
        });
        return { from: id, state: await threads.stateAt(made) };
      },
      prepared?.services,
    );
  const forked = await withPrepared(prepared, fork);
  const { from, state } = forked;
  const command = goOnCommand(given, state, io);
  if (given.json) {
    const { threadId: thread_id, id: checkpoint_id, next } = state;
    const origin = { thread_id: threadId, checkpoint_id: from };
    printJson({ thread_id, checkpoint_id, from: origin, next, command }, io);
  } else {
    const { style } = viewOf(io);
    const made = plainLine(`Thread ${state.threadId} begins at checkpoint ${from} of ${threadId}.`);
    printLines([made, "", style.yellow("To go on:"), `  ${command}`], io);
  }
  return exitCodes.done;
}

/** The command line that goes on with the new thread. */
function goOnCommand(
  given: ForkOptions,
  { threadId, next, waiting }: StoredState,
  io: Pick<CliIo, "env">,
): string {
  const { agent = "AGENT", tools } = given;
  const command = resumeCommand({ agent, ...(tools !== undefined && { tools }) }, threadId, io);
  const [request, ...others] = waiting;
  if (request !== undefined) {
    const example = exampleAnswer(request);
    const answer = others.length > 0 ? `${request.id}=${example}` : example;
    return `${command} ${shellCommand(["--answer", answer])}`;
  }
  return next.length > 0 ? command : `${command} "…"`;
}
