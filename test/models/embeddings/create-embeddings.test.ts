import { describe, expect, it } from "vitest";
import {
  createEmbeddings,
  type CreateEmbeddingsOptions,
} from "../../../src/models/embeddings/create-embeddings.ts";
import { createWordEmbeddings } from "../../../src/models/embeddings/word-embeddings.ts";
import {
  MissingApiKeyError,
  ModelOptionError,
  UnknownModelError,
} from "../../../src/models/errors.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

const sourceWith = (options: Partial<CreateEmbeddingsOptions> = {}) =>
  createEmbeddings({ env: {}, clock: new ManualClock(), ...options });
const idOf = async (model: string | undefined, options?: Partial<CreateEmbeddingsOptions>) =>
  (await sourceWith(options).resolve(model))?.id ?? null;

const env = (value: string) => ({ env: { STRATAGRAPH_EMBEDDINGS: value, OPENAI_API_KEY: "k" } });
const installed = { isInstalled: () => true };
const missing = { isInstalled: () => false };

describe("the embeddings of a definition that names none", () => {
  it("are the local encoder where it is installed, else none", async () => {
    expect(await idOf(undefined, installed)).toBe("local:minilm");
    expect(await idOf(undefined, missing)).toBeNull();
  });

  it.each([
    ["none", null],
    ["local:minilm", "local:minilm"],
    ["openai:text-embedding-3-large", "openai:text-embedding-3-large"],
    ["", "local:minilm"],
  ])("are those of STRATAGRAPH_EMBEDDINGS=%s", async (value, id) => {
    expect(await idOf(undefined, { ...installed, ...env(value) })).toBe(id);
  });

  it("are those of the runtime before the environment's", async () => {
    const words = createWordEmbeddings();
    expect(await sourceWith({ ...env("local:minilm"), default: words }).resolve(undefined)).toBe(
      words,
    );
    expect(await idOf(undefined, { ...env("local:minilm"), default: null })).toBeNull();
  });
});

describe("the embeddings of a name", () => {
  it("are none for `none`", async () => {
    expect(await idOf("none", { ...installed, default: createWordEmbeddings() })).toBeNull();
  });

  it("are those of the runtime for their id", async () => {
    const words = createWordEmbeddings();
    expect(await sourceWith({ default: words }).resolve(words.id)).toBe(words);
  });

  it("are resolved once", async () => {
    const source = sourceWith({ env: { OPENAI_API_KEY: "k" } });
    const ref = "openai:text-embedding-3-small";
    expect(await source.resolve(ref)).toBe(await source.resolve(ref));
  });

  it.each([
    ["anthropic:claude-sonnet-4-5", 'Unknown model "anthropic:claude-sonnet-4-5"'],
    ["local:bert", 'Did you mean "local:minilm"?'],
    ["text-embedding-3-small", 'Did you mean "openai:text-embedding-3-small"?'],
    ["nomic-embed-text", 'Did you mean "ollama:nomic-embed-text"?'],
    [
      "openai:",
      "expected provider:model with one of the providers local, openai, google, mistral, ollama",
    ],
  ])("are refused: %s", async (ref, said) => {
    const resolved = sourceWith().resolve(ref);
    await expect(resolved).rejects.toThrow(UnknownModelError);
    await expect(resolved).rejects.toThrow(said);
  });

  it.each([
    ["openai:text-embedding-3-small", "OPENAI_API_KEY"],
    ["google:gemini-embedding-001", "GOOGLE_API_KEY"],
    ["mistral:mistral-embed", "MISTRAL_API_KEY"],
  ])("need the key of %s", async (ref, variable) => {
    const resolved = sourceWith().resolve(ref);
    await expect(resolved).rejects.toThrow(MissingApiKeyError);
    await expect(resolved).rejects.toThrow(variable);
  });

  it("need no key for a self-hosted server, and refuse a password in its address", async () => {
    const url = "http://127.0.0.1:1/v1";
    expect(await idOf("openai:bge", { env: { OPENAI_BASE_URL: url } })).toBe("openai:bge");
    const named = { env: { OPENAI_BASE_URL: url.replace("//", "//user:password@") } };
    await expect(sourceWith(named).resolve("openai:bge")).rejects.toThrow(ModelOptionError);
  });
});

it("closes the local encoder", async () => {
  const source = sourceWith(installed);
  const encoder = await source.resolve("local:minilm");
  await source.close();
  await expect(encoder?.embed(["text"])).rejects.toThrow("The local encoder was closed.");
});
