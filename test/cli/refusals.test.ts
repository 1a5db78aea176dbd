import { describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { namesIn, packageEntry, useFolders } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";

const folderWith = useFolders();
const inPackage = JSON.stringify(packageEntry);

const files = {
  "ok.yaml": "name: ok\ntools: [calculator]\n",
  "syntax.yaml": 'name: "a\n',
  "key.yaml": "name: a\ntoools: [calculator]\n",
  "type.yaml": "name: a\nversion: 7\n",
  "tool.yaml": "name: a\ntools: [calculater]\n",
  "model.yaml": "name: a\nllm_config: { default_model: opnai:gpt }\n",
  "key-missing.yaml": "name: a\nllm_config: { default_model: openai:gpt-4o-mini }\n",
  "schema.json": `{ "name": "a", "input_schema": { "type": "object",
    "properties": { "city": { "type": "string" } }, "required": ["city"] } }`,
  "notes.txt": "",
  "none.ts": "export const x = 1;",
  "throws.ts": 'throw new TypeError("boom");',
  "two.ts": `import { defineAgent } from ${inPackage};
    export const one = defineAgent({ name: "one" }), two = defineAgent({ name: "two" });`,
  "invalid.ts": `import { defineAgent } from ${inPackage};
    export const agent = defineAgent({ name: "Not A Name" });`,
};
const large = "x".repeat(10_000_000);

describe("wrong use ends with exit code 2, says why, and writes nothing", () => {
  it.each([
    ["a missing file", ["none.yaml", "hi"], "error: There is no file none.yaml. [file_not_found]"],
    ["another kind of file", ["notes.txt", "hi"], "error: notes.txt is not an agent: expected a"],
    ["a syntax error, with its place", ["syntax.yaml", "hi"], /\n {2}\S*syntax\.yaml:2:1 .*quote/],
    [
      "an unknown key",
      ["key.yaml", "hi"],
      /key\.yaml:2:1 toools: unknown key.*did you mean "tools"/,
    ],
    ["a wrong type", ["type.yaml", "hi"], "type.yaml:2:10 version: expected a text (found 7)"],
    ["an unknown tool", ["tool.yaml", "hi"], 'no tool "calculater". Did you mean "calculator"?'],
    ["an unknown model", ["model.yaml", "hi"], 'Did you mean "openai:gpt"? [unknown_model]'],
    ["an unknown --model", ["ok.yaml", "hi", "--model", "nope"], 'Unknown model "nope"'],
    ["a missing key", ["key-missing.yaml", "hi"], "set the environment variable OPENAI_API_KEY"],
    ["no message", ["ok.yaml"], "error: Nothing to run: give MESSAGE or --input, or --thread"],
    ["two inputs", ["ok.yaml", "hi", "--input", "{}"], "Give either MESSAGE or --input, not both."],
    ["input that is no JSON", ["ok.yaml", "--input", "{a"], "error: --input is not JSON: "],
    ["null for input", ["ok.yaml", "--input", "null"], "--input is null; expected an object."],
    ["input of another shape", ["schema.json", "hi"], 'does not fit agent "a": city: '],
    [
      "input that is too large",
      ["ok.yaml", "--input", JSON.stringify({ message: large })],
      "it has 10,000,014 bytes of JSON, the limit is 1,000,000. [invalid_input]",
    ],
    [
      "too much on standard input",
      ["ok.yaml", "-"],
      "Standard input exceeds 1,000,000 bytes, the maximum size of an input. [input_too_large]",
    ],
    ["a control character", ["ok.yaml", "hi", "--thread", "a\u001B[1mb"], "U+001B at 1"],
    ["a long thread id", ["ok.yaml", "hi", "-t", "x".repeat(10_000)], "has 10,000 characters."],
    ["an empty thread id", ["ok.yaml", "hi", "--thread", ""], "The thread id is empty."],
    [
      "a thread that is not there",
      ["ok.yaml", "--thread", "t"],
      'Thread "t" does not exist: there is nothing to resume. Give MESSAGE or --input to run a turn.',
    ],
    ["a thread that is not kept", ["ok.yaml", "-t", "t", "--no-save"], "needs the database, which"],
    ["an answer to no thread", ["ok.yaml", "--answer", "yes"], "resumes a waiting thread"],
    ["an answer with a message", ["ok.yaml", "hi", "-t", "t", "-a", "y"], "neither MESSAGE nor"],
    ["two bare answers", ["ok.yaml", "-t", "t", "-a", "y", "-a", "n"], "Give each as --answer ID"],
    [
      "an answer where nothing waits",
      ["ok.yaml", "-t", "t", "-a", "y"],
      "Omit --answer or --tool-results. [nothing_to_answer]",
    ],
    ["a temperature", ["ok.yaml", "hi", "--temperature", "3"], "Expected a number from 0 to 2."],
    ["no temperature", ["ok.yaml", "hi", "--temperature", ""], "Expected a number from 0 to 2."],
    ["an unknown option", ["ok.yaml", "hi", "--jsn"], "'--jsn'. Did you mean --json? [usage]"],
    ["too many words", ["ok.yaml", "hi", "you"], "too many arguments"],
    ["a module without an agent", ["none.ts", "hi"], "none.ts exports no agent. Export one by"],
    ["a module with two", ["two.ts", "hi"], "two.ts exports 2 agents (one, two). Export one by"],
    [
      "a module that throws",
      ["throws.ts", "hi"],
      /Cannot load \S*throws\.ts: boom.*\[module_load\]/,
    ],
    ["a module's definition", ["invalid.ts", "hi"], "[invalid_definition]\n"],
    ["tools that are none", ["ok.yaml", "hi", "--tools", "none.ts"], "none.ts exports no tools."],
    ["tools in another file", ["ok.yaml", "hi", "--tools", "ok.yaml"], "is not a tools module"],
    ["a root that is not there", ["ok.yaml", "hi", "--root", "nope"], "There is no folder nope."],
    ["a root that is a file", ["ok.yaml", "hi", "--root", "ok.yaml"], "ok.yaml is not a folder."],
  ])("%s", async (_what, argv, message) => {
    const cwd = await folderWith(files);
    const io = memoryIo({ cwd, stdin: Array.from({ length: 10 }, () => Buffer.alloc(1_000_000)) });
    expect(await runCli(["run", ...argv], io)).toBe(2);
    const said = io.stderr.take();
    expect(said).toMatch(message);
    expect(said).not.toMatch(/\n\s+at /);
    expect(io.stdout.take()).toBe("");
    expect(await namesIn(cwd)).toEqual(Object.keys(files).toSorted());
  });

  it("says it as one JSON document on standard output alone, with what is known", async () => {
    const cwd = await folderWith(files);
    const refused = async (...argv: string[]) => {
      const io = memoryIo({ cwd });
      expect(await runCli(["run", ...argv, "--json"], io)).toBe(2);
      expect(io.stderr.take()).toBe("");
      return JSON.parse(io.stdout.take()) as unknown;
    };
    expect(await refused("key.yaml", "hi")).toMatchObject({
      error: {
        code: "invalid_definition",
        problems: [{ file: expect.stringContaining("key.yaml"), line: 2, column: 1 }],
      },
    });
    expect(await refused("tool.yaml", "hi")).toMatchObject({
      error: { code: "unknown_tool", tool_name: "calculater", suggestion: "calculator" },
    });
    expect(await refused("ok.yaml")).toEqual({
      error: { code: "usage", message: expect.stringContaining("Nothing to run") },
    });
    expect(await refused("ok.yaml", "hi", "--nope")).toEqual({
      error: { code: "usage", message: "unknown option '--nope'" },
    });
  });

  it("refuses text on standard input that is not UTF-8", async () => {
    const io = memoryIo({ cwd: await folderWith(files), stdin: [Buffer.from([0xff, 0xfe])] });
    expect(await runCli(["run", "ok.yaml", "-"], io)).toBe(2);
    expect(io.stderr.take()).toBe("error: Standard input is not UTF-8 text. [invalid_text]\n");
  });

  it("shows the help when no command is given, and names the nearest for a wrong one", async () => {
    const io = memoryIo({ cwd: await folderWith({}) });
    expect(await runCli([], io)).toBe(2);
    expect(io.stderr.take()).toMatch(/^Usage: stratagraph /);
    expect(await runCli(["rnu"], io)).toBe(2);
    expect(io.stderr.take()).toBe("error: unknown command 'rnu'. Did you mean run? [usage]\n");
    expect(io.stdout.take()).toBe("");
  });
});

it("prints help and version to stdout", async () => {
  const io = memoryIo({ cwd: await folderWith({}) });
  expect(await runCli(["--help"], io)).toBe(0);
  const help = io.stdout.take();
  expect(help).toContain(
    "Exit codes: 0 done, 1 the run failed, 2 wrong use, 3 waiting for a human.",
  );
  expect(await runCli(["run", "--help"], io)).toBe(0);
  expect(io.stdout.take()).toContain("--thread <id>");
  expect(await runCli(["--version"], io)).toBe(0);
  expect(io.stdout.take()).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(io.stderr.take()).toBe("");
});
