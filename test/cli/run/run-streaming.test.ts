import { expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { type OpenAIAnswer, openAIServer } from "../../helpers/openai-server.ts";
import { useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";
import { screenOf } from "../screen.ts";

const folderWith = useFolders();
const agent =
  "name: tides\ntools: [calculator]\nllm_config: { default_model: openai:gpt-4o-mini }\n";
const script: readonly OpenAIAnswer[] = [
  {
    text: "I reckon the hour.",
    calls: [{ name: "calculator", args: { expression: "6 + 6" } }],
  },
  { text: "High tide\nis at \u001B[2J12." },
];

/** Runs the agent on a model that streams the script, and returns all that was written to standard output. */
async function run(options: {
  readonly isTerminal: boolean;
  readonly argv?: readonly string[];
  readonly script?: readonly OpenAIAnswer[];
}) {
  await using server = await openAIServer(...(options.script ?? script));
  const cwd = await folderWith({ "a.yaml": agent });
  const env = { OPENAI_API_KEY: "test", OPENAI_BASE_URL: server.url };
  const io = memoryIo({ cwd, env, isTerminal: options.isTerminal });
  const argv = ["run", "a.yaml", "When?", "--no-save", ...(options.argv ?? [])];
  expect([await runCli(argv, io), io.stderr.take()]).toEqual([0, ""]);
  return { written: io.stdout.take() };
}

const settled = (lines: readonly string[]) =>
  lines.map((line) => line.replaceAll(/\d+(\.\d+)? m?s\b/g, "0 ms"));

it("shows tokens as they come on a terminal, and leaves what a run without one prints", async () => {
  const { written } = await run({ isTerminal: true });
  expect(written).toContain("     I reckon\n");
  expect(written).toContain("     I reckon the hour.\n");
  expect(written).toContain("     High\n");
  expect(written).not.toContain("\u001B[2J");
  // The lines of a step take the place of its text.
  const printed = written.lastIndexOf("I reckon the hour.");
  expect(written.slice(0, printed).endsWith("\u001B[2m  1\u001B[22m  ")).toBe(true);
  const plain = await run({ isTerminal: false });
  expect(settled(screenOf(written))).toEqual(settled(plain.written.split("\n")));
  expect(plain.written.match(/High tide/g)).toHaveLength(1);
  expect(plain.written).toContain("  1  I reckon the hour.\n");
});

it("shows no tokens with --json", async () => {
  const { written } = await run({ isTerminal: true, argv: ["--json"] });
  expect(JSON.parse(written)).toMatchObject({ status: "COMPLETED" });
});

it("says when it tries again, and that a reply which broke off begins again", async () => {
  const broken: OpenAIAnswer = { half: "High tide is at seven or so", end: "destroyed" };
  const { written } = await run({ isTerminal: true, script: [broken, { text: "At six." }] });
  expect(written).toContain("no answer, retrying at ");
  expect(written).toContain("     High tide is");
  const screen = screenOf(written).join("\n");
  expect(screen).toMatch(/\n {5}the reply begins again: no answer\n {2}1 {2}gives its answer\n/);
  expect(screen).not.toContain("High tide");
  expect(screen.match(/At six\./g)).toHaveLength(1);
});
