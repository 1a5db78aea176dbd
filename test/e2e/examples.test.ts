import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import typedFolderReport from "../../examples/folder-report/agent.ts";
import { tools as seasonTools } from "../../examples/folder-report/tools.ts";
import invoiceExtraction from "../../examples/invoice-extraction/agent.ts";
import { tools } from "../../examples/support-triage/tools.ts";
import logTriage from "../../examples/log-triage/agent.ts";
import { createRuntime, executeAgent, loadAgent, type Runtime } from "../../src/index.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { pageShell, sessionsOf, settled, type PageShell } from "../helpers/readme-sessions.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const described = [
  "agent-of-agents",
  "approval-flow",
  "context-budget",
  "experiment",
  "folder-report",
  "guarded-desk",
  "invoice-extraction",
  "langgraph-client",
  "remembers",
  "research",
  "support-triage",
  "time-travel",
];

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

describe("the pages of the examples, run one after the other in one folder", () => {
  // In the order in which the README names them, as a reader goes through them.
  const pages = [
    ...readFileSync("README.md", "utf8").matchAll(/^\| \[.*?\]\(examples\/(.*?README\.md)\)/gm),
  ].map(([, page = ""]) => page);
  let shell: PageShell;
  beforeAll(async () => {
    shell = await pageShell(tempFolder());
  });
  afterAll(() => shell.close());

  it("are there for every workflow, and named in the README", () => {
    const files = readdirSync("examples", { recursive: true, encoding: "utf8" });
    const written = files.filter((file) => file.endsWith("README.md"));
    expect(written.toSorted()).toEqual(described.map((name) => `${name}/README.md`));
    expect(pages.toSorted()).toEqual(written.toSorted());
  });

  it.each(pages)("%s shows what its commands print", { timeout: 900_000 }, async (page) => {
    const sessions = sessionsOf(`examples/${page}`);
    expect(sessions).not.toEqual([]);
    for (const { commands, printed } of sessions) {
      expect(settled(await shell.run(commands))).toEqual(settled(printed));
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
      'All 3 attempts failed alike: tool "read_invoice" of node "read" failed: There is no invoice "../agent.ts".',
    );
  });
});

describe("the support triage", () => {
  let runtime: Runtime;
  beforeAll(async () => {
    const root = "examples/support-triage";
    runtime = await createRuntime({ folder: tempFolder(), env: {}, tools, root });
  });
  afterAll(() => runtime.close());

  const sendTo = async (message: string) => {
    const agent = await loadAgent("examples/support-triage/agent.yaml");
    const asked = await executeAgent(agent, { message }, { runtime });
    const { threadId } = asked;
    return {
      asked,
      answer: (answer: unknown) => executeAgent(agent, null, { runtime, threadId, answer }),
    };
  };
  const charged = "I was charged twice for order A-1042. Please send the money back.";

  it("looks up the order and the help text beside each other, and asks before it sends", async () => {
    const { asked, answer } = await sendTo(charged);
    expect(asked.status).toBe("AWAITING_HUMAN");
    expect(asked.steps.map(({ node }) => node).toSorted()).toEqual([
      "draft",
      "help",
      "look",
      "triage",
    ]);
    const [request] = asked.interrupts;
    expect(request).toMatchObject({ kind: "approval", prompt: "Send this reply?" });
    expect(request?.proposed).toContain("given back within five days");
    expect(request?.proposed).toContain("order_id: A-1042, customer: Ida Berg");

    const sent = await answer(true);
    expect(sent.status).toBe("COMPLETED");
    expect(sent.output).toEqual({ message: request?.proposed });
  });

  it("sends what a person made of the draft", async () => {
    const { answer } = await sendTo("The app crashes at login, my account is C-208.");
    const value = "Dear Nora, please install version 4.2.";
    const { output } = await answer({ decision: "edit", value });
    expect(output).toEqual({ message: value });
  });

  it("notes that a draft was rejected, and why", async () => {
    const { asked, answer } = await sendTo("When are you open?");
    expect(asked.interrupts[0]?.proposed).toContain("Opening hours are Monday to Friday");
    const { status, output } = await answer({ decision: "reject", reason: "spam" });
    expect(status).toBe("COMPLETED");
    expect(output).toEqual({ message: "No reply was sent. spam" });
  });
});

