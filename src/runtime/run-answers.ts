import type { RunnableConfig } from "@langchain/core/runnables";
import { Command } from "@langchain/langgraph";
import type { AgentGraph } from "../compile/agent-graph.ts";
import { checkAnswers, type GivenAnswers } from "../compile/check-answers.ts";
import { readWaiting } from "../compile/waiting-requests.ts";
import type { GraphState } from "../state/channels.ts";
import { InvalidRunOptionError } from "./errors.ts";

export interface AnswerOptions {
  /** The answer to the one request that waits, with `input: null`. */
  readonly answer?: unknown;
  /** Answers by the ids of requests that wait, some of them or all, with `input: null`. */
  readonly answers?: Readonly<Record<string, unknown>>;
}

/**
 * What was given to answer, or null.
 * @throws InvalidRunOptionError
 */
export function givenAnswers(
  { answer, answers }: AnswerOptions,
  input: unknown,
): GivenAnswers | null {
  if (answer === undefined && answers === undefined) return null;
  const option = answers === undefined ? "answer" : "answers";
  if (input !== null) {
    throw new InvalidRunOptionError(
      option,
      "it goes with the input null, which begins no new turn",
    );
  }
  if (answers === undefined) return { bare: answer };
  if (answer !== undefined) {
    throw new InvalidRunOptionError(option, "give either answer or answers, not both");
  }
  if (Object.keys(answers).length === 0) {
    throw new InvalidRunOptionError(option, "it has no answer in it");
  }
  return { byId: answers };
}

/**
 * What a graph is given to go on with these answers.
 * @throws AnswerError
 */
export async function resumeWith(
  graph: AgentGraph,
  thread: RunnableConfig,
  of: { readonly given: GivenAnswers; readonly threadId: string },
): Promise<Command> {
  const { snapshot, waiting } = await readWaiting(graph, thread);
  const { status = "CREATED" } = snapshot.values as Partial<GraphState>;
  const exists = snapshot.createdAt !== undefined;
  const { given, threadId } = of;
  const found = { threadId, status: exists ? status : null, waiting };
  return new Command({ resume: checkAnswers(given, found) });
}
