import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentGraph } from "../../compile/agent-graph.ts";
import { isRecord } from "../../values/json.ts";
import type { GraphEvent, StreamPart } from "./graph-events.ts";

interface StreamedEvent {
  readonly method: string;
  readonly params: { readonly namespace: readonly string[]; readonly data: unknown };
}

/** Streams a graph as events of LangGraph's event streaming, named `method|namespace`. */
export async function* streamProtocol(
  graph: AgentGraph,
  input: unknown,
  options: RunnableConfig,
): AsyncGenerator<StreamPart> {
  const asked = new Set<string>();
  const run = await graph.streamEvents(input as never, { ...options, version: "v3" } as never);
  for await (const { method, params } of run as unknown as AsyncIterable<StreamedEvent>) {
    const { namespace, data } = params;
    const name = (of: string) => [of, ...namespace].join("|");
    // The run itself begins and ends with events of its log.
    if (method === "lifecycle" && namespace.length === 0) continue;
    const requests = requestsIn(method, data).filter(({ interrupt_id: id }) => !asked.has(id));
    for (const { interrupt_id: id } of requests) asked.add(id);
    const isRootState = method === "values" && namespace.length === 0 && isRecord(data);
    const shown = shownOf(method, data);
    const events: GraphEvent[] = requests.map((one) => ({
      event: name("input.requested"),
      data: one,
    }));
    if (shown !== undefined) events.push({ event: name(method), data: shown });
    yield { ...(isRootState && { state: data }), events };
  }
}

interface InputRequest {
  readonly interrupt_id: string;
  readonly payload: unknown;
}

function requestsIn(method: string, data: unknown): readonly InputRequest[] {
  if (!isRecord(data)) return [];
  const isOfUpdate = method === "updates" && data["node"] === "__interrupt__";
  const found =
    method === "values" ? data["__interrupt__"] : isOfUpdate ? data["values"] : undefined;
  const list: readonly unknown[] = Array.isArray(found) ? found : [];
  return list.flatMap((one) =>
    isRecord(one) && typeof one["id"] === "string"
      ? [{ interrupt_id: one["id"], payload: one["value"] }]
      : [],
  );
}

function shownOf(method: string, data: unknown): unknown {
  if (!isRecord(data)) return data;
  if (method === "updates" && data["node"] === "__interrupt__") return undefined;
  if (method === "values") {
    const { __interrupt__: _, ...values } = data;
    return Object.keys(values).length === 0 ? undefined : values;
  }
  if (method !== "tasks") return data;
  const { state: _, ...task } = data;
  return task;
}
