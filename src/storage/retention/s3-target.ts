import { createHash } from "node:crypto";
import { AwsClient } from "aws4fetch";
import { backoff, sleep } from "../../async.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import {
  type ArchiveTarget,
  ArchiveTargetError,
  InvalidArchiveLocationError,
  type ObjectKey,
  partName,
  prefixOf,
} from "./archive-target.ts";

export interface S3TargetOptions {
  /** Base URL of the bucket, without a slash at its end. */
  readonly bucketUrl: string;
  /** Begins every key: empty, or text that ends with a slash. */
  readonly prefix: string;
  readonly client: Pick<AwsClient, "sign">;
  readonly clock?: Clock;
  /** Attempts of a request that may succeed later. Default 4. */
  readonly attempts?: number;
  /** Milliseconds of an attempt, its answer included. Default 60,000. */
  readonly timeoutMs?: number;
}

const namePattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const prefixPattern = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*$/;
/** A list of 1,000 keys has some 300 KB. */
const maxListBytes = 4 * 2 ** 20;
const maxErrorBytes = 65_536;

/**
 * Opens a bucket by `s3://bucket/prefix?endpoint=URL&region=REGION`. With an endpoint the bucket is in its path.
 *
 * @throws InvalidArchiveLocationError
 */
export function openS3Target(
  location: string,
  env: Readonly<Record<string, string | undefined>>,
  options: Pick<S3TargetOptions, "clock" | "attempts" | "timeoutMs"> = {},
): S3Target {
  const url = parseLocation(location);
  const bucket = url.hostname;
  const prefix = url.pathname.slice(1).replace(/(?<=[^/])$/, "/");
  const {
    region = env["AWS_REGION"] || "us-east-1",
    endpoint,
    ...others
  } = Object.fromEntries(url.searchParams);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new InvalidArchiveLocationError(
      "only endpoint and region as parameters",
      JSON.stringify(unknown),
    );
  if (url.username !== "" || url.password !== "")
    throw new InvalidArchiveLocationError(
      "no credentials in the location",
      "some; use AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    );
  if (!namePattern.test(bucket))
    throw new InvalidArchiveLocationError("the name of a bucket", JSON.stringify(bucket));
  if (!prefixPattern.test(prefix))
    throw new InvalidArchiveLocationError(
      "a prefix of letters, digits, dots, hyphens, underscores and slashes",
      JSON.stringify(prefix),
    );
  const bucketUrl =
    endpoint === undefined
      ? `https://${bucket}.s3.${region}.amazonaws.com`
      : `${checkEndpoint(endpoint)}/${bucket}`;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey)
    throw new InvalidArchiveLocationError(
      "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
      "none",
    );
  const sessionToken = env["AWS_SESSION_TOKEN"];
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  const client = new AwsClient({ ...credentials, region, service: "s3", retries: 0 });
  return new S3Target({ bucketUrl, prefix, client, ...options });
}

/** Archives in an S3-compatible bucket: `PREFIX/TENANT/ARCHIVE/000000.jsonl.gz`. */
export class S3Target implements ArchiveTarget {
  constructor(private readonly options: S3TargetOptions) {}

  async put(key: ObjectKey, bytes: Uint8Array): Promise<void> {
    // A copy: a Buffer may be a part of a larger one.
    const body = new Uint8Array(bytes).buffer;
    await this.#send("put", this.#urlOf(key), { method: "PUT", body, maxBytes: maxListBytes });
  }

  async get(key: ObjectKey, maxBytes: number): Promise<Buffer | null> {
    return this.#send("get", this.#urlOf(key), { method: "GET", maxBytes });
  }

