import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentModel, ModelRequest, ModelSource } from "../../src/models/agent-model.ts";
import { modelProfile, type ModelProfile } from "../../src/models/model-profile.ts";
import { noUsage } from "../../src/state/usage.ts";

/** What the model says next: a text, calls, or something to do (throw, wait for the signal). */
export type ScriptedReply =
  | string
  | {
      readonly text?: string;
      readonly calls: readonly { name: string; args: object; id?: string }[];
    }
  | ((request: ModelRequest, config: RunnableConfig) => AIMessage | Promise<AIMessage>);

/** A model that says what the script says, in order, and keeps what it was asked. */
export class ScriptedModel implements ModelSource {
  readonly requests: ModelRequest[] = [];
  #calls = 0;

  constructor(
    readonly script: readonly ScriptedReply[],
    readonly toolCalling = true,
    readonly profile: ModelProfile = modelProfile("test:scripted", { window: 128_000 }),
  ) {}

  async resolve(): Promise<AgentModel> {
    return {
      ref: "test:scripted",
      toolCalling: this.toolCalling,
      parallelCalls: true,
      profile: this.profile,
      call: async (request, config) => {
        const reply = this.script[this.requests.length];
        this.requests.push(request);
        if (reply === undefined)
          throw new Error(`The script has no reply ${this.requests.length}.`);
        const message = await this.#message(reply, request, config);
        const isCut = message.response_metadata["finish_reason"] === "length";
        return {
          message,
          usage: { ...noUsage, tokens_in: 10, tokens_out: 5, llm_calls: 1, cost_usd: 0.001 },
          model: "test:scripted",
          fallback: null,
          finish: isCut ? ("length" as const) : ("stop" as const),
          reasoning: null,
          calls: [],
        };
      },
    };
  }

  /** The texts of what was read for one call, by role. */
  read(call: number): string[] {
    return (this.requests[call]?.messages ?? []).map(
      (message: BaseMessage) => `${message.getType()}: ${message.text}`,
    );
  }

  async #message(reply: ScriptedReply, request: ModelRequest, config: RunnableConfig) {
    if (typeof reply === "function") return reply(request, config);
    if (typeof reply === "string") return new AIMessage(reply);
    return new AIMessage({
      content: reply.text ?? "",
      tool_calls: reply.calls.map(({ id, name, args }) => ({
        id: id ?? `call_${(this.#calls += 1)}`,
        name,
        args: args as Record<string, unknown>,
      })),
    });
  }
}
