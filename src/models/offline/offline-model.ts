import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { decide, type Decision } from "./decide.ts";
import type { OfflineTool } from "./conversation.ts";

interface OfflineCallOptions extends BaseChatModelCallOptions {
  offlineTools?: readonly OfflineTool[];
  /** The tool that must be called. */
  offlineForced?: OfflineTool | null;
}

/**
 * `offline:rules`: a chat model of rules instead of weights, for trying things out and for tests. It needs no key and no
 * network, and answers the same input with the same output, always. Plain text begins with `[offline:rules] `.
 */
export class OfflineRulesModel extends BaseChatModel<OfflineCallOptions> {
  constructor() {
    super({});
  }

  static override lc_name(): string {
    return "OfflineRulesModel";
  }

  _llmType(): string {
    return "offline-rules";
  }

  /** `tool_choice` may force a tool by its name; `any` and `required` force the only one there is. */
  override bindTools(tools: BindToolsInput[], options: Partial<OfflineCallOptions> = {}) {
    const offlineTools = tools.map(offlineTool);
    return this.withConfig({
      ...options,
      offlineTools,
      offlineForced: forcedTool(offlineTools, options.tool_choice),
    });
  }

  async _generate(messages: BaseMessage[], options: OfflineCallOptions): Promise<ChatResult> {
    const decision = decide(messages, options.offlineTools ?? [], options.offlineForced);
    const message = new AIMessage({
      content: decision.text,
      tool_calls: decision.calls.map(({ id, name, args }) => ({
        id,
        name,
        args,
        type: "tool_call",
      })),
      usage_metadata: usageOf(messages, decision),
      response_metadata: { model_name: "rules", finish_reason: finishReason(decision) },
    });
    return { generations: [{ text: decision.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: OfflineCallOptions,
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const decision = decide(messages, options.offlineTools ?? [], options.offlineForced);
    for (const word of decision.text.match(/\s*\S+\s*$|\s*\S+/g) ?? []) {
      const chunk = textChunk(word);
      yield chunk;
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, {
        chunk,
      });
    }
    yield new ChatGenerationChunk({
      text: "",
      message: new AIMessageChunk({
        content: "",
        tool_call_chunks: decision.calls.map(({ id, name, args }, index) => ({
          id,
          name,
          args: JSON.stringify(args),
          index,
          type: "tool_call_chunk",
        })),
        usage_metadata: usageOf(messages, decision),
        response_metadata: { model_name: "rules", finish_reason: finishReason(decision) },
      }),
    });
  }
}

function textChunk(text: string): ChatGenerationChunk {
  return new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
}

function finishReason(decision: Decision): string {
  return decision.calls.length > 0 ? "tool_calls" : "stop";
}

function forcedTool(tools: readonly OfflineTool[], choice: unknown): OfflineTool | null {
  if (choice === "any" || choice === "required")
    return tools.length === 1 ? (tools[0] ?? null) : null;
  return tools.find(({ name }) => name === choice) ?? null;
}

function offlineTool(tool: BindToolsInput): OfflineTool {
  const { name, description, parameters } = convertToOpenAITool(tool).function;
  return { name, description: description ?? "", parameters: parameters ?? {} };
}

/** Four characters count as one token: the figures are the size of the work, not a bill. */
function usageOf(messages: readonly BaseMessage[], decision: Decision) {
  const read = messages.reduce((sum, message) => sum + message.text.length, 0);
  const said = decision.text.length + JSON.stringify(decision.calls).length - 2;
  const input_tokens = Math.max(1, Math.ceil(read / 4));
  const output_tokens = Math.ceil(said / 4);
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}
