import type { GraphCommand, GraphRequest } from "../../engine/graph/graph-request.ts";
import { HttpProblem } from "../problems.ts";
import type { NewGraphRun } from "./run-schemas.ts";
import { writable } from "./thread-states.ts";

/** Keys that name threads, checkpoints and runs, or belong to the engine. */
const ownKeys: ReadonlySet<string> = new Set([
  "thread_id",
  "run_id",
  "checkpoint_id",
  "checkpoint_ns",
  "checkpoint_map",
  "accept_agent",
  "source",
  "step",
  "parents",
  "writes",
]);

/** Returns the entries that a caller may set. */
function safeEntries(given: Readonly<Record<string, unknown>> | null | undefined) {
  return Object.fromEntries(
    Object.entries(given ?? {}).filter(
      ([key]) => !ownKeys.has(key) && !/^(?:__|langgraph_|stratagraph)/.test(key),
    ),
  );
}

/** Returns the command of a run. @throws HttpProblem `invalid_input` */
export function commandOf({ command }: NewGraphRun): GraphCommand | null {
  if (command === null || command === undefined) return null;
  const { resume, update, goto } = command;
  const entries = Array.isArray(update) ? update : Object.entries(update ?? {});
  for (const [channel] of entries) {
    if (writable.has(channel)) continue;
    throw refused("/command/update", `expected the channels ${[...writable].join(", ")}`);
  }
  const nodes = goto === null || goto === undefined ? [] : [goto].flat();
  const names = nodes.map((node) => {
    if (typeof node === "string") return node;
    throw refused("/command/goto", "expected the name of a node: its input is the state");
  });
  return {
    ...(resume !== undefined && resume !== null && { resume }),
    ...(entries.length > 0 && { update: Object.fromEntries(entries) }),
    ...(names.length > 0 && { goto: names }),
  };
}

function refused(pointer: string, detail: string): HttpProblem {
  return new HttpProblem("invalid_input", {
    detail: "The run cannot be made like this. Nothing was written.",
    errors: [{ pointer, detail }],
  });
}

/** Returns the parts of a request that a body has. @throws HttpProblem `invalid_input` */
export function optionsOf(
  body: NewGraphRun,
): Omit<GraphRequest, "definition_id" | "turn_id" | "assistant_id" | "input" | "command"> {
  const { config, context, checkpoint, interrupt_before, interrupt_after } = body;
  if (body.webhook) throw refused("/webhook", "register it with POST /v1/webhooks");
  if (checkpoint?.checkpoint_ns) throw refused("/checkpoint/checkpoint_ns", "expected none");
  const from = body.checkpoint_id ?? checkpoint?.checkpoint_id;
  const during = body.checkpoint_during;
  const fallback = during === true ? "async" : during === false ? "exit" : undefined;
  const durability = body.durability ?? fallback;
  const modes = [body.stream_mode ?? []].flat();
  const { model, temperature, user } = context ?? {};
  const tags = (config?.tags ?? []).filter((tag) => !/^(?:stratagraph|langsmith):/.test(tag));
  return {
    context: {
      ...(model && { model }),
      ...(typeof temperature === "number" && { temperature }),
      ...(user && { user }),
    },
    config: {
      ...(tags.length > 0 && { tags }),
      ...(config?.recursion_limit && { recursion_limit: config.recursion_limit }),
      configurable: safeEntries(config?.configurable),
      metadata: safeEntries({ ...config?.metadata, ...body.metadata }),
    },
    stream_mode: modes.length === 0 ? ["values"] : [...new Set(modes)],
    subgraphs: body.stream_subgraphs ?? false,
    ...(interrupt_before && { interrupt_before }),
    ...(interrupt_after && { interrupt_after }),
    ...(durability !== undefined && { durability }),
    ...(from && { checkpoint_id: from }),
    multitask_strategy: body.multitask_strategy ?? "reject",
  };
}
