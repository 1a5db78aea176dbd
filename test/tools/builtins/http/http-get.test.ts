import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../../../src/definition/tool/tool.ts";
import { type HttpGetOptions, httpGetTool } from "../../../../src/tools/builtins/http/http-get.ts";
import { createSecrets } from "../../../../src/tools/secrets.ts";
import { callBuiltin } from "../../../helpers/builtin-call.ts";
import { freePort } from "../../../helpers/free-port.ts";
import { httpServer } from "../../../helpers/http-server.ts";

const key = "s3cret-and-long-enough";
const lines = "line of text\n".repeat(2_000);
const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, "a"));

const pages: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  "/json": (_, response) => answer(response, "application/json", '{"a":[1]}'),
  "/problem": (_, response) => answer(response, "application/problem+json", '{"b":2}'),
  "/bad-json": (_, response) => answer(response, "application/json", "{a"),
  "/too-deep": (_, response) => answer(response, "application/json", nested(201)),
  "/far-too-deep": (_, response) => answer(response, "application/json", nested(500_000)),
  "/far-too-deep-error": (_, response) =>
    response.writeHead(400, { "content-type": "application/json" }).end(nested(500_000)),
  "/proto": (_, response) =>
    answer(response, "application/json", '{"a":[{"__proto__":{"b":1},"c":2}],"__proto__":3}'),
  "/html": (_, response) => answer(response, "text/html; charset=utf-8", "<p>Zażółć</p>"),
  "/latin1": (_, response) =>
    answer(response, "text/plain; charset=iso-8859-1", Buffer.from("café", "latin1")),
  "/nothing": (_, response) => response.writeHead(204).end(),
  "/image": (_, response) => answer(response, "image/png", Buffer.from([0x89, 0x50, 0])),
  "/bytes": (_, response) => answer(response, "", Buffer.from([0xff, 0xfe, 0x80])),
  "/gzip": (_, response) => compressed(response, "gzip", gzipSync(lines)),
  "/br": (_, response) => compressed(response, "br", brotliCompressSync(lines)),
  "/deflate": (_, response) => compressed(response, "deflate", deflateSync(lines)),
  "/deflate-raw": (_, response) => compressed(response, "deflate", deflateRawSync(lines)),
  "/gzip-empty": (_, response) => compressed(response, "gzip", Buffer.alloc(0)),
  "/gzip-damaged": (_, response) => compressed(response, "gzip", Buffer.from("not gzip at all")),
  "/gzip-cut": (_, response) => compressed(response, "gzip", gzipSync(lines).subarray(0, 40)),
  "/br-damaged": (_, response) => compressed(response, "br", Buffer.from("not br, not at all")),
  "/zstd": (_, response) => compressed(response, "zstd", Buffer.from("x")),
  "/bomb": (_, response) => compressed(response, "gzip", bomb),
  "/large": (_, response) => endless(response),
  "/echo": ({ headers }, response) => answer(response, "application/json", JSON.stringify(headers)),
  "/echo-error": ({ headers }, response) =>
    response.writeHead(403).end(`no: ${headers.authorization}`),
  "/missing": (_, response) => response.writeHead(404).end("x".repeat(5_000)),
  "/busy": (_, response) => response.writeHead(503).end(),
  "/limited": (_, response) => response.writeHead(429).end("slow down"),
  "/hop": (_, response) => redirect(response, "/json"),
  "/loop": (_, response) => redirect(response, "/loop"),
  "/to-metadata": (_, response) => redirect(response, "http://169.254.169.254/latest/meta-data"),
  "/to-file": (_, response) => redirect(response, "file:///etc/passwd"),
  "/to-user": (_, response) => redirect(response, `http://user:word@${host}/json`),
  "/to-nowhere": (_, response) => redirect(response, "http://["),
  "/to-other": (_, response) => redirect(response, `http://${other}/echo`),
  "/cut": (_, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("half");
    setImmediate(() => response.destroy());
  },
};

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

function answer(response: ServerResponse, type: string, body: string | Buffer): void {
  response.writeHead(200, type === "" ? {} : { "content-type": type }).end(body);
}

function compressed(response: ServerResponse, encoding: string, body: Buffer): void {
  response.writeHead(200, { "content-type": "text/plain", "content-encoding": encoding }).end(body);
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end("moved");
}

