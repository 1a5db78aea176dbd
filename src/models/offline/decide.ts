import type { BaseMessage } from "@langchain/core/messages";
import type { OfflineCall, OfflineTool } from "./offline-tool.ts";

/** What the model says: a text, or calls. */
export interface Decision {
  readonly text: string;
  readonly calls: readonly OfflineCall[];
}

export function decide(messages: readonly BaseMessage[], _tools: readonly OfflineTool[]): Decision {
  return { text: `[offline:rules] ${messages.at(-1)?.text ?? ""}`, calls: [] };
}
