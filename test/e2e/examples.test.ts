import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import invoiceExtraction from "../../examples/invoice-extraction/agent.ts";
import logTriage from "../../examples/log-triage/agent.ts";
import { createRuntime, executeAgent, loadAgent } from "../../src/index.ts";
import { runCommands, sessionsOf, settled } from "../helpers/readme-sessions.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const described = ["invoice-extraction", "research"];

describe("the examples", () => {
  it("calculate", async () => {
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    const agent = await loadAgent("examples/calculator/agent.yaml");
    const result = await executeAgent(agent, { message: "What is 17.5% of 2,340?" }, { runtime });
    expect(result.output).toEqual({ message: "[offline:rules] 409.5" });
  });

  it("triage logs: parsed once, in a first attempt that is refused and a second that is not", async () => {
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    const message = "Parse the logs: which service fails most, and since when?";
    const result = await executeAgent(logTriage, { message }, { runtime });
    expect(result.status).toBe("COMPLETED");
    expect(result.attempts).toEqual([
      {
        attempt_number: 0,
        errors: ['give the time and message of the first error of the service "payments"'],
      },
      { attempt_number: 1, errors: [] },
    ]);
    expect(result.state.execution).toMatchObject({ parses: 1, reuses: 1 });
    expect(result.state.attempt).toEqual({ looked_at: ["payments"] });
    expect(result.output?.message).toContain("payments 28");
    expect(result.output?.message).toContain("2026-03-04T14:02:28.867Z");
  });
});

describe("the page of an example", () => {
  const pages = readdirSync("examples", { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith("README.md"),
  );

  it("is there for every workflow", () => {
    expect(pages.toSorted()).toEqual(described.map((name) => `${name}/README.md`));
  });

  it.each(pages)("%s shows what its commands print", { timeout: 120_000 }, async (page) => {
    const sessions = sessionsOf(`examples/${page}`);
    expect(sessions).not.toEqual([]);
    const folder = tempFolder();
    for (const { commands, printed } of sessions) {
      expect(settled(await runCommands(commands, folder))).toEqual(settled(printed));
    }
  });
});

describe("the invoice extraction", () => {
  const extract = async (file: string) => {
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    return executeAgent(invoiceExtraction, { file }, { runtime });
  };

  it("mends figures that do not add up in a second attempt", async () => {
    const result = await extract("2026-117.txt");
    expect(result.attempts).toEqual([
      {
        attempt_number: 0,
        errors: ["lines and other_charges make 170.60, not the total of 180.50"],
      },
      { attempt_number: 1, errors: [] },
    ]);
    expect(result.output).toMatchObject({ other_charges: 9.9, total: 180.5 });
    expect(result.steps.map(({ node, attempt_number }) => [node, attempt_number])).toEqual([
      ["read", 0],
      ["extract", 0],
      ["read", 1],
      ["extract", 1],
    ]);
  });

  it("accepts figures that are right at once", async () => {
    const { attempts, output } = await extract("2026-118.txt");
    expect(attempts).toEqual([{ attempt_number: 0, errors: [] }]);
    expect(output).toEqual({
      seller: "Harbour Timber Ltd",
      invoice_number: "2026-118",
      date: "2026-03-16",
      currency: "EUR",
      lines: [
        { description: "Larch posts, 2 m", quantity: 30, unit_price: 7.2, amount: 216 },
        { description: "Wire nails, 1 kg", quantity: 3, unit_price: 5.5, amount: 16.5 },
      ],
      total: 232.5,
    });
  });

  it("says what the tool said when there is no invoice", async () => {
    const { status, failure } = await extract("../agent.ts");
    expect(status).toBe("FAILED");
    expect(failure?.message).toContain(
      'attempt 3: tool "read_invoice" of node "read" failed: There is no invoice "../agent.ts".',
    );
  });
});