  async remove(of: Parameters<ArchiveTarget["remove"]>[0]): Promise<number> {
    const { bucketUrl, prefix } = this.options;
    const under = `${prefix}${prefixOf(of).join("/")}/`;
    const removed = new Set<string>();
    for (;;) {
      // What was deleted is not listed again, so no page needs a token of the one before.
      const url = `${bucketUrl}/?list-type=2&max-keys=1000&prefix=${encodeURIComponent(under)}`;
      const page = await this.#send("list", url, { method: "GET", maxBytes: maxListBytes });
      const keys = [...String(page ?? "").matchAll(/<Key>([^<]*)<\/Key>/g)].map(
        ([, key = ""]) => key,
      );
      if (keys.length === 0) return removed.size;
      for (const key of keys) {
        if (!key.startsWith(under) || !/^[\w./-]+$/.test(key) || removed.has(key))
          throw new ArchiveTargetError(
            "list",
            "the bucket listed a key outside of the prefix, or one that it has deleted",
          );
        await this.#send("delete", `${bucketUrl}/${key}`, {
          method: "DELETE",
          maxBytes: maxListBytes,
        });
        removed.add(key);
      }
    }
  }

  #urlOf(key: ObjectKey): string {
    const { bucketUrl, prefix } = this.options;
    return `${bucketUrl}/${prefix}${prefixOf(key).join("/")}/${partName(key.part)}`;
  }

  /** Returns the body of the answer; null for 404. @throws ArchiveTargetError */
  async #send(
    operation: string,
    url: string,
    {
      maxBytes,
      ...request
    }: { readonly method: string; readonly body?: ArrayBuffer; readonly maxBytes: number },
  ): Promise<Buffer | null> {
    const { client, clock = systemClock, attempts = 4, timeoutMs = 60_000 } = this.options;
    const content = Buffer.from(request.body ?? new ArrayBuffer(0));
    const headers = { "x-amz-content-sha256": createHash("sha256").update(content).digest("hex") };
    for (let attempt = 1; ; attempt += 1) {
      let failure: ArchiveTargetError;
      try {
        // Signed anew each time: a signature holds for minutes. A redirection would take it to another host.
        const signal = AbortSignal.timeout(timeoutMs);
        const signed = await client.sign(url, { ...request, headers });
        const response = await fetch(signed, { signal, redirect: "error" });
        // An error has a body of its own.
        const body = await readBounded(response, response.ok ? maxBytes : maxErrorBytes);
        if (response.ok) return body;
        // An absent bucket is no absent object.
        if (response.status === 404 && request.method !== "PUT" && !body.includes("NoSuchBucket"))
          return null;
        failure = new ArchiveTargetError(
          operation,
          `the bucket answered ${response.status}${codeIn(body)}`,
        );
        if (response.status < 500 && response.status !== 429 && response.status !== 408)
          throw failure;
      } catch (thrown) {
        if (thrown instanceof ArchiveTargetError) throw thrown;
        failure = new ArchiveTargetError(operation, errorMessage(thrown), { cause: thrown });
      }
      if (attempt >= attempts) throw failure;
      await sleep(backoff(attempt, { baseMs: 200, maxMs: 5_000, random: Math.random }), { clock });
    }
  }
}

function parseLocation(location: string): URL {
  try {
    return new URL(location);
  } catch {
    throw new InvalidArchiveLocationError("s3://BUCKET/PREFIX", "a text that is no URL");
  }
}

/** @throws InvalidArchiveLocationError */
function checkEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isBase =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.pathname === "/" &&
    url.search === "" &&
    url.username === "";
  if (!isBase)
    throw new InvalidArchiveLocationError(
      "an endpoint as http(s)://HOST[:PORT]",
      JSON.stringify(text.slice(0, 100)),
    );
  return url.origin;
}

/** @throws ArchiveTargetError for an answer beyond the limit, the rest of which is not received */
async function readBounded(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes)
      throw new ArchiveTargetError(
        "get",
        `the answer has more than the ${maxBytes} bytes that were expected`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The code in an error of S3, which is a word. */
function codeIn(body: Buffer): string {
  const [, code] = /<Code>(\w{1,60})<\/Code>/.exec(body.subarray(0, 4096).toString()) ?? [];
  return code === undefined ? "" : ` (${code})`;
}