describe("the agent of agents", () => {
  it("counts what its agents spend, and keeps what the first found", async () => {
    const root = "examples/research/sources";
    const runtime = await createRuntime({ checkpointer: false, env: {}, root });
    const agent = await loadAgent("examples/agent-of-agents/editor.yaml");
    const nodes: string[] = [];
    const { status, state, usage } = await executeAgent(
      agent,
      { message: 'Write a paragraph about the "eel pass" and its posts.' },
      {
        runtime,
        onEvent: ({ type, within, node }) => {
          if (type === "step") nodes.push([...within, node].join("/"));
        },
      },
    );
    expect(status).toBe("COMPLETED");
    expect(nodes).toEqual(["research/tools", "research/reason", "write/reason"]);
    expect(usage).toMatchObject({ llm_calls: 3, tool_calls: 1 });
    const material = expect.stringContaining(
      "letters/1896-parish.txt:5: The eel pass was finished",
    );
    expect(state.execution).toEqual({ material: { message: material } });
  });
});

describe("the approval flow", () => {
  it("takes no answer in a day for a rejection", async () => {
    const clock = new ManualClock();
    const runtime = await createRuntime({ folder: tempFolder(), env: {}, clock });
    const agent = await loadAgent("examples/approval-flow/agent.yaml");
    const { threadId } = await executeAgent(agent, { message: "Chairs" }, { runtime });
    const details = { pieces: 4, price: 120 };
    const asked = await executeAgent(agent, null, { runtime, threadId, answer: details });
    expect(asked.interrupts).toMatchObject([
      { kind: "approval", proposed: { what: "Chairs", pieces: 4, total: 480 } },
    ]);
    clock.advance(86_400_000);
    const late = await executeAgent(agent, null, { runtime, threadId });
    expect(late.output).toEqual({ message: "Not bought: no answer within 86400 s" });
    await runtime.close();
  });
});

describe("the folder report", () => {
  const root = "examples/folder-report";
  const message = readFileSync(`${root}/task.txt`, "utf8");

  it.each([
    ["of files", () => loadAgent(`${root}/agent.yaml`)],
    ["in TypeScript", () => Promise.resolve(typedFolderReport)],
  ])("counts and compares right, by the planner %s", async (_, planner) => {
    const services = { checkpointer: false, env: {}, root, tools: seasonTools } as const;
    const runtime = await createRuntime(services);
    const results: Record<string, unknown> = {};
    const gaps: unknown[] = [];
    const { status, output } = await executeAgent(
      await planner(),
      { message },
      {
        runtime,
        onEvent: (event) => {
          if (event.type === "subtask_end") results[event.id] = event.subtask.result;
          if (event.type === "gap") gaps.push(event);
        },
      },
    );
    expect({ status, gaps }).toEqual({ status: "COMPLETED", gaps: [] });
    const comparison = expect.stringContaining("2025: 89 eels more than in 2024 (40.8 %)");
    expect(results).toEqual({
      "list-files": expect.stringContaining("counts/2024.csv\ncounts/2025.csv\ncounts/notes.md"),
      "count-eels-2024": {
        season: "2024",
        nights: 8,
        eels: 218,
        best_night: "2024-09-21",
        best_eels: 64,
      },
      "count-eels-2025": {
        season: "2025",
        nights: 9,
        eels: 307,
        best_night: "2025-09-12",
        best_eels: 95,
      },
      "search-notes": expect.stringContaining("counts/notes.md:5: - 2025-09-12: storm"),
      "compare-seasons": comparison,
    });
    expect(output).toEqual({ message: comparison });
  });
});
