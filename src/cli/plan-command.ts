import { systemClock } from "../clock.ts";
import { planFormatOfFile } from "./draw/graph-format.ts";
import { planMermaid } from "./draw/plan-mermaid.ts";
import { drawPicture, writeDrawing } from "./draw/write-drawing.ts";
import type { GraphCommandOptions } from "./graph-command.ts";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { NoPlanError } from "./thread-errors.ts";
import { snakeKeys } from "./snake-case.ts";
import { UsageError } from "./usage-error.ts";
import { planLines } from "./view/plan-lines.ts";
import { createStyle } from "./view/style.ts";
import { jsonText } from "./view/json-text.ts";
import { viewOf } from "./view/view-of.ts";

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
    throw new UsageError(`--${name} is of an agent's graph, and --plan draws plans of a thread.`);
  }
  const format = given.format ?? planFormatOfFile(out);
  if (format === "png" && out === undefined) {
    throw new UsageError("A PNG is no text: say which file to write it to with --out FILE.");
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
      const onScreen = out === undefined ? viewOf(io) : unstyled;
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
