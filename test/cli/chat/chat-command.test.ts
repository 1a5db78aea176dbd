import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { type OpenAIAnswer, openAIServer, Silence } from "../../helpers/openai-server.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { namesIn, useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";
import { screenOf } from "../screen.ts";

const folderWith = useFolders();
const databases = openDatabases();
afterEach(() => databases.release());

const files = {
  "calc.yaml": "name: calc\ntools: [calculator]\n",
  "tides.yaml": "name: tides\nllm_config: { default_model: openai:gpt-4o-mini }\n",
  "ask.yaml": `name: ask
workflow_graph:
  entry_point: ask
  nodes:
    - { name: ask, type: human, config: { kind: edit, prompt: "Send it?", proposed: "Hi" } }
  edges:
    - { from: ask, to: END }
`,
  "where.yaml": `name: where
tools:
  - name: locate
    description: Says where the user is.
    input_schema: { type: object, properties: { precise: { type: boolean } } }
    transport: { type: client }
  - name: read
    description: Reads a file of the user.
    input_schema: { type: object, properties: {} }
    transport: { type: client }
workflow_graph:
  entry_point: fork
  nodes:
    - { name: fork, type: router, config: { rules: [{ when: "true", choice: "on" }] } }
    - { name: where, type: tool, config: { tool: locate, args: { precise: true } } }
    - { name: text, type: tool, config: { tool: read } }
  edges:
    - { from: fork, to: [where, text] }
    - { from: where, to: END }
    - { from: text, to: END }
  output: { message: "\${nodes.where.result.city}: \${nodes.text.result}" }
`,
  "form.yaml": `name: form
input_schema:
  type: object
  properties: { message: { type: string }, size: { type: integer } }
  required: [message, size]
`,
};

type Typed = readonly (string | null)[];

/** Runs a chat of a person who types these lines; null is Ctrl-C. */
async function chat(cwd: string, argv: readonly string[], typed: Typed, env = {}) {
  const io = memoryIo({ cwd, typed, env });
  await databases.hold(cwd);
  const code = await runCli(["chat", ...argv], io);
  expect(io.listening).toBe(0);
  return { code, shown: settled(io.stdout.take()), errors: io.stderr.take() };
}

/** Runs a chat on lines of standard input. */
async function piped(cwd: string, argv: readonly string[], text: string, env = {}) {
  const io = memoryIo({ cwd, stdin: [Buffer.from(text)], env });
  const code = await runCli(["chat", ...argv], io);
  return { code, shown: io.stdout.take(), errors: io.stderr.take() };
}

function settled(text: string): string {
  return text
    .replace(/\b[\d.]+ m?s\b/g, "N ms")
    .replace(/\b[\d,]+ tokens in, \d+ out\b/g, "N tokens in, N out")
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "ID");
}

/** A model that gives these answers, one for each request. */
async function withModel<Result>(
  script: readonly OpenAIAnswer[],
  use: (env: Readonly<Record<string, string>>, asked: () => readonly unknown[]) => Promise<Result>,
): Promise<Result> {
  await using server = await openAIServer(...script);
  const env = { OPENAI_API_KEY: "test", OPENAI_BASE_URL: server.url };
  return await use(env, () =>
    server.requests.map(({ body }) => body.messages.map(({ content }) => content)),
  );
}

