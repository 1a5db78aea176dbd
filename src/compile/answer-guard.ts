import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, isCommand } from "@langchain/langgraph";
import { isRecord } from "../state/is-record.ts";
import { checkAnswers, type GivenAnswers } from "./check-answers.ts";
import { overrideGraph } from "./override-graph.ts";
import { leavingHeld } from "./thread-guard.ts";
import { readWaiting, type ReadableGraph, type WaitingThread } from "./waiting-requests.ts";

/** What guarding needs of a compiled graph: `invoke` and `streamEvents` go through `stream`. */
interface Resumable extends ReadableGraph {
  stream(input: never, options?: never): Promise<unknown>;
  withConfig(config: never): unknown;
  /** A thread may be bound to the graph. */
  readonly config?: Pick<RunnableConfig, "configurable"> | undefined;
}

/**
 * Makes a graph check the answers of `Command({ resume })` before LangGraph writes anything, and returns it. LangGraph's
 * strict resume refuses what answers nothing that waits; it knows neither what subtasks of a plan ask nor which answers
 * a request takes, and what an approval was given for. Where a state was edited that waits for a person, the person is
 * asked again first, and an approval has to name what it is for. The graph itself is changed; graphs derived by
 * `withConfig` do the same. Inside of another graph it changes nothing: that one is resumed, not this.
 */
export function guardAnswers<Compiled extends Resumable>(compiled: Compiled): Compiled {
  return overrideGraph(compiled, (graph) => {
    const stream = graph.stream.bind(graph);
    return {
      stream: async (input: unknown, options?: RunnableConfig) => {
        const askAgain = () => stream(null as never, leavingHeld(options) as never);
        return stream((await checked(graph, input, askAgain, options)) as never, options as never);
      },
    };
  });
}

/** @throws AnswerError */
async function checked(
  graph: Resumable,
  input: unknown,
  askAgain: () => Promise<unknown>,
  options: RunnableConfig = {},
): Promise<unknown> {
  if (!isCommand(input) || input.resume == null) return input;
  // Without a thread LangGraph has its own errors.
  const configurable = { ...graph.config?.configurable, ...options.configurable };
  const threadId: unknown = configurable["thread_id"];
  if (typeof graph.checkpointer !== "object" || typeof threadId !== "string") return input;
  const given = givenIn(input.resume);
  let found = await readWaiting(graph, { configurable });
  const isUnseen = "bare" in given && isToAskAgain(found);
  if (isUnseen) {
    for await (const _ of (await askAgain()) as AsyncIterable<unknown>);
    found = await readWaiting(graph, { configurable });
  }
  const { snapshot, waiting } = found;
  const { status } = snapshot.values as { status?: string };
  const resume = checkAnswers(given, {
    threadId,
    status: snapshot.createdAt === undefined ? null : (status ?? "CREATED"),
    waiting,
    isUnseen,
  });
  const { update, goto, graph: target } = input;
  return new Command({
    resume,
    ...(update !== undefined && { update }),
    ...(goto !== undefined && { goto }),
    ...(target !== undefined && { graph: target }),
  });
}

/** Whether a person was waited for when the state was edited: what they are asked may be another thing now. */
function isToAskAgain({ snapshot, waiting }: WaitingThread): boolean {
  const { status } = snapshot.values as { status?: string };
  const isEdited = ["update", "fork"].includes(snapshot.metadata?.source ?? "");
  return waiting.length === 0 && isEdited && status === "AWAITING_HUMAN";
}

/** As LangGraph tells them apart: ids are hashes of 32 hexadecimal digits. */
function givenIn(resume: unknown): GivenAnswers {
  const ids = isRecord(resume) ? Object.keys(resume) : [];
  const isById = ids.length > 0 && ids.every((id) => /^[0-9a-f]{32}$/.test(id));
  return isById ? { byId: resume as Readonly<Record<string, unknown>> } : { bare: resume };
}
