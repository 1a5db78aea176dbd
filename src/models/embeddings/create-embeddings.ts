import { abortable, deadline, sleep } from "../../async.ts";
import type { Clock } from "../../clock.ts";
import { headOf } from "../../values/text.ts";
import { CircuitBreaker } from "../calls/circuit-breaker.ts";
import { type RetryPolicy, retryDelay } from "../calls/metered-model.ts";
import type { CreateModelsOptions } from "../create-models.ts";
import { describeFailure, safeCause, UnknownModelError } from "../errors.ts";
import { classifyFailure, type Failure, SilentModel, UnreachableServer } from "../failure.ts";
import { type ModelRef, parseModelRef } from "../provider.ts";
import { redactor } from "../redact.ts";
import type { FailureReason } from "../../state/usage.ts";
import { type EmbeddingProvider, embeddingProviders } from "./embedding-providers.ts";
import { EmbeddingError, type Embeddings } from "./embeddings.ts";
import { fromLangChainEmbeddings } from "./langchain-embeddings.ts";
import {
  createLocalEncoder,
  type LocalEncoder,
  localEncoderIsInstalled,
  localEncoderId,
  needLocalEncoder,
} from "./local-encoder.ts";

export interface CreateEmbeddingsOptions extends Pick<
  CreateModelsOptions,
  "env" | "clock" | "maxRetries" | "retryBackoffMs" | "circuitBreaker" | "random"
> {
  /** Used where a definition names no model, and where it names their id; null for none. Default: STRATAGRAPH_EMBEDDINGS. */
  readonly default?: Embeddings | null | undefined;
  /** Whether the local encoder is installed. */
  readonly isInstalled?: () => boolean;
}

/** The embeddings of one runtime. */
export interface EmbeddingSource {
  /**
   * Returns the embeddings of a `provider:model`, `local:minilm` or `none`; null for none. Nothing is asked or started
   * before the first text. Default: STRATAGRAPH_EMBEDDINGS, else the local encoder if it is installed, else none.
   *
   * @throws UnknownModelError, MissingPackageError, MissingProviderError, MissingApiKeyError, ModelOptionError
   */
  resolve(model: string | undefined): Promise<Embeddings | null>;
  /** Ends the thread of the local encoder. */
  close(): Promise<void>;
}