/** 100 MB and what was sent of it when the reader had gone. */
let sent = 0;
function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, "a");
  response.writeHead(200, { "content-type": "application/json" });
  const write = () => {
    while (sent < 100_000_000 && !response.destroyed) {
      sent += chunk.length;
      if (!response.write(chunk)) return;
    }
    response.end();
  };
  response.on("drain", write);
  write();
}

const serve = (request: IncomingMessage, response: ServerResponse) =>
  (pages[request.url ?? ""] ?? pages["/missing"])?.(request, response);
const host = await httpServer(serve);
const other = await httpServer(serve);

const get = (path: string, options: HttpGetOptions = { allow: [host] }) =>
  callBuiltin(httpGetTool(options), { url: path.startsWith("/") ? `http://${host}${path}` : path });
const bodyOf = async (path: string) => {
  const { result, error } = await get(path);
  return (result as { body?: unknown } | null)?.body ?? error;
};

describe("http_get", () => {
  it("reads JSON as a value", async () => {
    expect((await get("/json#part")).result).toEqual({
      status: 200,
      url: `http://${host}/json`,
      content_type: "application/json",
      body: { a: [1] },
    });
    expect(await bodyOf("/problem")).toEqual({ b: 2 });
    expect(await bodyOf("/bad-json")).toBe("{a");
  });

  it("fails for JSON of more than 200 levels", async () => {
    for (const path of ["/too-deep", "/far-too-deep"]) {
      expect(await get(path)).toMatchObject({
        outcome: "failure",
        error: expect.stringContaining("JSON that is nested more than 200 levels deep"),
      });
    }
    expect(await get("/far-too-deep-error")).toMatchObject({
      outcome: "failure",
      error: expect.stringMatching(/answered with status 400\. It says: \[{900}/),
    });
  });

  it("leaves keys out that could become a prototype", async () => {
    expect(JSON.stringify(await bodyOf("/proto"))).toBe('{"a":[{"c":2}]}');
  });

  it("reads text in its charset, and describes what is no text", async () => {
    expect(await bodyOf("/html")).toBe("<p>Zażółć</p>");
    expect(await bodyOf("/latin1")).toBe("café");
    expect(await bodyOf("/nothing")).toBe("");
    expect(await bodyOf("/image")).toEqual({ binary: true, media_type: "image/png", bytes: 3 });
    expect(await bodyOf("/bytes")).toEqual({
      binary: true,
      media_type: "application/octet-stream",
      bytes: 3,
    });
  });

  it.each(["/gzip", "/br", "/deflate", "/deflate-raw"])("decompresses %s", async (path) => {
    expect(await bodyOf(path)).toBe(lines);
  });

  it.each([
    ["/gzip-damaged", "The body is no valid gzip (incorrect header check)."],
    ["/gzip-cut", "The body is no valid gzip (unexpected end of file)."],
    ["/br-damaged", "The body is no valid br ("],
    ["/zstd", 'The body is compressed with "zstd", which is not read.'],
  ])("fails for %s", async (path, message) => {
    const { outcome, error } = await get(path);
    expect([outcome, error]).toEqual(["failure", expect.stringContaining(message)]);
  });

  it("takes an empty body for one of no bytes, whatever it is compressed with", async () => {
    expect(await bodyOf("/gzip-empty")).toBe("");
  });

  it("stops reading at the limit, of a large body and of a small one that stands for it", async () => {
    const large = (await runTool({ allow: [host] }, `http://${host}/large`)) as {
      body: string;
      truncated: boolean;
    };
    expect([large.body.length, large.truncated]).toEqual([2 * 1024 * 1024, true]);
    expect(sent).toBeLessThan(50_000_000);
    expect(bomb.length).toBeLessThan(300_000);
    const before = process.memoryUsage().rss;
    const small = (await get("/bomb", { allow: [host], maxBytes: 1_000 })).result;
    expect(small).toMatchObject({ truncated: true, body: "a".repeat(1_000) });
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024);
  });

  it("ends when its signal aborts, and closes the connection", async () => {
    let closed: () => void = () => {};
    const gone = new Promise<void>((resolve) => (closed = resolve));
    let started: () => void = () => {};
    const underWay = new Promise<void>((resolve) => (started = resolve));
    const slow = await httpServer((request, response) => {
      request.socket.once("close", closed);
      response.writeHead(200, { "content-type": "text/plain" }).write("first");
      started();
    });
    const controller = new AbortController();
    const reading = runTool({ allow: [slow] }, `http://${slow}/`, controller.signal);
    await underWay;
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    await gone;
  });

  it("ends when its signal aborts while the host's name is looked up", async () => {
    const controller = new AbortController();
    const lookup = () => {
      controller.abort(new Error("enough"));
      return new Promise<never>(() => {});
    };
    const reading = runTool(
      { allow: ["example.com"], lookup },
      "https://example.com",
      controller.signal,
    );
    await expect(reading).rejects.toThrow("enough");
  });

  it("fails with the status and the beginning of the body from status 400 on", async () => {
    const { outcome, error } = await get("/missing");
    expect(outcome).toBe("failure");
    expect(error).toBe(
      `${host} answered with status 404. It says: ${"x".repeat(1_000)}… [cut: 4,000 more characters]`,
    );
  });

  it.each([
    ["/missing", false],
    ["/limited", true],
    ["/busy", true],
  ])("says of %s whether it may be retried: %s", async (path, retryable) => {
    await expect(runTool({ allow: [host] }, `http://${host}${path}`)).rejects.toMatchObject({
      code: "tool_failure",
      retryable,
    });
  });

  it("keeps the system's code where no connection comes about, or one breaks off", async () => {
    const closed = `127.0.0.1:${await freePort()}`;
    await expect(runTool({ allow: [closed] }, `http://${closed}/`)).rejects.toMatchObject({
      code: "http_unreachable",
      cause: { code: "ECONNREFUSED" },
    });
    await expect(runTool({ allow: [host] }, `http://${host}/cut`)).rejects.toMatchObject({
      code: "http_unreachable",
      cause: { code: "ECONNRESET" },
    });
    const lookup = () =>
      Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }));
    await expect(
      runTool({ allow: ["no.example"], lookup }, "https://no.example/"),
    ).rejects.toMatchObject({ code: "http_unreachable", cause: { code: "ENOTFOUND" } });
  });
});

