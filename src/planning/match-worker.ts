import { isStopWord, wordRoot, wordsOf } from "../models/words.ts";
import type { Subtask } from "../state/plan.ts";

/** The parts of a worker that matching uses. */
export interface WorkerProfile {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
}

/** Weight of a word in a tool, relative to one in the worker's own name and description. */
const toolWeight = 0.5;

type MatchedSubtask = Pick<Subtask, "description" | "expected_output">;

/**
 * Returns the worker for a subtask that names none: the one whose name, description and tools share most words with its
 * description and expected output, weighted by rarity. If no worker shares any, returns the first. Deterministic.
 *
 * @param workers at least one
 */
export function matchWorker(subtask: MatchedSubtask, workers: readonly WorkerProfile[]): string {
  return workerMatcher(workers)(subtask);
}

/** {@link matchWorker} for many subtasks: the workers are read once. */
export function workerMatcher(
  workers: readonly WorkerProfile[],
): (subtask: MatchedSubtask) => string {
  const weights = workers.map(weightsOf);
  return ({ description, expected_output: output = "" }) => {
    const scores = workers.map(() => 0);
    for (const root of rootsOf(`${description} ${output}`)) {
      const having = weights.filter((known) => known.has(root)).length;
      if (having === 0) continue;
      // Inverse document frequency (Spärck Jones 1972), never 0.
      const rarity = Math.log(1 + workers.length / having);
      for (const [at, known] of weights.entries()) {
        scores[at] = (scores[at] ?? 0) + rarity * (known.get(root) ?? 0);
      }
    }
    const best = scores.reduce((most, score) => Math.max(most, score), 0);
    return workers[scores.indexOf(best)]?.name ?? "";
  };
}

function weightsOf({ name, description, tools }: WorkerProfile): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const tool of tools) {
    for (const root of rootsOf(`${tool.name} ${tool.description}`)) weights.set(root, toolWeight);
  }
  for (const root of rootsOf(`${name} ${description}`)) weights.set(root, 1);
  return weights;
}

function rootsOf(text: string): Set<string> {
  return new Set(
    wordsOf(text)
      .filter((word) => !isStopWord(word))
      .map(wordRoot),
  );
}
