import { Command } from "commander";
import { describe, expect, it } from "vitest";
import {
  addOptions,
  agentOptions,
  declareFlag,
  declareOption,
  experimentOptions,
  optionWords,
  pageOptions,
  resumeCommand,
} from "../../src/cli/options.ts";
import { createProgram } from "../../src/cli/program.ts";
import { memoryIo } from "./memory-io.ts";

const io = memoryIo({ cwd: "/" });
const subcommand = (name: string) =>
  createProgram(io, () => {}).commands.find((command) => command.name() === name)!;

describe("an option that is added to a set", () => {
  const options = {
    ...agentOptions,
    region: declareOption("--region <name>", "data centre"),
    seed: declareOption("-s, --seed <number>", "random seed", Number),
    fast: declareFlag("--fast", "skip checks"),
  };
  const command = () => addOptions(new Command("x").exitOverride(), options);

  it("appears in the help", () => {
    expect(command().helpInformation()).toMatch(
      /--region <name> +data centre\n.*--seed .*\n.*--fast/,
    );
  });

  it("is parsed, and appears in the command line that repeats the options", () => {
    const words = ["--model", "openai:x", "--region", "eu west", "--seed", "7", "--fast"];
    const given = command().parse(words, { from: "user" }).opts();
    expect(given).toEqual({ model: "openai:x", region: "eu west", seed: 7, fast: true });
    expect(optionWords(options, given)).toEqual(words);
  });
});

it.each(["run", "replay", "recover"])("%s takes every option that resumes a run", (name) => {
  const taken = subcommand(name).options.map(({ long }) => long);
  expect(taken).toEqual(expect.arrayContaining(Object.values(agentOptions).map((of) => of().long)));
});

it.each(Object.entries({ ...agentOptions, ...experimentOptions, ...pageOptions }))(
  "names the declaration %s as commander names its value",
  (name, create) => {
    expect(create().attributeName()).toBe(name);
  },
);

it("prints a command that parses to the same conditions", () => {
  const given = {
    model: "openai:gpt 5",
    temperature: 0.5,
    tools: "tools.ts",
    root: "/data",
    acceptChanges: true,
    acceptAgent: true,
  };
  expect(resumeCommand({ agent: "agent.yaml", ...given }, "t", io)).toBe(
    "stratagraph run agent.yaml --thread t --model 'openai:gpt 5' --temperature 0.5 --tools tools.ts --root /data --accept-changes --accept-agent",
  );
  const run = addOptions(new Command("run"), agentOptions);
  expect(run.parse(optionWords(agentOptions, given), { from: "user" }).opts()).toEqual(given);
});

it("leaves out unset flags and defaults", () => {
  expect(optionWords(experimentOptions, { extend: false, logs: "logs", parallel: 2 })).toEqual([
    "--parallel",
    "2",
  ]);
});
