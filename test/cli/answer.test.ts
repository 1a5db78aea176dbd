import { afterEach, describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import type { StoredState } from "../../src/runtime/threads/threads.ts";
import { hashCall } from "../../src/state/human-request.ts";
import { canonicalHash } from "../../src/values/json.ts";
import { openDatabases } from "../helpers/open-databases.ts";
import { namesIn, packageEntry, useFolders } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const folderWith = useFolders();
const databases = openDatabases();
afterEach(() => databases.release());
const inPackage = JSON.stringify(packageEntry);

const files = {
  // Asks for a name and an approval at once, then tells both.
  "both.yaml": `name: both
tools: [current_time]
workflow_graph:
  entry_point: look
  nodes:
    - { name: look, type: tool, config: { tool: current_time, args: {} } }
    - { name: allow, type: human, config: { kind: approval, prompt: "May it?", proposed: { n: 1 } } }
    - { name: name, type: human, config: { kind: input, prompt: "Whose?" } }
  edges:
    - { from: look, to: [allow, name] }
    - { from: allow, to: END }
    - { from: name, to: END }
  output: { message: "\${nodes.name.value} \${nodes.allow.value.n}" }
`,
  "one.yaml": `name: one
workflow_graph:
  entry_point: ask
  nodes:
    - { name: ask, type: human, config: { kind: edit, prompt: "Send it?", proposed: "Hi", timeout_seconds: 3600, on_timeout: reject } }
  edges:
    - { from: ask, to: END }
`,
  "wait.yaml": `name: wait
workflow_graph:
  entry_point: paid
  nodes:
    - { name: paid, type: wait, config: { event: order.paid, schema: { type: object, properties: { amount: { type: integer } }, required: [amount] } } }
  edges:
    - { from: paid, to: END }
  output: { message: "paid \${nodes.paid.value.amount}" }
`,
  "send.ts": `import { defineAgent, defineTool } from ${inPackage};
    const send = defineTool({
      name: "send", description: "Sends a text.", requires_approval: true,
      input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: ({ text }) => "sent " + text,
    });
    export default defineAgent({
      name: "send", tools: [send],
      workflow_graph: {
        entry_point: "send",
        nodes: [{ name: "send", type: "tool", config: { tool: "send", args: { text: "\${input.message}" } } }],
        edges: [{ from: "send", to: "END" }],
      },
    });`,
};

async function run(cwd: string, argv: readonly string[], typed?: readonly (string | null)[]) {
  const io = memoryIo({ cwd, ...(typed !== undefined && { typed }) });
  await databases.hold(cwd);
  const code = await runCli(["run", ...argv], io);
  return { code, shown: io.stdout.take(), errors: io.stderr.take() };
}

/** An approval as a command line says it: of what is asked and proposed, and nothing else. */
function approval(prompt: string, proposed: unknown): string {
  return JSON.stringify({ decision: "approve", hash: canonicalHash({ prompt, proposed }) });
}

/** What is asked and answered, without the opening and the figures at the end. */
function between(shown: string): string {
  return shown
    .slice(shown.indexOf("\n\n") + 2, shown.lastIndexOf("\n\n"))
    .replaceAll(/^ +\n/gm, "\n");
}

describe("stratagraph run, where nobody can be asked", () => {
  it("says what waits and how to answer, and ends with 3", async () => {
    const cwd = await folderWith(files);
    const { code, shown, errors } = await run(cwd, ["one.yaml", "go", "-t", "t"]);
    expect([code, errors]).toEqual([3, ""]);
    expect(between(shown.replace(/until .* UTC/, "until then"))).toBe(`■ Waits for an answer.

? ask asks for approval or changes · until then
  Send it?
  │ Hi

To answer:
  stratagraph run one.yaml --thread t --answer '${approval("Send it?", "Hi")}'`);
    const again = await run(cwd, ["one.yaml", "-t", "t"]);
    expect(again.code).toBe(3);
    const done = await run(cwd, ["one.yaml", "-t", "t", "--answer", "Hello", "--json"]);
    expect(done.code).toBe(0);
    expect(JSON.parse(done.shown)).toMatchObject({ output: { message: "Hello" }, interrupts: [] });
  });

  it("takes one answer of two command lines that answer at once", async () => {
    const cwd = await folderWith(files);
    expect((await run(cwd, ["send.ts", "Hi", "-t", "t"])).code).toBe(3);
    const answer = (given: string) => run(cwd, ["send.ts", "-t", "t", "-a", given, "--json"]);
    const ends = await Promise.all([answer("approve"), answer("approve")]);
    const [done, refused] = ends.toSorted((a, b) => a.code - b.code);
    expect(done!.code).toBe(0);
    expect(JSON.parse(done!.shown)).toMatchObject({ output: { message: "sent Hi" } });
    const { error } = JSON.parse(refused!.shown) as { error: { code: string } };
    expect(["thread_locked", "nothing_to_answer"]).toContain(error.code);
  });

  it("takes answers by id from separate command lines, and prints what waits as JSON", async () => {
    const cwd = await folderWith(files);
    const asked = await run(cwd, ["both.yaml", "go", "-t", "t", "--json"]);
    expect([asked.code, asked.errors]).toEqual([3, ""]);
    const { status, output, interrupts } = JSON.parse(asked.shown) as {
      status: string;
      output: null;
      interrupts: { id: string }[];
    };
    expect([status, output]).toEqual(["AWAITING_HUMAN", null]);
    const common = { within: [], schema: expect.any(Object), expires_at: null };
    expect(interrupts).toEqual([
      {
        id: expect.stringMatching(/^[\da-f]{32}$/),
        kind: "approval",
        hash: canonicalHash({ prompt: "May it?", proposed: { n: 1 } }),
        node: "allow",
        prompt: "May it?",
        proposed: { n: 1 },
        ...common,
      },
      {
        id: expect.any(String),
        kind: "input",
        node: "name",
        prompt: "Whose?",
        proposed: null,
        ...common,
      },
    ]);
    const [allow, name] = interrupts.map(({ id }) => id);

    const bare = await run(cwd, ["both.yaml", "-t", "t", "-a", "yes", "--json"]);
    expect(bare.code).toBe(2);
    expect(JSON.parse(bare.shown)).toMatchObject({ error: { code: "ambiguous_answer" } });
    const wrong = await run(cwd, ["both.yaml", "-t", "t", "-a", `${allow}=maybe`]);
    expect([wrong.code, wrong.shown]).toEqual([2, ""]);
    expect(wrong.errors).toMatch(/does not fit\. Expected .*; got "maybe"\. \[invalid_answer\]\n$/);
    const unknown = await run(cwd, ["both.yaml", "-t", "t", "-a", `${"0".repeat(32)}=true`]);
    expect(unknown.errors).toContain("[unknown_interrupt]");
    expect(JSON.parse(bare.shown).error.message).toMatch(
      /\. Answer some or all of them by id: --answer ID=ANSWER, repeated\.$/,
    );
    const further = await run(cwd, ["both.yaml", "hi", "-t", "t"]);
    expect(further.errors).toContain(
      `Answer first without MESSAGE (stratagraph run AGENT --thread t --answer '${allow}=${approval("May it?", { n: 1 })}' --answer '${name}=your answer'), or give another --thread. [unfinished_turn]`,
    );

    const halfway = await run(cwd, ["both.yaml", "-t", "t", "-a", `${name}=42`]);
    expect(halfway.code).toBe(3);
    const approves = `--answer '${approval("May it?", { n: 1 })}'`;
    expect(halfway.shown).toContain(`stratagraph run both.yaml --thread t ${approves}`);
    const other = await run(cwd, ["both.yaml", "-t", "t", "-a", approval("May it?", { n: 9 })]);
    expect([other.code, other.shown]).toEqual([2, ""]);
    expect(other.errors).toMatch(
      /expected the hash .*\. Omit --answer to see the current request\. \[approval_mismatch\]\n$/,
    );
    const edit = JSON.stringify({ decision: "edit", value: { n: 2 } });
    const done = await run(cwd, ["both.yaml", "-t", "t", "-a", `${allow}=${edit}`, "--json"]);
    expect(JSON.parse(done.shown)).toMatchObject({ output: { message: "42 2" } });
  });

  it("shows how to answer several requests at once", async () => {
    const cwd = await folderWith(files);
    const { shown } = await run(cwd, ["both.yaml", "go", "-t", "t"]);
    expect(shown).toContain("■ Waits for 2 answers.");
    expect(shown).toMatch(
      /--thread t --answer '[\da-f]{32}=\{"decision":"approve",.*\}' --answer '[\da-f]{32}=your answer'\n/,
    );
  });

  it("shows an object that is asked for as a template of it", async () => {
    const cwd = await folderWith({
      "order.yaml": `name: order
workflow_graph:
  entry_point: ask
  nodes:
    - name: ask
      type: human
      config:
        kind: input
        prompt: "How many?"
        schema:
          type: object
          properties: { pieces: { type: integer }, note: { type: string }, size: { enum: [s, m] } }
          required: [pieces, size]
  edges: [{ from: ask, to: END }]
`,
    });
    const { shown } = await run(cwd, ["order.yaml", "go", "-t", "t"]);
    expect(shown).toContain(`--thread t --answer '{"pieces":"<integer>","size":"<s | m>"}'\n`);
  });

  it("says that a run that keeps nothing cannot wait", async () => {
    const cwd = await folderWith(files);
    const { code, errors } = await run(cwd, ["one.yaml", "go", "--no-save"]);
    expect(code).toBe(2);
    expect(errors).toBe(
      "error: The run must wait for a person or for tool results, and --no-save stores no state to resume. Run it on a terminal, or without --no-save. [no_checkpointer]\n",
    );
  });
});

describe("stratagraph run on a terminal", () => {
  it("asks one request after the other, again after what cannot be read, and goes on", async () => {
    const cwd = await folderWith(files);
    const { code, shown } = await run(
      cwd,
      ["both.yaml", "go", "--no-save"],
      ["?", "y", " ", "Ada"],
    );
    expect(code).toBe(0);
    expect(shown).toContain(`? allow asks for approval
  May it?
  │ {"n":1}
  y approve · e edit · n reject › []?
  Type y, e or n.
  y approve · e edit · n reject › []y
     allow → END

? name asks for input
  Whose?
  answer › [] 
  Type an answer, or press Ctrl-C to answer later.
  answer › []Ada
     name → END

── Answer ──────────────────────────────────────────────────────────────────────

Ada 1
`);
    expect(await namesIn(cwd)).toEqual(Object.keys(files).toSorted());
  });

  it("takes an edit of what is proposed, and a rejection with its reason", async () => {
    const cwd = await folderWith(files);
    const edited = await run(cwd, ["one.yaml", "go", "--no-save"], ["e", "approve"]);
    expect(edited.shown).toContain("  new value › [Hi]approve\n");
    expect(edited.shown).toContain("\n\napprove\n\n");
    const rejected = await run(cwd, ["one.yaml", "go", "--no-save"], ["n", "too short"]);
    expect(rejected.code).toBe(1);
    expect(rejected.shown).toContain("with the reason: too short");
  });

  it("asks for approval of a tool call, and again for arguments that the tool does not take", async () => {
    const cwd = await folderWith(files);
    const typed = ["e", "{", '{"text": 7}', "e", '{"text": "ho"}'];
    const { code, shown } = await run(cwd, ["send.ts", "hi", "--no-save"], typed);
    expect(code).toBe(0);
    expect(shown).toContain('  May send call send?\n  │ send\n  │   text: "hi"\n');
    expect(shown).toContain('  arguments › [{"text":"hi"}]{\n  Expected JSON.\n');
    expect(shown).toMatch(/\n {2}! Call ".*": the arguments do not fit tool "send": text: /);
    expect(shown).toContain("\n\nsent ho\n\n");
  });

  it("says how much of a call is not shown, and prints all of it as JSON", async () => {
    const cwd = await folderWith(files);
    const text = `${"Thanks! ".repeat(5000)}<end>`;
    const { code, shown } = await run(cwd, ["send.ts", text, "-t", "t"]);
    expect(code).toBe(3);
    const hash = hashCall({ name: "send", args: { text } });
    expect(shown).toContain(`--answer '{"decision":"approve","hash":"${hash}"}'`);
    // The prompt has 19 characters, and the text two quotes.
    const left = (text.length + 2 + 19 - 16_000).toLocaleString("en");
    expect(shown).toContain(
      `  … ${left} more characters not shown: "show THREAD --full" prints them.\n`,
    );
    const io = memoryIo({ cwd });
    await runCli(["show", "t", "--json"], io);
    const { waiting } = JSON.parse(io.stdout.take()) as StoredState;
    expect(waiting[0]?.proposed).toMatchObject([{ args: { text }, hash, order: ["text"] }]);
  });

  it("leaves the thread waiting on Ctrl-C, and says how to answer later", async () => {
    const cwd = await folderWith(files);
    const left = await run(cwd, ["both.yaml", "go", "-t", "t"], ["y", null]);
    expect(left.code).toBe(3);
    expect(left.shown).toContain(`■ Waits for an answer.

To answer:
  stratagraph run both.yaml --thread t --answer 'your answer'
`);
    const later = await run(cwd, ["both.yaml", "-t", "t", "-a", "Bo", "--json"]);
    expect(JSON.parse(later.shown)).toMatchObject({ output: { message: "Bo 1" } });
  });
});

describe("a turn that waits for an event", () => {
  it("exits with 3, says what it waits for, and takes the payload as an answer", async () => {
    const cwd = await folderWith(files);
    const at = ["wait.yaml", "--thread", "t"];
    const begun = await run(cwd, [...at, "go"]);
    expect(begun.code).toBe(3);
    expect(begun.shown).toContain("■ Waits for an event.");
    expect(begun.shown).toContain(`--answer '{"amount":"<integer>"}'`);
    const refused = await run(cwd, [...at, "--answer", '{"amount":"x"}']);
    expect([refused.code, refused.errors]).toEqual([2, expect.stringContaining("amount")]);
    const still = await run(cwd, [...at, "--json"]);
    expect(still.code).toBe(3);
    expect(JSON.parse(still.shown)).toMatchObject({
      status: "AWAITING_TOOL",
      interrupts: [],
      waits: [{ kind: "wait", event: "order.paid", expires_at: null }],
    });
    const ended = await run(cwd, [...at, "--answer", '{"amount":5}']);
    expect([ended.code, ended.shown]).toEqual([0, expect.stringContaining("paid 5")]);
  });
});