/** Creates the embeddings that definitions and the environment name. */
export function createEmbeddings(options: CreateEmbeddingsOptions): EmbeddingSource {
  const { env, clock, isInstalled = localEncoderIsInstalled } = options;
  const names = ["local", ...Object.keys(embeddingProviders)];
  const circuits =
    options.circuitBreaker === false
      ? undefined
      : new CircuitBreaker(clock, options.circuitBreaker);
  const retry: RetryPolicy = {
    maxRetries: options.maxRetries ?? 2,
    backoffMs: options.retryBackoffMs ?? 500,
    random: options.random ?? Math.random,
  };
  const resolved = new Map<string, Promise<Embeddings>>();
  let encoder: LocalEncoder | undefined;

  async function build(ref: string): Promise<Embeddings> {
    const { provider: name, model } = parseModelRef(ref, names);
    if (name === "local") {
      if (ref !== localEncoderId) throw new UnknownModelError(ref, ["local"], localEncoderId);
      needLocalEncoder();
      return (encoder ??= createLocalEncoder({ clock }));
    }
    const provider = embeddingProviders[name] as EmbeddingProvider;
    const made = await provider.create({ model, env });
    const known = provider.dimensions[model.replace(/:latest$|^models\//, "")];
    const redactEnv = redactor(env);
    const redact = (text: string) => redactEnv(made.redact?.(text) ?? text);
    const service = { ...made, batch: provider.batch, retry, clock, circuits, redact };
    return new ServedEmbeddings({ provider: name, model }, service, known);
  }

  return {
    async resolve(model) {
      const { default: given } = options;
      if (given && (model === undefined || model === given.id)) return given;
      if (given === null && model === undefined) return null;
      const ref =
        model || env["STRATAGRAPH_EMBEDDINGS"] || (isInstalled() ? localEncoderId : "none");
      if (ref === "none") return null;
      const known = resolved.get(ref);
      if (known !== undefined) return known;
      const building = build(ref);
      resolved.set(ref, building);
      // A package or key that is missing now may be there at the next try.
      building.catch(() => resolved.delete(ref));
      return building;
    },
    close: async () => encoder?.close(),
  };
}

type Service = Awaited<ReturnType<EmbeddingProvider["create"]>> & {
  readonly batch: number;
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  readonly circuits: CircuitBreaker | undefined;
  readonly redact: (text: string) => string;
};

/** Characters of a text that are sent: about 2,000 tokens, which all services take. */
const maxCharacters = 8_000;

/** Milliseconds of one request. */
const requestMs = 60_000;
/** Milliseconds of one request to a server that loads its model first. */
const slowRequestMs = 300_000;

/** Embeddings of a service, with the retries and the time limits of chat models. */
class ServedEmbeddings implements Embeddings {
  readonly id: string;
  readonly #provider: string;
  readonly #service: Service;
  #dimensions: number | undefined;
  #probing: Promise<number> | undefined;

  constructor({ provider, model }: ModelRef, service: Service, dimensions: number | undefined) {
    this.id = `${provider}:${model}`;
    this.#provider = provider;
    this.#service = service;
    this.#dimensions = dimensions;
  }

  /** 0 for a model that is not known and was not asked yet. */
  get dimensions(): number {
    return this.#dimensions ?? 0;
  }

  async embed(
    texts: readonly string[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly Float32Array[]> {
    const { signal } = options;
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    this.#dimensions ??= await abortable(this.#probe(), signal);
    const embedDocuments = (sent: string[]) => this.#send(sent, signal);
    const { id, dimensions } = this;
    return fromLangChainEmbeddings({ embedDocuments }, { id, dimensions }).embed(texts, options);
  }

  /** Asks a model that is not known for the length of its vectors. */
  #probe(): Promise<number> {
    if (this.#probing !== undefined) return this.#probing;
    const probing = this.#send(["dimensions"], undefined).then(([vector]) => {
      if (Array.isArray(vector) && vector.length > 0) return vector.length;
      throw new EmbeddingError(`The embeddings "${this.id}" answered without a vector.`, this.id);
    });
    this.#probing = probing;
    const forget = () => (this.#probing = undefined);
    probing.then(forget, forget);
    return probing;
  }

  async #send(texts: readonly string[], signal: AbortSignal | undefined): Promise<number[][]> {
    const { batch } = this.#service;
    const vectors: number[][] = [];
    for (let from = 0; from < texts.length; from += batch) {
      const part = texts.slice(from, from + batch).map((text) => headOf(text, maxCharacters));
      const found = await this.#request(part, signal);
      if (!Array.isArray(found) || found.length !== part.length) {
        const given = Array.isArray(found) ? `${found.length} vectors` : "no list of vectors";
        const problem = `answered with ${given} for ${part.length} texts`;
        throw new EmbeddingError(`The embedding model "${this.id}" ${problem}.`, this.id);
      }
      vectors.push(...found);
    }
    return vectors;
  }

  /** @throws EmbeddingError, or the signal's reason */
  async #request(texts: string[], signal: AbortSignal | undefined): Promise<number[][]> {
    const { request, isSlow, retry, clock, circuits } = this.#service;
    if (circuits?.isOpen(this.#provider) === true) throw this.#failure(circuitOpen(this.id), 0);
    const remainingMs = isSlow ? slowRequestMs : requestMs;
    for (let tries = 1; ; tries += 1) {
      const limit = deadline({
        clock,
        outer: [signal],
        remainingMs,
        timeUp: () => new SilentModel(`it did not answer within ${remainingMs / 1_000} s`),
      });
      try {
        const vectors = await limit.race(request(texts, limit.signal));
        circuits?.succeeded(this.#provider);
        return vectors;
      } catch (thrown) {
        signal?.throwIfAborted();
        const failure = classifyFailure(thrown);
        circuits?.failed(this.#provider, failure.reason);
        const delay = retryDelay(failure, tries, retry);
        if (delay === null) throw this.#failure(failure, tries);
        await sleep(delay, { clock, ...(signal && { signal }) });
      } finally {
        limit.release();
      }
    }
  }

  #failure(failure: Failure, tries: number): EmbeddingError {
    const { redact } = this.#service;
    const subject = `The embedding model "${this.id}"`;
    const said = describeFailure(subject, { failure, tries }, redact);
    const advice = failure.unreachable?.advice ?? adviceOn[failure.reason] ?? defaultAdvice;
    const { transient } = failure;
    const cause = safeCause(failure.thrown, redact);
    return new EmbeddingError(`${said} ${advice}`, this.id, { cause, transient });
  }
}

function circuitOpen(ref: string): Failure {
  const thrown = new UnreachableServer(
    `calls to "${ref}" have failed repeatedly, so it is not asked for now`,
    "Check the provider's status, or try again in a minute.",
    true,
  );
  return classifyFailure(thrown);
}

const defaultAdvice = "Check memory_config.long_term.embedding_model and STRATAGRAPH_EMBEDDINGS.";

const adviceOn: Partial<Record<FailureReason, string>> = {
  rate_limit: "Try again later.",
  quota: "Raise the quota.",
  outage: "Check the server and the network.",
  timeout: "Check the server and the network.",
  auth: "Check the provider's API key in the environment.",
};
