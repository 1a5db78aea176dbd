import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { createSecrets, environmentSecrets } from "../../src/tools/secrets.ts";
import { MissingSecretError } from "../../src/tools/missing-secret-error.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";

const value = 'p"ä s/w+rd?';

/** Secrets of which all values were given out. */
async function given(env: Record<string, string>) {
  const secrets = createSecrets(environmentSecrets(env));
  for (const name of Object.keys(env)) await secrets.get(name);
  return secrets;
}

describe("createSecrets", () => {
  it("gives values by name, and in the place of references", async () => {
    const secrets = createSecrets(environmentSecrets({ KEY: "abcdef", USER: "ada" }));
    expect(await secrets.get("KEY")).toBe("abcdef");
    expect(await secrets.resolve("{{secret:USER}}:{{ secret: KEY }}")).toBe("ada:abcdef");
    expect(await secrets.resolve("nothing")).toBe("nothing");
  });

  it("has no encryption keys of stored values", async () => {
    const secrets = createSecrets(environmentSecrets({ STRATAGRAPH_ENCRYPTION_KEYS: "a:key" }));
    expect(await secrets.has("STRATAGRAPH_ENCRYPTION_KEYS")).toBe(false);
    await expect(secrets.get("STRATAGRAPH_ENCRYPTION_KEYS")).rejects.toThrow(MissingSecretError);
  });

  it("asks the source each time, and scrubs all that it ever gave", async () => {
    const values = ["first-value", "second-value"];
    const secrets = createSecrets({ get: () => Promise.resolve(values.shift()) });
    await secrets.get("KEY");
    await secrets.get("KEY");
    expect(secrets.scrub("first-value, second-value")).toBe("{{secret:KEY}}, {{secret:KEY}}");
  });

  it.each(["GONE", "EMPTY", "constructor"])("says that %s is missing", async (name) => {
    const secrets = createSecrets(environmentSecrets({ EMPTY: "", KEY: "abcdef" }));
    await expect(secrets.get(name)).rejects.toThrow(MissingSecretError);
    await expect(secrets.resolve(`{{secret:KEY}}{{secret:${name}}}`)).rejects.toMatchObject({
      code: "missing_secret",
      kind: "run",
      secret: name,
      message: `There is no secret "${name}". Set it where secrets are kept: by default the environment variable ${name}.`,
    });
    expect([await secrets.has(name), await secrets.has("KEY")]).toEqual([false, true]);
  });
});

describe("a reference to a secret", () => {
  it("is text where a user, a model or a tool wrote it", async () => {
    const reference = "{{secret:KEY}}";
    const asked: string[] = [];
    const get = async (name: string) => (asked.push(name), "the-value-of-the-key");
    const echo = defineTool({
      name: "echo",
      description: "Gives a text back.",
      input_schema: z.object({ text: z.string() }),
      handler: ({ text }) => `${text} and ${reference}`,
    });
    const agent = defineAgent({ name: "echoes", tools: [echo] });
    const models = new ScriptedModel([
      { calls: [{ name: "echo", args: { text: reference } }] },
      `It said ${reference}.`,
    ]);
    const runtime = await createRuntime({ checkpointer: false, models, secrets: { get } });
    const { steps, output } = await executeAgent(agent, { message: reference }, { runtime });
    await runtime.close();
    expect(steps[0]!.tool_results[0]!.result).toBe(`${reference} and ${reference}`);
    expect(output).toEqual({ message: `It said ${reference}.` });
    expect(asked).toEqual([]);
  });
});

