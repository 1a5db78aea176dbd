import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A bucket of S3 in this process, which verifies signatures of version 4 as its documentation has them. */
export interface S3Server {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** Objects by key. */
  readonly objects: Map<string, Buffer>;
  close(): Promise<void>;
}

export interface S3ServerOptions {
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Keys of a list. Default 1,000. */
  readonly pageSize?: number;
}

/** Starts the server on a free port. */
export async function startS3Server(options: S3ServerOptions): Promise<S3Server> {
  const { bucket, pageSize = 1000 } = options;
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const answer = (status: number, content: string | Buffer = "") =>
        response.writeHead(status).end(content);
      const refusal = refusalOf(request, body, options);
      if (refusal !== null) return answer(403, `<Error><Code>${refusal}</Code></Error>`);
      const url = new URL(request.url ?? "", "http://host");
      const [, name, ...rest] = url.pathname.split("/");
      const key = rest.join("/");
      if (name !== bucket) return answer(404, "<Error><Code>NoSuchBucket</Code></Error>");
      if (request.method === "PUT") {
        objects.set(key, body);
        return answer(200);
      }
      if (request.method === "DELETE") {
        objects.delete(key);
        return answer(204);
      }
      if (key === "" && url.searchParams.get("list-type") === "2") {
        const prefix = url.searchParams.get("prefix") ?? "";
        const keys = [...objects.keys()].filter((one) => one.startsWith(prefix)).toSorted();
        const shown = keys
          .slice(0, pageSize)
          .map((one) => `<Contents><Key>${one}</Key></Contents>`);
        const isTruncated = keys.length > pageSize;
        return answer(
          200,
          `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${shown.join("")}</ListBucketResult>`,
        );
      }
      const found = objects.get(key);
      return found === undefined
        ? answer(404, "<Error><Code>NoSuchKey</Code></Error>")
        : answer(200, found);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const header =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=([\da-f]{64})$/;

/** The code with which S3 refuses a request; null for one that is signed. */
function refusalOf(
  request: IncomingMessage,
  body: Buffer,
  { accessKeyId, secretAccessKey }: S3ServerOptions,
): string | null {
  const parts = header.exec(request.headers.authorization ?? "");
  if (parts === null) return "AccessDenied";
  const [, given = "", day = "", region = "", names = "", signature = ""] = parts;
  if (given !== accessKeyId) return "InvalidAccessKeyId";
  const signed = names.split(";");
  if (!["host", "x-amz-date", "x-amz-content-sha256"].every((name) => signed.includes(name)))
    return "AccessDenied";
  const valueOf = (name: string) => String(request.headers[name] ?? "").trim();
  const at = valueOf("x-amz-date");
  const time = Date.parse(
    at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
  if (!(Math.abs(Date.now() - time) < 900_000) || !at.startsWith(day))
    return "RequestTimeTooSkewed";
  const sha256 = valueOf("x-amz-content-sha256");
  if (sha256 !== hash(body)) return "XAmzContentSHA256Mismatch";
  const url = new URL(request.url ?? "", "http://host");
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join("&");
  const canonical = [
    request.method,
    url.pathname
      .split("/")
      .map((part) => encode(decodeURIComponent(part)))
      .join("/"),
    query,
    ...signed.map((name) => `${name}:${valueOf(name)}`),
    "",
    names,
    sha256,
  ].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", at, scope, hash(canonical)].join("\n");
  const key = [day, region, "s3", "aws4_request"].reduce<Buffer | string>(
    (last, part) => hmac(last, part),
    `AWS4${secretAccessKey}`,
  );
  const expected = hmac(key, toSign);
  return timingSafeEqual(expected, Buffer.from(signature, "hex")) ? null : "SignatureDoesNotMatch";
}

function hash(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
