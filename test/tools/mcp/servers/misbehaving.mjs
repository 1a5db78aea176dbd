// A server that does one thing wrong: `node misbehaving.mjs BEHAVIOUR [ARGUMENT]`.
import { appendFileSync, existsSync } from "node:fs";
import { spawn } from "node:child_process";
import { send, serveLines, textResult, tool } from "./line-server.mjs";

const [behaviour, argument] = process.argv.slice(2);
const one = { list: () => ({ tools: [tool("do")] }) };

const behaviours = {
  /** Makes the file `argument` when all is printed. */
  "prints garbage and hangs"() {
    console.log("Welcome to my server!");
    console.log("It is not ready yet.");
    appendFileSync(argument, "");
    setInterval(() => {}, 1_000);
  },
  /** Does not listen to SIGTERM, and writes its id into the file `argument`. */
  hangs() {
    process.on("SIGTERM", () => {});
    appendFileSync(argument, String(process.pid));
    setInterval(() => {}, 1_000);
  },
  "exits at once"() {
    console.error("cannot read config.json");
    process.exit(3);
  },
  "refuses to start"() {
    process.stdin.once("data", () => send({ id: 0, error: { code: -32602, message: "too old" } }));
    setInterval(() => {}, 1_000);
  },
  "prints logs between messages"() {
    console.log("starting");
    serveLines({
      ...one,
      call() {
        console.log("called");
        console.log(JSON.stringify({ level: "info", text: "called" }));
        return textResult("done");
      },
    });
  },
  /** Each start leaves a line in the file `argument`; with a file `argument`.broken it does not start. */
  "dies in a call"() {
    appendFileSync(argument, `${process.pid}\n`);
    if (existsSync(`${argument}.broken`)) {
      console.error("still broken");
      process.exit(7);
    }
    serveLines({
      ...one,
      call({ arguments: { die } }) {
        if (die !== true) return textResult("alive");
        console.error(`dying with ${process.env.TOKEN}`);
        process.exit(9);
      },
    });
  },
  "has a child that holds its pipes"() {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: "inherit",
    });
    serveLines({ ...one, call: () => textResult(String(child.pid)) });
  },
  "lists 5,000 tools"() {
    serveLines({
      list(cursor = "0") {
        const from = Number(cursor);
        const tools = Array.from({ length: 100 }, (_, at) => tool(`tool_${from + at}`));
        return { tools, ...(from + 100 < 5_000 && { nextCursor: String(from + 100) }) };
      },
      call: ({ name }) => textResult(name),
    });
  },
  "lists too many tools"() {
    serveLines({
      list: (cursor = "0") => ({
        tools: Array.from({ length: 1_000 }, (_, at) => tool(`t${cursor}_${at}`)),
        nextCursor: String(Number(cursor) + 1),
      }),
    });
  },
  "repeats a page"() {
    serveLines({ list: () => ({ tools: [], nextCursor: "again" }) });
  },
  "lists nothing that is a list"() {
    serveLines({ list: () => ({ tools: "none" }) });
  },
  "answers with 100 MB"() {
    serveLines({
      ...one,
      call({ arguments: { megabytes } }, id) {
        const text = "x".repeat(1024 * 1024);
        process.stdout.write(
          `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`,
        );
        for (let at = 0; at < megabytes; at += 1) process.stdout.write(text);
        process.stdout.write(`"}]}}\n`);
      },
    });
  },
  "answers with broken JSON"() {
    serveLines({
      ...one,
      call({ arguments: { how } }, id) {
        if (how === "cut")
          process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[\n`);
        else if (how === "other") send({ id, result: { content: "none" } });
        else return textResult("done");
      },
    });
  },
  "has strange names"() {
    const names = [
      "files/read.all",
      `quote"d`,
      "../../etc/passwd",
      "with space",
      "red\u001b[31m",
      "",
      "l".repeat(70),
      "ok",
    ];
    serveLines({ list: () => ({ tools: [...names.map((name) => tool(name)), { no: "name" }] }) });
  },
  "has two names that become one"() {
    serveLines({ list: () => ({ tools: [tool("a.b"), tool("a_b")] }) });
  },
  "has strange schemas"() {
    const recursive = {
      type: "object",
      properties: { tree: { $ref: "#/$defs/node" } },
      required: ["tree"],
      $defs: {
        node: {
          type: "object",
          properties: { children: { type: "array", items: { $ref: "#/$defs/node" } } },
        },
      },
    };
    const odd = {
      type: "object",
      required: ["a"],
      if: { properties: { a: { const: 1 } } },
      else: { required: ["b"] },
      unevaluatedProperties: false,
    };
    const doubling = { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs: {} };
    for (let at = 0; at < 40; at += 1) {
      const next = { $ref: `#/$defs/d${at + 1}` };
      doubling.$defs[`d${at}`] = { type: "object", properties: { l: next, r: next } };
    }
    doubling.$defs.d40 = { type: "string" };
    let deep = { type: "object" };
    for (let at = 0; at < 2_000; at += 1) deep = { type: "object", properties: { a: deep } };
    // Backtracking would take 2^60 steps for sixty letters and another sign.
    const hostile = {
      type: "object",
      properties: { a: { type: "string", pattern: "^(a+)+$" } },
    };
    const strength = { type: "string", pattern: "^(?=.*\\d)", minLength: 3 };
    serveLines({
      list: () => ({
        tools: [
          tool("hostile", hostile, { outputSchema: hostile }),
          tool("lookahead", { type: "object", properties: { password: strength } }),
          tool("recursive", recursive),
          tool("odd", odd, { outputSchema: { type: "object", not: { required: ["x"] } } }),
          tool("doubling", doubling),
          tool("deep", deep),
          tool("none", null),
          tool(
            "structured",
            { type: "object" },
            {
              outputSchema: {
                type: "object",
                properties: { n: { type: "number" } },
                required: ["n"],
              },
            },
          ),
        ],
      }),
      call({ name, arguments: args }) {
        if (name === "hostile") {
          return { content: [], structuredContent: { a: `${args.a}${args.b ?? ""}` } };
        }
        if (name !== "structured") return textResult(JSON.stringify(args));
        return args.text === true
          ? textResult("no number")
          : { content: [], structuredContent: { n: args.n } };
      },
    });
  },
  "tells its environment"() {
    serveLines({
      ...one,
      call: () => textResult(JSON.stringify({ env: process.env, args: process.argv.slice(2) })),
    });
  },
  /** Writes its id into the file `argument`. */
  "does not end"() {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1_000);
    appendFileSync(argument, String(process.pid));
    serveLines(one);
  },
  /** Writes what it is told into the file `argument`, and never answers a call. */
  "waits for ever"() {
    serveLines({
      ...one,
      call: () => undefined,
      onMessage: ({ method, params }) =>
        appendFileSync(argument, `${method} ${params?.requestId ?? ""}\n`),
    });
  },
  "refuses every call"() {
    serveLines({
      ...one,
      call(params, id) {
        if (params.arguments.isError === true)
          return { isError: true, ...textResult("no such file") };
        send({ id, error: { code: -32602, message: `bad arguments, ${process.env.TOKEN}` } });
      },
    });
  },
};

behaviours[behaviour]();
