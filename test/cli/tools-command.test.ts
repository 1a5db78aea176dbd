import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { namesIn, packageEntry, useFolders } from "./folder.ts";
import { memoryIo } from "./memory-io.ts";
import { everything, isAlive, misbehaving } from "./servers.ts";

const folderWith = useFolders();
const hooks = globalThis as { toolBegan?: () => void };
afterEach(() => void delete hooks.toolBegan);

const toolModule = `import { defineAgent, defineTool } from ${JSON.stringify(packageEntry)};
const any = { type: "object" };
export const tools = [
  defineTool({ name: "send", description: "Sends a letter. It cannot be called back.",
    input_schema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    permissions: ["mail:send", { name: "mail:read", required: false }],
    requires_approval: true, handler: ({ to }) => "Sent to " + to + "." }),
  defineTool({ name: "fail", description: "Fails.", input_schema: any,
    handler: () => { throw new Error("it broke"); } }),
  defineTool({ name: "wait", description: "Waits.", input_schema: any,
    handler: () => { globalThis.toolBegan(); return new Promise(() => {}); } }),
];
export default defineAgent({
  name: "counter",
  initialExecutionState: () => ({ count: 41 }),
  tools: { count: { description: "Counts.", input_schema: any, persistence: "execution",
    handler: (state) => ({ newState: { ...state, execution: { count: state.execution.count + 1 } },
      toolResult: state.execution.count + 1 }) } },
});`;

async function setUp(agent: object, { typed }: { typed?: readonly (string | null)[] } = {}) {
  const cwd = await folderWith({
    "tools.ts": toolModule,
    "agent.json": JSON.stringify({ name: "helper", ...agent }),
  });
  const io = memoryIo({ cwd, ...(typed !== undefined && { typed }) });
  return {
    cwd,
    io,
    run: (...argv: string[]) => runCli(["tools", ...argv, "--tools", "tools.ts"], io),
    json: () => JSON.parse(io.stdout.take()) as Record<string, unknown>,
  };
}

const grantsMail = { tools: ["send"], permissions: ["mail:*"] };
const toAnna = ["--input", '{"to": "Anna"}'];

it("lists the tools of the runtime, and makes nothing", async () => {
  const { run, io, cwd } = await setUp({});
  expect(await run()).toBe(0);
  const lines = io.stdout.take().split("\n");
  expect(lines[0]).toMatch(/^tool +from +permissions +approval +idempotent$/);
  const lineOf = (name: string) => lines.find((line) => line.startsWith(`${name} `));
  expect(lineOf("calculator")).toMatch(/^calculator +builtin +– +no +yes +Evaluates an/);
  expect(lineOf("query_json_file")).toContain("file:read");
  expect(lineOf("send")).toMatch(
    /^send +function +mail:send, mail:read \(optional\) +yes +no +Sends a letter\.$/,
  );
  expect(io.stderr.take()).toBe("");
  expect(await namesIn(cwd)).toEqual(["agent.json", "tools.ts"]);
});

it("lists the tools of an agent with those of its servers, and what it is not granted", async () => {
  const server = everything({ permissions: ["every:use"], tools: ["echo", "get-sum"] });
  const { run, json } = await setUp({
    tools: ["read_file", "calculator", server],
    permissions: ["file:read"],
    guardrail_config: {
      tool_rails: { allowed_tools: ["read_file", "echo"], require_approval: ["echo"] },
    },
  });
  expect(await run("list", "agent.json", "--json")).toBe(0);
  const permission = (name: string, granted: boolean) => ({ name, required: true, granted });
  expect(json()).toMatchObject({
    agent: { name: "helper", version: "1.0.0" },
    tools: [
      {
        name: "read_file",
        from: "builtin",
        permissions: [permission("file:read", true)],
        allowed: true,
        approval: false,
        idempotent: true,
      },
      { name: "calculator", allowed: false },
      {
        name: "echo",
        from: "stdio every",
        permissions: [permission("every:use", false)],
        allowed: true,
        approval: true,
        idempotent: false,
        description: "Echoes back the input string",
      },
      { name: "get-sum", from: "stdio every" },
    ],
    problems: [],
    notes: [],
  });
});

