import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createRuntime } from "../../../src/app.ts";
import { checkEncryption } from "../../../src/cli/doctor/environment-checks.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { useFolders } from "../folder.ts";
import { memoryIo } from "../memory-io.ts";

const secret = randomBytes(32).toString("base64");
const first = `2026:${secret}`;
const second = `2027:${randomBytes(32).toString("base64")}`;
const database = useDatabase("pglite");
const folderWith = useFolders();

async function cli(argv: readonly string[], keys?: string, { cwd = "" } = {}) {
  const folder = cwd === "" ? await folderWith({}) : cwd;
  if (cwd === "") await mkdir(join(folder, ".stratagraph"));
  const env = keys === undefined ? {} : { STRATAGRAPH_ENCRYPTION_KEYS: keys };
  const openRuntime: typeof createRuntime = (options) =>
    createRuntime({ ...options, folder: database.options.folder! });
  const io = { ...memoryIo({ cwd: folder, env }), openRuntime };
  const code = await runCli(["encryption", ...argv], io);
  return { code, out: io.stdout.take(), errors: io.stderr.take() };
}

const put = async (keys?: string) => {
  const env = keys === undefined ? {} : { STRATAGRAPH_ENCRYPTION_KEYS: keys };
  const runtime = await createRuntime({ env, folder: database.options.folder! });
  const bytes = randomBytes(8);
  try {
    await runtime.blobs?.put("t", { bytes, mimeType: "text/plain" });
  } finally {
    await runtime.close();
  }
};

describe("stratagraph encryption", () => {
  afterEach(async () => {
    await database.shared.pool.query("truncate stratagraph.attachments cascade").catch(() => {});
  });

  it("counts values by key, and rotates them to the first", async () => {
    await put();
    await put(first);
    expect((await cli([])).out).toBe(
      'Encryption is off.\nattachments: 1 value not encrypted\nattachments: 1 value encrypted with key "2026"\n',
    );
    const { code, out } = await cli(["rotate"], `${second},${first}`);
    expect(code).toBe(0);
    expect(out).toContain("attachments: 2 values encrypted\n");
    const status = await cli(["status", "--json"], second);
    expect(JSON.parse(status.out)).toEqual({
      keys: ["2027"],
      values: [{ table: "attachments", key: "2027", values: 2 }],
    });
    const again = JSON.parse((await cli(["rotate", "--json"], second)).out) as object;
    expect(again).toMatchObject({ key: "2027" });
  });

  it("fails a rotation that met a damaged value", async () => {
    await put(first);
    await database.shared.pool.query(
      "update stratagraph.attachments set body = substring(body from 1 for 60)",
    );
    await database.shared.pool.query(
      "update stratagraph.attachments set body = body || '\\x00'::bytea",
    );
    const { code, out } = await cli(["rotate"], `${second},${first}`);
    expect([code, out]).toEqual([1, expect.stringContaining("1 value damaged and left as stored")]);
  });

  it("is refused without a key, without an old key, with a malformed one and without a database", async () => {
    await put(first);
    expect(await cli(["rotate"])).toMatchObject({
      code: 2,
      errors: expect.stringContaining("[no_encryption_key]") as string,
    });
    expect((await cli(["rotate"], second)).errors).toContain('key "2026"');
    const malformed = await cli(["rotate"], `2026:${secret.slice(2)}`);
    expect(malformed.errors).toContain("[invalid_encryption_key]");
    expect(malformed.errors).not.toContain(secret.slice(2));
    const cwd = await folderWith({});
    expect((await cli(["rotate"], first, { cwd })).errors).toContain("There is no database here");
  });

  it("is in doctor: on, by which keys, or why they cannot be read", () => {
    const check = (keys?: string) =>
      checkEncryption({ env: keys === undefined ? {} : { STRATAGRAPH_ENCRYPTION_KEYS: keys } });
    expect(check()).toEqual([]);
    expect(check(`${second},${first}`)).toMatchObject([
      { status: "ok", message: expect.stringMatching(/"2027".*"2026"/) as string },
    ]);
    expect(check("nothing")).toMatchObject([{ status: "problem", check: "encryption" }]);
    expect(JSON.stringify(check(`${second},${first}`))).not.toContain(secret);
  });
});