describe("what http_get may ask", () => {
  it("is nothing unless it is allowed, and the failure says how", async () => {
    const { outcome, error } = await get("/json", {});
    expect(outcome).toBe("failure");
    expect(error).toContain(`createRuntime({ httpAllow: ["${host}"] })`);
  });

  it.each([
    [
      "https://example.com/",
      "https://example.com is not among what http_get may ask. Allowed are: ",
    ],
    ["ftp://example.com/", "Only http and https are read, not ftp:"],
    ["example.com", '"example.com" is no URL'],
    [`http://user:word@${host}/json`, "The URL has a user or a password in it"],
    [`http://${host}@evil.example/`, "The URL has a user or a password in it"],
    ["/to-metadata", "The redirect to http://169.254.169.254 is not followed"],
    ["/to-other", `The redirect to http://${other} is not followed`],
    ["/to-file", "Only http and https are read, not file:"],
    ["/to-user", "The URL has a user or a password in it"],
    ["/to-nowhere", "redirects to what is no URL"],
    ["/loop", "There were more than 5 redirects"],
  ])("does not include %s", async (url, message) => {
    const { outcome, error } = await get(url);
    expect([outcome, error]).toEqual(["failure", expect.stringContaining(message)]);
  });

  it("includes redirects to what is allowed", async () => {
    expect((await get("/hop")).result).toMatchObject({ url: `http://${host}/json` });
    expect((await get("/to-other", { allow: [host, other] })).result).toMatchObject({
      url: `http://${other}/echo`,
    });
  });

  it.each([
    [["10.0.0.1"], "a private address"],
    [["127.0.0.1"], "a loopback address"],
    [["::ffff:127.0.0.1"], "a loopback address"],
    [["169.254.169.254"], "an address that is kept for special uses"],
    [["93.184.216.34", "192.168.1.1"], "a private address"],
  ])("does not include a name that leads to %j", async (addresses, what) => {
    const lookup = () => Promise.resolve(addresses);
    const { outcome, error } = await get("https://example.com/", {
      allow: ["example.com"],
      lookup,
    });
    expect(outcome).toBe("failure");
    expect(error).toBe(
      `example.com leads to ${what}, which is not called unless the allow list names that very address.`,
    );
  });

  it("includes a name in a private network where its entry says so, but never metadata", async () => {
    const port = host.split(":")[1] ?? "";
    const allow = [{ host: `*.here.localhost:${port}`, private: true }, `localhost:${port}`];
    const at = (address: string) => ({ allow, lookup: () => Promise.resolve([address]) });
    const { error } = await get(`http://a.here.localhost:${port}/json`, at("169.254.169.254"));
    expect(error).toContain("kept for special uses");
    expect((await get(`http://localhost:${port}/json`, at("127.0.0.1"))).outcome).toBe("success");
    expect((await get(`http://localhost:${port}/json`, at("10.0.0.1"))).error).toContain(
      "a private address",
    );
  });

  it("asks for a name once, so that a second answer leads nowhere", async () => {
    const port = host.split(":")[1] ?? "";
    const answers = [["127.0.0.1"], ["10.0.0.1"]];
    let asked = 0;
    const lookup = () => Promise.resolve(answers[asked++] ?? []);
    const { outcome } = await get(`http://localhost:${port}/json`, {
      allow: [`localhost:${port}`],
      lookup,
    });
    expect([outcome, asked]).toEqual(["success", 1]);
    // Each redirect asks anew, and is checked anew.
    asked = 0;
    const hop = await get(`http://localhost:${port}/hop`, { allow: [`localhost:${port}`], lookup });
    expect(hop.error).toContain("localhost leads to a private address");
  });

  it.each(["http://2130706433", "http://0x7f.1", "http://[::ffff:7f00:1]", "http://0177.0.0.01"])(
    "sees through the address %s",
    async (url) => {
      const { error } = await get(url, { allow: ["example.com"] });
      expect(error).toMatch(/is not among what http_get may ask/);
    },
  );
});

