import { join } from "node:path";
import { expect, it } from "vitest";
import { readLog, UnreadableLogError } from "../../../src/experiment/log/read-log.ts";
import { collect } from "../../helpers/collect.ts";
import { asLines, madeEntries, madeLog } from "../../helpers/experiment-logs.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const run = { run_id: "a", cycles: [{}] };

async function linesOf(content: string | Uint8Array) {
  return collect(readLog(join(tempFolder({ "a.jsonl": content }), "a.jsonl")));
}

it("gives entries with the numbers of their lines", async () => {
  const lines = await linesOf(madeLog(run));
  expect(lines).toEqual(
    madeEntries(run).map((entry, index) => ({ kind: "entry", line: index + 1, entry })),
  );
});

it("gives nothing of an empty log", async () => {
  expect(await linesOf("")).toEqual([]);
});

it("tells of a last line without a line feed, whatever it holds", async () => {
  const [first] = madeEntries(run);
  const whole = JSON.stringify(first);
  expect(await linesOf(whole)).toEqual([{ kind: "unfinished", line: 1 }]);
  const lines = await linesOf(`${whole}\n${whole.slice(0, 40)}`);
  expect(lines.map(({ kind }) => kind)).toEqual(["entry", "unfinished"]);
});

it("reads lines that are longer than a chunk, and characters that lie across two", async () => {
  const reflection = "🎻".repeat(100_001);
  const lines = await linesOf(madeLog({ run_id: "a", cycles: [{ reflection }] }));
  expect(lines.at(-1)).toMatchObject({ entry: { payload: { final_reflection: reflection } } });
});

it("says what is wrong with a line, and goes on", async () => {
  const [start, , end] = madeEntries(run);
  const lines = await linesOf(
    asLines([
      "{",
      "",
      JSON.stringify({ ...start, event_type: "CYCLE_STRAT" }),
      JSON.stringify({ ...end, note: 1, cycle_number: "1", timestamp: "yesterday" }),
      "3",
      JSON.stringify(end),
    ]),
  );
  expect(lines.map((line) => (line.kind === "broken" ? line.problems : line.kind))).toEqual([
    ["not JSON"],
    ["an empty line"],
    [
      'event_type: not one of the allowed values (found "CYCLE_STRAT"; allowed: CYCLE_START, LLM_INVOCATION, TOOL_CALL, CYCLE_END; did you mean "CYCLE_START"?)',
    ],
    [
      'timestamp: Invalid ISO datetime (found "yesterday")',
      'cycle_number: expected a number (found "1")',
      "note: unknown key (allowed: timestamp, run_id, cycle_number, event_type, payload)",
    ],
    ["(top level): expected a map (found 3)"],
    "entry",
  ]);
});

it("names keys that are missing by their path", async () => {
  const end = madeEntries(run).at(-1);
  const payload = { metrics: { memory_ops_total: 1 } };
  const [line] = await linesOf(asLines([JSON.stringify({ ...end, payload })]));
  expect(line).toMatchObject({
    problems: [
      "payload.final_reflection: expected a text, but it is missing",
      "payload.metrics.messages_to_operator: expected a number, but it is missing",
      "payload.metrics.response_chars: expected a number, but it is missing",
      "payload.metrics.memory_write_chars: expected a number, but it is missing",
    ],
  });
});

it("says so of bytes that are no UTF-8", async () => {
  const [line] = await linesOf(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
  expect(line).toMatchObject({ kind: "broken", problems: [expect.stringMatching(/^not UTF-8/)] });
});

it("refuses a file that cannot be read", async () => {
  const reading = collect(readLog(join(tempFolder(), "none.jsonl")));
  await expect(reading).rejects.toThrow(UnreadableLogError);
  await expect(reading).rejects.toThrow(/none\.jsonl cannot be read \(ENOENT\)/);
});
