import type { Client } from "@langchain/langgraph-sdk";
import { withoutIds } from "../answer-shape.ts";
import { letter, sum } from "./runs.ts";

/** A stream whose names of events are the same, and whose data has the same shape by name. */
export interface StreamCall {
  readonly name: string;
  readonly agent: "clerk" | "letters" | "office";
  readonly payload: NonNullable<Parameters<Client["runs"]["stream"]>[2]>;
  readonly differs?: readonly string[];
}

const modes = ["values", "updates", "messages", "messages-tuple", "events"] as const;
const rareModes = ["debug", "tasks", "checkpoints", "custom"] as const;
const differencesOfModes: Readonly<Record<string, readonly string[]>> = {
  debug: ["~ .debug[].payload.parent_config: null|object, not object"],
};
export const streamCalls: readonly StreamCall[] = [
  ...[...modes, ...rareModes].map((mode): StreamCall => ({
    name: mode,
    agent: "clerk",
    payload: { ...sum, streamMode: mode },
    differs: differencesOfModes[mode] ?? [],
  })),
  {
    name: "values, with a namespace that no server filters by",
    agent: "clerk",
    payload: { ...sum, streamMode: "values", streamNamespaces: ["inside"] },
  },
  {
    name: "values and updates of an interrupt",
    agent: "letters",
    payload: { ...letter, streamMode: ["values", "updates"] },
  },
  {
    name: "updates of what is inside",
    agent: "office",
    payload: { ...letter, streamMode: ["updates"], streamSubgraphs: true },
  },
];

export async function streamed(client: Client, { agent, payload }: StreamCall) {
  const { thread_id: id } = await client.threads.create();
  const names: string[] = [];
  const data: Record<string, unknown[]> = {};
  for await (const { event, data: own } of client.runs.stream(id, agent, payload)) {
    const name = withoutIds(event) as string;
    names.push(name);
    data[name] = [...(data[name] ?? []), own];
  }
  return { names, data };
}
