import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemIds } from "../../../src/clock.ts";
import {
  ArchiveTargetError,
  InvalidArchiveLocationError,
} from "../../../src/storage/retention/archive-target.ts";
import { openS3Target, type S3TargetOptions } from "../../../src/storage/retention/s3-target.ts";
import { archiveTargetContract } from "../../contract/retention/archive-target.ts";
import { type S3Server, startS3Server } from "../../helpers/s3-server.ts";

const credentials = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "a secret" };
let server: S3Server;
let endpoint = "";

beforeAll(async () => {
  server = await startS3Server({
    bucket: "archives",
    accessKeyId: "key",
    secretAccessKey: "a secret",
    pageSize: 2,
  });
  endpoint = encodeURIComponent(server.endpoint);
});
afterAll(() => server.close());

const open = (bucket = "archives/some/prefix", env: Record<string, string> = credentials) =>
  openS3Target(`s3://${bucket}?endpoint=${endpoint}`, env, { attempts: 1 });
const key = () => ({ tenantId: systemIds(), archiveId: systemIds(), part: 0 });

archiveTargetContract("a bucket", async () => open());
archiveTargetContract("a bucket without a prefix", async () => open("archives"));

describe("a bucket of S3", () => {
  it("refuses requests that another secret has signed", async () => {
    const wrong = open("archives", { ...credentials, AWS_SECRET_ACCESS_KEY: "other" });
    await expect(wrong.put(key(), Buffer.from("x"))).rejects.toThrow("403 (SignatureDoesNotMatch)");
    await expect(open("missing").get(key(), 1)).rejects.toThrow("404 (NoSuchBucket)");
  });

  it("removes more objects than one list has", async () => {
    const target = open();
    const of = key();
    await Promise.all(
      Array.from({ length: 5 }, (_, part) => target.put({ ...of, part }, Buffer.from("x"))),
    );
    expect(await target.remove(of)).toBe(5);
    expect([...server.objects.keys()].filter((name) => name.includes(of.tenantId))).toEqual([]);
  });

  const answering = async (
    answer: (request: IncomingMessage, response: ServerResponse) => void,
    options: Pick<S3TargetOptions, "attempts" | "timeoutMs"> = {},
  ) => {
    const asked: string[] = [];
    const fake: Server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      request.resume().on("end", () => answer(request, response));
    });
    await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      fake.closeAllConnections();
      fake.close();
    });
    const { port } = fake.address() as AddressInfo;
    const clock = {
      now: () => new Date(),
      monotonic: () => 0,
      after: (_: number, run: () => void) => (setImmediate(run), () => {}),
    };
    const location = `s3://archives?endpoint=${encodeURIComponent(`http://127.0.0.1:${port}`)}`;
    return { asked, target: openS3Target(location, credentials, { clock, ...options }) };
  };

  it("tries what may succeed later at most four times, and nothing else again", async () => {
    const busy = await answering((_, response) =>
      response.writeHead(503).end("<Code>SlowDown</Code>"),
    );
    await expect(busy.target.put(key(), Buffer.from("x"))).rejects.toThrow("503 (SlowDown)");
    expect(busy.asked).toHaveLength(4);
    const refused = await answering((_, response) => response.writeHead(403).end());
    await expect(refused.target.get(key(), 1)).rejects.toThrow("403");
    expect(refused.asked).toHaveLength(1);
    let left = 2;
    const recovers = await answering((_, response) =>
      response.writeHead(left-- > 0 ? 500 : 200).end("x"),
    );
    expect((await recovers.target.get(key(), 1))?.toString()).toBe("x");
  });

  it("gives up on an answer that does not come", async () => {
    const { target } = await answering(() => {}, { attempts: 1, timeoutMs: 50 });
    await expect(target.get(key(), 1)).rejects.toThrow(ArchiveTargetError);
  });

  it("receives no more than it expects", async () => {
    const endless = await answering((_, response) => {
      response.writeHead(200);
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        response.once("drain", write);
      };
      write();
    });
    await expect(endless.target.get(key(), 100)).rejects.toThrow("more than the 100 bytes");
  });

  it("follows no redirection, and deletes no key that it did not ask for", async () => {
    const elsewhere = await answering(
      (_, response) => response.writeHead(307, { location: "http://127.0.0.1:1/" }).end(),
      { attempts: 1 },
    );
    await expect(elsewhere.target.put(key(), Buffer.from("x"))).rejects.toThrow(ArchiveTargetError);
    const liar = await answering((_, response) =>
      response.writeHead(200).end("<Key>others/secret</Key>"),
    );
    await expect(liar.target.remove({ tenantId: systemIds() })).rejects.toThrow(
      "outside of the prefix",
    );
    expect(liar.asked.filter((line) => line.startsWith("DELETE"))).toEqual([]);
  });

  it.each([
    ["s3://b", "the name of a bucket"],
    ["s3://Bucket_1/x", "the name of a bucket"],
    ["s3://archives/../x?endpoint=file:///x", "an endpoint"],
    ["s3://archives/a%2Fb", "a prefix"],
    ["s3://key:secret@archives", "no credentials"],
    ["s3://archives?key=x", "only endpoint and region"],
    ["s3://archives?endpoint=http://host/path", "an endpoint"],
  ])("is not opened by %s", (location, expected) => {
    expect(() => openS3Target(location, credentials)).toThrow(expected);
  });

  it("takes its credentials from the environment alone", () => {
    expect(() => openS3Target("s3://archives", {})).toThrow(InvalidArchiveLocationError);
  });
});
