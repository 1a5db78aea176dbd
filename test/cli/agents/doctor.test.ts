import { chmod, chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { checkNode } from "../../../src/cli/doctor/environment-checks.ts";
import type { Finding } from "../../../src/cli/doctor/finding.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { lockFolder, type FolderLock } from "../../../src/storage/folder-lock.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { namesIn, packageEntry, useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";
import { everything, isAlive, misbehaving } from "../servers.ts";

const folderWith = useFolders();
const locks: FolderLock[] = [];
afterEach(() => {
  for (const lock of locks.splice(0)) lock.release();
});

interface Document {
  readonly ok: boolean;
  readonly environment: readonly Finding[];
  readonly agents: readonly {
    readonly file: string;
    readonly agent: { readonly name: string } | null;
    readonly ok: boolean;
    readonly findings: readonly Finding[];
  }[];
}

/** Runs the doctor over agents, each in a file of its own. */
async function doctor(
  agents: readonly object[],
  { env = {}, files = {} }: { env?: Record<string, string>; files?: Record<string, string> } = {},
) {
  const names = agents.map((_agent, index) => `agent-${index}.json`);
  const written = agents.map((agent, index) => [names[index], JSON.stringify(agent)]);
  const cwd = await folderWith({
    ...files,
    ...(Object.fromEntries(written) as Record<string, string>),
  });
  const io = { ...memoryIo({ cwd }), env };
  const code = await runCli(["doctor", ...names, "--json"], io);
  const text = io.stdout.take();
  return { code, text, cwd, io, names, ...(JSON.parse(text) as Document) };
}

function findingsOf({ agents }: Pick<Document, "agents">, check: string): readonly Finding[] {
  return agents.flatMap(({ findings }) => findings.filter((one) => one.check === check));
}

const ownPrices = JSON.stringify({ "openai:own": { input: 1, output: 2 } });
const model = { llm_config: { default_model: "offline:rules" } };

describe("what is around agents", () => {
  it("is checked without an agent, and nothing is made", async () => {
    const cwd = await folderWith({});
    const io = memoryIo({ cwd });
    expect(await runCli(["doctor"], io)).toBe(0);
    const lines = io.stdout.take().split("\n");
    expect(lines[0]).toBe("Environment");
    expect(lines[1]).toMatch(/^ {2}✓ node +v\d+\./);
    expect(lines[2]).toBe(
      `  ✓ database  Embedded; the first run creates ${join(cwd, ".stratagraph")}. DATABASE_URL is not set.`,
    );
    expect(lines.at(-2)).toMatch(/^Ready(, 1 warning)?\.$/);
    expect(await namesIn(cwd)).toEqual([]);
  });

  it("is a problem where Node is too old", () => {
    expect(checkNode("v20.0.0")).toMatchObject([{ status: "ok", fix: null }]);
    expect(checkNode("v18.20.1")).toMatchObject([
      { status: "problem", fix: "Install Node 20 or later." },
    ]);
  });

  it("is a problem where another process has the embedded database", async () => {
    const cwd = await folderWith({});
    locks.push(lockFolder(join(cwd, ".stratagraph")));
    const io = memoryIo({ cwd });
    expect(await runCli(["doctor", "--json"], io)).toBe(1);
    const { environment } = JSON.parse(io.stdout.take()) as Document;
    expect(environment[1]).toMatchObject({
      check: "database",
      status: "problem",
      message: expect.stringContaining(`is in use by process ${process.pid} since`),
    });
    expect(await namesIn(join(cwd, ".stratagraph"))).toEqual(["lock"]);
    locks.pop()?.release();
    expect(await runCli(["doctor", "--json"], io)).toBe(0);
  });

  it.skipIf(process.platform === "win32")(
    "names what other users can read or replace, and how to close it to them",
    async () => {
      const cwd = await folderWith({});
      const [folder, logs] = [join(cwd, ".stratagraph"), join(cwd, "logs")];
      const database = join(folder, "database");
      await mkdir(database, { recursive: true });
      await mkdir(logs);
      await writeFile(join(logs, "one.jsonl"), "");
      const io = memoryIo({ cwd });
      const files = async () => {
        expect(await runCli(["doctor", "--json"], io)).toBe(0);
        const { environment } = JSON.parse(io.stdout.take()) as Document;
        return environment.filter(({ check }) => check === "files");
      };
      await Promise.all([folder, database, logs].map((path) => chmod(path, 0o777)));
      await chmod(join(logs, "one.jsonl"), 0o644);
      expect(await files()).toMatchObject([
        {
          status: "warning",
          message: `Other users can replace the database in ${folder}.`,
          fix: `chmod go-w ${folder}`,
        },
        {
          status: "warning",
          message: `Other users can read ${database}. The next run removes their access.`,
          fix: `chmod 700 ${database}`,
        },
        {
          status: "warning",
          message: `Other users can read or change 1 log in ${logs}.`,
          fix: `chmod go-rw ${logs}/*.jsonl`,
        },
      ]);
      await Promise.all([folder, logs].map((path) => chmod(path, 0o700)));
      expect(await files()).toMatchObject([
        { status: "ok", message: `Only you can read ${folder}.` },
      ]);
      if (process.geteuid?.() !== 0) return;
      await chown(database, 65_534, 65_534);
      const user = vi.spyOn(process, "geteuid").mockReturnValue(1_000);
      await runCli(["doctor", "--json"], io);
      user.mockRestore();
      expect((JSON.parse(io.stdout.take()) as Document).environment).toContainEqual({
        check: "files",
        status: "problem",
        subject: "",
        message: `${database} belongs to user 65534, so it is not opened.`,
        fix: "Change its owner to your user, or choose another folder.",
      });
    },
  );

  it("is a problem where the database's folder is none", async () => {
    const { code, environment } = await doctor([], { files: { ".stratagraph": "" } });
    expect(code).toBe(1);
    expect(environment[1]).toMatchObject({ status: "problem" });
    expect(environment[1]?.message).toContain("is not a folder");
  });

  it("is warned of where runs are sent to LangSmith", async () => {
    const { code, environment } = await doctor([], { env: { LANGCHAIN_TRACING_V2: "true" } });
    expect(code).toBe(0);
    expect(environment.at(-1)).toEqual({
      check: "tracing",
      status: "warning",
      subject: "",
      message:
        "Inputs, outputs and messages of runs are sent to LangSmith because LANGCHAIN_TRACING_V2 is set; agents that redact, and agents that contain them, send placeholders.",
      fix: "unset LANGCHAIN_TRACING_V2",
    });
    const off = await doctor([], { env: { LANGSMITH_TRACING: "false" } });
    expect(off.environment.map(({ check }) => check)).not.toContain("tracing");
  });

  it("is a problem where the database server does not answer, whose password is not shown", async () => {
    const env = { DATABASE_URL: "postgres://me:hidden-word@127.0.0.1:1/threads" };
    const { code, text, environment } = await doctor([], { env });
    expect(code).toBe(1);
    expect(environment[1]).toMatchObject({ check: "database", status: "problem" });
    expect(environment[1]?.message).toContain("127.0.0.1:1");
    expect(text).not.toContain("hidden-word");
  });

  const postgres = useDatabase("postgres");
  it.skipIf(!postgres.available)("names the version of a database server", async () => {
    const { url = "" } = postgres.options;
    const { code, environment } = await doctor([], { env: { DATABASE_URL: url } });
    expect(code).toBe(0);
    expect(environment[1]?.message).toMatch(/^Postgres \d+\S*.* answers at postgres/);
    expect(environment[2]).toMatchObject({ status: "ok", subject: "notices" });
  });

  it.skipIf(!postgres.available)("says that notices do not arrive", async () => {
    const { url = "" } = postgres.options;
    const env = { DATABASE_URL: url, STRATAGRAPH_LISTEN_URL: "postgres://127.0.0.1:1/none" };
    const { code, environment, text } = await doctor([], { env });
    expect(code).toBe(0);
    expect(environment[2]).toMatchObject({ status: "warning", subject: "notices" });
    expect(text).toContain("STRATAGRAPH_LISTEN_URL");
  });
});

describe("an agent", () => {
  it("is fine where all that it needs is here", async () => {
    const { code, agents } = await doctor([
      {
        name: "fine",
        ...model,
        tools: ["calculator", "read_file"],
        permissions: ["file:read"],
        guardrail_config: {
          input_rails: [{ type: "pii" }],
          tool_rails: { rules: [{ tool: "calculator", check: "size(args.expression) < 9" }] },
        },
      },
    ]);
    expect(code).toBe(0);
    expect(agents[0]?.findings.map(({ check, status }) => `${check} ${status}`)).toEqual([
      "agent ok",
      "model ok",
      "permissions ok",
      "rail ok",
      "rule ok",
    ]);
  });

  it("is told of with every problem where it does not load", async () => {
    const { code, agents } = await doctor([{ name: "a", toools: [], version: 7 }, { name: "b" }]);
    expect(code).toBe(1);
    expect(agents[0]).toMatchObject({ agent: null, ok: false });
    expect(agents[0]?.findings.map(({ message }) => message)).toEqual([
      expect.stringContaining('did you mean "tools"?'),
      expect.stringContaining("version: expected a text"),
    ]);
    expect(agents[1]).toMatchObject({ agent: { name: "b" }, ok: true });
  });

  it("names the models that cannot be asked", async () => {
    const found = await doctor([
      {
        name: "keyless",
        llm_config: { default_model: "openai:gpt-4o-mini" },
        context_config: { summarize_results: { model: "opnai:small" } },
        guardrail_config: {
          input_rails: [{ type: "injection", config: { judge: "openai:gpt-4o" } }],
        },
      },
    ]);
    expect(found.code).toBe(1);
    expect(findingsOf(found, "model")).toMatchObject([
      {
        status: "problem",
        subject: "openai:gpt-4o-mini",
        fix: "Set the environment variable OPENAI_API_KEY.",
      },
      { status: "problem", subject: "opnai:small" },
    ]);
    expect(findingsOf(found, "rail")).toMatchObject([
      { status: "problem", message: "openai:gpt-4o needs an API key." },
    ]);
  });

  it("says of each fallback model whether it is ready, also if the first is not", async () => {
    const fallback_model = ["offline:rules", "opnai:small", "openai:gpt-4o-mini"];
    const found = await doctor([
      { name: "a", llm_config: { default_model: "openai:gpt-4o", fallback_model } },
    ]);
    expect(findingsOf(found, "model")).toMatchObject([
      { status: "problem", subject: "openai:gpt-4o", message: "openai:gpt-4o needs an API key." },
      { status: "ok", subject: "offline:rules", message: "Ready: fallback model." },
      { status: "problem", subject: "opnai:small" },
      { status: "problem", subject: "openai:gpt-4o-mini" },
    ]);
  });

  it("says what models cost, and warns of those whose price is not known", async () => {
    const STRATAGRAPH_PRICES = join(await folderWith({ "p.json": ownPrices }), "p.json");
    const agents = [
      {
        name: "listed",
        llm_config: { default_model: "openai:gpt-4o", fallback_model: "openai:x" },
      },
      { name: "own", llm_config: { default_model: "openai:own" } },
      { name: "local", ...model },
    ];
    const env = { OPENAI_API_KEY: "k", STRATAGRAPH_PRICES };
    expect(findingsOf(await doctor(agents, { env }), "price")).toEqual([
      {
        check: "price",
        subject: "openai:gpt-4o",
        status: "ok",
        message: "List price as of 2025-09: $2.5 in, $10 out for a million tokens.",
        fix: null,
      },
      {
        check: "price",
        subject: "openai:x",
        status: "warning",
        message: "It is not known, so the cost of runs is unknown.",
        fix: 'Name a JSON file in STRATAGRAPH_PRICES: { "openai:x": { "input": …, "output": … } }, in US dollars for a million tokens.',
      },
      {
        check: "price",
        subject: "openai:own",
        status: "ok",
        message: "As set: $1 in, $2 out for a million tokens.",
        fix: null,
      },
    ]);
  });

  it("is warned of tools that it lacks a permission for, and of permissions that none needs", async () => {
    const found = await doctor([
      {
        name: "a",
        ...model,
        tools: ["read_file", "http_get", "json_query"],
        permissions: ["network:*", "disk:write"],
      },
    ]);
    expect(found.code).toBe(0);
    expect(findingsOf(found, "permissions")).toMatchObject([
      {
        status: "warning",
        subject: "read_file",
        fix: "Add to the agent's permissions: file:read",
      },
      { status: "warning", subject: "disk:write" },
    ]);
  });

  it("names the secrets that are missing, and those that stand in it, and shows none", async () => {
    const remote = {
      mcp: {
        name: "remote",
        transport: "http",
        endpoint: "http://127.0.0.1:1/mcp?key={{secret:QUERY_KEY}}",
        headers: {
          Authorization: "Bearer {{secret:REMOTE_TOKEN}}",
          "X-Api-Key": "plain-word-for-all",
          "X-Trace": "on",
        },
      },
    };
    const local = misbehaving("local", ["tells its environment"], {
      env: { MAX_TOKENS: "1000000000", GITHUB: `ghp_${"a1B2".repeat(9)}` },
    });
    const found = await doctor([{ name: "a", ...model, tools: [remote, local] }], {
      env: { QUERY_KEY: "value-of-query-key" },
    });
    expect(found.code).toBe(1);
    expect(findingsOf(found, "secret")).toMatchObject([
      { status: "ok", subject: "QUERY_KEY" },
      {
        status: "problem",
        subject: "REMOTE_TOKEN",
        message: "It is not set, but tools[0].mcp.headers.Authorization references it.",
        fix: "Set the environment variable REMOTE_TOKEN.",
      },
      { status: "warning", subject: "tools[0].mcp.headers.X-Api-Key" },
      { status: "warning", subject: "tools[1].mcp.env.GITHUB" },
    ]);
    expect(found.text).not.toMatch(/plain-word-for-all|ghp_a1|value-of-query/);
  });

  it("is told which custom rails and argument rules name nothing", async () => {
    const found = await doctor([
      {
        name: "a",
        ...model,
        tools: [everything()],
        guardrail_config: {
          output_rails: [{ type: "custom", name: "tone" }],
          tool_rails: { rules: [{ tool: "ecco", check: "size(args.message) < 9" }] },
        },
      },
    ]);
    expect(found.code).toBe(1);
    expect(findingsOf(found, "server")).toMatchObject([
      { status: "ok", subject: "every", message: expect.stringMatching(/^\d+ tools in /) },
    ]);
    expect(findingsOf(found, "rail")).toMatchObject([
      { status: "problem", subject: "output tone" },
    ]);
    expect(findingsOf(found, "rule")).toMatchObject([
      { status: "problem", message: expect.stringContaining('did you mean "echo"?') },
    ]);
  });

  it("is warned of calls by agents inside that it refuses, and not of grants that these use", async () => {
    const team = (permissions: string) =>
      `import { defineAgent } from ${JSON.stringify(packageEntry)};
        const reader = defineAgent({ name: "reader", tools: ["read_file"], permissions: ["file:read"] });
        export default defineAgent({ name: "team", agents: [reader], permissions: ${permissions},
          workflow_graph: { entry_point: "read", nodes: [{ name: "read", type: "agent", config: { agent: "reader" } }],
            edges: [{ from: "read", to: "END" }] } });`;
    const cwd = await folderWith({ "none.ts": team("[]"), "granting.ts": team('["file:*"]') });
    const io = memoryIo({ cwd });
    await runCli(["doctor", "none.ts"], io);
    expect(io.stdout.take()).toContain(
      'Calls of "read_file" by reader in team are refused: it requires file:read.',
    );
    await runCli(["doctor", "granting.ts"], io);
    const shown = io.stdout.take();
    expect(shown).not.toContain("are refused");
    expect(shown).not.toContain("no tool of the agent requires it");
  });

  it("is checked with the agents that came with it", async () => {
    const cwd = await folderWith({
      "team.ts": `import { defineAgent } from ${JSON.stringify(packageEntry)};
        const reader = defineAgent({ name: "reader", tools: ["read_file"] });
        export default defineAgent({ name: "team", is_active: false, agents: [reader],
          workflow_graph: { entry_point: "read", nodes: [{ name: "read", type: "agent", config: { agent: "reader" } }],
            edges: [{ from: "read", to: "END" }] } });`,
    });
    const io = memoryIo({ cwd });
    expect(await runCli(["doctor", "team.ts"], io)).toBe(0);
    const shown = io.stdout.take();
    expect(shown).toMatch(/^team@1\.0\.0 \(team\.ts\)\n {2}✓ agent +It loads and compiles\.$/m);
    expect(shown).toMatch(/^ {2}! agent +The agent is inactive\.\n +→ Set is_active to true\.$/m);
    expect(shown).toMatch(/^reader@1\.0\.0 \(team\.ts, within team\)\n[^]*read_file: Its calls/m);
  });
});

describe("tool servers", () => {
  it("are cut off by their time, and the others are checked", async () => {
    const folder = await folderWith({});
    const pidFile = join(folder, "pid");
    const found = await doctor([
      {
        name: "a",
        ...model,
        permissions: ["disk:write"],
        tools: [
          misbehaving("slow", ["hangs", pidFile], { start_timeout_ms: 3_000 }),
          misbehaving("odd", ["has strange names"]),
          misbehaving("gone", ["exits at once"]),
        ],
      },
    ]);
    expect(found.code).toBe(1);
    const [slow, odd, ...more] = findingsOf(found, "server");
    expect(slow).toMatchObject({ status: "problem", subject: "slow" });
    expect(slow?.message).toContain("not ready within 3,000 ms");
    expect(odd).toMatchObject({ status: "ok", subject: "odd" });
    const notes = more.slice(0, -1);
    expect(notes.every((one) => one.status === "warning" && one.subject === "odd")).toBe(true);
    expect(notes.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('tool "with space": left out'),
    );
    expect(more.at(-1)).toMatchObject({ status: "problem", subject: "gone" });
    // What a server that is down would ask for is not known.
    expect(findingsOf(found, "permissions")).toEqual([]);
    expect(isAlive(Number(await readFile(pidFile, "utf8")))).toBe(false);
  });

  it("are started once for all agents, and ended", async () => {
    const folder = await folderWith({});
    const starts = join(folder, "starts");
    const server = misbehaving("shared", ["dies in a call", starts]);
    const agent = (name: string) => ({ name, ...model, tools: [server] });
    const found = await doctor([agent("one"), agent("two")]);
    expect(found.code).toBe(0);
    expect(findingsOf(found, "server")).toMatchObject([{ status: "ok" }, { status: "ok" }]);
    const pids = (await readFile(starts, "utf8")).trim().split("\n");
    expect(pids).toHaveLength(1);
    expect(isAlive(Number(pids[0]))).toBe(false);
  });

  it("whose tools have one name are a problem", async () => {
    const quiet = ["prints logs between messages"] as const;
    const found = await doctor([
      { name: "a", ...model, tools: [misbehaving("one", quiet), misbehaving("two", quiet)] },
    ]);
    expect(found.code).toBe(1);
    expect(findingsOf(found, "tool")).toMatchObject([
      { status: "problem", subject: "do", message: expect.stringContaining('"one" and "two"') },
    ]);
  });

  it("are ended by a signal", async () => {
    const folder = await folderWith({});
    const cwd = await folderWith({
      "agent.json": JSON.stringify({
        name: "a",
        tools: [misbehaving("slow", ["prints garbage and hangs", join(folder, "began")])],
      }),
    });
    const io = memoryIo({ cwd });
    const done = runCli(["doctor", "agent.json"], io);
    await expect.poll(() => namesIn(folder)).toEqual(["began"]);
    io.stop("SIGINT");
    expect(await done).toBe(1);
    expect(io.stderr.take()).toBe("error: Stopped before completion. [stopped]\n");
    expect(io.stdout.take()).toBe("");
  });
});
