import type { ChannelDiff, CheckpointRef, ValueChange } from "../../runtime/threads/threads.ts";
import { count } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./text-width.ts";

type Kind = ChannelDiff["kind"];

const marks: Readonly<Record<Kind, string>> = { added: "+", removed: "−", changed: "~" };

/** How one checkpoint differs from another, channel by channel. */
export function diffLines(
  of: {
    readonly a: CheckpointRef;
    readonly b: CheckpointRef;
    readonly channels: readonly ChannelDiff[];
  },
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { a, b, channels } = of;
  return [
    ...wrapText(plainLine(`− ${nameOf(a)}`), width).map(style.red),
    ...wrapText(plainLine(`+ ${nameOf(b)}`), width).map(style.green),
    ...(channels.length === 0 ? ["", "No differences."] : []),
    ...channels.flatMap(({ channel, kind, changes, omitted }) => [
      "",
      `${paintOf(kind, style)(marks[kind])} ${style.bold(plainLine(channel))}`,
      ...changes.flatMap((change) => changeLines(change, width, style)),
      ...(omitted === 0 ? [] : [style.dim(`  … ${count(omitted, "further difference")}`)]),
    ]),
  ];
}

function nameOf({ threadId, checkpointId }: CheckpointRef): string {
  return `${threadId}/${checkpointId}`;
}

function changeLines({ kind, text }: ValueChange, width: number, style: Style): string[] {
  const lines = wrapText(plainLine(text), Math.max(20, width - 4));
  return lines.map((line, number) => {
    if (number > 0) return `    ${line}`;
    return `  ${kind === "changed" ? line : paintOf(kind, style)(line)}`;
  });
}

function paintOf(kind: Kind, style: Style): (text: string) => string {
  return { added: style.green, removed: style.red, changed: style.yellow }[kind];
}
