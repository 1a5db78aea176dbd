import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./text-width.ts";

export interface Opening {
  readonly agent: { readonly name: string; readonly version: string };
  /** `provider:model`; null where none is asked. */
  readonly model: string | null;
  /** Null where nothing is kept. */
  readonly threadId: string | null;
}

/** What runs, on which model, in which thread. */
export function openingLines(opening: Opening, width: number, style: Style): string[] {
  const { agent, model, threadId } = opening;
  const about = [
    agent.version,
    ...(model === null ? [] : [model]),
    ...(threadId === null ? [] : [`thread ${threadId}`]),
  ];
  const title = `${style.bold(agent.name)} ${style.dim(plainLine(about.join(" · ")))}`;
  const note = model === "offline:rules" ? wrapText(offlineNote, width).map(style.yellow) : [];
  return [title, ...note];
}

const offlineNote =
  "offline:rules is a rule-based stand-in, no language model; set OPENAI_API_KEY or pass --model provider:model.";
