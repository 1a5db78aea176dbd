import { END, START, StateGraph } from "@langchain/langgraph";
import { contextSchema, inputSchema, outputSchema, stateSchema } from "../state/channels.ts";
import { checkInput, checkMessages } from "./input.ts";
import { finalize } from "./loop/finalize.ts";
import { initialize } from "./loop/initialize.ts";
import { loopNode } from "./loop/loop-node.ts";
import type { NodeBody } from "./loop/node-body.ts";
import type { LoopNodeName, LoopParts } from "./loop/parts.ts";
import { plan } from "./loop/plan.ts";
import { reason } from "./loop/reason.ts";
import { reflect } from "./loop/reflect.ts";
import { tools } from "./loop/tools.ts";

/** A node and the nodes it may go to. */
interface PlannedNode {
  readonly name: LoopNodeName;
  readonly body: NodeBody;
  readonly ends: readonly (LoopNodeName | typeof END)[];
}

const standardLoop: readonly PlannedNode[] = Object.freeze([
  { name: "initialize", body: initialize, ends: ["plan"] },
  { name: "plan", body: plan, ends: ["reason", "finalize"] },
  { name: "reason", body: reason, ends: ["tools", "reason", "reflect", "finalize"] },
  { name: "tools", body: tools, ends: ["reason", "finalize"] },
  { name: "reflect", body: reflect, ends: ["plan", "finalize"] },
  { name: "finalize", body: finalize, ends: [END] },
] satisfies PlannedNode[]);

/** `START → initialize → plan → reason ⇄ tools → reflect → finalize → END`, as LangGraph's builder. */
export function buildStandardLoop(parts: LoopParts) {
  const { input, output, behaviour } = parts.definition;
  const schemas = {
    input: input.jsonSchema,
    output: output.jsonSchema,
    execution: behaviour.executionSchema?.jsonSchema,
    attempt: behaviour.attemptSchema?.jsonSchema,
  };
  const state = stateSchema(schemas);
  const builder = new StateGraph({
    state,
    input: inputSchema(schemas, {
      input: (value) => void checkInput(parts.definition, value),
      messages: (list) => checkMessages(parts.definition, list),
    }),
    output: outputSchema(state),
    context: contextSchema,
  });
  for (const { name, body, ends } of standardLoop) {
    builder.addNode(name, loopNode(name, parts, body) as never, { ends: [...ends] });
  }
  return builder.addEdge(START, "initialize" as never);
}

/** Supersteps that a whole turn may take, with room to spare, so that LangGraph's own limit never ends a turn. */
export function superstepLimit(limits: { max_iterations: number; max_attempts: number }): number {
  return limits.max_attempts * (limits.max_iterations * 2 + 6) + 10;
}
