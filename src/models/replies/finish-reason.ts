import type { AIMessage } from "@langchain/core/messages";
import type { ChatGeneration } from "@langchain/core/outputs";
import type { FinishReason } from "../../state/usage.ts";
import { isRecord } from "../../values/json.ts";

/** How a reply ended, by what its provider says. */
export interface ReplyEnd {
  readonly reason: FinishReason;
  /** The text of a refusal; empty otherwise. */
  readonly refusal: string;
}

/**
 * Reads how a reply ended: `finish_reason` (OpenAI, Groq, Mistral), `stop_reason` (Anthropic), `finishReason` (Gemini),
 * `stopReason` (Bedrock), `done_reason` (Ollama), `incomplete_details` (OpenAI's Responses API), and refusals apart from the text.
 * Unknown words, and none, count as `stop`.
 */
export function readReplyEnd(message: AIMessage): ReplyEnd {
  const refusal = refusalText(message);
  const reasons = wordsOf(message).map((reason) => reason.toLowerCase());
  if (refusal !== "") return { reason: "refusal", refusal };
  for (const [reason, words] of meanings) {
    if (reasons.some((word) => words.has(word))) {
      // Anthropic's refusals come as text.
      return { reason, refusal: reason === "refusal" ? message.text : "" };
    }
  }
  return { reason: "stop", refusal: "" };
}

/** Returns the provider's own word for how a reply ended, such as Ollama's `done_reason`; empty if it says none. */
export function finishWord(message: AIMessage): string {
  return wordsOf(message)[0] ?? "";
}

function wordsOf(message: AIMessage): readonly string[] {
  const metadata: Readonly<Record<string, unknown>> = message.response_metadata;
  const kwargs: Readonly<Record<string, unknown>> = message.additional_kwargs;
  return [metadata, kwargs, metadata["messageStop"], kwargs["incomplete_details"]]
    .flatMap((place) => (isRecord(place) ? keys.map((key) => place[key]) : []))
    .concat(reasonOf(metadata["incomplete_details"]), reasonOf(metadata["promptFeedback"]))
    .filter((reason) => typeof reason === "string");
}

const keys = [
  "finish_reason",
  "finishReason",
  "stop_reason",
  "stopReason",
  "done_reason",
  "reason",
];

const meanings: readonly (readonly [FinishReason, ReadonlySet<string>])[] = [
  [
    "content_filter",
    new Set([
      "content_filter",
      "content_filtered",
      "guardrail_intervened",
      "safety",
      "recitation",
      "blocklist",
      "prohibited_content",
      "spii",
      "image_safety",
      "sensitive",
    ]),
  ],
  ["refusal", new Set(["refusal", "refused"])],
  [
    "length",
    new Set([
      "length",
      "max_tokens",
      "max_output_tokens",
      "model_length",
      "model_context_window_exceeded",
      "max_tokens_reached",
    ]),
  ],
];

function reasonOf(details: unknown): unknown {
  if (!isRecord(details)) return undefined;
  return details["reason"] ?? details["blockReason"];
}

/** OpenAI keeps a refusal apart from the text: as a field of the message, or as a content block. */
function refusalText(message: AIMessage): string {
  const field = message.additional_kwargs["refusal"];
  if (typeof field === "string" && field.trim() !== "") return field;
  if (!Array.isArray(message.content)) return "";
  return message.content
    .map((block) => block as { type?: unknown; refusal?: unknown })
    .flatMap(({ type, refusal }) =>
      type === "refusal" && typeof refusal === "string" ? [refusal] : [],
    )
    .join("");
}

/**
 * Puts the finish reason of a generation into its message, where LangChain's packages leave it out, or have names of their
 * own for it: `response_metadata.finish_reason`, in the provider's words.
 *
 * @returns whether the generation has one
 */
export function keepFinishWord({ message, generationInfo }: ChatGeneration): boolean {
  const metadata = message.response_metadata as Readonly<Record<string, unknown>>;
  const stop = metadata["messageStop"] as { readonly stopReason?: unknown } | undefined;
  const reason = [
    generationInfo?.["finish_reason"],
    generationInfo?.["finishReason"],
    metadata["stop_reason"],
    metadata["stopReason"],
    stop?.stopReason,
    message.additional_kwargs["stop_reason"],
  ].find((one) => typeof one === "string" && one !== "");
  if (reason === undefined) return false;
  message.response_metadata = { ...metadata, finish_reason: reason };
  return true;
}
