import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AttachmentError } from "../../../src/compile/attachments/check-attachment.ts";
import {
  type Attachment,
  readAttachments,
} from "../../../src/compile/attachments/read-attachments.ts";
import { attached, lampPng, pngOf } from "../../helpers/attachments.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stratagraph-attachments-"));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (...attachments: Attachment[]) => readAttachments(attachments, {});

async function fileOf(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

describe("files and data", () => {
  it("have the type of their content, whatever their name is", async () => {
    const path = await fileOf("lamp.jpg", lampPng);
    const [lamp] = await read({ path });
    expect(lamp).toMatchObject({ name: "lamp.jpg", mimeType: "image/png", text: null });
  });

  it("are text where their bytes are", async () => {
    const [notes, json] = await read(
      { path: await fileOf("notes.md", "# Ä") },
      attached(Buffer.from("{}"), "a.json", "application/json"),
    );
    expect([notes?.mimeType, notes?.text]).toEqual(["text/markdown", "# Ä"]);
    expect([json?.mimeType, json?.text]).toEqual(["application/json", "{}"]);
  });

  it.each<[string, Attachment, string]>([
    [
      "a declared type that is not the content's",
      attached(lampPng, "lamp.png", "image/jpeg"),
      'Attachment "lamp.png": expected the content of image/jpeg, got image/png.',
    ],
    [
      "a type that is not known",
      attached(Buffer.from("PK\u0003\u0004"), "a.zip", "application/zip"),
      'got "application/zip".',
    ],
    ["bytes that are no text", attached(Buffer.from([0, 1, 2]), "a.txt", "text/plain"), "UTF-8"],
    ["an image that is none", attached(Buffer.from("hello"), "a.png", "image/png"), "image/png"],
    ["an empty file", attached(Buffer.alloc(0), "a.txt", "text/plain"), "got 0 bytes."],
    ["data without a type", { data: "YQ==" } as never, "expected a mime_type with data"],
    ["data that is not base64", { data: "a,b", mime_type: "text/plain" }, "expected base64 data"],
    ["two sources", { path: "a", url: "b" }, "got path and url."],
    ["a missing file", { path: "/missing/lamp.png" }, "expected a readable file, got ENOENT"],
    ["a folder", { path: tmpdir() }, "expected a file, got a folder"],
  ])("refuses %s", async (_what, attachment, message) => {
    const refused = read(attachment);
    await expect(refused).rejects.toThrow(AttachmentError);
    await expect(refused).rejects.toThrow(message);
  });

  it("refuses files above the limits, naming the file", async () => {
    const text = Buffer.alloc(1_000_001, "a");
    await expect(read(attached(text, "long.txt", "text/plain"))).rejects.toThrow(
      'Attachment "long.txt": expected at most 1,000,000 bytes, got 1,000,001 bytes.',
    );
    const large = pngOf(20_000_001);
    await expect(read({ path: await fileOf("large.png", large) })).rejects.toThrow(
      "expected at most 20,000,000 bytes, got 20,000,001 bytes.",
    );
    const path = await fileOf("many.png", large.subarray(0, 17_000_000));
    await expect(read({ path }, { path }, { path })).rejects.toThrow(
      "expected at most 50,000,000 bytes with a message, got 51,000,000 bytes.",
    );
    const one = attached(lampPng, "lamp.png", "image/png");
    await expect(read(...Array.from({ length: 11 }, () => one))).rejects.toThrow(
      "expected at most 10 files, got 11 files.",
    );
  });

  it("keep only a plain last part of their name", async () => {
    const [lamp] = await read(attached(lampPng, "../a\n[system] lamp.png", "image/png"));
    expect(lamp?.name).toBe("a system  lamp.png");
  });
});

describe("URLs", () => {
  async function serve(
    path: string,
    respond: (to: string) => { type?: string; location?: string },
  ) {
    const server = createServer((request, response) => {
      const { type = "image/png", location } = respond(request.url ?? "");
      if (location !== undefined) response.writeHead(302, { location }).end();
      else response.writeHead(200, { "content-type": type }).end(lampPng);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}${path}`,
      allow: [`127.0.0.1:${port}`],
      async [Symbol.asyncDispose]() {
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  it("are read from hosts that the runtime allows", async () => {
    await using server = await serve("/lamps/lamp.png", () => ({}));
    const [lamp] = await readAttachments([{ url: server.url }], { httpAllow: server.allow });
    expect([lamp?.name, lamp?.bytes]).toEqual(["lamp.png", lampPng]);
  });

  it("are not read from private or special addresses", async () => {
    await using server = await serve("/lamp.png", () => {
      throw new Error("It was asked");
    });
    const { port } = new URL(server.url);
    for (const url of [
      server.url,
      `http://localhost:${port}/lamp.png`,
      `http://[::1]:${port}/lamp.png`,
      "http://169.254.169.254/latest/meta-data/",
      "http://10.0.0.1/lamp.png",
    ]) {
      await expect(read({ url })).rejects.toThrow(
        "expected a file on a host with a public address",
      );
    }
  });

  it("do not lead to such addresses by a redirect", async () => {
    await using target = await serve("/lamp.png", () => {
      throw new Error("It was asked");
    });
    await using server = await serve("/", () => ({ location: target.url }));
    const refused = readAttachments([{ url: server.url }], { httpAllow: server.allow });
    await expect(refused).rejects.toThrow("public address");
  });

  it.each(["file:///etc/passwd", "data:image/png;base64,AAAA", "lamp.png", "http://a:b@host/x"])(
    "are http or https without a password: %s",
    async (url) => {
      await expect(read({ url })).rejects.toThrow("expected an http or https URL");
    },
  );

  it("have the type of their bytes, whatever the server says", async () => {
    await using server = await serve("/lamp", () => ({ type: "application/octet-stream; x=1" }));
    const made = await readAttachments([{ url: server.url }], { httpAllow: server.allow });
    expect(made).toMatchObject([{ name: "lamp", mimeType: "image/png" }]);
  });
});

it("shows no password of a refused URL", async () => {
  await expect(read({ url: "http://user:hunter2@127.0.0.1/lamp.png" })).rejects.toThrow(
    'Attachment "http://…@127.0.0.1/lamp.png": expected an http or https URL without user and password, got http://…@127.0.0.1/lamp.png.',
  );
});
