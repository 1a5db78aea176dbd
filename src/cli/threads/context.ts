import { type CliIo, UsageError } from "../io.ts";
import type { Goal } from "../../context/reasoning-context.ts";
import { DefinitionNotStoredError, plainMessage } from "../../runtime/threads/context-options.ts";
import type { ThreadContext } from "../../runtime/threads/threads.ts";
import { readInput } from "../input.ts";
import type { AgentOptions } from "../options.ts";
import { printJson, printLines, snakeKeys } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { prepareAgent, withPrepared } from "../run/prepare-run.ts";
import { contextLines } from "../view/thread/context-lines.ts";
import { outputLayout } from "../view/values.ts";
import { withKnownThread } from "./open.ts";

export interface ContextCommandOptions extends Omit<AgentOptions, "temperature" | "acceptAgent"> {
  /** Default: what is kept of the agent with the thread. */
  readonly agent?: string;
  readonly turn?: number;
  readonly step?: number;
  readonly goal?: Goal;
  /** Tokens. */
  readonly budget?: number;
  readonly namespace?: string;
  /** JSON: what the next turn would be given. */
  readonly input?: string;
}

/**
 * `stratagraph context`: what the model read when a step of a thread was made, or would read for the next one. Runs nothing
 * and asks no model.
 *
 * @throws UsageError, UnknownThreadError, and what loading the agent and `context` of threads throw
 */
export async function contextCommand(
  given: ContextCommandOptions & { readonly thread: string; readonly message: string | undefined },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, agent: file, turn, step, goal, model, budget, namespace } = given;
  const { message, user, acceptChanges } = given;
  const isNext = message !== undefined || given.input !== undefined;
  if (isNext && (turn !== undefined || step !== undefined || namespace !== undefined)) {
    throw new UsageError(
      "MESSAGE and --input describe the next turn: omit --turn, --step and --namespace.",
    );
  }
  const input = isNext
    ? await readInput({ message, input: given.input, thread: threadId, stdin: io.stdin })
    : undefined;
  const prepared = file === undefined ? null : await prepareAgent({ ...given, agent: file }, io);
  const read = () =>
    withKnownThread(
      threadId,
      io,
      (threads) =>
        threads.context({
          threadId,
          ...(prepared !== null && { definition: prepared.definition }),
          ...(input !== undefined && { input }),
          ...(turn !== undefined && { turn }),
          ...(step !== undefined && { step }),
          ...(goal !== undefined && { goal }),
          ...(model !== undefined && { model }),
          ...(budget !== undefined && { budget }),
          ...(namespace !== undefined && { namespace }),
          ...(user !== undefined && { user }),
          ...(acceptChanges !== undefined && { acceptChanges }),
        }),
      prepared?.services,
    );
  const context = await withPrepared(prepared, read).catch((thrown: unknown) => {
    if (!(thrown instanceof DefinitionNotStoredError)) throw thrown;
    const said = thrown.message.replace("Pass the agent itself.", "Give it with --agent FILE.");
    throw new UsageError(said, thrown.code, { cause: thrown });
  });
  if (given.json) printJson(contextJson(context), io);
  else printLines(contextLines(context, outputLayout(io)), io);
  return exitCodes.done;
}

/** A context as one document of JSON. */
function contextJson(context: ThreadContext): Record<string, unknown> {
  const { metadata, messages, messageTokens, tools, threadId, turn, step, ...place } = context;
  const {
    tokens,
    conversation,
    summaries,
    steps: _told,
    notes,
    sources: _sources,
    ...figures
  } = metadata;
  const { steps, ...rest } = place;
  return {
    ...snakeKeys({ threadId, turn, step, ...rest }),
    ...figures,
    tokens,
    conversation,
    steps,
    summaries: summaries.map(snakeKeys),
    notes,
    tools,
    messages: messages.map((message, index) => {
      return { ...plainMessage(message), tokens: messageTokens[index] ?? 0 };
    }),
  };
}
