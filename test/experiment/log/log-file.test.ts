import { appendFile, chmod, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LogChangedError, LogExistsError, LogAccessError } from "../../../src/experiment/errors.ts";
import { emptyLog, LogFile, type LogRecord } from "../../../src/experiment/log/log-file.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const end = (text: string, cycle_number = 1): LogRecord => ({
  cycle_number,
  event_type: "CYCLE_END",
  payload: {
    final_reflection: text,
    metrics: {
      memory_ops_total: 0,
      messages_to_operator: 0,
      response_chars: 0,
      memory_write_chars: 0,
    },
  },
});

async function setUp(times: readonly string[] = ["2026-01-01T00:00:00.000Z"]) {
  const path = join(tempFolder(), "logs", "drift.jsonl");
  let at = 0;
  const now = () => new Date(times[Math.min(at++, times.length - 1)] ?? "");
  const log = () => new LogFile({ path, runId: "drift", now });
  const texts = async () =>
    (await readFile(path, "utf8"))
      .split("\n")
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { payload: { final_reflection: string } }).payload)
      .map(({ final_reflection: text }) => text);
  return { path, log, texts };
}

describe("a log", () => {
  it("has one line a record, in the contract's order of keys", async () => {
    const { path, log } = await setUp();
    const one = log();
    const position = await one.append(emptyLog, end("first"));
    const text = await readFile(path, "utf8");
    expect(text).toBe(
      '{"timestamp":"2026-01-01T00:00:00.000Z","run_id":"drift","cycle_number":1,"event_type":"CYCLE_END",' +
        '"payload":{"final_reflection":"first","metrics":{"memory_ops_total":0,"messages_to_operator":0,"response_chars":0,"memory_write_chars":0}}}\n',
    );
    expect(position).toMatchObject({ lines: 1, bytes: text.length });
  });

  it.skipIf(process.platform === "win32")(
    "is made for its owner alone, and keeps the mode it has",
    async () => {
      const { path, log } = await setUp();
      const position = await log().append(emptyLog, end("first"));
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      await chmod(path, 0o640);
      await log().append(position, end("second", 2));
      expect((await stat(path)).mode & 0o777).toBe(0o640);
    },
  );

  it("loses what was written after the checkpoint that is gone on from, half a line too", async () => {
    const { path, log, texts } = await setUp();
    const before = log();
    const kept = await before.append(emptyLog, end("kept – ü"));
    await before.append(kept, end("lost"));
    await appendFile(path, '{"timestamp":"2026-01');
    const after = log();
    const second = await after.append(kept, end("written again"));
    await after.append(second, end("and on"));
    expect(await texts()).toEqual(["kept – ü", "written again", "and on"]);
  });

  it("loses everything for a run that has not begun", async () => {
    const { path, log, texts } = await setUp();
    const before = log();
    await before.append(emptyLog, end("lost"));
    const after = log();
    await after.append(emptyLog, end("first"));
    expect(await texts()).toEqual(["first"]);
    await expect(
      new LogFile({ path, runId: "drift", now: () => new Date() }).expectNone(),
    ).rejects.toThrow(LogExistsError);
  });

  it("goes back where the same process goes on from an older checkpoint", async () => {
    const { log, texts } = await setUp();
    const one = log();
    const first = await one.append(emptyLog, end("1"));
    const second = await one.append(first, end("2"));
    await one.append(second, end("3"));
    await one.append(first, end("two"));
    expect(await texts()).toEqual(["1", "two"]);
  });

  it("is in order when the clock is put back", async () => {
    const { path, log } = await setUp([
      "2026-01-01T00:00:01.000Z",
      "2026-01-01T00:00:00.000Z",
      "2026-01-01T00:00:02.000Z",
    ]);
    const one = log();
    let position = emptyLog;
    for (const text of ["1", "2", "3"]) position = await one.append(position, end(text));
    const seconds = [...(await readFile(path, "utf8")).matchAll(/00:00:0(\d)/g)].map(([, s]) => s);
    expect(seconds).toEqual(["1", "1", "2"]);
  });

  it("is refused where it was cut", async () => {
    const { path, log } = await setUp();
    const before = log();
    const position = await before.append(emptyLog, end("first"));
    await truncate(path, position.bytes - 1);
    const after = log();
    await expect(after.append(position, end("second"))).rejects.toThrow(
      `The log ${path} of run "drift" has ${position.bytes - 1} bytes, expected ${position.bytes} or more (lines written: 1). ` +
        "Put the log back as the run left it, or begin the run again with --fresh.",
    );
  });

  it("is refused where it was changed, and is left as it is", async () => {
    const { path, log } = await setUp();
    const before = log();
    const position = await before.append(emptyLog, end("first"));
    const changed = (await readFile(path, "utf8")).replace("first", "other");
    await writeFile(path, changed);
    const after = log();
    await expect(after.append(position, end("second"))).rejects.toThrow(LogChangedError);
    expect(await readFile(path, "utf8")).toBe(changed);
  });

  it("is verified whole, however its lines lie in the pieces that are read", async () => {
    const { log, texts } = await setUp();
    const before = log();
    let position = emptyLog;
    const long = "ü€😀".repeat(20_000);
    for (let i = 0; i < 12; i += 1) position = await before.append(position, end(`${i}${long}`));
    const after = log();
    await after.append(position, end("last"));
    expect((await texts()).length).toBe(13);
  });

  it("says why it cannot be written", async () => {
    const folder = tempFolder();
    await writeFile(join(folder, "logs"), "a file where the folder should be");
    const path = join(folder, "logs", "drift.jsonl");
    const log = new LogFile({ path, runId: "drift", now: () => new Date() });
    await expect(log.append(emptyLog, end("first"))).rejects.toThrow(LogAccessError);
    await expect(log.append(emptyLog, end("first"))).rejects.toThrow(
      `The log ${path} of run "drift" cannot be read or written (EEXIST). Once it can be, the run resumes from its last checkpoint.`,
    );
  });
});
