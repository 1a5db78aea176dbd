import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineAgent,
  defineTool,
  executeAgent,
  ToolFailure,
} from "../../src/index.ts";
import { httpServer } from "../helpers/http-server.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { ScriptedModel, type ScriptedReply } from "../helpers/scripted-model.ts";

const secret = 'pl4nted/+"Secret"~9f3a';

/** All forms in which it may be left behind. */
const forms = [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString("hex"),
  ...[0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
      .toString("base64")
      .slice(4, 24),
  ),
];

const tools = [
  defineTool({
    name: "tells",
    description: "Tells it in every form.",
    input_schema: z.object({}),
    handler: async (_input, context) => {
      const value = await context.secret("PLANTED");
      return {
        [value]: value,
        nested: [{ url: `https://host/?t=${encodeURIComponent(value)}` }],
        basic: Buffer.from(`user:${value}`).toString("base64"),
        hex: Buffer.from(value).toString("hex"),
      };
    },
  }),
  defineTool({
    name: "throws",
    description: "Throws it.",
    input_schema: z.object({}),
    handler: async (_input, context) => {
      throw new Error(`no access with ${await context.secret("PLANTED")}`);
    },
  }),
  defineTool({
    name: "fails",
    description: "Fails with it.",
    input_schema: z.object({}),
    execution: { retry: { max_retries: 1, backoff_ms: 1 }, idempotent: true },
    handler: async (_input, context) => {
      throw new ToolFailure(`not with ${await context.secret("PLANTED")}`);
    },
  }),
  defineTool({
    name: "keeps",
    description: "Keeps it.",
    input_schema: z.object({}),
    persistence: "execution",
    handler: async (state, _input, context) => {
      const token = await context.secret("PLANTED");
      return { newState: { ...state, execution: { token } }, toolResult: token };
    },
  }),
];

const call = (name: string, args: object = {}): ScriptedReply => ({ calls: [{ name, args }] });

/** What tools, servers and rails do with a secret leaves no trace of its value. */
export function plantedSecretContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`a secret on ${database.kind}`, () => {
    test("is nowhere in what a run leaves behind", async () => {
      const received: string[] = [];
      const host = await httpServer((request, response) => {
        received.push(request.headers.authorization ?? "");
        // What a careless service does: it repeats what it was sent.
        response.writeHead(request.url === "/bad" ? 500 : 200, { "content-type": "text/plain" });
        response.end(`you sent ${request.headers.authorization}`);
      });
      const headers = { Authorization: "Bearer {{secret:PLANTED}}" };
      const script = fileURLToPath(
        new URL("../tools/mcp/servers/misbehaving.mjs", import.meta.url),
      );
      const server = (name: string, behaviour: string) => ({
        mcp: {
          name,
          transport: "stdio" as const,
          command: process.execPath,
          args: [script, behaviour, "/dev/null"],
          env: { TOKEN: "{{secret:PLANTED}}" },
          prefix: `${name}_`,
        },
      });
      const agent = defineAgent({
        name: "careless",
        permissions: ["network:http"],
        tools: [
          ...tools,
          "http_get",
          server("env", "tells its environment"),
          server("dies", "dies in a call"),
        ],
        guardrail_config: {
          output_rails: [
            {
              type: "toxicity",
              on_error: "pass",
              config: { action: "flag", moderation: { endpoint: `http://${host}/bad`, headers } },
            },
          ],
        },
      });
      const model = new ScriptedModel([
        call("tells"),
        call("throws"),
        call("fails"),
        call("keeps"),
        call("http_get", { url: `http://${host}/` }),
        call("http_get", { url: `http://${host}/bad` }),
        call("env_do"),
        call("dies_do", { die: true }),
        "Done.",
      ]);
      const logged: string[] = [];
      const log = (chunk: unknown) => {
        logged.push(Buffer.isBuffer(chunk) ? chunk.toString() : String(chunk));
        return true;
      };
      const spies = [process.stdout, process.stderr].map((stream) =>
        vi.spyOn(stream, "write").mockImplementation(log),
      );
      const events: unknown[] = [];
      const runtime = await createRuntime({
        ...("url" in database.options ? { databaseUrl: database.options.url } : database.options),
        models: model,
        env: { PLANTED: secret },
        httpAllow: [{ host, headers }],
      });
      try {
        const result = await executeAgent(
          agent,
          { message: "go" },
          { runtime, threadId: "t", onEvent: (event) => void events.push(event) },
        );
        const outcomes = result.steps.flatMap((step) =>
          step.tool_results.map((one) => one.outcome),
        );
        expect(outcomes).toEqual([
          "success",
          "error",
          "failure",
          "success",
          "success",
          "failure",
          "success",
          "error",
        ]);
        // It did get where it had to go.
        expect(received).toEqual(received.map(() => `Bearer ${secret}`));
        expect(received).toHaveLength(3);
        expect(result.state.execution).toEqual({ token: "{{secret:PLANTED}}" });
        expectNoSecret("the result", JSON.stringify(result));
        expectNoSecret("the prompts", JSON.stringify(model.requests));
        expectNoSecret("the events", JSON.stringify(events));
      } finally {
        await runtime.close();
        for (const spy of spies) spy.mockRestore();
      }
      expectNoSecret("the logs", logged.join(""));
      const left = await everyValueOf(database);
      expect(left.length).toBeGreaterThan(1_000);
      expect(left).toContain("{{secret:PLANTED}}");
      expectNoSecret("the database", left);
    });

    test("is not in the error of a server that does not start, nor of a secret that is missing", async () => {
      const script = "console.error(process.env.TOKEN); process.exit(3)";
      const agent = (name: string) =>
        defineAgent({
          name: "a",
          tools: [
            {
              mcp: {
                name: "broken",
                transport: "stdio",
                command: process.execPath,
                args: ["-e", script],
                env: { TOKEN: `{{secret:${name}}}` },
              },
            },
          ],
        });
      const runtime = await createRuntime({
        checkpointer: false,
        models: new ScriptedModel([]),
        env: { PLANTED: secret },
      });
      try {
        const thrown = await executeAgent(agent("PLANTED"), { message: "?" }, { runtime }).catch(
          (error: unknown) => error as Error,
        );
        expect(thrown).toMatchObject({ code: "server_start", server: "broken" });
        const { message, stack } = thrown as Error;
        expect(message).toContain("{{secret:PLANTED}}");
        expectNoSecret("the error", `${message}${stack}${JSON.stringify(thrown)}`);
        await expect(
          executeAgent(agent("MISSING"), { message: "?" }, { runtime }),
        ).rejects.toMatchObject({ code: "missing_secret", secret: "MISSING" });
      } finally {
        await runtime.close();
      }
    });
  });
}

function expectNoSecret(where: string, text: string): void {
  const found = forms.filter((form) => text.includes(form));
  expect({ where, found }).toEqual({ where, found: [] });
}

/** Every value of every column of every table, as text and, of bytes, as they are. */
async function everyValueOf(database: TestDatabase): Promise<string> {
  const { pool } = await database.open();
  const { rows: tables } = await pool.query<{ schema: string; name: string }>(
    `select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    [],
  );
  const texts: string[] = [];
  for (const { schema, name } of tables) {
    const { rows } = await pool.query(`select * from "${schema}"."${name}"`, []);
    for (const value of rows.flatMap((row) => Object.values(row))) {
      texts.push(
        value instanceof Uint8Array ? Buffer.from(value).toString() : JSON.stringify(value),
      );
    }
  }
  return texts.join("\n");
}
