import { api, bodyOf } from "../../api/client.ts";
import { type Loaded, useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";

export type Checkpoint = components["schemas"]["Checkpoint"];
export type CheckpointState = components["schemas"]["CheckpointState"];

/** A channel of a state. */
export interface Channel {
  readonly name: string;
  /** Bytes of its JSON. */
  readonly bytes: number;
  /** Null where the state is too large to be loaded whole: the channel has to be loaded by itself. */
  readonly loaded: { readonly value: unknown } | null;
}

/** A checkpoint with its channels, by name. */
export interface StoredState {
  readonly checkpoint: CheckpointState;
  readonly channels: readonly Channel[];
}

/** Loads a checkpoint with its state, without the values if the state is too large. Checkpoints never change. */
export function useStoredState(threadId: string, checkpointId: string): Loaded<StoredState> {
  return useQuery(`state ${threadId} ${checkpointId}`, async (signal) => {
    const of = { threadId, checkpointId, signal };
    try {
      const checkpoint = await readState(of);
      return { checkpoint, channels: channelsOf(checkpoint.state) };
    } catch (thrown) {
      const sizes = sizesIn(thrown);
      const [smallest] = sizes.toSorted((one, other) => one.bytes - other.bytes);
      if (smallest === undefined) throw thrown;
      const checkpoint = await readState({ ...of, channel: smallest.name });
      const channels = sizes.map((channel) => ({ ...channel, loaded: null }));
      return { checkpoint, channels };
    }
  });
}

/** Loads one channel of a state. Null as the checkpoint loads nothing. */
export function useChannel(
  threadId: string,
  checkpointId: string | null,
  channel: string,
): Loaded<{ readonly value: unknown }> {
  const key = checkpointId === null ? null : `channel ${threadId} ${checkpointId} ${channel}`;
  return useQuery(key, async (signal) => {
    const of = { threadId, checkpointId: checkpointId ?? "", channel, signal };
    const { state } = await readState(of);
    return { value: state[channel] };
  });
}

async function readState({
  threadId,
  checkpointId,
  channel,
  signal,
}: {
  readonly threadId: string;
  readonly checkpointId: string;
  readonly channel?: string;
  readonly signal: AbortSignal;
}): Promise<CheckpointState> {
  return bodyOf(
    api.GET("/v1/threads/{thread_id}/checkpoints/{checkpoint_id}", {
      params: {
        path: { thread_id: threadId, checkpoint_id: checkpointId },
        query: channel === undefined ? {} : { channel },
      },
      signal,
    }),
  );
}

function channelsOf(state: Readonly<Record<string, unknown>>): readonly Channel[] {
  return Object.entries(state)
    .map(([name, value]) => ({ name, bytes: JSON.stringify(value).length, loaded: { value } }))
    .toSorted(byName);
}

/** The sizes of channels in a refusal to show a whole state; else none. */
function sizesIn(thrown: unknown): readonly { readonly name: string; readonly bytes: number }[] {
  const { document } = Object(thrown) as { document?: Readonly<Record<string, unknown>> };
  if (document?.["code"] !== "state_too_large") return [];
  return Object.entries(Object(document["channel_bytes"]) as Record<string, unknown>)
    .map(([name, bytes]) => ({ name, bytes: Number(bytes) }))
    .toSorted(byName);
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}
