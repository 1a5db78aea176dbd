import type { StoredModelCall } from "../../models/calls/call-log.ts";
import type { CliIo } from "../io.ts";
import { commandLine } from "../command-line.ts";
import { pageOf, type PageOptions } from "../options.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { costText, duration } from "../view/figures.ts";
import { type Column, tableLines } from "../view/table.ts";
import { plainLine, type Style } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import { withKnownThread } from "./open.ts";

export interface CallsOptions extends PageOptions {
  /** Number of a turn, from 0. */
  readonly turn?: number;
  /** Whether JSON has messages and responses. */
  readonly full?: boolean;
}

/**
 * `stratagraph calls`: the requests to models of a thread, oldest first.
 *
 * @throws UnknownThreadError, InvalidCallCursorError
 */
export async function callsCommand(
  given: CallsOptions & { readonly thread: string },
  io: CliIo,
): Promise<number> {
  const { thread, turn, full = false, json = false } = given;
  const { items, next } = await withKnownThread(thread, io, async (threads) => {
    // Fails for a thread that is not there.
    await threads.history(thread, { limit: 1 });
    const of = { threadId: thread, ...pageOf(given), ...(turn !== undefined && { turn }) };
    return threads.calls({ ...of, whole: json && full });
  });
  if (json) {
    printJson({ thread_id: thread, calls: items, next }, io);
    return exitCodes.done;
  }
  const view = outputLayout(io);
  if (items.length === 0) {
    printLines(["No model calls."], io);
    return exitCodes.done;
  }
  printLines(callTable(items, view), io);
  if (next !== null) {
    const same = Object.entries({ turn, limit: given.limit });
    const options = same.flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, String(value)],
    );
    const words = ["calls", thread, ...options, "--cursor", next];
    printLines(["", view.style.dim(`Newer: ${commandLine(words, io)}`)], io);
  }
  return exitCodes.done;
}

const columns: readonly Column[] = [
  { title: "turn", align: "right" },
  { title: "step", align: "right", optional: 3 },
  { title: "agent", least: 6, optional: 4 },
  { title: "purpose" },
  { title: "model", least: 10 },
  { title: "try", align: "right", optional: 5 },
  { title: "finish" },
  { title: "in", align: "right" },
  { title: "out", align: "right" },
  { title: "took", align: "right" },
  { title: "cost", align: "right", optional: 1 },
];

function callTable(
  calls: readonly StoredModelCall[],
  layout: { readonly width: number; readonly style: Style },
): string[] {
  const rows = calls.map((call) => [
    String(call.turn),
    call.step === null ? "" : String(call.step),
    call.agent ?? "",
    call.purpose,
    call.model,
    String(call.attempt),
    call.finish_reason,
    call.tokens_in.toLocaleString("en"),
    call.tokens_out.toLocaleString("en"),
    duration(call.latency_ms),
    costText(call.cost_usd),
  ]);
  return tableLines(
    columns,
    rows.map((cells) => cells.map((text) => ({ text: plainLine(text) }))),
    layout,
  );
}
