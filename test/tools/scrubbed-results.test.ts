import { describe, expect, it } from "vitest";
import { callStateful, callStateless } from "../../src/tools/call.ts";
import { HandlerMutationError } from "../../src/tools/stateful-call.ts";
import { createSecrets } from "../../src/tools/secrets.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { callOf, statefulTool, statelessTool } from "../helpers/probe-tools.ts";

const key = "sk-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

function setUp() {
  const { signal } = new AbortController();
  const secrets = createSecrets({ get: () => key });
  return { env: { clock: new ManualClock(), signal, secrets } };
}

/** Wherever the cut falls into the key, and just before and behind it. */
const places = Array.from({ length: 60 }, (_, at) => 920 + at);

describe("a secret at the place where a result is cut", () => {
  it("leaves no beginning in a text", async () => {
    const { env } = setUp();
    for (const at of places) {
      const tool = statelessTool(async (_, context) => {
        return "x".repeat(at) + (await context.secret("KEY")) + "y".repeat(2_000);
      });
      const { result } = await callStateless(tool, callOf(), env);
      expect(result.result).toContain("[cut: ");
      expect(result.result).not.toContain("sk-");
    }
  });

  it("leaves no beginning in the preview of another value", async () => {
    const { env } = setUp();
    for (const at of places) {
      const tool = statelessTool(async (_, context) => {
        const text = "x".repeat(at - 100) + (await context.secret("KEY"));
        return { text, rest: "y".repeat(2_000) };
      });
      const { result } = await callStateless(tool, callOf(), env);
      expect(result.result).toMatchObject({ truncated: true, original_bytes: at + 1_960 });
      expect(JSON.stringify(result.result)).not.toContain("sk-");
    }
  });

  it("leaves no beginning in what was thrown", async () => {
    const { env } = setUp();
    const tool = statelessTool(async (_, context) => {
      throw new Error("x".repeat(1_990) + (await context.secret("KEY")) + "y".repeat(100));
    });
    const { result } = await callStateless(tool, callOf(), env);
    expect(result.error?.slice(1_980)).toBe("xxxxxxxxxx{{secret:K… [cut: 104 more characters]");
  });

  it("leaves a result as it is that fits once the secrets are taken out", async () => {
    const { env } = setUp();
    const tool = statelessTool(async (_, context) => (await context.secret("KEY")).repeat(30));
    const { result } = await callStateless(tool, callOf(), env);
    expect(result.result).toBe("{{secret:KEY}}".repeat(30));
  });

  it("does not keep the schema from judging what the handler returned", async () => {
    const { env } = setUp();
    const output = { type: "string", pattern: "^sk-" };
    const tool = statelessTool((_, context) => context.secret("KEY"), { output });
    const { result } = await callStateless(tool, callOf(), env);
    expect(result).toMatchObject({ outcome: "success", result: "{{secret:KEY}}" });
  });
});

describe("a redacted value at the place where a result is cut", () => {
  const hide = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll("ada@example.org", "<EMAIL_1>")) as T;

  it("leaves no beginning in a text, and none in what was thrown", async () => {
    const { env } = setUp();
    for (let at = 930; at < 1_000; at += 1) {
      const tool = statelessTool(() => `${"x".repeat(at)}ada@example.org${"y".repeat(2_000)}`);
      const { result } = await callStateless(tool, callOf(), { ...env, redact: hide });
      expect(result.result).not.toContain("ada");
    }
    const failing = statelessTool(() => {
      throw new Error(`${"x".repeat(1_995)}ada@example.org`);
    });
    const { result } = await callStateless(failing, callOf(), { ...env, redact: hide });
    expect(result.error).not.toContain("ada");
  });
});

describe("a handler that changes frozen state under a secret", () => {
  it("ends the run without telling it, in the cause neither", async () => {
    const { env } = setUp();
    const tool = statefulTool(async (state, _, context) => {
      (state.execution as Record<string, unknown>)[await context.secret("KEY")] = 1;
      return { newState: state, toolResult: 1 };
    });
    const call = callStateful(tool, callOf(), { execution: {}, attempt: {} }, env);
    const error = await call.catch((thrown: unknown) => thrown as HandlerMutationError);
    expect(error).toBeInstanceOf(HandlerMutationError);
    const { message, cause } = error as HandlerMutationError & { cause: Error };
    expect(message).toContain("Cannot add property {{secret:KEY}}, object is not extensible");
    expect(cause.name).toBe("TypeError");
    expect(`${cause.message}${cause.stack}`).not.toContain(key);
  });
});