describe("what is scrubbed", () => {
  it("is nothing that was not given out", async () => {
    const secrets = createSecrets(environmentSecrets({ KEY: "abcdef" }));
    await secrets.has("KEY");
    expect(secrets.scrub("abcdef")).toBe("abcdef");
  });

  it.each([
    ["as it is", value],
    ["as JSON has it", JSON.stringify({ value })],
    ["as a URL's path has it", `https://a/${encodeURIComponent(value)}`],
    ["as a URL's query has it", `https://a/?${new URLSearchParams({ value }).toString()}`],
    ["in hex", Buffer.from(value).toString("hex")],
    ["in upper-case hex", Buffer.from(value).toString("hex").toUpperCase()],
    [
      "in a URL with lower-case escapes",
      encodeURIComponent(value).replace(/%../g, (escape) => escape.toLowerCase()),
    ],
    ["in base64 of a URL", Buffer.from(`a${value}`).toString("base64url")],
  ])("is a value %s", async (_form, text) => {
    const secrets = await given({ KEY: value });
    const scrubbed = secrets.scrub(text);
    expect(scrubbed).toContain("{{secret:KEY}}");
    expect(scrubbed).not.toContain(value);
  });

  it.each([0, 1, 2, 3, 4])("is a value in base64 after %i bytes", async (offset) => {
    const secrets = await given({ KEY: value });
    const text = Buffer.from(`${"u".repeat(offset)}${value}:rest`).toString("base64");
    const scrubbed = secrets.scrub(text);
    expect(scrubbed).toContain("{{secret:KEY}}");
    expect(
      Buffer.from(scrubbed.replaceAll("{{secret:KEY}}", ""), "base64").toString(),
    ).not.toContain("s/w+rd");
  });

  it("is the longer of two values where one stands in the other", async () => {
    const secrets = await given({ SHORT: "abcdef", LONG: "abcdefgh" });
    expect(secrets.scrub("abcdefgh abcdef")).toBe("{{secret:LONG}} {{secret:SHORT}}");
  });

  it("is no value of less than four characters, which stands everywhere by chance", async () => {
    const secrets = await given({ PIN: "123", CODE: "1234" });
    expect(secrets.scrub("123 1234")).toBe("123 {{secret:CODE}}");
  });

  it("is in all texts of a value, and in its keys", async () => {
    const secrets = await given({ KEY: "abcdef" });
    expect(secrets.scrubValue({ a: [1, null, "x abcdef"], abcdef: { b: true } })).toEqual({
      a: [1, null, "x {{secret:KEY}}"],
      "{{secret:KEY}}": { b: true },
    });
  });

  it("leaves a value the same object where nothing was found", async () => {
    const secrets = await given({ KEY: "abcdef" });
    const clean = { a: [1, "x"], b: { c: null } };
    expect(secrets.scrubValue(clean)).toBe(clean);
    const partly = { clean, found: ["abcdef"] };
    expect(secrets.scrubValue(partly).clean).toBe(clean);
    const none = createSecrets(environmentSecrets({}));
    expect(none.scrubValue(partly)).toBe(partly);
  });

  it("is every value of six characters or more, in any text and form", async () => {
    const forms: readonly ((text: string) => string)[] = [
      (text) => text,
      (text) => JSON.stringify(text),
      (text) => encodeURIComponent(text),
      (text) => new URLSearchParams({ text }).toString(),
      (text) => Buffer.from(text).toString("base64"),
      (text) => Buffer.from(text).toString("base64url"),
      (text) => Buffer.from(text).toString("hex"),
    ];
    const word = fc.string({ unit: "grapheme" }).map((text) => Buffer.from(text).toString());
    await fc.assert(
      fc.asyncProperty(
        fc
          .string({ unit: "grapheme", minLength: 6, maxLength: 40 })
          .map((text) => Buffer.from(text).toString()),
        word,
        word,
        async (secret, before, after) => {
          const secrets = await given({ K: secret });
          for (const form of forms) {
            expect(secrets.scrub(form(before + secret + after))).toContain("{{secret:K}}");
          }
          expect(
            secrets.scrub(before + secret + after).replaceAll("{{secret:K}}", ""),
          ).not.toContain(secret);
        },
      ),
    );
  });
});

it("looks for nothing in what it has put in", async () => {
  const secrets = createSecrets({ get: () => "secret" });
  await secrets.get("NAME");
  expect(secrets.scrub("a secret b")).toBe("a {{secret:NAME}} b");
  await secrets.get("OTHER");
  expect(secrets.scrub("a secret b")).toMatch(/^a \{\{secret:(NAME|OTHER)\}\} b$/);
});

it("finds a value without the white space around it, which clients trim", async () => {
  const secrets = createSecrets({ get: () => "sk-abcdefgh123\n" });
  await secrets.get("K");
  expect(secrets.scrub("HTTP 401: bad key sk-abcdefgh123.")).toBe(
    "HTTP 401: bad key {{secret:K}}.",
  );
  expect(secrets.scrub("sk-abcdefgh123\n")).toBe("{{secret:K}}");
  expect(secrets.scrub(Buffer.from("sk-abcdefgh123").toString("hex"))).toBe("{{secret:K}}");
});
