import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";

/**
 * Answers at once: `steps` times with one call of the tool `echo`, then with a text; with `repeats` again for each turn.
 * Notes when each call came.
 */
export class InstantModel extends BaseChatModel {
  /** `performance.now()` at the start of every call. */
  readonly calledAt: number[] = [];

  constructor(
    readonly steps: number,
    private readonly options: { readonly repeats?: boolean } = {},
  ) {
    super({});
  }

  _llmType(): string {
    return "instant";
  }

  override bindTools(): ReturnType<NonNullable<BaseChatModel["bindTools"]>> {
    return this;
  }

  async _generate(): Promise<ChatResult> {
    this.calledAt.push(performance.now());
    const n = this.calledAt.length;
    const inTurn = this.options.repeats === true ? ((n - 1) % (this.steps + 1)) + 1 : n;
    const message =
      inTurn > this.steps
        ? new AIMessage({ id: `ai-${n}`, content: "done" })
        : new AIMessage({
            id: `ai-${n}`,
            content: `step ${n}`,
            tool_calls: [{ id: `call-${n}`, name: "echo", args: { text: `value ${n}` } }],
            usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
          });
    return { generations: [{ text: message.text, message }] };
  }
}
