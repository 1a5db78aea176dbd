import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serverSchema } from "../../../src/definition/schema/servers.ts";
import { ServerStartError, ServerToolsError } from "../../../src/tools/mcp/tool-servers.ts";
import { MissingSecretError } from "../../../src/tools/missing-secret-error.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { misbehaving } from "./misbehaving.ts";
import { isAlive, names, toolNamed, useToolServers } from "./use-servers.ts";

const setUp = useToolServers();

describe("a server that does not start", () => {
  it("is told by the first line that is no message", async () => {
    const clock = new ManualClock();
    const { servers, secrets } = setUp({ clock, secrets: { TOKEN: "Welcome to my server" } });
    await secrets.get("TOKEN");
    const printed = join(tempFolder(), "printed");
    const connecting = servers.connect(
      misbehaving("prints garbage and hangs", { argument: printed, start_timeout_ms: 500 }),
    );
    connecting.catch(() => {});
    await expect.poll(() => existsSync(printed)).toBe(true);
    clock.advance(500);
    await expect(connecting).rejects.toThrow(ServerStartError);
    await expect(connecting).rejects.toThrow(
      'The tool server "bad" could not be started. It was not ready within 500 ms. Raise start_timeout_ms if it needs longer. On standard output it printed 2 lines that are no MCP messages (the first: "{{secret:TOKEN}}!"); all but messages belongs on standard error.',
    );
  });

  it("is killed where it takes too long, also when it does not listen to SIGTERM", async () => {
    const clock = new ManualClock();
    const { servers } = setUp({ clock });
    const file = join(tempFolder(), "pid");
    const connecting = servers.connect(
      misbehaving("hangs", { argument: file, start_timeout_ms: 400 }),
    );
    connecting.catch(() => {});
    await expect.poll(() => existsSync(file)).toBe(true);
    const pid = Number(readFileSync(file, "utf8"));
    clock.advance(400);
    await expect.poll(() => clock.isDueWithin(2_000)).toBe(true);
    expect(isAlive(pid)).toBe(true);
    clock.advance(2_000);
    await expect(connecting).rejects.toThrow("It was not ready within 400 ms.");
    expect(isAlive(pid)).toBe(false);
    expect(servers.status()).toEqual([]);
  });

  it("is told by its exit code and the end of its standard error", async () => {
    const { servers } = setUp();
    await expect(servers.connect(misbehaving("exits at once"))).rejects.toMatchObject({
      code: "server_start",
      kind: "run",
      server: "bad",
      transient: true,
      message:
        'The tool server "bad" could not be started. Its process ended with exit code 3 before it was ready. The end of its standard error:\ncannot read config.json',
    });
  });

  it("is told by what it answers to the greeting", async () => {
    const { servers } = setUp();
    await expect(servers.connect(misbehaving("refuses to start"))).rejects.toThrow(
      'The tool server "bad" could not be started. too old.',
    );
  });

  it("is told by its command where there is no such program", async () => {
    const { servers } = setUp();
    const spec = serverSchema.parse({ name: "none", transport: "stdio", command: "no-such-prog" });
    await expect(servers.connect(spec)).rejects.toMatchObject({
      transient: false,
      message:
        'The tool server "none" could not be started. Its command "no-such-prog" was not found. Install it, or correct the command.',
    });
  });

  it("is tried again by the next connect", async () => {
    const values: Record<string, string> = {};
    const { servers } = setUp({ secrets: values });
    const spec = misbehaving("tells its environment", { env: { KEY: "{{secret:API_KEY}}" } });
    const first = servers.connect(spec);
    await expect(first).rejects.toThrow(MissingSecretError);
    await expect(first).rejects.toThrow('There is no secret "API_KEY".');
    values["API_KEY"] = "open sesame";
    expect(names(await servers.connect(spec))).toEqual(["do"]);
  });

  it("does not show a secret that no process can be given", async () => {
    const { servers } = setUp({ secrets: { API_KEY: "open\0sesame" } });
    const spec = misbehaving("tells its environment", { env: { KEY: "{{secret:API_KEY}}" } });
    await expect(servers.connect(spec)).rejects.toThrow(
      "Its command, args or env have a character that a process cannot be given.",
    );
  });
});