describe("stratagraph chat", () => {
  it("answers each message in the same thread, and ends with the command that resumes it", async () => {
    const cwd = await folderWith(files);
    const typed = ["What is 2 + 3?", "", "And 4 * 5?", null];
    const { code, shown, errors } = await chat(cwd, ["calc.yaml"], typed);
    expect([code, errors]).toEqual([0, ""]);
    expect(shown).toBe(`calc 1.0.0 · offline:rules
offline:rules is a rule-based stand-in, not a language model; set OPENAI_API_KEY or pass --model provider:model.
/help lists the commands; Ctrl-D leaves.

> []What is 2 + 3?

  1  [offline:rules] Calling calculator.
     ✓ calculator(expression: "2 + 3")  N ms
       {"result":5}

[offline:rules] 5

2 steps · 1 tool call · N tokens in, N out · N ms

> []
> []And 4 * 5?

  1  [offline:rules] Calling calculator.
     ✓ calculator(expression: "4 * 5")  N ms
       {"result":20}

[offline:rules] 20

2 steps · 1 tool call · N tokens in, N out · N ms

> []
Thread ID. To continue:
  stratagraph chat calc.yaml --thread ID
`);
    const other = await chat(cwd, ["calc.yaml", "--thread", "t", "--no-save"], []);
    expect([other.code, other.errors]).toEqual([2, expect.stringContaining("--no-save")]);
  });

  it("sends the messages of earlier turns, also when the thread is resumed", async () => {
    const cwd = await folderWith(files);
    await withModel([{ text: "Noon." }, { text: "Six." }, { text: "Yes." }], async (env, asked) => {
      await chat(cwd, ["tides.yaml", "-t", "t"], ["High tide?", "Low?", null], env);
      const { shown } = await chat(cwd, ["tides.yaml", "-t", "t"], ["Sure?", null], env);
      expect(shown).toContain("tides 1.0.0 · openai:gpt-4o-mini · thread t\n");
      expect(asked().at(-1)).toEqual(
        expect.arrayContaining(["High tide?", "Low?", "Six.", "Sure?"]),
      );
    });
  });

  it("streams an answer as Markdown on a terminal, which shows it once", async () => {
    const cwd = await folderWith(files);
    const text = "# Tides\n- **high** at\u001B[2J `noon`\n```\nx = 1\n```";
    const written = await withModel([{ text }], async (env) => {
      const io = memoryIo({ cwd, typed: ["Tides?", null], env, isTerminal: true });
      await runCli(["chat", "tides.yaml", "--no-save"], io);
      return io.stdout.take();
    });
    // While it streams.
    expect(written).toContain("• \u001B[1mhigh\u001B[22m at\n");
    expect(written).toContain("\u001B[1mTides\u001B[22m\n• \u001B[1mhigh\u001B[22m at ");
    expect(written).not.toContain("\u001B[2J");
    const screen = screenOf(written);
    expect(screen.slice(screen.indexOf("> []Tides?"), screen.indexOf("> []"))).toEqual([
      "> []Tides?",
      "",
      "Tides",
      "• high at noon",
      "─".repeat(80),
      "  x = 1",
      "─".repeat(80),
      "",
      expect.stringMatching(/^1 step · 0 tool calls/),
      "",
    ]);
  });

  it("cancels a turn on Ctrl-C, and answers the next message", async () => {
    const cwd = await folderWith(files);
    const silent = new Silence();
    await withModel([{ silent }, { text: "At noon." }], async (env, asked) => {
      const io = memoryIo({ cwd, typed: ["First?", "Second?", "/quit"], env });
      void silent.asked.then(() => io.stop("SIGINT"));
      expect(await runCli(["chat", "tides.yaml", "-t", "t"], io)).toBe(0);
      const shown = io.stdout.take();
      expect(shown).toContain("■ Cancelled.\n");
      expect(shown).toContain("\nAt noon.\n");
      expect(asked().at(-1)).toEqual(["Second?"]);
    });
  });

  it("ends after the turn that another signal cancels", async () => {
    const cwd = await folderWith(files);
    const silent = new Silence();
    await withModel([{ silent }], async (env) => {
      const io = memoryIo({ cwd, typed: ["First?"], env });
      void silent.asked.then(() => io.stop("SIGTERM"));
      expect(await runCli(["chat", "tides.yaml", "-t", "t"], io)).toBe(0);
      expect(io.stdout.take()).toContain("  stratagraph chat tides.yaml --thread t\n");
    });
  });

  it("reports an error of a turn, and goes on", async () => {
    const cwd = await folderWith({
      ...files,
      "once.yaml": "name: once\nexecution_config: { max_turns: 1 }\n",
    });
    const typed = ["Hello", "Again", "/clear", "And again", null];
    const { code, shown, errors } = await chat(cwd, ["once.yaml", "--no-save"], typed);
    expect(code).toBe(0);
    expect(errors).toMatch(/^error: This thread has had its 1 turns\..*\n$/);
    expect(shown.match(/1 step · /g)).toHaveLength(2);
    expect(shown).not.toContain("To continue");
    expect(await namesIn(cwd)).not.toContain(".stratagraph");
  });

  it("refuses an agent that takes more than a message", async () => {
    const cwd = await folderWith(files);
    const { code, shown, errors } = await chat(cwd, ["form.yaml"], []);
    expect([code, shown]).toEqual([2, ""]);
    expect(errors).toBe(
      'error: A chat sends {"message": "…"}, which is no input of agent "form": it also requires size. Run it with: run form.yaml --input JSON [no_message_input]\n',
    );
  });
});

