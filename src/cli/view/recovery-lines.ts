import type { Recovery, SettledCall } from "../../runtime/threads/threads.ts";
import type { Recovered } from "../../state/step-record.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./text-width.ts";

/** From where a thread was recovered, what was passed over, and what became of calls that had begun. */
export function recoveryLines(
  recovery: Recovery,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { from, skipped, settled, warnings, message } = recovery;
  const ran = recovery.reason === "resumed";
  const done = ran ? "Recovered from checkpoint" : "The last sound checkpoint is";
  const item = (mark: string, text: string, paint: (line: string) => string) =>
    wrapText(plainLine(text), Math.max(20, width - 4)).map((line, number) =>
      number === 0 ? `  ${paint(mark)} ${line}` : `    ${line}`,
    );
  return [
    ...wrapText(plainLine(`${done} ${from.checkpointId}.`), width).map(style.bold),
    ...wrapText(plainLine(message), width),
    ...skipped.flatMap(({ checkpointId, reason }) =>
      item("✗", `skipped ${checkpointId}: ${reason}`, style.red),
    ),
    ...settled.flatMap((call) => {
      const settlement = settlementOf(call, recovery);
      const isLost = settlement === "unknown" && call.state === "damaged";
      const { mark, text, colour } = isLost ? lostRecord : settlements[settlement];
      return item(mark, `${call.tool}: ${text}`, style[colour]);
    }),
    ...warnings.flatMap((warning) => item("!", warning, style.yellow)),
  ];
}

const settlements = {
  recorded: { mark: "✓", text: "not called again, its recorded result was used", colour: "green" },
  repeated: { mark: "✓", text: "called again, it is safe to repeat", colour: "green" },
  unknown: {
    mark: "?",
    text: "not called again, it had begun and nobody knows what came of it",
    colour: "yellow",
  },
} as const satisfies Record<Recovered, unknown>;

const lostRecord = {
  mark: "?",
  text: "not called again, its record is damaged and nobody knows what came of it",
  colour: "yellow",
} as const;

/** What the step says that the call is part of; else what the journal knew. */
function settlementOf({ callId, state, idempotent }: SettledCall, { result }: Recovery): Recovered {
  const results = (result?.steps ?? []).flatMap(({ tool_results }) => tool_results);
  const told = results.findLast(({ id }) => id === callId)?.recovered;
  if (told !== undefined) return told;
  if (state === "finished") return "recorded";
  return idempotent ? "repeated" : "unknown";
}