describe("a server's list of tools", () => {
  it("may have 5,000 of them, over many pages", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("lists 5,000 tools"));
    expect(found.tools).toHaveLength(5_000);
    expect(await call(found, "tool_4999")).toMatchObject({ result: "tool_4999" });
  });

  it.each([
    ["lists too many tools", "It lists more than 20,000 of them."],
    ["repeats a page", "Its list has no end: the same page comes again."],
    ["lists nothing that is a list", "Its list is not of the form that MCP asks for."],
    [
      "has two names that become one",
      'It lists two tools that become one ("a.b", "a_b"): an agent would know both as "a_b".',
    ],
  ])("is refused from one that %s", async (behaviour, message) => {
    const { servers } = setUp();
    const connecting = servers.connect(misbehaving(behaviour));
    await expect(connecting).rejects.toThrow(ServerToolsError);
    await expect(connecting).rejects.toThrow(
      `The tools of the server "bad" cannot be used. ${message}`,
    );
  });

  it.each([
    [{ tools: ["doo"] }, 'Its tools name "doo", which it does not list. Did you mean "do"?'],
    [
      { overrides: { dos: { requires_approval: true } } },
      'Its overrides name "dos", which it does not list. Did you mean "do"?',
    ],
  ])("has to have what is asked for: %j", async (more, message) => {
    const { servers } = setUp();
    await expect(servers.connect(misbehaving("tells its environment", more))).rejects.toThrow(
      message,
    );
  });

  it("gives names that models take, and leaves out those that say something else", async () => {
    const { servers } = setUp();
    const found = await servers.connect(misbehaving("has strange names"));
    expect(names(found)).toEqual(["files_read_all", `${"l".repeat(55)}_c1d94830`, "ok"]);
    const why = "left out, since its name has characters other than letters, digits and _ - . /.";
    expect(found.problems).toEqual([
      'Server "bad": entry 9 of its list has no name.',
      `Server "bad", tool "quote\\"d": ${why}`,
      `Server "bad", tool "../../etc/passwd": ${why}`,
      `Server "bad", tool "with space": ${why}`,
      `Server "bad", tool "red\\u001b[31m": ${why}`,
      `Server "bad", tool "": ${why}`,
    ]);
  });

  it("keeps tools whose schemas cannot be checked, and says what is checked instead", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("has strange schemas"));
    expect(names(found)).toEqual([
      "hostile",
      "lookahead",
      "recursive",
      "odd",
      "doubling",
      "structured",
    ]);
    expect(found.problems).toEqual([
      'Server "bad", tool "lookahead": of its inputSchema, patterns are not checked (properties/password/pattern: the regular expression cannot be matched in linear time: it has a lookahead "(?=").',
      expect.stringContaining(
        'Server "bad", tool "odd": of its arguments, only the names of those that are required are checked',
      ),
      expect.stringContaining('Server "bad", tool "odd": its results are not checked'),
      'Server "bad", tool "deep": left out: its inputSchema is nested more than 100 levels deep.',
      'Server "bad", tool "none": left out: its inputSchema is no JSON Schema.',
    ]);
    expect(toolNamed(found, "odd").definition.input_schema).toHaveProperty("unevaluatedProperties");
    const tree = { children: [{ children: [] }] };
    expect(await call(found, "recursive", { tree })).toMatchObject({
      outcome: "success",
      result: JSON.stringify({ tree }),
    });
    expect((await call(found, "recursive", { tree: { children: [1] } })).outcome).toBe("error");
    expect((await call(found, "odd", { a: 1 })).outcome).toBe("success");
    expect((await call(found, "odd", { b: 1 })).error).toContain("a: missing");
  });

  it("matches the patterns of arguments and results without backtracking", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("has strange schemas"));
    const letters = "a".repeat(60);
    expect((await call(found, "hostile", { a: letters })).result).toEqual({ a: letters });
    expect((await call(found, "hostile", { a: `${letters}!` })).error).toContain(
      "a: Invalid string: must match pattern /^(a+)+$/",
    );
    expect((await call(found, "hostile", { a: letters, b: "!" })).error).toContain(
      "returned what does not fit its output_schema: a: Invalid string",
    );
  });

  it("checks the rest of a schema whose pattern needs backtracking", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("has strange schemas"));
    expect((await call(found, "lookahead", { password: "abc" })).outcome).toBe("success");
    expect((await call(found, "lookahead", { password: "ab" })).error).toContain(
      "password: Too small",
    );
  });

  it("checks structured results by their schema, and takes text as it is", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("has strange schemas"));
    expect((await call(found, "structured", { n: 1 })).result).toEqual({ n: 1 });
    expect(await call(found, "structured", { n: "one" })).toMatchObject({
      outcome: "error",
      error: expect.stringContaining("returned what does not fit its output_schema: n:"),
    });
    expect((await call(found, "structured", { text: true })).result).toBe("no number");
  });
});

