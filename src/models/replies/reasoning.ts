import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { Reasoning } from "../../state/usage.ts";
import { isRecord } from "../../values/json.ts";
import type { SentReasoning } from "../agent-model.ts";

type Block = Readonly<Record<string, unknown>>;

/** Returns what a message, or a streamed part of one, shows of the model's thinking; empty if nothing. */
export function reasoningText(message: BaseMessage): string {
  const { reasoning_content: field, reasoning } = message.additional_kwargs;
  if (typeof field === "string" && field !== "") return field;
  const texts = blocksOf(message)
    .map(thoughtIn)
    .filter((text) => text !== "");
  if (texts.length > 0) return texts.join("");
  return typeof reasoning === "string" ? reasoning : summaryText(reasoning);
}

/** Returns what a model thought before its reply; null if it shows nothing. */
export function readReasoning(message: BaseMessage): Reasoning | null {
  const text = reasoningText(message);
  const blocks = joinParts(blocksOf(message).filter(isThought));
  const signatures = message.additional_kwargs[geminiSignatures];
  // Empty for replies without calls.
  const isSigned = isRecord(signatures) && Object.keys(signatures).length > 0;
  if (isSigned) blocks.push({ type: geminiSignatures, signatures });
  if (text === "" && blocks.length === 0) return null;
  return blocks.length === 0 ? { text } : { text, blocks };
}

/**
 * Returns messages in which the calls of a model have its reasoning again, in the form in which its provider sent it: some
 * refuse the results of calls without it, and none takes that of another. The same array if there is nothing to add.
 *
 * @param ref `provider:model` that reads them
 */
export function withSentReasoning(
  messages: readonly BaseMessage[],
  sent: SentReasoning | undefined,
  ref: string,
): readonly BaseMessage[] {
  if (sent === undefined || sent.size === 0) return messages;
  return messages.map((message) => {
    if (!AIMessage.isInstance(message)) return message;
    const known = message.tool_calls?.map(({ id = "" }) => sent.get(id)).find((one) => one);
    return known?.model === ref ? withReasoning(message, known.reasoning) : message;
  });
}

function withReasoning(message: AIMessage, { text, blocks = [] }: Reasoning): AIMessage {
  const { content, tool_calls = [] } = message;
  const signatures = blocks.find(({ type }) => type === geminiSignatures)?.["signatures"];
  const shown = blocks.filter(({ type }) => type !== geminiSignatures);
  const said = typeof content !== "string" ? content : [{ type: "text", text: content }];
  return new AIMessage({
    content:
      shown.length === 0
        ? content
        : ([...shown, ...(content === "" ? [] : said)] as AIMessage["content"]),
    tool_calls,
    additional_kwargs: {
      ...(shown.length === 0 && text !== "" && { reasoning_content: text }),
      ...(isRecord(signatures) && { [geminiSignatures]: signatures }),
    },
  });
}

/** Where `@langchain/google-genai` keeps the signatures of calls, by the id of the call. */
const geminiSignatures = "__gemini_function_call_thought_signatures__";

function blocksOf({ content }: BaseMessage): Block[] {
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

const thoughts = new Set<unknown>([
  "thinking",
  "redacted_thinking",
  "reasoning",
  "reasoning_content",
]);

function isThought(block: Block): boolean {
  return thoughts.has(block["type"]);
}

/** Anthropic and Mistral say `thinking`, LangChain's own form `reasoning`, Bedrock `reasoningText`. */
function thoughtIn(block: Block): string {
  if (!isThought(block)) return "";
  const { thinking, reasoning, reasoningText: nested } = block;
  if (typeof thinking === "string") return thinking;
  if (typeof reasoning === "string") return reasoning;
  if (Array.isArray(thinking)) return thinking.map(textOf).join("");
  return textOf(nested);
}

/** Joins the parts in which Gemini streams a thought, a block for each; signed blocks stay as they are. */
function joinParts(blocks: readonly Block[]): Block[] {
  const joined: Block[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (last !== undefined && isPlainThought(last) && isPlainThought(block)) {
      const thinking = `${String(last["thinking"])}${String(block["thinking"])}`;
      joined[joined.length - 1] = { type: "thinking", thinking };
    } else joined.push(block);
  }
  return joined;
}

function isPlainThought(block: Block): boolean {
  const { type, thinking } = block;
  return type === "thinking" && typeof thinking === "string" && Object.keys(block).length === 2;
}

function textOf(part: unknown): string {
  const text = isRecord(part) ? part["text"] : undefined;
  return typeof text === "string" ? text : "";
}

/** The summaries of OpenAI's Responses API. */
function summaryText(reasoning: unknown): string {
  const summary = isRecord(reasoning) ? reasoning["summary"] : undefined;
  return Array.isArray(summary) ? summary.map(textOf).join("\n") : "";
}