it("lists the other tools where a server does not start in its time, and ends it", async () => {
  const { run, io, cwd } = await setUp({});
  const pidFile = join(cwd, "pid");
  const second = await folderWith({
    "agent.json": JSON.stringify({
      name: "helper",
      tools: [
        "calculator",
        misbehaving("slow", ["hangs", pidFile], { start_timeout_ms: 3_000 }),
        misbehaving("odd", ["has strange names"]),
      ],
    }),
  });
  expect(await run("list", join(second, "agent.json"))).toBe(1);
  const shown = io.stdout.take();
  expect(shown).toMatch(/^calculator +builtin/m);
  expect(shown).toMatch(/^ok +stdio odd/m);
  expect(shown).toMatch(/^! Server "odd", tool "with space": left out/m);
  expect(shown).toMatch(
    /^✗ The tool server "slow" could not be started\. It was not ready within 3,000 ms\. .*\[server_start\]$/m,
  );
  expect(isAlive(Number(await readFile(pidFile, "utf8")))).toBe(false);
});

it("says which tools have one name", async () => {
  const { run, json } = await setUp({
    tools: [
      misbehaving("one", ["prints logs between messages"]),
      misbehaving("two", ["prints logs between messages"]),
    ],
  });
  expect(await run("list", "agent.json", "--json")).toBe(1);
  expect(json()).toMatchObject({
    tools: [{ name: "do", from: "stdio one" }],
    problems: [{ code: "tool_clash", tool: "do", servers: ["one", "two"] }],
  });
});

it("ranks the tools by how well they suit a task", async () => {
  const { run, io, json } = await setUp({
    tools: ["calculator", "current_time", "read_file", "search_documents"],
    tool_selection: { above: 2, top_k: 1 },
  });
  const task = ["--task", "What time is it in Tokyo?"];
  expect(await run("list", "agent.json", ...task, "--json")).toBe(0);
  const { selection } = json() as { selection: { ranked: Record<string, unknown>[] } };
  expect(selection).toMatchObject({ top_k: 1, above: 2, refused: ["read_file"] });
  expect(selection.ranked).toHaveLength(3);
  expect(selection.ranked[0]).toMatchObject({ name: "current_time", offered: true, success: 0.5 });
  expect(selection.ranked[1]).toMatchObject({ offered: false });
  expect(await run("list", "agent.json", ...task)).toBe(0);
  const shown = io.stdout.take();
  expect(shown).toMatch(/^1 +current_time( +\d\.\d\d){5}$/m);
  expect(shown).toContain("lacks the permissions they require: read_file.");
});

it("calls a tool with arguments of the command line or of standard input", async () => {
  const { run, io, cwd } = await setUp({});
  expect(await run("call", "calculator", "--input", '{"expression": "6 * 7"}')).toBe(0);
  expect(io.stdout.take()).toMatch(
    /^✓ calculator\(expression: "6 \* 7"\) {2}\d+ ms\n\{\n {2}"result": 42\n\}\n$/,
  );
  const piped = memoryIo({ cwd, stdin: [Buffer.from('{"expression": "2 + 3"}')] });
  expect(await runCli(["tools", "call", "calculator", "-i", "-", "--json"], piped)).toBe(0);
  expect(JSON.parse(piped.stdout.take())).toEqual({
    tool: "calculator",
    from: "builtin",
    args: { expression: "2 + 3" },
    outcome: "success",
    result: { result: 5 },
    error: null,
    execution_time_ms: expect.any(Number) as number,
    notes: [],
  });
  expect(await namesIn(cwd)).toEqual(["agent.json", "tools.ts"]);
});

it("calls a tool of an agent's server, and shows secrets to nobody", async () => {
  const server = misbehaving("env", ["tells its environment"], {
    env: { TOKEN: "{{secret:ENV_TOKEN}}" },
  });
  const { io } = await setUp({});
  const cwd = await folderWith({ "agent.json": JSON.stringify({ name: "a", tools: [server] }) });
  const withSecret = { ...io, cwd, env: { ENV_TOKEN: "very-secret-1234" } };
  expect(await runCli(["tools", "call", "do", "agent.json"], withSecret)).toBe(0);
  const shown = io.stdout.take();
  expect(shown).toContain("{{secret:ENV_TOKEN}}");
  expect(shown).not.toContain("very-secret");
});

it("exits with 1 where the call does not succeed", async () => {
  const { run, io } = await setUp({});
  expect(await run("call", "fail")).toBe(1);
  expect(io.stdout.take()).toMatch(/^✗ fail\(\) {2}\d+ ms · error\n.*it broke/);
  expect(await run("call", "calculator", "--input", '{"expression": 1}', "--json")).toBe(1);
  expect(JSON.parse(io.stdout.take())).toMatchObject({ outcome: "error", result: null });
});

