import type { LangChainEmbeddings } from "./langchain-embeddings.ts";
import { type Env, loadProvider, refuseCredentials, requireKey } from "../provider.ts";
import { howReached } from "../providers/ollama.ts";
import { withoutValues } from "../redact.ts";

/** Sends one request for the vectors of texts. Aborting the signal ends the request where the package allows it. */
export type RequestVectors = (texts: string[], signal: AbortSignal) => Promise<number[][]>;

/** Makes the embeddings of one provider. */
export interface EmbeddingProvider {
  /** Texts of one request at most. */
  readonly batch: number;
  /** Numbers of a vector of the models that are known. */
  readonly dimensions: Readonly<Record<string, number>>;
  /**
   * Loads the provider's package.
   * @throws MissingProviderError, MissingApiKeyError, ModelOptionError
   */
  create(of: { readonly model: string; readonly env: Env }): Promise<{
    readonly request: RequestVectors;
    /** Whether the server may load the model before its first answer. */
    readonly isSlow: boolean;
    /** Takes what only this provider is sent out of a text. */
    readonly redact?: (text: string) => string;
  }>;
}

const openai: EmbeddingProvider = {
  batch: 64,
  dimensions: {
    "text-embedding-3-small": 1_536,
    "text-embedding-3-large": 3_072,
    "text-embedding-ada-002": 1_536,
  },
  async create({ model, env }) {
    const ref = `openai:${model}`;
    const named = env["OPENAI_BASE_URL"];
    refuseCredentials(ref, "OPENAI_BASE_URL", named);
    const apiKey = named
      ? env["OPENAI_API_KEY"] || "not-needed"
      : requireKey(
          env,
          "OPENAI_API_KEY",
          ref,
          ", or name an OpenAI-compatible server that needs none with OPENAI_BASE_URL",
        );
    const { OpenAIEmbeddings } = await loadProvider(
      "@langchain/openai",
      () => import("@langchain/openai"),
    );
    const baseURL = named || "https://api.openai.com/v1";
    const request: RequestVectors = (texts, signal) =>
      new OpenAIEmbeddings({
        model,
        apiKey,
        configuration: { baseURL, fetch: fetchUntil(signal) },
        maxRetries: 0,
        batchSize: openai.batch,
        // Servers of other makers do not know OpenAI's base64.
        encodingFormat: "float",
      }).embedDocuments(texts);
    return { request, isSlow: !baseURL.startsWith("https://api.openai.com/") };
  },
};

const ollama: EmbeddingProvider = {
  batch: 16,
  dimensions: {
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1_024,
    "all-minilm": 384,
    "bge-m3": 1_024,
  },
  async create({ model, env }) {
    const { url: baseUrl, headers, secrets = [] } = howReached(`ollama:${model}`, {}, env);
    const { OllamaEmbeddings } = await loadProvider(
      "@langchain/ollama",
      () => import("@langchain/ollama"),
    );
    const request: RequestVectors = (texts, signal) =>
      new OllamaEmbeddings({
        model,
        baseUrl,
        headers: { ...headers },
        fetch: fetchUntil(signal),
        maxRetries: 0,
        truncate: true,
      }).embedDocuments(texts);
    return {
      request,
      isSlow: true,
      redact: withoutValues([...Object.values(headers), ...secrets]),
    };
  },
};

const google: EmbeddingProvider = {
  batch: 16,
  dimensions: { "gemini-embedding-001": 3_072, "text-embedding-004": 768 },
  async create({ model, env }) {
    const { apiKey, url: baseUrl } = access(`google:${model}`, env, {
      key: "GOOGLE_API_KEY",
      address: "GOOGLE_GEMINI_BASE_URL",
      publicUrl: "https://generativelanguage.googleapis.com",
    });
    const { GoogleGenerativeAIEmbeddings } = await loadProvider(
      "@langchain/google-genai",
      () => import("@langchain/google-genai"),
    );
    const embeddings: Pick<LangChainEmbeddings, "embedDocuments"> & {
      embedQuery(text: string): Promise<number[]>;
    } = new GoogleGenerativeAIEmbeddings({ model, apiKey, baseUrl, maxRetries: 0 });
    // Its `embedDocuments` gives empty vectors for requests that failed, and loses why.
    const request: RequestVectors = (texts) =>
      Promise.all(texts.map((text) => embeddings.embedQuery(text)));
    return { request, isSlow: false };
  },
};

const mistral: EmbeddingProvider = {
  batch: 16,
  dimensions: { "mistral-embed": 1_024 },
  async create({ model, env }) {
    const { apiKey, url: serverURL } = access(`mistral:${model}`, env, {
      key: "MISTRAL_API_KEY",
      address: "MISTRAL_BASE_URL",
      publicUrl: "https://api.mistral.ai",
    });
    const { MistralAIEmbeddings } = await loadProvider(
      "@langchain/mistralai",
      () => import("@langchain/mistralai"),
    );
    const embeddings = new MistralAIEmbeddings({ model, apiKey, serverURL, maxRetries: 0 });
    return { request: (texts) => embeddings.embedDocuments(texts), isSlow: false };
  },
};

/** By the name before the colon. */
export const embeddingProviders: Readonly<Record<string, EmbeddingProvider>> = Object.freeze({
  openai,
  google,
  mistral,
  ollama,
});

/** @throws MissingApiKeyError, ModelOptionError */
function access(
  ref: string,
  env: Env,
  names: { readonly key: string; readonly address: string; readonly publicUrl: string },
) {
  const apiKey = requireKey(env, names.key, ref);
  refuseCredentials(ref, names.address, env[names.address]);
  const url = env[names.address] || names.publicUrl;
  return { apiKey, url: url.replace(/\/+$/, "") };
}

/** `fetch` with a signal in place of that of the package, which only ends requests after a time of its own. */
function fetchUntil(signal: AbortSignal): typeof fetch {
  return (input, init) => fetch(input, { ...init, signal });
}