describe("a chat that waits for a person", () => {
  it("asks within the turn, and the turn continues with the answer", async () => {
    const cwd = await folderWith(files);
    const { code, shown } = await chat(cwd, ["ask.yaml", "--no-save"], ["go", "e", "Hello", null]);
    expect(code).toBe(0);
    expect(shown).toContain("? ask asks for approval or changes\n  Send it?\n  │ Hi\n");
    expect(shown).toContain("\nHello\n");
  });

  it("ends with 3 when the question is left, and asks it first when the thread is resumed", async () => {
    const cwd = await folderWith(files);
    const left = await chat(cwd, ["ask.yaml", "-t", "t"], ["go", null]);
    expect(left.code).toBe(3);
    expect(left.shown).toMatch(
      /■ Waits for an answer\.\n[^]*To continue:\n {2}stratagraph chat ask\.yaml --thread t\n$/,
    );
    const resumed = await chat(cwd, ["ask.yaml", "-t", "t"], ["y", "/quit"]);
    expect(resumed.code).toBe(0);
    expect(resumed.shown).toMatch(
      /Ctrl-D leaves\.\n\n\n\? ask asks .*[^]*\nHi\n[^]*> \[\]\/quit\n/,
    );
  });
});

describe("a chat that waits for results of client tools", () => {
  it("asks for the result of each call, and the turn continues with them", async () => {
    const cwd = await folderWith(files);
    const typed = ["Where?", "Oslo", '{"city":"Oslo"}', '"a file"', null];
    const { code, shown, errors } = await chat(cwd, ["where.yaml"], typed);
    expect([code, errors]).toEqual([0, ""]);
    expect(shown).toContain("? Result of call 1 of 2");
    expect(shown).toMatch(/│ locate\n +│ +precise: true/);
    expect(shown).toContain('Type JSON: "a text", 42 or {"city":"Oslo"}.');
    expect(shown).toContain("Oslo: a file");
  });

  it("ends with 3 when they are left, asks again when the thread is resumed, and takes errors", async () => {
    const cwd = await folderWith(files);
    const left = await chat(cwd, ["where.yaml", "-t", "t"], ["Where?", "42", null]);
    expect(left.code).toBe(3);
    expect(left.shown).toContain("--tool-results");
    const typed = ["! no position", '"a file"', null];
    const { shown } = await chat(cwd, ["where.yaml", "-t", "t"], typed);
    expect(shown).toContain("? Result of call 1 of 2");
    expect(shown).toContain("no position");
  });
});

