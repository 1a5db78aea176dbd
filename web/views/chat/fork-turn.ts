import { signal } from "@preact/signals";
import { api, ApiError, bodyOf } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { originOf } from "../thread/origin.tsx";
import type { Run } from "./conversation.ts";
import { pathOf } from "./run-requests.ts";

type Checkpoint = components["schemas"]["Checkpoint"];

/** Threads that were made of turns of others in this tab, by `thread turn`. */
export const forksOfTurns = signal<ReadonlyMap<string, string>>(new Map());

/**
 * Runs a turn again in a new thread, with its own input or another one. The thread of the run stays as it is.
 *
 * @param of.later turns of the thread after this one
 * @param of.input null for the turn's own
 * @returns the new thread
 * @throws ApiError
 */
export async function forkTurn(
  run: Run,
  of: {
    readonly turn: number;
    readonly later: number;
    readonly input: object | null;
    readonly model: string;
  },
): Promise<string> {
  const { thread_id: threadId } = run;
  const begin = await findBegin(run, of.later);
  const { thread_id: forked } = (await bodyOf(
    api.POST("/v1/agents/{agent_id}/runs/{run_id}/replay", {
      params: { path: pathOf(begin.run) },
      body: {
        checkpoint_id: begin.checkpointId,
        ...(of.input !== null && { modified_state: { input: of.input } }),
        ...(of.model !== "" && { config: { model_override: of.model } }),
      },
    }),
  )) as { thread_id: string };
  forksOfTurns.value = new Map(forksOfTurns.value).set(`${threadId} ${of.turn}`, forked);
  return forked;
}

/** A node of each turn, which reads its input. */
const firstNode = "initialize";
/** Forks of forks that are followed back. */
const maxForks = 50;

/** Returns the checkpoint before the first node of a turn, of the thread or of the one that it is a fork of. */
async function findBegin(
  last: Pick<Run, "agent_id" | "run_id" | "metadata">,
  later: number,
): Promise<{ readonly run: Pick<Run, "agent_id" | "run_id">; readonly checkpointId: string }> {
  let run = last;
  let left = later;
  let before: string | null = null;
  for (let forks = 0; forks < maxForks; forks++) {
    for (;;) {
      const page: { checkpoints: readonly Checkpoint[]; next_cursor: string | null } = await bodyOf(
        api.GET("/v1/agents/{agent_id}/runs/{run_id}/checkpoints", {
          params: {
            path: pathOf(run),
            query: { limit: 200, ...(before !== null && { before }) },
          },
        }),
      );
      for (const { node, parent_id: parent } of page.checkpoints) {
        if (node !== firstNode || parent === null) continue;
        if (left === 0) return { run, checkpointId: parent };
        left -= 1;
      }
      const oldest = page.checkpoints.at(-1);
      if (page.next_cursor === null || oldest === undefined) break;
      before = oldest.id;
    }
    const origin = originOf(run.metadata);
    if (origin === null || origin.runId === null) break;
    before = origin.checkpointId;
    run = await bodyOf(
      api.GET("/v1/agents/{agent_id}/runs/{run_id}", {
        params: { path: { agent_id: run.agent_id, run_id: origin.runId } },
      }),
    );
  }
  throw new ApiError(
    "The checkpoint where this turn began is not there any more, so it cannot be run again.",
    409,
    "conflict",
  );
}
