import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { defineRail } from "../../src/definition/define-rail.ts";
import type { Rail, RailContext } from "../../src/definition/rail.ts";
import {
  defineAgent,
  defineTool,
  executeAgent,
  type AgentDefinition,
  type AgentState,
  type ToolContext,
} from "../../src/index.ts";

describe("defineAgent", () => {
  it("takes and gives a message where nothing is said", () => {
    const agent = defineAgent({ name: "a" });
    expectTypeOf(agent).toEqualTypeOf<
      AgentDefinition<
        { message: string },
        { message: string },
        Record<string, unknown>,
        Record<string, unknown>
      >
    >();
  });

  it("infers input and output from zod schemas, and state from initialisers", () => {
    const agent = defineAgent({
      name: "a",
      input_schema: z.object({ path: z.string() }),
      output_schema: z.object({ lines: z.number() }),
      initialExecutionState: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ path: string }>();
        return { file: input.path };
      },
      initialAttemptState: (input, execution, attemptNumber) => {
        expectTypeOf(input).toEqualTypeOf<{ path: string }>();
        expectTypeOf(execution).toEqualTypeOf<{ file: string }>();
        expectTypeOf(attemptNumber).toEqualTypeOf<number>();
        return { tries: 0 };
      },
      validate: (output, state) => {
        expectTypeOf(output).toEqualTypeOf<{ lines: number }>();
        expectTypeOf(state).toEqualTypeOf<AgentState<{ file: string }, { tries: number }>>();
        return output.lines > 0 ? [] : "no lines";
      },
    });
    expectTypeOf(agent).toEqualTypeOf<
      AgentDefinition<{ path: string }, { lines: number }, { file: string }, { tries: number }>
    >();
  });

  it("types handlers of inline tools without annotations", () => {
    defineAgent({
      name: "a",
      initialExecutionState: () => ({ parsed: 0 }),
      initialAttemptState: () => ({ draft: "" }),
      tools: {
        parse: {
          description: "Parses.",
          input_schema: z.object({ by: z.number() }),
          persistence: "execution",
          handler: (state, input, context) => {
            expectTypeOf(state).toEqualTypeOf<AgentState<{ parsed: number }, { draft: string }>>();
            expectTypeOf(input).toEqualTypeOf<{ by: number }>();
            expectTypeOf(context).toEqualTypeOf<ToolContext>();
            // @ts-expect-error: the state has no such member
            void state.execution.draft;
            const execution = { parsed: state.execution.parsed + input.by };
            return { newState: { ...state, execution }, toolResult: execution.parsed };
          },
        },
        look: {
          description: "Looks.",
          input_schema: z.object({ at: z.string() }),
          handler: (input, context) => {
            expectTypeOf(input).toEqualTypeOf<{ at: string }>();
            expectTypeOf(context).toEqualTypeOf<ToolContext>();
            // @ts-expect-error: the input has no such member
            void input.by;
            return input.at;
          },
        },
      },
    });
  });

  it("takes interfaces, optional members and unknown values as state", () => {
    interface Page {
      readonly id: number;
      readonly title?: string;
      readonly tags: readonly string[];
      readonly next: Page | null;
    }
    const agent = defineAgent({
      name: "a",
      initialExecutionState: (): Page => ({ id: 1, tags: [], next: null }),
      initialAttemptState: (): { page?: Page; rest: Record<string, unknown> } => ({ rest: {} }),
    });
    expectTypeOf(agent).toEqualTypeOf<
      AgentDefinition<
        { message: string },
        { message: string },
        Page,
        { page?: Page; rest: Record<string, unknown> }
      >
    >();
  });

  it("refuses state that is not JSON", () => {
    expectTypeOf(defineAgent).toBeFunction();
    class Order {
      id = 1;
      total() {
        return 1;
      }
    }
    // @ts-expect-error: a date
    defineAgent({ name: "a", initialExecutionState: () => ({ items: [{ when: new Date() }] }) });
    // @ts-expect-error: a big integer
    defineAgent({ name: "a", initialExecutionState: () => ({ n: 1n }) });
    // @ts-expect-error: a function
    defineAgent({ name: "a", initialAttemptState: () => ({ run: () => 1 }) });
    // @ts-expect-error: a map
    defineAgent({ name: "a", initialAttemptState: () => ({ m: new Map([["a", 1]]) }) });
    // @ts-expect-error: bytes
    defineAgent({ name: "a", initialAttemptState: () => ({ bytes: new Uint8Array() }) });
    // @ts-expect-error: an instance with methods
    defineAgent({ name: "a", initialExecutionState: () => ({ order: new Order() }) });
  });

  it("infers the same beside agents of any type", () => {
    const helper = defineAgent({
      name: "helper",
      input_schema: z.object({ topic: z.string() }),
      output_schema: z.object({ facts: z.array(z.string()) }),
      initialExecutionState: ({ topic }) => ({ topic }),
    });
    const agent = defineAgent({
      name: "a",
      agents: [helper, defineAgent({ name: "b" })],
      output_schema: z.object({ lines: z.number() }),
      initialExecutionState: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ message: string }>();
        return { parsed: 0 };
      },
      validate: (output, state) => {
        expectTypeOf(output).toEqualTypeOf<{ lines: number }>();
        return output.lines > state.execution.parsed ? [] : "no lines";
      },
    });
    expectTypeOf(agent).toEqualTypeOf<
      AgentDefinition<
        { message: string },
        { lines: number },
        { parsed: number },
        Record<string, unknown>
      >
    >();
    expectTypeOf(agent.agents).toEqualTypeOf<ReadonlyMap<string, AgentDefinition>>();
    // @ts-expect-error: an agent is a definition, not its name
    defineAgent({ name: "c", agents: ["helper"] });
  });

  it("takes servers, tools of LangChain's community and rails", () => {
    const rail = defineRail({
      name: "short",
      on: ["output"],
      check: ({ text, on }, context) => {
        expectTypeOf(text).toEqualTypeOf<string>();
        expectTypeOf(on).toEqualTypeOf<"input" | "tool_result" | "output">();
        expectTypeOf(context).toEqualTypeOf<RailContext>();
        return text.length > 9 ? { verdict: "block", reasons: "Too long." } : undefined;
      },
    });
    const agent = defineAgent({
      name: "a",
      permissions: ["network:*"],
      tools: [
        "calculator",
        { mcp: { name: "files", transport: "stdio", command: "files-server" } },
        { mcp: { name: "web", transport: "http", endpoint: "https://example.com" } },
        { community: { tool: "serpapi", options: { apiKey: "{{secret:SERPAPI}}" } } },
      ],
      guardrail_config: { output_rails: [{ type: "custom", name: "short" }] },
      rails: [rail],
    });
    expectTypeOf(agent.rails).toEqualTypeOf<readonly Rail[]>();
    // @ts-expect-error: a server over http has an endpoint
    defineAgent({ name: "b", tools: [{ mcp: { name: "web", transport: "http" } }] });
    // @ts-expect-error: one key an entry
    defineAgent({ name: "c", tools: [{ server: { name: "web" } }] });
    // @ts-expect-error: a rail is more than its name
    defineAgent({ name: "d", rails: ["short"] });
    // @ts-expect-error: no such verdict
    defineRail({ name: "e", on: ["input"], check: () => ({ verdict: "refuse" }) });
  });

  it("refuses options and values that there are not", () => {
    expectTypeOf(defineAgent).toBeFunction();
    // @ts-expect-error: no such option
    defineAgent({ name: "a", initialExecutionstate: () => ({}) });
    // @ts-expect-error: no such mode
    defineAgent({ name: "a", execution_config: { mode: "slow" } });
    // @ts-expect-error: an agent has a name
    defineAgent({});
  });
});

describe("executeAgent", () => {
  const agent = defineAgent({
    name: "a",
    input_schema: z.object({ path: z.string() }),
    output_schema: z.object({ lines: z.number() }),
    initialExecutionState: () => ({ parsed: 0 }),
    initialAttemptState: () => ({ draft: "" }),
  });

  it("gives the agent's output and state", () => {
    const run = () => executeAgent(agent, { path: "a.txt" });
    type Result = Awaited<ReturnType<typeof run>>;
    expectTypeOf<Result["output"]>().toEqualTypeOf<{ lines: number } | null>();
    expectTypeOf<Result["state"]>().toEqualTypeOf<
      AgentState<{ parsed: number }, { draft: string }>
    >();
  });

  it("takes the agent's input, or null to go on", () => {
    expectTypeOf(() => executeAgent(agent, null)).toBeFunction();
    // @ts-expect-error: the input is an object with a path
    void (() => executeAgent(agent, { message: "hi" }));
  });
});

describe("defineTool", () => {
  it("types its handler from the zod schema", () => {
    defineTool({
      name: "a",
      description: "A.",
      input_schema: z.object({ n: z.number().default(1) }),
      handler: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ n: number }>();
        return input.n;
      },
    });
  });
});
