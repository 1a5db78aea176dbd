import type { BaseMessage } from "@langchain/core/messages";
import { createRuntime, executeAgent } from "../../src/app.ts";
import { defineAgent } from "../../src/definition/define-agent.ts";
import { agentNamespace } from "../../src/memory/namespace.ts";
import type { AgentModel } from "../../src/models/agent-model.ts";
import type { Embeddings } from "../../src/models/embeddings/embeddings.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import type { LocomoConversation } from "./locomo.ts";
import { openMemory } from "./quality.ts";

/** Tokens that an agent's memories may have, and entries that fit into so many. */
const maxTokens = 1_500;
const topK = 60;

export const contextHead = [
  "evidence in the context of an agent, %",
  "all of it",
  "some of it",
  "entries",
  "tokens",
];

/**
 * Shares of questions whose evidence an agent's model reads: the agent runs a turn for each question, and its model keeps
 * what it was given and cancels the turn, so that nothing is written.
 */
export async function contextRow(
  name: string,
  conversations: readonly LocomoConversation[],
  embeddings: Embeddings | null,
): Promise<string[]> {
  const agent = defineAgent({
    name: "reader",
    memory_config: { long_term: { enabled: true, top_k: topK, max_tokens: maxTokens } },
    execution_config: { max_turns: 1 },
  });
  let [asked, whole, part, entries, tokens] = [0, 0, 0, 0, 0];
  for (const conversation of conversations) {
    const namespace = agentNamespace("reader");
    const { memory } = await openMemory(conversation, embeddings, namespace);
    const textOf = new Map(conversation.turns.map(({ id, text }) => [id, JSON.stringify(text)]));
    const reader = readingModel();
    const runtime = await createRuntime({
      checkpointer: false,
      models: { resolve: async () => reader.model },
    });
    const services = { ...runtime, memory: async () => memory };
    try {
      for (const { text, evidence } of conversation.questions) {
        const cancel = new AbortController();
        const messages = await reader.messagesOf(cancel, async () => {
          await executeAgent(
            agent,
            { message: text },
            { runtime: services, signal: cancel.signal },
          );
        });
        const section = messages.find(({ text: one }) => one.startsWith("[Memories]"))?.text ?? "";
        const found = evidence.filter((id) => section.includes(textOf.get(id) ?? "\0")).length;
        asked += 1;
        entries += Math.max(0, section.split("\n").length - 1);
        tokens += reader.model.profile.count(section);
        whole += found === evidence.length ? 1 : 0;
        part += found > 0 ? 1 : 0;
      }
    } finally {
      await runtime.close();
    }
  }
  const percent = (count: number) => ((100 * count) / asked).toFixed(1);
  const mean = (sum: number) => (sum / asked).toFixed(1);
  return [name, percent(whole), percent(part), mean(entries), mean(tokens)];
}

/** A model that keeps what it is given, and cancels its turn. */
function readingModel() {
  let given: readonly BaseMessage[] = [];
  let current = new AbortController();
  const model: AgentModel = {
    ref: "bench:reader",
    profile: modelProfile("openai:gpt-4o-mini"),
    toolCalling: true,
    parallelCalls: false,
    call: async ({ messages }) => {
      given = messages;
      current.abort();
      throw current.signal.reason as Error;
    },
  };
  return {
    model,
    async messagesOf(cancel: AbortController, run: () => Promise<void>) {
      given = [];
      current = cancel;
      await run();
      return given;
    },
  };
}