describe("an answer to a call", () => {
  it("that is an error of the tool is a failure; one of the protocol is an error", async () => {
    const { servers, call } = setUp({ secrets: { TOKEN: "hush hush" } });
    const found = await servers.connect(
      misbehaving("refuses every call", { env: { TOKEN: "{{secret:TOKEN}}" } }),
    );
    expect(await call(found, "do", { isError: true })).toMatchObject({
      outcome: "failure",
      error: "no such file",
    });
    expect(await call(found, "do")).toMatchObject({
      outcome: "error",
      error:
        'The server "bad" did not carry out the call of its tool "do": bad arguments, {{secret:TOKEN}}.',
    });
  });

  it("of 100 MB costs that call alone", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("answers with 100 MB"));
    const held = process.memoryUsage().arrayBuffers;
    expect(await call(found, "do", { megabytes: 100 })).toMatchObject({
      outcome: "error",
      error:
        'The server "bad" did not carry out the call of its tool "do": its answer has more than 64 MiB.',
    });
    expect(process.memoryUsage().arrayBuffers - held).toBeLessThan(200 * 1024 * 1024);
    expect((await call(found, "do", { megabytes: 1 })).outcome).toBe("success");
    expect(servers.status()).toMatchObject([{ state: "connected", restarts: 0 }]);
  });

  it("that cannot be read ends the call", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("answers with broken JSON"));
    expect(await call(found, "do", { how: "cut" })).toMatchObject({
      outcome: "error",
      error: expect.stringContaining("its answer is no JSON-RPC message."),
    });
    expect(await call(found, "do", { how: "other" })).toMatchObject({
      outcome: "error",
      error: expect.stringContaining("its answer is no result of a tool call."),
    });
    expect((await call(found, "do")).outcome).toBe("success");
  });

  it("may have logs around it", async () => {
    const { servers, call } = setUp();
    const found = await servers.connect(misbehaving("prints logs between messages"));
    expect((await call(found, "do")).outcome).toBe("success");
  });
});

describe("a server's environment", () => {
  it("has what its spec says and a few harmless variables, and secrets come back as references", async () => {
    process.env["STRATAGRAPH_TEST_ONLY"] = "not for servers";
    const { servers, secrets, call } = setUp({ secrets: { API_KEY: "open sesame" } });
    const found = await servers.connect(
      misbehaving("tells its environment", {
        argument: "--key={{secret:API_KEY}}",
        env: { KEY: "{{secret:API_KEY}}" },
      }),
    );
    delete process.env["STRATAGRAPH_TEST_ONLY"];
    expect(toolNamed(found, "do").definition.transport).toMatchObject({
      command: expect.stringMatching(/--key=\{\{secret:API_KEY\}\}$/),
    });
    const { result } = await call(found, "do");
    const told = JSON.parse(secrets.scrub(String(result))) as {
      env: Record<string, string>;
      args: string[];
    };
    expect(told.args[1]).toBe("--key={{secret:API_KEY}}");
    expect(told.env["KEY"]).toBe("{{secret:API_KEY}}");
    const harmless = ["HOME", "KEY", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
    expect(harmless).toEqual(expect.arrayContaining(Object.keys(told.env)));
  });
});
