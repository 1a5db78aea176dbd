import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { parse } from "yaml";
import { createServer, type PlatformServer } from "../src/create-server.ts";
import { createRuntime, defineAgent, executeAgent } from "../src/index.ts";
import { environmentNames, readServeConfig } from "../src/cli/serve/serve-config.ts";
import { runCli } from "../src/cli/run-cli.ts";
import { type Database, openDatabase } from "../src/storage/database.ts";
import { openPlatform } from "../src/storage/platform/open-platform.ts";
import { startApi } from "./helpers/api-server.ts";
import { memoryIo } from "./cli/memory-io.ts";
import { docSnippets } from "./helpers/doc-snippets.ts";
import { hasPgvector } from "./helpers/pgvector.ts";
import { bundledProgram, shortLived } from "./helpers/programs.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The snippets of the page in a language. */
const snippets = (await docSnippets())
  .filter(({ name }) => name.startsWith("docs/deployment.md "))
  .map(({ language, text }) => ({ language, text }));
const textsIn = (language: string) =>
  snippets.filter((snippet) => snippet.language === language).map(({ text }) => text);

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks: readonly string[];
  readonly configs?: readonly { readonly source: string }[];
  readonly healthcheck?: object;
  readonly init?: boolean;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<Record<"postgres" | "migrate" | "server", Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly volumes: object;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
}

const compose = parse(read("compose.yaml")) as Compose;

/** Instructions of the Dockerfile with their arguments, continued lines joined. */
const instructions = read("Dockerfile")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .flatMap((line) => {
    const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [{ name, rest }];
  });
const argumentsOf = (name: string) =>
  instructions.filter((one) => one.name === name).map(({ rest }) => rest);
const lastOf = (name: string) => argumentsOf(name).at(-1) ?? "";