it.each([
  [["call", "calculater"], "unknown_tool", 'Did you mean "calculator"?'],
  [["call", "calculator", "-i", "{"], "invalid_json", "--input is not JSON"],
  [["call", "calculator", "-i", "[1]"], "invalid_json", "not a JSON object"],
  [["call", "calculator", "agent.json", "--grant", "a:b"], "usage", "calls without AGENT"],
  [["call", "calculator", "--grant", "a b"], "usage", "Expected a permission"],
  [["list", "none.yaml"], "file_not_found", "There is no file none.yaml."],
  [["cal", "calculator", "agent.json"], "usage", "too many arguments for 'list'"],
])("refuses %j", async (argv, code, message) => {
  const { run, io } = await setUp({});
  expect(await run(...argv)).toBe(2);
  expect(io.stdout.take()).toBe("");
  expect(io.stderr.take()).toContain(message);
  expect(await run(...argv, "--json")).toBe(2);
  expect(JSON.parse(io.stdout.take())).toMatchObject({ error: { code } });
});

it("makes no call whose permissions nobody granted", async () => {
  const { run, io } = await setUp({ tools: ["send", "list_files"], permissions: ["mail:*"] });
  expect(await run("call", "list_files")).toBe(1);
  expect(io.stdout.take()).toMatch(/requires the permission file:read[^]*--grant file:read\n$/);
  expect(await run("call", "list_files", "--grant", "a:b", "--grant", "file:*")).toBe(0);
  expect(io.stdout.take()).toContain("agent.json");
  expect(await run("call", "list_files", "agent.json")).toBe(1);
  expect(io.stdout.take()).toContain("add to the agent's permissions: file:read");
});

it("keeps the agent's rules on tools and arguments", async () => {
  const rule = {
    tool: "calculator",
    check: 'size(args.expression) < 6 && input.message != "no"',
    message: "Too long.",
  };
  const { run, io } = await setUp({
    tools: ["calculator", "current_time"],
    guardrail_config: { tool_rails: { allowed_tools: ["calculator"], rules: [rule] } },
  });
  expect(await run("call", "current_time", "agent.json")).toBe(1);
  expect(io.stdout.take()).toContain("(allowed_tools)");
  const long = '{"expression": "1 + 1 + 1"}';
  expect(await run("call", "calculator", "agent.json", "-i", long)).toBe(1);
  expect(io.stdout.take()).toMatch(
    /Too long\.[^]*· Its argument rules were evaluated against an empty input/,
  );
});

it("asks a person on the terminal where the tool needs approval", async () => {
  const { run, io } = await setUp(grantsMail, { typed: ["y", "n", "not today", null] });
  expect(await run("call", "send", "agent.json", ...toAnna)).toBe(0);
  const asked = io.stdout.take();
  expect(asked).toContain("? helper asks for approval of tool calls");
  expect(asked).toMatch(/│ send\n {2}│ {3}to: "Anna"\n[^]*Sent to Anna\./);
  expect(await run("call", "send", "agent.json", ...toAnna)).toBe(1);
  expect(io.stdout.take()).toContain("A person rejected this call: not today");
  expect(await run("call", "send", "agent.json", ...toAnna)).toBe(1);
  expect(io.stdout.take()).toContain("This call was not approved.");
});

it("makes the call with the arguments that a person put in", async () => {
  const { run, io } = await setUp(grantsMail, { typed: ["e", '{"to": "Bea"}'] });
  expect(await run("call", "send", "agent.json", ...toAnna)).toBe(0);
  expect(io.stdout.take()).toContain("Sent to Bea.");
});

it("wants --yes where nobody can be asked", async () => {
  const { run, io } = await setUp(grantsMail);
  expect(await run("call", "send", "agent.json", ...toAnna)).toBe(2);
  expect(io.stderr.take()).toContain("Approve them with --yes. [not_confirmed]");
  expect(await run("call", "send", "agent.json", ...toAnna, "--yes")).toBe(0);
  expect(io.stdout.take()).toContain("Sent to Anna.");
  // A call that is refused anyway is nobody's to approve.
  expect(await run("call", "send", ...toAnna)).toBe(1);
});

it("calls a tool with state on the agent's first one, and says so", async () => {
  const { run, io, json } = await setUp({});
  expect(await run("call", "count", "tools.ts", "--json")).toBe(0);
  expect(json()).toMatchObject({
    outcome: "success",
    result: 42,
    state: { execution: { count: 42 }, attempt: {} },
    notes: [expect.stringContaining("initial state for an empty input")],
  });
  expect(await run("call", "count", "tools.ts")).toBe(0);
  expect(io.stdout.take()).toMatch(/^✓ count\(\) {2}\d+ ms\n42\n· The tool is stateful: /);
});

it("aborts the call on a signal", async () => {
  const { run, io } = await setUp({});
  hooks.toolBegan = () => io.stop("SIGINT");
  expect(await run("call", "wait")).toBe(1);
  expect(io.stderr.take()).toBe("error: Stopped before completion. [stopped]\n");
  expect(io.listening).toBe(0);
});
