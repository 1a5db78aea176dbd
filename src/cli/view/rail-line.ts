import type { RailRecord } from "../../state/rail-record.ts";
import { cutToWidth } from "./text-width.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";

const did = { redact: "redacted", block: "blocked", flag: "flagged" } as const;

/** What a guardrail did, in a line: `▲ guardrail pii redacted the input: 2 EMAIL, 1 PHONE`; none where it passed. */
export function railLines(record: RailRecord, room: number, style: Style): string[] {
  const { rail, verdict } = record;
  if (verdict === "pass") return [];
  const found = foundIn(record);
  const line = plainLine(
    `guardrail ${rail} ${did[verdict]} ${placeOf(record)}${found === "" ? "" : `: ${found}`}`,
  );
  const mark = verdict === "block" ? style.red("▲") : style.yellow("▲");
  return [`${mark} ${cutToWidth(line, room - 2)}`];
}

function placeOf({ on }: RailRecord): string {
  switch (on) {
    case "input":
      return "the input";
    case "tool_call":
      return "a tool call";
    case "tool_result":
      return "a tool result";
    case "output":
      return "the output";
  }
}

/** What was found by kind; else why. */
function foundIn({ spans, reasons }: RailRecord): string {
  const counts = new Map<string, number>();
  for (const { label } of spans) counts.set(label, (counts.get(label) ?? 0) + 1);
  if (counts.size === 0) return reasons.join("; ");
  return [...counts].map(([label, count]) => `${count} ${label}`).join(", ");
}