describe("the image", () => {
  const copies = argumentsOf("COPY").map((rest) => {
    const words = rest.split(" ");
    const [first = ""] = words;
    const from = first.startsWith("--from=") ? first.slice("--from=".length) : null;
    return { from, sources: words.slice(from === null ? 0 : 1, -1) };
  });

  it("copies paths that are there, and that the build context has", () => {
    const allowed = read(".dockerignore").split("\n");
    const sources = copies.flatMap((copy) => (copy.from === null ? copy.sources : []));
    expect(sources.length).toBeGreaterThan(5);
    expect(sources.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(sources.filter((path) => !allowed.includes(`!${path}`))).toEqual([]);
    // Everything else stays out: only what is named comes in.
    expect(allowed.filter((line) => line !== "" && !/^[#!]/.test(line))).toEqual([
      "*",
      "**/.env*",
      "**/*.log",
    ]);
  });

  it("is built in stages from one pinned base, with production dependencies only", () => {
    const bases = argumentsOf("FROM");
    const [images, names] = [0, 2].map((at) => bases.map((base) => base.split(" ")[at]));
    expect(new Set(images).size).toBe(1);
    expect(images?.[0]).toMatch(/^node:\d+\.\d+\.\d+-slim$/);
    expect(names).toEqual(["build", "dependencies", undefined]);
    const froms = copies.flatMap(({ from, sources }) => (from ? [[from, ...sources]] : []));
    expect(froms).toEqual([
      ["dependencies", "/app/node_modules"],
      ["build", "/app/dist"],
    ]);
    const [first = "", , second = ""] = argumentsOf("RUN");
    expect(first).toMatch(/^npm ci /);
    expect(second).toMatch(/^npm ci --omit=dev /);
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(argumentsOf("RUN")[1]).toBe("npm run build");
    expect(scripts["build"]).toBeDefined();
  });

  it("starts the package's own command, without a shell and as a user without rights", () => {
    const { bin } = JSON.parse(read("package.json")) as { bin: { stratagraph: string } };
    expect(JSON.parse(lastOf("ENTRYPOINT"))).toEqual(["node", bin.stratagraph]);
    expect(JSON.parse(lastOf("CMD"))).toEqual(["serve"]);
    expect(argumentsOf("USER")).toEqual(["node"]);
    const settings = [...lastOf("ENV").matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    expect(settings).toEqual([
      ["NODE_ENV", "production"],
      ["STRATAGRAPH_HOST", "0.0.0.0"],
      ["STRATAGRAPH_PORT", "8123"],
    ]);
    const known = Object.values(environmentNames);
    expect(settings.slice(1).filter(([name = ""]) => !known.includes(name))).toEqual([]);
    expect(argumentsOf("EXPOSE")).toEqual(["8123"]);
  });

  it("is healthy while the server answers, and not without it", async () => {
    const [, command = ""] = /CMD (\[.*\])$/.exec(lastOf("HEALTHCHECK")) ?? [];
    const [program = "", ...args] = JSON.parse(command) as string[];
    const api = await startApi();
    const check = async () => {
      const env = { PATH: process.env["PATH"], STRATAGRAPH_PORT: String(api.listening.port) };
      return run(program, args, { env }).then(
        () => 0,
        ({ code }: { code: number }) => code,
      );
    };
    expect(program).toBe("node");
    expect(await check()).toBe(0);
    await api.server.close(0);
    expect(await check()).toBe(1);
  });
});

describe("compose.yaml", () => {
  const { postgres, migrate, server } = compose.services;

  it("has every service, network, volume and script that it names", () => {
    for (const service of Object.values(compose.services)) {
      for (const needed of Object.keys(service.depends_on ?? {}))
        expect(compose.services).toHaveProperty(needed);
      for (const network of service.networks.filter((name) => name !== "default"))
        expect(compose.networks).toHaveProperty(network);
      for (const volume of service.volumes ?? [])
        expect(compose.volumes).toHaveProperty(volume.split(":")[0] ?? "");
      for (const { source } of service.configs ?? [])
        expect(compose.configs).toHaveProperty(source);
    }
  });

  it("starts the server after the migration, and that after Postgres", () => {
    expect(migrate.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
    expect(server.depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
    expect(postgres.healthcheck).toBeDefined();
    expect(migrate.command).toEqual(["migrate", "--grant", "stratagraph_server"]);
    expect([migrate.build, server.build]).toEqual([".", "."]);
  });

  it("commits no password, and needs each of them", () => {
    const secret = /password/i;
    for (const { environment } of Object.values(compose.services)) {
      const secrets = Object.entries(environment).filter(([name]) => secret.test(name));
      expect(secrets.length).toBeGreaterThan(0);
      for (const [, value] of secrets) expect(value).toMatch(/^\$\{[A-Z]+_PASSWORD:\?[^}]+\}$/);
    }
    const urls = [migrate, server].map(({ environment }) => environment["DATABASE_URL"] ?? "");
    expect(urls.map((url) => new URL(url).password)).toEqual(["", ""]);
    // What keeps a password out of the URL.
    const before = process.env["PGPASSWORD"];
    process.env["PGPASSWORD"] = "a/b?c";
    const client = new pg.Client({ connectionString: server.environment["DATABASE_URL"] });
    if (before === undefined) delete process.env["PGPASSWORD"];
    else process.env["PGPASSWORD"] = before;
    expect([client.user, client.host, client.password]).toEqual([
      "stratagraph_server",
      "postgres",
      "a/b?c",
    ]);
  });

  it("gives the server settings that it reads, few rights, and time to end", () => {
    const known = new Set([...Object.values(environmentNames), "PGPASSWORD"]);
    expect(Object.keys(server.environment).filter((name) => !known.has(name))).toEqual([]);
    for (const service of [migrate, server])
      expect(service).toMatchObject({
        init: true,
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
    expect(server.ports).toEqual(["127.0.0.1:8123:8123"]);
    expect([postgres.ports, migrate.ports]).toEqual([undefined, undefined]);
    expect(compose.networks["database"]).toEqual({ internal: true });
    expect(postgres.networks).toEqual(["database"]);
    expect(Number.parseInt(server.stop_grace_period ?? "0", 10)).toBeGreaterThan(10);
  });
});

describe("the page about deployment", () => {
  it("has no snippet of a language that no test reads", () => {
    const languages = new Set(snippets.map(({ language }) => language));
    expect([...languages].toSorted()).toEqual(["caddy", "ini", "nginx", "sh", "sql", "yaml"]);
  });

  const cwd = tempFolder();

  it("has settings that the server takes", async () => {
    const texts = textsIn("yaml");
    expect(texts).toHaveLength(1);
    for (const text of texts) {
      await writeFile(join(cwd, "stratagraph.yaml"), text);
      expect(await readServeConfig({}, { env: {}, cwd })).toEqual(parse(text));
    }
  });

  it("has proxies that keep idle connections for less time than the server, and do not buffer", () => {
    const [nginx = "", caddy = ""] = [textsIn("nginx")[0], textsIn("caddy")[0]];
    for (const text of [nginx, caddy]) {
      expect(text.split("{")).toHaveLength(text.split("}").length);
      const [, seconds = "60"] = /^\s*keepalive(?:_timeout)? (\d+)s;?$/m.exec(text) ?? [];
      expect(Number(seconds)).toBeLessThan(5);
    }
    expect(nginx).toContain("proxy_buffering off;");
    expect(caddy).toContain("flush_interval -1");
    const [, timeout = "0"] = /proxy_read_timeout (\d+)s/.exec(nginx) ?? [];
    expect(Number(timeout)).toBeGreaterThan(60);
  });

  it("has a pooler that passes on what the server asks for", () => {
    const [text = ""] = textsIn("ini");
    const settings = Object.fromEntries(
      [...text.matchAll(/^(\w+) = (.+)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(settings).toMatchObject({
      pool_mode: "transaction",
      ignore_startup_parameters: expect.stringContaining("statement_timeout"),
    });
    expect(Number(settings["max_prepared_statements"])).toBeGreaterThan(0);
  });
});

const serverUrl = inject("postgresUrl");
const hasVector = await hasPgvector();
const hasClients = await run("pg_dump", ["--version"]).then(
  () => true,
  () => false,
);

describe.skipIf(serverUrl === "")("roles of Postgres", () => {
  const id = randomBytes(6).toString("hex");
  /** Names on the server of the tests instead of those of the page. */
  const names = new Map([
    ["stratagraph_owner", `stratagraph_test_${id}_owner`],
    ["stratagraph_server", `stratagraph_test_${id}_server`],
    ["stratagraph_backup", `stratagraph_test_${id}_backup`],
  ]);
  const [database, restored] = [`stratagraph_test_${id}`, `stratagraph_test_${id}_restored`];
  const opened: Database[] = [];
  const servers: PlatformServer[] = [];
  let admin: Database;
  let secret: string;
  const cwd = tempFolder();

  const role = (name: string) => names.get(name) ?? name;
  const url = (name: string, at = database) => {
    const made = new URL(serverUrl);
    if (name !== "admin") [made.username, made.password] = [role(name), ""];
    made.pathname = `/${at}`;
    return made.toString();
  };
  const open = async (name: string, at = database) => {
    const one = await openDatabase({ url: url(name, at) });
    opened.push(one);
    return one;
  };
  /** Text of the page or of compose.yaml, as it runs here. */
  const here = (text: string) => {
    let changed = text
      .replaceAll(/\b(database|--connect|\\connect) stratagraph\b/g, `$1 ${database}`)
      .replaceAll("db.internal/stratagraph", `db.internal/${database}`)
      .replaceAll(/\brestored\b/g, restored);
    for (const [name, own] of names) changed = changed.replaceAll(name, own);
    const { host, username } = new URL(serverUrl);
    return changed
      .replaceAll("postgres://postgres@db.internal", `postgres://${username}@${host}`)
      .replaceAll("db.internal", host);
  };
  const runSql = async (text: string) => {
    const [first = "", second = ""] = here(text).split(/^\\connect \S+$/m);
    const inServer = await openDatabase({ url: serverUrl });
    opened.push(inServer);
    for (const statement of first.split(";").map((one) => one.trim()))
      if (statement !== "") await inServer.pool.query(statement);
    if (second === "") return;
    const inDatabase = await open("admin");
    for (const statement of second.split(";").map((one) => one.trim()))
      if (statement !== "" && (hasVector || !statement.includes("vector")))
        await inDatabase.pool.query(statement);
  };
  const cli = async (name: string, ...argv: readonly string[]) => {
    const io = { ...memoryIo({ cwd }), env: { DATABASE_URL: url(name) } };
    const code = await runCli(argv.map(role), io);
    return { code, out: io.stdout.take(), errors: io.stderr.take() };
  };
  const serve = async (name: string, at = database) => {
    const server = await createServer({ databaseUrl: url(name, at), env: {} });
    servers.push(server);
    return server;
  };
  const ask = async (server: PlatformServer, init: RequestInit = {}, key = secret) =>
    server.fetch(
      new Request("http://localhost/v1/agents", {
        ...init,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      }),
    );

  beforeAll(async () => {
    const [roles = ""] = textsIn("sql");
    await runSql(roles);
    admin = await open("admin");
    const migrated = await cli("stratagraph_owner", "migrate", "--grant", "stratagraph_server");
    if (migrated.code !== 0) throw new Error(migrated.errors);
    await cli("stratagraph_owner", "tenants", "create", "one");
    const flags = ["--tenant", "one", "--scope", "*", "--json"];
    const made = await cli("stratagraph_owner", "keys", "create", ...flags);
    ({ secret } = JSON.parse(made.out) as { secret: string });
  });
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
  });
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
    const last = await openDatabase({ url: serverUrl });
    for (const name of [database, restored])
      await last.pool.query(`drop database if exists ${name} with (force)`);
    for (const name of names.values()) await last.pool.query(`drop role if exists ${name}`);
    await last.close();
  });

  it("let a server that owns nothing answer, behind row-level security", async () => {
    const server = await serve("stratagraph_server");
    expect(server.platform.tables.tenants.role).toBeNull();
    const body = JSON.stringify({ name: "helper" });
    expect((await ask(server, { method: "POST", body })).status).toBe(201);
    const { agents } = (await (await ask(server)).json()) as { agents: unknown[] };
    expect(agents).toHaveLength(1);

    const { pool } = await open("stratagraph_server");
    const { rows } = await pool.query<object>(
      `select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb,
        (select count(*)::integer from pg_class c where pg_has_role(c.relowner, 'usage')) as owned
      from pg_roles where rolname = current_user`,
    );
    expect(rows).toEqual([
      { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false, owned: 0 },
    ]);
    for (const table of ["tenant", "api_key", "agent_definition", "audit_log"]) {
      const found = await pool.query(`select from stratagraph.${table}`);
      expect([table, found.rows]).toEqual([table, []]);
    }
    for (const statement of [
      "create table stratagraph.own ()",
      "drop table stratagraph.run",
      "truncate stratagraph.run",
      "alter table stratagraph.run disable row level security",
      "create schema own",
      "insert into stratagraph.stratagraph_migrations values ('platform', 99)",
    ])
      await expect(pool.query(statement)).rejects.toThrow(/denied|must be owner/);
  });

  it("let a server that owns nothing do the upkeep, apart from dropping days", async () => {
    const { pool } = await open("stratagraph_server");
    const platform = await openPlatform({ pool });
    const { principal } = await platform.apiKeys.verify(secret);
    const tenantId = principal?.tenantId ?? "";
    const { id: instanceId } = await platform.instances.create(tenantId, {
      threadId: "t",
      agent: "a",
    });
    const { id: runId } = await platform.runs.create(tenantId, { instanceId, request: {} });
    const claimed = await platform.claims.claim({ worker: "w", leaseMs: 1000 });
    expect(claimed?.id).toBe(runId);
    expect(await platform.claims.releaseExpired()).toBe(0);
    expect(await platform.idempotency.sweep()).toBe(0);
    await platform.partitions.ensure(9);
    const { rows } = await admin.pool.query<{ owner: string }>(
      `select distinct pg_get_userbyid(relowner)::text as owner from pg_class where relname ~ '^run_event_\\d{8}$'`,
    );
    expect(rows).toEqual([{ owner: role("stratagraph_owner") }]);
    await expect(platform.partitions.dropBefore("turn", "2999-01-01")).rejects.toThrow(
      "must be owner",
    );
  });

  it("let a server that owns nothing run agents on threads", async () => {
    const { principal } = await (await serve("stratagraph_server")).platform.apiKeys.verify(secret);
    const runtime = await createRuntime({
      databaseUrl: url("stratagraph_server"),
      tenantId: principal?.tenantId ?? "",
      env: {},
    });
    try {
      const agent = defineAgent({ name: "calculator", tools: ["calculator"] });
      const message = "What is 6 * 7?";
      const options = { runtime, threadId: "sums" };
      expect((await executeAgent(agent, { message }, options)).status).toBe("COMPLETED");
      const { items } = await runtime.threads.calls({ threadId: "sums" });
      expect(items.length).toBeGreaterThan(0);
    } finally {
      await runtime.close();
    }
    const { rows } = await admin.pool.query("select from pg_tables where schemaname = 'public'");
    expect(rows).toEqual([]);
  });

  it("refuse every key where the rights were granted by hand alone", async () => {
    const by = `stratagraph_test_${id}_hand`;
    names.set(by, by);
    await admin.pool.query(
      `create role ${by} login; grant connect on database ${database} to ${by}; grant usage on schema stratagraph to ${by};
      grant select, insert, update, delete on all tables in schema stratagraph to ${by}; grant execute on all functions in schema stratagraph to ${by}`,
    );
    const { pool } = await open(by);
    const { apiKeys } = await openPlatform({ pool });
    expect((await apiKeys.verify(secret)).refusal).toBe("unknown");
    // For the removal of the role.
    await admin.pool.query(`drop owned by ${by}`);
  });

  it.each(["nowhere", "stratagraph_backup"])("are not granted to %s", async (name) => {
    const { code, errors } = await cli("stratagraph_owner", "migrate", "--grant", name);
    expect(code).toBe(2);
    expect(errors).toContain("[invalid_role]");
  });

  it("limit statements behind a pooler", async () => {
    await runSql(textsIn("sql")[1] ?? "");
    const { rows } = await admin.pool.query<{ rolconfig: string[] }>(
      "select rolconfig from pg_roles where rolname = $1",
      [role("stratagraph_server")],
    );
    expect(rows[0]?.rolconfig).toEqual(["statement_timeout=60s"]);
  });

  /** Runs a block of the page with the command line, and with Compose as far as it runs the command line. */
  const shell = async (text: string, functions = "") => {
    const main = bundledProgram("src/cli/main.ts");
    const child = spawn("bash", ["-euc", `${functions}\n${here(text)}`], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: cwd, MAIN: main, NODE_OPTION: shortLived },
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (printed += String(chunk)));
    const [code] = (await once(child, "close")) as [number];
    return { code, printed };
  };
  const commandLine = `stratagraph() { node $NODE_OPTION "$MAIN" "$@"; }`;

  it("are those of the commands on the page", async () => {
    const [, manage = "", start = ""] = textsIn("sh");
    const managed = await shell(manage, commandLine);
    expect(managed).toMatchObject({ code: 0, printed: expect.stringMatching(/\nsg_\w+\n/) });
    const [, key = ""] = /\n(sg_\w+)\n/.exec(managed.printed) ?? [];
    expect((await ask(await serve("stratagraph_server"), {}, key)).status).toBe(200);
    // The server is stopped when it has started.
    const stopping = `stratagraph() {
      coproc node $NODE_OPTION "$MAIN" "$@" --port 0
      local pid=$COPROC_PID
      while read -r line <&\${COPROC[0]}; do
        echo "$line"
        case $line in Reference:*) kill -TERM $pid; break;; esac
      done
      wait $pid
    }`;
    const started = await shell(start.replace("0.0.0.0", "127.0.0.1"), stopping);
    expect(started).toMatchObject({ code: 0, printed: expect.stringContaining("Listening on") });
  });

  it("are those of the containers", async () => {
    const [text = ""] = textsIn("sh");
    const { environment } = compose.services.migrate;
    const fromHere = new URL(environment["DATABASE_URL"] ?? "");
    expect([fromHere.host, fromHere.pathname]).toEqual(["postgres:5432", "/stratagraph"]);
    const api = await startApi();
    const docker = `docker() {
      [ "$1" = compose ] && shift
      case "$1 \${2-}" in
        "up --build") [ "$(grep -cE '^(POSTGRES|OWNER|SERVER)_PASSWORD=[0-9a-f]{64}$' .env)" = 3 ];;
        "run --rm") [ "$3" = migrate ] && shift 3 && DATABASE_URL='${url("stratagraph_owner")}' node $NODE_OPTION "$MAIN" "$@";;
        *) return 1;;
      esac
    }`;
    const ran = await shell(text.replace("http://127.0.0.1:8123", api.listening.url), docker);
    expect(ran).toMatchObject({ code: 0, printed: expect.stringMatching(/\nsg_\w+\n/) });
    expect(ran.printed).toContain('"status":"ready"');
  });

  it.skipIf(!hasClients)("are made by the script of the containers", async () => {
    const [of, on] = [`${id}_image`, `stratagraph_test_${id}_image`];
    const content = compose.configs["roles"]?.content ?? "";
    const own = content
      .replaceAll("database stratagraph", `database ${on}`)
      .replaceAll(/stratagraph_(owner|server)/g, `stratagraph_test_${of}_$1`)
      .replace(/^create extension.*$/m, (line) => (hasVector ? line : ""));
    await admin.pool.query(`create database ${on}`);
    try {
      const env = { PATH: process.env["PATH"], OWNER_PASSWORD: "it's $1", SERVER_PASSWORD: "b" };
      const made = run("psql", ["--no-psqlrc", url("admin", on)], { env });
      made.child.stdin?.end(own);
      await made;
      const { rows } = await admin.pool.query<object>(
        `select rolname::text as role, rolcanlogin as login, rolsuper or rolbypassrls as bypasses from pg_roles
        where rolname like $1 order by 1`,
        [`stratagraph_test_${of}%`],
      );
      expect(rows).toEqual(
        ["owner", "server"].map((name) => ({
          role: `stratagraph_test_${of}_${name}`,
          login: true,
          bypasses: false,
        })),
      );
    } finally {
      await admin.pool.query(`drop database ${on} with (force)`);
      for (const name of ["owner", "server"])
        await admin.pool.query(`drop role if exists stratagraph_test_${of}_${name}`);
    }
  });

  it.skipIf(!hasClients)("back up and restore keys and agents", async () => {
    const text = textsIn("sh").find((block) => block.includes("pg_dump")) ?? "";
    const restoring = await shell(text, commandLine);
    expect(restoring).toMatchObject({ code: 0 });
    const server = await serve("stratagraph_server", restored);
    expect((await ask(server)).status).toBe(200);
    const dump = ["--file=/dev/null", url("stratagraph_owner")];
    await expect(run("pg_dump", dump)).rejects.toThrow("row-level security");
  });
});
