import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type FolderLock,
  FolderLockedError,
  lockFolder,
  type LockHolder,
  processStart,
} from "../../src/storage/folder-lock.ts";
import { useChildren } from "../helpers/child-process.ts";

let folder: string;
const held: FolderLock[] = [];
const start = useChildren();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stratagraph-lock-"));
});
afterEach(async () => {
  for (const taken of held.splice(0)) taken.release();
  await rm(folder, { recursive: true });
});

function lock(path = folder): FolderLock {
  const taken = lockFolder(path);
  held.push(taken);
  return taken;
}

function lockedError(): FolderLockedError {
  try {
    lock();
  } catch (error) {
    if (error instanceof FolderLockedError) return error;
    throw error;
  }
  throw new Error("The folder was free.");
}

function writeHolder(holder: Partial<LockHolder>, path = join(folder, "lock")): void {
  const since = "2020-01-02T03:04:05.000Z";
  writeFileSync(
    path,
    JSON.stringify({
      token: "abc",
      pid: process.pid,
      threadId: 0,
      host: hostname(),
      since,
      ...holder,
    }),
  );
}

/** A process that ran and was killed. */
async function deadPid(): Promise<number> {
  const child = start("test/storage/programs/race-for-locks.ts", folder, "0");
  await child.kill();
  return child.pid;
}

describe("lockFolder", () => {
  test("makes the folder, and leaves only the lock in it", () => {
    const path = join(folder, "a", "b");
    lock(path);
    expect(readdirSync(path)).toEqual(["lock"]);
    expect(JSON.parse(readFileSync(join(path, "lock"), "utf8"))).toMatchObject({
      pid: process.pid,
      host: hostname(),
    });
  });

  test("gives the folder back, once", () => {
    const first = lock();
    first.release();
    const second = lock();
    first.release();
    expect(existsSync(join(folder, "lock"))).toBe(true);
    second.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("names the process that has it, and since when", () => {
    writeHolder({ pid: process.ppid, processStart: processStart(process.ppid) });
    const error = lockedError();
    expect(error).toMatchObject({
      code: "folder_locked",
      kind: "run",
      pid: process.ppid,
      since: "2020-01-02T03:04:05.000Z",
      folder,
    });
    expect(error.message).toContain(`process ${process.ppid} since 2020-01-02T03:04:05.000Z`);
  });

  test("names the thread of this process that has it", () => {
    writeHolder({ threadId: 7, processStart: processStart(process.pid) });
    expect(lockedError().message).toContain("thread 7 of this process");
  });

  test("takes over from a process that is dead", async () => {
    writeHolder({ pid: await deadPid() });
    lock();
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  test.skipIf(processStart(process.pid) === undefined)(
    "takes over when the id now belongs to another process",
    () => {
      writeHolder({ processStart: "another boot/1" });
      lock();
      expect(JSON.parse(readFileSync(join(folder, "lock"), "utf8"))).toMatchObject({
        processStart: processStart(process.pid),
      });
    },
  );

  test("takes over from a dead process that died taking over from a dead process", async () => {
    const pid = await deadPid();
    writeHolder({ pid, token: "a1" });
    writeHolder({ pid, token: "b2" }, join(folder, "lock.a1"));
    lock();
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  test.each(["", "{", '{"pid":1}'])("takes over a lock that reads %j", (text) => {
    writeFileSync(join(folder, "lock"), text);
    lock();
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  test("leaves a lock of another machine alone, and says what to do", async () => {
    writeHolder({ pid: await deadPid(), host: "elsewhere" });
    const error = lockedError();
    expect(error.host).toBe("elsewhere");
    expect(error.message).toContain(`If that machine is gone, delete ${join(folder, "lock")}`);
  });

  test("lets one of several processes take over, each time", async () => {
    const [rounds, pid] = [200, await deadPid()];
    for (let i = 0; i < rounds; i += 1) {
      await mkdir(join(folder, String(i)));
      writeHolder({ pid, token: i.toString(16) }, join(folder, String(i), "lock"));
    }
    const racers = [1, 2, 3].map(() =>
      start("test/storage/programs/race-for-locks.ts", folder, String(rounds)),
    );
    await Promise.all(racers.map((racer) => racer.nextLine()));
    for (const racer of racers) racer.send("go");
    const taken = (await Promise.all(racers.map((racer) => racer.nextLine()))).flatMap(
      (line) => JSON.parse(line) as number[],
    );

    expect(taken.toSorted((a, b) => a - b)).toEqual(Array.from({ length: rounds }, (_, i) => i));
  });
});
