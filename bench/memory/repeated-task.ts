import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { systemClock, systemIds } from "../../src/clock.ts";
import { createMemory } from "../../src/memory/create-memory.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import { defaultTenant } from "../../src/memory/store.ts";
import type { AgentModel, ModelSource } from "../../src/models/agent-model.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import { noUsage } from "../../src/state/usage.ts";
import { ToolFailure } from "../../src/tools/tool-result.ts";

/** The tools in the order in which the explorer tries them. Those with a need fail before it was called. */
const tools: readonly { readonly name: string; readonly needs: string | null }[] = [
  { name: "list_tickets", needs: "nothing will do" },
  { name: "refund", needs: "get_invoice" },
  { name: "check_stock", needs: "nothing will do" },
  { name: "get_invoice", needs: "search_orders" },
  { name: "search_orders", needs: null },
];

const customers: readonly string[] = ["Ann", "Bob", "Cem", "Dana", "Eve", "Finn", "Gus", "Hana"];

/**
 * A model that knows no order of the tools: it tries one after the other, round and round, leaving out those that have
 * succeeded, until the refund is made. If its context names a sequence of tools that led to success, it follows that.
 */
class Explorer implements ModelSource {
  #isDone = new Set<string>();
  #next = 0;

  /** Begins another task. */
  begin(): void {
    this.#isDone = new Set();
    this.#next = 0;
  }

  /** Called by the tools. @throws ToolFailure */
  use({ name, needs }: (typeof tools)[number]): string {
    if (needs !== null && !this.#isDone.has(needs)) throw new ToolFailure(`${name} needs more.`);
    this.#isDone.add(name);
    return `${name} is done.`;
  }

  async resolve(): Promise<AgentModel> {
    const ref = "bench:explorer";
    return {
      ref,
      toolCalling: true,
      parallelCalls: true,
      profile: modelProfile(ref, { window: 128_000 }),
      call: async ({ messages }) => {
        const message = this.#reply(messages);
        const usage = { ...noUsage, llm_calls: 1 };
        const rest = { fallback: null, finish: "stop", reasoning: null, calls: [] } as const;
        return { message, usage, model: ref, ...rest };
      },
    };
  }

  #reply(messages: readonly BaseMessage[]): AIMessage {
    if (this.#isDone.has("refund")) return new AIMessage("The order is refunded.");
    const name = this.#known(messages) ?? this.#guess();
    return new AIMessage({
      content: "",
      tool_calls: [{ id: systemIds(), name, args: { customer: "the customer" } }],
    });
  }

  /** Returns the next tool of the sequence that the memory section names. */
  #known(messages: readonly BaseMessage[]): string | undefined {
    const section = messages.find(({ text }) => text.startsWith("[Memories]"))?.text ?? "";
    const [, sequence = ""] = /: ((?:\w+\([^)]*\)(?: → )?)+) \(worked/.exec(section) ?? [];
    const names = sequence.split(" → ").map((step) => step.slice(0, step.indexOf("(")));
    return names.find((name) => name !== "" && !this.#isDone.has(name));
  }

  #guess(): string {
    for (;;) {
      const { name } = tools[this.#next % tools.length] ?? { name: "" };
      this.#next += 1;
      if (!this.#isDone.has(name)) return name;
    }
  }
}

/**
 * Runs the same kind of task up to 8 times, each on a thread of its own, and returns the steps of each turn: requests to
 * the model.
 */
export async function stepsOfRepeatedTask(
  procedural: {
    readonly enabled: boolean;
    readonly min_frequency?: number;
  },
  turns = customers.length,
): Promise<readonly number[]> {
  const explorer = new Explorer();
  const agent = defineAgent({
    name: "explorer",
    memory_config: { procedural },
    execution_config: { max_iterations: 30 },
    tools: tools.map((tool) =>
      defineTool({
        name: tool.name,
        description: `Does ${tool.name}.`,
        input_schema: {
          type: "object",
          properties: { customer: { type: "string" } },
        },
        handler: () => explorer.use(tool),
      }),
    ),
  });
  const store = createInMemoryMemory({ clock: systemClock, ids: systemIds });
  const memory = createMemory({
    store: store.forTenant(defaultTenant),
    embeddings: null,
    clock: systemClock,
  });
  const made = await createRuntime({ env: {}, models: explorer, checkpointer: new MemorySaver() });
  const runtime = { ...made, memory: async () => memory };
  const steps: number[] = [];
  for (const customer of customers.slice(0, turns)) {
    explorer.begin();
    const message = `Refund the last order of ${customer}.`;
    const { usage, status } = await executeAgent(agent, { message }, { runtime });
    if (status !== "COMPLETED") throw new Error(`The turn of ${customer} ended ${status}.`);
    steps.push(usage.llm_calls);
  }
  return steps;
}