describe("the commands of a chat", () => {
  it("show help, and suggest the nearest name of an unknown one", async () => {
    const cwd = await folderWith(files);
    const typed = ["/help", "/modle x", "/zzzzzz", "/model", null];
    const { shown } = await chat(cwd, ["calc.yaml", "--no-save"], typed);
    expect(shown).toContain("/attach PATH  send a file with the next message\n");
    expect(shown).toContain("Unknown command /modle. Did you mean /model?\n");
    expect(shown).toContain("Unknown command /zzzzzz. /help lists the commands.\n");
    expect(shown).toContain("Expected NAME: /model NAME\n");
  });

  it("answer with another model, once it is known to be there", async () => {
    const cwd = await folderWith(files);
    await withModel([{ text: "Noon." }], async (env, asked) => {
      const typed = ["/model nowhere:m", "/model openai:gpt-4o", "High tide?", null];
      const argv = ["calc.yaml", "-m", "offline:rules", "-t", "t"];
      const { shown, errors } = await chat(cwd, argv, typed, env);
      expect(errors).toMatch(/^error: .*nowhere.*\[unknown_model\]\n$/s);
      expect(shown).toContain("The next messages are answered by openai:gpt-4o.\n");
      expect(shown).toContain("chat calc.yaml --thread t --model openai:gpt-4o\n");
      expect(asked()).toHaveLength(1);
    });
  });

  it("show the thread, the steps and the usage, and begin a new thread", async () => {
    const cwd = await folderWith(files);
    const typed = ["/steps", "What is 2 + 3?", "/steps", "/usage", "/thread", "/clear", "/quit"];
    const { shown } = await chat(cwd, ["calc.yaml", "-t", "t"], typed);
    const after = (command: string) => shown.split(`> []${command}\n`).at(-1)!.split("\n\n")[0];
    expect(shown).toContain("> []/steps\nNo steps yet.\n");
    expect(after("/steps")).toBe(`  1  reason: [offline:rules] Calling calculator.
     ✓ calculator(expression: "2 + 3")  N ms
       {"result":5}
  2  reason: [offline:rules] 5`);
    expect(after("/usage")).toBe("1 turn · 2 steps · 1 tool call · N tokens in, N out · N ms");
    expect(after("/thread")).toBe(
      "Thread t. To continue:\n  stratagraph chat calc.yaml --thread t",
    );
    expect(after("/clear")).toBe(
      "A new thread begins.\nTo continue the last one:\n  stratagraph chat calc.yaml --thread t",
    );
  });

  it("name the files that go with the next message", async () => {
    const cwd = await folderWith(files);
    await writeFile(join(cwd, "a b.png"), "x");
    const typed = ["/attach nowhere.png", '/attach "a b.png"', "/attach calc.yaml", null];
    const { shown } = await chat(cwd, ["calc.yaml", "--no-save"], typed);
    expect(shown).toContain(`There is no file ${join(cwd, "nowhere.png")}.\n`);
    expect(shown).toContain("With the next message: a b.png, calc.yaml\n");
  });
});

describe("a chat without a terminal", () => {
  it("answers each line of standard input, and prints nothing else there", async () => {
    const cwd = await folderWith(files);
    const { code, shown, errors } = await piped(
      cwd,
      ["calc.yaml", "-t", "t"],
      "What is 2 + 3?\n\nAnd\\\r\n4 * 5?",
    );
    expect([code, shown]).toEqual([0, "[offline:rules] 5\n[offline:rules] 20\n"]);
    expect(errors).toBe("Thread t. To continue:\n  stratagraph chat calc.yaml --thread t\n");
  });

  it("sends lines that look like commands", async () => {
    const cwd = await folderWith(files);
    await withModel([{ text: "A file." }], async (env, asked) => {
      await piped(cwd, ["tides.yaml", "--no-save"], "/attach calc.yaml\n", env);
      expect(asked()).toEqual([["/attach calc.yaml"]]);
    });
  });

  it("ends with 3 at a turn that waits, and says how to answer", async () => {
    const cwd = await folderWith(files);
    const { code, shown, errors } = await piped(cwd, ["ask.yaml", "-t", "t"], "go\nnext\n");
    expect([code, shown]).toEqual([3, ""]);
    expect(errors).toMatch(/^■ Waits for an answer\.\n/);
    expect(errors).toMatch(/ {2}stratagraph run ask\.yaml --thread t --answer '.*'\n$/);
  });

  it("ends with 1 where the last turn failed, and with 2 for what is no text", async () => {
    const cwd = await folderWith(files);
    await withModel([{ status: 401 }, { text: "Noon." }, { status: 401 }], async (env) => {
      const first = await piped(cwd, ["tides.yaml", "--no-save"], "a\nb\n", env);
      expect([first.code, first.shown]).toEqual([0, "Noon.\n"]);
      expect(first.errors).toMatch(/^✗ Failed: .*\n$/);
      expect((await piped(cwd, ["tides.yaml", "--no-save"], "c\n", env)).code).toBe(1);
    });
    const io = memoryIo({ cwd, stdin: [Buffer.from([0xff, 0x0a])] });
    expect(await runCli(["chat", "calc.yaml", "--no-save"], io)).toBe(2);
    expect(io.stderr.take()).toContain("Line 1 of standard input is not UTF-8 text.");
  });

  it("ends when it is stopped while it waits for a line", async () => {
    const cwd = await folderWith(files);
    const io = memoryIo({ cwd });
    const silent = {
      ...io,
      stdin: {
        async *[Symbol.asyncIterator]() {
          io.stop("SIGINT");
          await new Promise(() => {});
          yield Buffer.from("never");
        },
      },
    };
    expect(await runCli(["chat", "calc.yaml", "--no-save"], silent)).toBe(0);
  });
});
