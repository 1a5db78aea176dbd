import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemIds } from "../../../src/clock.ts";
import {
  ArchiveTargetError,
  InvalidArchiveLocationError,
  openArchiveTarget,
} from "../../../src/storage/retention/archive-target.ts";
import { FolderTarget } from "../../../src/storage/retention/folder-target.ts";
import { archiveTargetContract } from "../../contract/retention/archive-target.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const folder = tempFolder();
archiveTargetContract("a folder", async () => new FolderTarget(join(folder, "archive")));

const key = () => ({ tenantId: systemIds(), archiveId: systemIds(), part: 0 });

it("makes a folder for its owner alone, with whole objects in it", async () => {
  const path = join(folder, "private");
  const target = new FolderTarget(path);
  const of = key();
  await target.put(of, Buffer.from("x"));
  const inside = join(path, of.tenantId, of.archiveId);
  expect([path, join(path, of.tenantId), inside].map((one) => statSync(one).mode & 0o777)).toEqual([
    0o700, 0o700, 0o700,
  ]);
  expect(readdirSync(inside)).toEqual(["000000.jsonl.gz"]);
  expect(statSync(join(inside, "000000.jsonl.gz")).mode & 0o777).toBe(0o600);
});

it("leaves no part of an object that cannot be written", async () => {
  const path = join(folder, "blocked");
  const of = key();
  // A folder stands where the object belongs.
  mkdirSync(join(path, of.tenantId, of.archiveId, "000000.jsonl.gz", "x"), { recursive: true });
  await expect(new FolderTarget(path).put(of, Buffer.from("x"))).rejects.toThrow(
    ArchiveTargetError,
  );
  expect(readdirSync(join(path, of.tenantId, of.archiveId))).toEqual(["000000.jsonl.gz"]);
  writeFileSync(join(folder, "file"), "");
  await expect(new FolderTarget(join(folder, "file")).put(of, Buffer.from("x"))).rejects.toThrow(
    "ENOTDIR",
  );
});

it("is named by STRATAGRAPH_ARCHIVE, from the working directory", async () => {
  expect(await openArchiveTarget({})).toBeNull();
  const target = await openArchiveTarget({ STRATAGRAPH_ARCHIVE: "kept" }, folder);
  const of = key();
  await target?.put(of, Buffer.from("x"));
  expect(readdirSync(join(folder, "kept"))).toEqual([of.tenantId]);
  await expect(openArchiveTarget({ STRATAGRAPH_ARCHIVE: "ftp://host/x" })).rejects.toThrow(
    InvalidArchiveLocationError,
  );
});
