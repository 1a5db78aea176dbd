import type { Recovery } from "../../runtime/threads/threads.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./text-width.ts";

/** From where a thread was recovered, what was passed over, and which calls were not made again. */
export function recoveryLines(
  { from, skipped, settled, warnings, message }: Omit<Recovery, "result">,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const item = (mark: string, text: string, paint: (line: string) => string) =>
    wrapText(plainLine(text), Math.max(20, width - 4)).map((line, number) =>
      number === 0 ? `  ${paint(mark)} ${line}` : `    ${line}`,
    );
  return [
    ...wrapText(plainLine(`Recovered from checkpoint ${from.checkpointId}.`), width).map(
      style.bold,
    ),
    ...wrapText(plainLine(message), width),
    ...skipped.flatMap(({ checkpointId, reason }) =>
      item("✗", `skipped ${checkpointId}: ${reason}`, style.red),
    ),
    ...settled.flatMap(({ tool, callId, state }) =>
      item("✓", `${tool} (${callId}) was not called again: ${state}`, style.green),
    ),
    ...warnings.flatMap((warning) => item("!", warning, style.yellow)),
  ];
}
