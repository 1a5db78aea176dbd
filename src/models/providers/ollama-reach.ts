import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { Clock } from "../../clock.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";

/** No Ollama server answers at an address. */
export class OllamaUnreachableError extends StratagraphError {
  readonly code = "ollama_unreachable";
  override readonly kind = "run";

  constructor(
    /** Without credentials. */
    readonly url: string,
    options: { readonly cause: unknown },
  ) {
    super(
      `No Ollama server answers at ${url} (${errorMessage(options.cause)}). ` +
        "Start it with `ollama serve`, or set OLLAMA_HOST or ollama_client_config.host to where it is.",
      options,
    );
  }
}

/** Milliseconds within which a server has to answer. */
const limitMs = 3_000;

/**
 * Checks that a server answers at each of these addresses, whatever it answers.
 * @throws OllamaUnreachableError for the first that does not within 3 seconds
 */
export async function checkOllamaServers(urls: Iterable<string>, clock: Clock): Promise<void> {
  const asked = [...new Set(urls)].map(async (url) => {
    try {
      await answer(`${url}/api/version`, clock);
    } catch (cause) {
      throw new OllamaUnreachableError(url, { cause });
    }
  });
  await Promise.all(asked);
}

function answer(url: string, clock: Clock): Promise<void> {
  const send = url.startsWith("https:") ? requestSecure : requestPlain;
  return new Promise<void>((resolve, reject) => {
    const sent = send(url, { agent: false });
    const forget = clock.after(limitMs, () => {
      sent.destroy(new Error(`no answer within ${limitMs / 1000} s`));
    });
    sent.on("response", () => {
      forget();
      resolve();
      sent.destroy();
    });
    sent.on("error", (thrown) => {
      forget();
      const all = thrown instanceof AggregateError ? (thrown.errors as readonly unknown[]) : [];
      reject(all.length > 0 ? new Error(all.map(errorMessage).join("; ")) : thrown);
    });
    sent.end();
  });
}
