import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const address = "ada@example.org";
const call = (args: object) => ({ calls: [{ name: "probe", args }] });

function probe(input_schema: z.ZodType<Record<string, unknown>>) {
  const given: unknown[] = [];
  const tool = defineTool({
    name: "probe",
    description: "Probes.",
    input_schema,
    handler: (args) => void given.push(args),
  });
  return { tool, given };
}

const ruled = (check: string) => ({ tool_rails: { rules: [{ tool: "probe", check }] } });

describe("argument rules", () => {
  it("judge what the schema makes of the arguments, as the handler gets it", async () => {
    const { tool, given } = probe(z.object({ table: z.string().trim().toLowerCase() }));
    const agent = defineAgent({
      name: "reader",
      tools: [tool],
      guardrail_config: ruled('args.table != "secrets"'),
    });
    const { runtime } = await testRuntime([
      call({ table: " SECRETS" }),
      call({ table: "Files" }),
      "ok",
    ]);
    const { steps } = await executeAgent(agent, { message: "?" }, { runtime });
    expect(steps[0]?.tool_results[0]?.error).toContain("does not hold");
    expect(given).toEqual([{ table: "files" }]);
  });

  it("read the schema's defaults, and dates as JSON has them", async () => {
    const { tool, given } = probe(
      z.object({ amount: z.number().default(5), day: z.iso.date().pipe(z.coerce.date()) }),
    );
    const agent = defineAgent({
      name: "payer",
      tools: [tool],
      guardrail_config: ruled('args.amount < 100 && args.day.startsWith("2026-")'),
    });
    const { runtime } = await testRuntime([call({ day: "2026-01-02" }), "ok"]);
    await executeAgent(agent, { message: "?" }, { runtime });
    expect(given).toEqual([{ amount: 5, day: new Date("2026-01-02") }]);
  });

  it("say nothing of arguments that the schema refuses", async () => {
    const { tool, given } = probe(z.object({ amount: z.number() }));
    const agent = defineAgent({
      name: "payer",
      tools: [tool],
      guardrail_config: ruled("args.amount < 100"),
    });
    const { runtime } = await testRuntime([call({ amount: "all" }), "ok"]);
    const { steps, rails } = await executeAgent(agent, { message: "?" }, { runtime });
    expect(steps[0]?.tool_results[0]?.error).toContain('Bad arguments for tool "probe"');
    expect(rails).toEqual([]);
    expect(given).toEqual([]);
  });

  it("read the input and the state with nothing redacted, like the arguments", async () => {
    const { tool, given } = probe(z.object({ to: z.email() }));
    const agent = defineAgent({
      name: "writer",
      tools: [tool],
      input_schema: z.object({ message: z.string(), mail: z.string() }),
      initialExecutionState: ({ mail }) => ({ mail }),
      guardrail_config: {
        input_rails: [{ type: "pii" }],
        ...ruled("args.to == input.mail && args.to == execution.mail"),
      },
    });
    const { runtime } = await testRuntime([call({ to: "<EMAIL_1>" }), "ok"]);
    await executeAgent(agent, { message: "Write.", mail: address }, { runtime });
    expect(given).toEqual([{ to: address }]);
  });
});
