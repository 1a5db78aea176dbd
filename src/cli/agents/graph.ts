import { type CliIo, UsageError } from "../io.ts";
import { compileAgent } from "../../app.ts";
import { systemClock } from "../../clock.ts";
import { drawableDefinition, drawingModels } from "../../compile/draw-graph.ts";
import { type DrawnGraph, mermaidText } from "../../compile/mermaid-text.ts";
import { planMermaid } from "../draw/plan-mermaid.ts";
import {
  drawPicture,
  formatOfFile,
  type GraphFormat,
  type PlanFormat,
  planFormatOfFile,
  writeDrawing,
} from "../draw/write-drawing.ts";
import { loadDefinition, loadTools } from "../load.ts";
import { snakeKeys } from "../output.ts";
import { NoPlanError, withKnownThread } from "../threads/open.ts";
import { planLines } from "../view/plan/plan-lines.ts";
import { createStyle } from "../view/terminal.ts";
import { jsonText, outputLayout } from "../view/values.ts";
import { withRuntime } from "./with-runtime.ts";

export interface GraphCommandOptions {
  readonly format?: PlanFormat;
  readonly out?: string;
  readonly xray?: boolean;
  readonly tools?: string;
  readonly browser?: string;
}

/**
 * `stratagraph graph`: draws an agent's graph. Needs no database and no key, and of the network what MCP servers need
 * whose tools the agent has.
 * @throws UsageError, what loading and compiling the agent throws, and what drawing a picture throws
 */
export async function graphCommand(
  given: GraphCommandOptions & { readonly agent: string },
  io: CliIo,
): Promise<number> {
  const { out } = given;
  const format = given.format ?? formatOfFile(out);
  if (format === "text") {
    throw new UsageError("The text format needs --plan THREAD: agent graphs have none.");
  }
  if (format === "png" && out === undefined) {
    throw new UsageError("PNG output needs a file: give --out FILE.");
  }
  const definition = await loadDefinition(given.agent, io.cwd);
  const tools = given.tools === undefined ? [] : await loadTools(given.tools, io);
  const services = { tools, root: io.cwd, models: drawingModels };
  const drawing = await withRuntime(services, io, async (runtime) => {
    const graph = await compileAgent(drawableDefinition(definition), runtime);
    return graph.getGraphAsync({ xray: given.xray ?? false });
  });
  const content = await render(drawing.toJSON() as unknown as DrawnGraph, format, given, io);
  return writeDrawing(content, out, io);
}

async function render(
  graph: DrawnGraph,
  format: GraphFormat,
  { browser }: GraphCommandOptions,
  io: CliIo,
): Promise<string | Uint8Array> {
  if (format === "json") return `${jsonText(graph)}\n`;
  if (format === "mermaid") return mermaidText(graph);
  return drawPicture((escape) => mermaidText(graph, escape), format, { browser, io });
}

/**
 * `stratagraph graph --plan`: draws what planners have planned in the last turn of a thread, and what has become of it.
 * @throws UsageError, UnknownThreadError, NoPlanError, CorruptCheckpointError, and what drawing a picture throws
 */
export async function planCommand(
  given: GraphCommandOptions & { readonly plan: string },
  io: CliIo,
): Promise<number> {
  const { plan: threadId, out, browser } = given;
  for (const name of ["xray", "tools"] as const) {
    if (given[name] === undefined) continue;
    throw new UsageError(`--${name} applies to agent graphs only, not to --plan.`);
  }
  const format = given.format ?? planFormatOfFile(out);
  if (format === "png" && out === undefined) {
    throw new UsageError("PNG output needs a file: give --out FILE.");
  }
  const plans = await withKnownThread(threadId, io, (threads) => threads.plans(threadId));
  if (plans.length === 0) throw new NoPlanError(threadId);
  switch (format) {
    case "json": {
      const document = { thread_id: threadId, plans: plans.map(snakeKeys) };
      return writeDrawing(`${jsonText(document)}\n`, out, io);
    }
    case "mermaid":
      return writeDrawing(planMermaid(plans), out, io);
    case "text": {
      const now = systemClock.now();
      const onScreen = out === undefined ? outputLayout(io) : unstyled;
      const lines = planLines(plans, { ...onScreen, now });
      return writeDrawing(lines.map((line) => `${line}\n`).join(""), out, io);
    }
    case "svg":
    case "png": {
      const picture = await drawPicture((escape) => planMermaid(plans, escape), format, {
        browser,
        io,
      });
      return writeDrawing(picture, out, io);
    }
  }
}

const unstyled = { width: Number.POSITIVE_INFINITY, style: createStyle(false) };
