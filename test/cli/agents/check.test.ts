import { expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { namesIn, packageEntry, useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";

const folderWith = useFolders();
const files = {
  "ok.yaml": "name: ok\nversion: 1.2.0\ntools: [calculator]\n",
  "key.yaml": "name: a\ntoools: []\nversion: 7\n",
  "parts.yaml":
    "name: parts\ntools: [calculater, opener]\nllm_config: { default_model: opnai:gpt }\n",
  "later.yaml":
    "name: later\nis_active: false\nllm_config: { default_model: openai:gpt-4o-mini }\n",
  "tools.ts": `import { defineTool } from ${JSON.stringify(packageEntry)};
    export const tools = [defineTool({ name: "opener", description: "Opens.",
      input_schema: { type: "object" }, handler: () => "" })];`,
};

it("says ok of each agent, or all that is wrong with it", async () => {
  const cwd = await folderWith(files);
  const io = memoryIo({ cwd });
  const agents = ["ok.yaml", "key.yaml", "parts.yaml", "none.yaml"];
  expect(await runCli(["check", ...agents, "--tools", "tools.ts"], io)).toBe(2);
  const lines = io.stdout.take().split("\n");
  expect(lines).toEqual([
    "ok ok@1.2.0 (ok.yaml)",
    "2 problems (key.yaml)",
    expect.stringMatching(/^ {2}\S*key\.yaml:2:1 toools: unknown key .*did you mean "tools"\?\)$/),
    expect.stringMatching(/^ {2}\S*key\.yaml:3:10 version: expected a text \(found 7\)$/),
    "2 problems parts@1.0.0 (parts.yaml)",
    expect.stringMatching(/^ {2}There is no tool "calculater"\. .* \[unknown_tool\]$/),
    expect.stringMatching(/^ {2}Unknown model "opnai:gpt": .* \[unknown_model\]$/),
    "1 problem (none.yaml)",
    "  There is no file none.yaml. [file_not_found]",
    "",
  ]);
  expect(io.stderr.take()).toBe("");
  expect(await namesIn(cwd)).toEqual(Object.keys(files).toSorted());
});

it("lists the first 50 problems of an agent, counts the others, and has all as JSON", async () => {
  const keys = Array.from({ length: 70 }, (_, at) => `key_${at}: 1`);
  const cwd = await folderWith({ "many.yaml": ["name: many", ...keys].join("\n") });
  const io = memoryIo({ cwd });
  expect(await runCli(["check", "many.yaml"], io)).toBe(2);
  const lines = io.stdout.take().split("\n");
  expect(lines).toHaveLength(1 + 50 + 1 + 1);
  expect(lines[0]).toBe("70 problems (many.yaml)");
  expect(lines.slice(-2)).toEqual(["  … and 20 more", ""]);
  await runCli(["check", "many.yaml", "--json"], io);
  const { files: checked } = JSON.parse(io.stdout.take()) as { files: [{ problems: unknown[] }] };
  expect(checked[0].problems).toHaveLength(70);
});

it("notes what keeps a sound definition from running here", async () => {
  const io = memoryIo({ cwd: await folderWith(files) });
  expect(await runCli(["check", "later.yaml"], io)).toBe(0);
  expect(io.stdout.take().split("\n")).toEqual([
    "ok later@1.0.0 (later.yaml)",
    "  note: The agent is inactive: is_active is false.",
    expect.stringMatching(/^ {2}note: The model "openai:gpt-4o-mini" needs an API key/),
    "",
  ]);
});

it("warns of tools whose calls would be refused, and says ok", async () => {
  const io = memoryIo({
    cwd: await folderWith({
      "reader.yaml":
        "name: reader\npermissions: [file:*]\ntools: [read_file, http_get, json_query]\n",
      "quiet.yaml":
        "name: quiet\ntools: [calculator, read_file]\n" +
        "guardrail_config: { tool_rails: { allowed_tools: [calculator] } }\n",
    }),
  });
  expect(await runCli(["check", "reader.yaml", "quiet.yaml"], io)).toBe(0);
  const refused =
    'Calls of "http_get" are refused: it requires network:http. Add it to the agent\'s permissions.';
  expect(io.stdout.take().split("\n")).toEqual([
    "ok reader@1.0.0 (reader.yaml)",
    `  warning: ${refused}`,
    "ok quiet@1.0.0 (quiet.yaml)",
    "",
  ]);
  expect(await runCli(["check", "reader.yaml", "--json"], io)).toBe(0);
  expect(JSON.parse(io.stdout.take())).toMatchObject({
    ok: true,
    files: [{ ok: true, problems: [], warnings: [refused], notes: [] }],
  });
});

it("gives one JSON document", async () => {
  const cwd = await folderWith(files);
  const io = memoryIo({ cwd });
  expect(await runCli(["check", "ok.yaml", "key.yaml", "parts.yaml", "--json"], io)).toBe(2);
  expect(JSON.parse(io.stdout.take())).toMatchObject({
    ok: false,
    files: [
      { file: "ok.yaml", ok: true, agent: { name: "ok", version: "1.2.0" }, problems: [] },
      {
        file: "key.yaml",
        ok: false,
        problems: [
          { code: "invalid_definition", line: 2, column: 1, path: ["toools"], suggestion: "tools" },
          { code: "invalid_definition", line: 3, column: 10, path: ["version"] },
        ],
      },
      {
        file: "parts.yaml",
        ok: false,
        agent: { name: "parts", version: "1.0.0" },
        problems: [
          { code: "unknown_tool", tool_name: "calculater" },
          { code: "unknown_tool", tool_name: "opener" },
          { code: "unknown_model", ref: "opnai:gpt" },
        ],
      },
    ],
  });
  expect(await runCli(["check", "ok.yaml", "--json"], io)).toBe(0);
  expect(JSON.parse(io.stdout.take())).toMatchObject({ ok: true });
  expect(await runCli(["check", "ok.yaml", "--tools", "none.ts", "--json"], io)).toBe(2);
  expect(JSON.parse(io.stdout.take())).toMatchObject({ error: { code: "file_not_found" } });
  expect(io.stderr.take()).toBe("");
});

it("shows what each agent inside may call, and warns of calls that an agent around refuses", async () => {
  const agentNode = (name: string, agent: string) =>
    `{ name: ${name}, type: agent, config: { agent: ./${agent}.yaml } }`;
  const around = (name: string, inner: string, more: string) =>
    `name: ${name}\n${more}\nworkflow_graph:\n  entry_point: x\n  nodes: [${agentNode("x", inner)}]\n  edges: [{ from: x, to: END }]\n`;
  const cwd = await folderWith({
    "clerk.yaml":
      "name: clerk\ntools: [read_file, calculator, json_query]\npermissions: ['file:*']\n" +
      "guardrail_config: { tool_rails: { max_calls_per_turn: 3, require_approval: [json_query] } }\n",
    "middle.yaml": around("middle", "clerk", "permissions: ['file:read', 'mail:send']"),
    "outer.yaml": around(
      "outer",
      "middle",
      "guardrail_config: { tool_rails: { allowed_tools: [read_file, json_query], max_calls_per_turn: 5,\n" +
        "  require_approval: [read_file], rules: [{ tool: read_file, check: 'args.path != \"x\"' }] } }",
    ),
  });
  const io = memoryIo({ cwd });
  expect(await runCli(["check", "outer.yaml"], io)).toBe(0);
  const calculator =
    'Calls of "calculator" by clerk in middle in outer are refused: allowed_tools of outer does not include it. Add it there, or remove it from the tools of clerk.';
  const readFile =
    'Calls of "read_file" by clerk in middle in outer are refused: it requires file:read. Add it to the permissions of outer.';
  expect(io.stdout.take().split("\n")).toEqual([
    "ok outer@1.0.0 (outer.yaml)",
    `  warning: ${readFile}`,
    `  warning: ${calculator}`,
    "  bounds: outer may call no tool; at most 5 calls a turn (outer)",
    "  bounds: middle in outer may call no tool; at most 5 calls a turn (outer)",
    "  bounds: clerk in middle in outer may call json_query (approval: clerk); not read_file (permissions of outer), calculator (allowed_tools of outer); rules on the arguments of read_file (outer); at most 5 calls a turn (outer); at most 3 calls a turn (clerk)",
    "",
  ]);
  expect(await runCli(["check", "outer.yaml", "--json"], io)).toBe(0);
  const { files: checked } = JSON.parse(io.stdout.take()) as { files: [{ bounds: unknown[] }] };
  expect(checked[0]).toMatchObject({ ok: true, warnings: [readFile, calculator] });
  expect(checked[0].bounds[2]).toEqual({
    agents: ["outer", "middle", "clerk"],
    allowed_tools: ["read_file", "json_query"],
    require_approval: ["read_file", "json_query"],
    permissions: [],
    max_calls_per_turn: [
      { agent: "outer", max_calls: 5 },
      { agent: "clerk", max_calls: 3 },
    ],
    rules: [{ agent: "outer", tool: "read_file" }],
    tools: [
      {
        name: "read_file",
        refused_by: [{ agent: "outer", by: "permissions", missing: ["file:read"] }],
        approved_for: [{ agent: "outer", by: "require_approval" }],
      },
      {
        name: "calculator",
        refused_by: [{ agent: "outer", by: "allowed_tools", missing: [] }],
        approved_for: [],
      },
      {
        name: "json_query",
        refused_by: [],
        approved_for: [{ agent: "clerk", by: "require_approval" }],
      },
    ],
  });
});

it("resolves every fallback, and names the option that no model of the list takes", async () => {
  const io = memoryIo({
    cwd: await folderWith({
      "list.yaml": `name: list
llm_config:
  default_model: openai:gpt-4o
  fallback_model: ["ollama:llama3", "opnai:a", "groq:b", "opnai:c"]
  num_ctx: 4096
`,
      "option.yaml": `name: option
llm_config:
  default_model: ollama:llama3
  fallback_model: ["ollama:qwen3", "ollama:gemma2"]
  verbosity: low
`,
      "fine.yaml": `name: fine
llm_config:
  default_model: ollama:llama3
  fallback_model: ["ollama:qwen3", "offline:rules"]
  num_ctx: 4096
`,
    }),
  });
  expect(await runCli(["check", "list.yaml", "option.yaml", "fine.yaml"], io)).toBe(2);
  expect(io.stdout.take().split("\n")).toEqual([
    "2 problems list@1.0.0 (list.yaml)",
    expect.stringMatching(/^ {2}Unknown model "opnai:a": .* \[unknown_model\]$/),
    expect.stringMatching(/^ {2}Unknown model "opnai:c": .* \[unknown_model\]$/),
    expect.stringMatching(/^ {2}note: The model "openai:gpt-4o" needs an API key/),
    expect.stringMatching(/^ {2}note: The model "groq:b" needs an API key/),
    "1 problem option@1.0.0 (option.yaml)",
    expect.stringMatching(
      /^ {2}The model "ollama:llama3" does not take the option "verbosity"\. .* \[model_option\]$/,
    ),
    "ok fine@1.0.0 (fine.yaml)",
    "",
  ]);
});

it("finds unknown models of the memory, and warns of keys without effect", async () => {
  const io = memoryIo({
    cwd: await folderWith({
      "unknown.yaml": `name: unknown
memory_config:
  long_term: { enabled: true, embedding_model: "opnai:small", extraction_model: "opnai:mini" }
`,
      "off.yaml": `name: off
memory_config:
  long_term: { embedding_model: none }
`,
    }),
  });
  expect(await runCli(["check", "unknown.yaml", "off.yaml"], io)).toBe(2);
  expect(io.stdout.take().split("\n")).toEqual([
    "2 problems unknown@1.0.0 (unknown.yaml)",
    expect.stringMatching(/^ {2}Unknown model "opnai:small": .* \[unknown_model\]$/),
    expect.stringMatching(/^ {2}Unknown model "opnai:mini": .* \[unknown_model\]$/),
    "ok off@1.0.0 (off.yaml)",
    "  warning: memory_config.long_term: embedding_model without effect, since long_term.enabled is false.",
    "",
  ]);
});