describe("headers of an allowed host", () => {
  const secrets = () => createSecrets({ get: (name) => (name === "KEY" ? key : undefined) });
  const allow = [{ host, headers: { Authorization: "Bearer {{secret:KEY}}" } }, other];

  it("are sent to it, and what they hold is taken out of what comes back", async () => {
    const { result } = await get("/echo", { allow, secrets: secrets() });
    expect(result).toMatchObject({ body: { authorization: "Bearer {{secret:KEY}}" } });
    const { error } = await get("/echo-error", { allow, secrets: secrets() });
    expect(error).toBe(`${host} answered with status 403. It says: no: Bearer {{secret:KEY}}`);
  });

  it("are not sent to where it redirects to, nor to other hosts", async () => {
    const { result } = await get("/to-other", { allow, secrets: secrets() });
    expect(Object.keys((result as { body: object }).body)).not.toContain("authorization");
    const direct = await get(`http://${other}/echo`, { allow, secrets: secrets() });
    expect(Object.keys((direct.result as { body: object }).body)).not.toContain("authorization");
  });

  it("come from the run's secrets where the tool has none of its own", async () => {
    const found = await runTool({ allow }, `http://${host}/echo`);
    expect(found).toMatchObject({ body: { authorization: `Bearer ${key}` } });
  });

  it("are missing where there is no such secret, and nothing is sent", async () => {
    const none = createSecrets({ get: () => undefined });
    const { outcome, error } = await get("/echo", { allow, secrets: none });
    expect(outcome).toBe("error");
    expect(error).toContain('There is no secret "KEY"');
  });

  it("are no reason to send a secret over http to a host on the Internet", async () => {
    const open = [{ host: "example.com", headers: { Key: "{{secret:KEY}}" } }];
    const lookup = () => Promise.resolve(["93.184.216.34"]);
    const { error } = await get("http://example.com/", { allow: open, secrets: secrets(), lookup });
    expect(error).toContain("goes over https only");
  });
});

function runTool(
  options: HttpGetOptions,
  url: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<unknown> {
  const context: ToolContext = {
    signal,
    callId: "call-1",
    now: () => new Date(0),
    secret: () => Promise.resolve(key),
  };
  return Promise.resolve(httpGetTool(options).run({ url }, context));
}
