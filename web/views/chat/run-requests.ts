import { api, bodyOf } from "../../api/client.ts";
import { readEvents, type StreamEvent } from "../../api/events.ts";
import { runUrl } from "../../links.ts";
import { eventsOfOpenTurn, type Run, type ThreadTurn } from "./conversation.ts";

/** Turns that are loaded at once. */
const turnsOfPage = 20;
/** Events that are read to find where an open turn began. */
const firstEvents = 256;
const mostEvents = 65_536;

export interface TurnsPage {
  readonly turns: readonly ThreadTurn[];
  readonly next_cursor: string | null;
}

/** Reads a page of turns, newest first. */
export function turnsPage(
  threadId: string,
  cursor: string | null,
  aborted: AbortSignal,
): Promise<TurnsPage> {
  return bodyOf(
    api.GET("/v1/threads/{thread_id}/turns", {
      params: {
        path: { thread_id: threadId },
        query: { limit: turnsOfPage, ...(cursor !== null && { cursor }) },
      },
      signal: aborted,
    }),
  );
}

/** Reads the newest run of a thread; null without one. */
export async function lastRun(threadId: string, aborted: AbortSignal): Promise<Run | null> {
  const { runs } = await bodyOf(
    api.GET("/v1/runs", {
      params: { query: { thread_id: threadId, limit: 1 } },
      signal: aborted,
    }),
  );
  const [run] = runs;
  if (run === undefined || run.agent_id === null) return null;
  return readRun({ agent_id: run.agent_id, run_id: run.run_id }, aborted);
}

/** Reads a run, with how its last turn ended. */
export function readRun(run: Pick<Run, "agent_id" | "run_id">, aborted: AbortSignal): Promise<Run> {
  return bodyOf(
    api.GET("/v1/agents/{agent_id}/runs/{run_id}", {
      params: { path: pathOf(run) },
      signal: aborted,
    }),
  );
}

/** Reads the events of the turn under way: back from the end of the log, as far as the turn before. */
export async function openEvents(run: Run, aborted: AbortSignal): Promise<readonly StreamEvent[]> {
  for (let size = firstEvents; ; size *= 4) {
    const after = Math.max(0, run.last_event - size);
    const read: StreamEvent[] = [];
    await readEvents(`${runUrl(run)}/events?follow=false&after=${after}`, {
      signal: aborted,
      onEvent: (event) => void read.push(event),
    });
    const { events, isWhole } = eventsOfOpenTurn(read);
    if (isWhole || after === 0 || size >= mostEvents) return events;
  }
}

/** Returns the number of the last event. */
export function lastNumber(events: readonly StreamEvent[], otherwise: number): number {
  const last = events.at(-1);
  return last === undefined ? otherwise : Number(last.id);
}

/** Returns the parameters of the paths of a run. */
export function pathOf({ agent_id, run_id }: Pick<Run, "agent_id" | "run_id">) {
  return { agent_id, run_id };
}

/** Returns a request for the events of a run after one. */
export function eventsRequest(run: Pick<Run, "agent_id" | "run_id">, after: number): Request {
  return new Request(`${runUrl(run)}/events`, { headers: { "Last-Event-ID": String(after) } });
}

/** Returns a request that sends JSON, and is answered with events. */
export function jsonRequest(url: string, body: object): Request {
  return new Request(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(body),
  });
}
