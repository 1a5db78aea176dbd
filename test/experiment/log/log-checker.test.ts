import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkLog } from "../../../src/experiment/log/log-checker.ts";
import type { LogEntry } from "../../../src/experiment/log/log-entry.ts";
import { asLines, madeEntries, message, write } from "../../helpers/experiment-logs.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Three cycles; lines 1 to 6, 7 to 9, 10 to 14. */
const entries = madeEntries({
  run_id: "a",
  cycles: [{ calls: [write("k", "four"), message("hi")] }, {}, { calls: [message("bye")] }],
});

async function check(lines: readonly (LogEntry | string)[], rest = "") {
  const folder = tempFolder({ "a.jsonl": asLines(lines) + rest });
  return checkLog(join(folder, "a.jsonl"));
}

const problemsOf = async (lines: readonly (LogEntry | string)[]) =>
  (await check(lines)).problems.map(({ line, message: text }) => `${line}: ${text}`);

/** The entries with some changed, by their lines. */
function changed(changes: Readonly<Record<number, (entry: never) => unknown>>) {
  return entries.map((entry, index) => {
    const change = changes[index + 1];
    return change === undefined ? entry : (change(entry as never) as LogEntry);
  });
}

const without = (...lines: number[]) =>
  entries.filter((_entry, index) => !lines.includes(index + 1));

it("finds nothing wrong with a whole log", async () => {
  expect(await check(entries)).toEqual({
    run_id: "a",
    cycles: 3,
    events: 14,
    unfinished: null,
    problem_count: 0,
    problems: [],
  });
});

it("finds nothing wrong with an empty log", async () => {
  expect(await check([])).toMatchObject({ cycles: 0, events: 0, unfinished: null, problems: [] });
});

describe("an unfinished log", () => {
  it("may end in any entry of its last cycle", async () => {
    for (let length = 1; length < entries.length; length += 1) {
      const { problems, unfinished } = await check(entries.slice(0, length));
      expect(problems).toEqual([]);
      const last = entries[length - 1];
      expect(unfinished?.cycle_number).toBe(
        last?.event_type === "CYCLE_END" ? undefined : last?.cycle_number,
      );
    }
  });

  it("may end in half a line", async () => {
    const within = await check(entries.slice(0, 3), '{"timestamp":"2026');
    expect(within.unfinished).toEqual({ cycle_number: 1, half_line: true });
    const between = await check(entries.slice(0, 6), "{");
    expect(between).toMatchObject({
      cycles: 1,
      unfinished: { cycle_number: null, half_line: true },
      problems: [],
    });
  });
});

describe("the run", () => {
  it("is the one that the file is named for, told once for each other one", async () => {
    const other = entries.map((entry) => ({ ...entry, run_id: "b" }));
    expect(await problemsOf(other)).toEqual([
      '1: run_id: expected "a", as the file is named, found "b"',
    ]);
  });

  it("has one config and model", async () => {
    const lines = changed({
      7: (entry: Extract<LogEntry, { event_type: "CYCLE_START" }>) => ({
        ...entry,
        payload: {
          ...entry.payload,
          config_hash: "f",
          model_name: "openai:gpt-5",
        },
      }),
    });
    expect(await problemsOf(lines)).toEqual([
      `7: payload.config_hash: expected "${"0".repeat(64)}", as in the first cycle, found "f"`,
      '7: payload.model_name: expected "ollama:llama3:latest", as in the first cycle, found "openai:gpt-5"',
    ]);
  });

  it("does not go back in time", async () => {
    const lines = changed({
      9: (entry: LogEntry) => ({ ...entry, timestamp: "2026-11-20T08:00:12Z" }),
    });
    expect(await problemsOf(lines)).toEqual([]);
    const back = changed({
      9: (entry: LogEntry) => ({ ...entry, timestamp: "2026-11-20T08:00:10.999Z" }),
    });
    expect(await problemsOf(back)).toEqual([
      "9: timestamp: goes back, from 2026-11-20T08:00:11.000Z to 2026-11-20T08:00:10.999Z",
    ]);
  });
});

describe("cycles", () => {
  it("are numbered from 1 without gaps", async () => {
    expect(await problemsOf(entries.slice(6))).toEqual(["1: cycle_number: expected 1, found 2"]);
    expect(await problemsOf(without(7, 8, 9))).toEqual(["7: cycle_number: expected 2, found 3"]);
  });

  it("begin before anything is in them, and end once before the next begins", async () => {
    expect(await problemsOf(without(1))).toEqual([
      "1: LLM_INVOCATION outside of a cycle",
      "2: TOOL_CALL outside of a cycle",
      "3: TOOL_CALL outside of a cycle",
      "4: LLM_INVOCATION outside of a cycle",
      "5: CYCLE_END outside of a cycle",
      "6: cycle_number: expected 1, found 2",
    ]);
    expect(await problemsOf(without(6))).toEqual(["6: cycle 2 begins before cycle 1 has ended"]);
    const endedTwice = [...entries.slice(0, 9), ...entries.slice(8)];
    expect(await problemsOf(endedTwice)).toEqual(["10: CYCLE_END outside of a cycle"]);
  });

  it("hold entries of their own number, and at least one answer of the model", async () => {
    const lines = changed({ 8: (entry: LogEntry) => ({ ...entry, cycle_number: 3 }) });
    expect(await problemsOf(lines)).toEqual(["8: cycle_number: expected 2, found 3"]);
    expect(await problemsOf(without(8))).toEqual([
      "8: a cycle without an LLM_INVOCATION",
      "8: payload.metrics.response_chars: expected 0 by the entries of the cycle, found 13",
    ]);
  });
});

it("counts the metrics of a cycle again", async () => {
  const lines = changed({
    6: (entry: Extract<LogEntry, { event_type: "CYCLE_END" }>) => ({
      ...entry,
      payload: {
        ...entry.payload,
        metrics: {
          memory_ops_total: 2,
          messages_to_operator: 0,
          response_chars: 12,
          memory_write_chars: 5,
        },
      },
    }),
  });
  expect(await problemsOf(lines)).toEqual([
    "6: payload.metrics.memory_ops_total: expected 1 by the entries of the cycle, found 2",
    "6: payload.metrics.messages_to_operator: expected 1 by the entries of the cycle, found 0",
    "6: payload.metrics.response_chars: expected 13 by the entries of the cycle, found 12",
    "6: payload.metrics.memory_write_chars: expected 4 by the entries of the cycle, found 5",
  ]);
});

describe("calls of tools", () => {
  const call = (tool_name: string, parameters: unknown) => (entry: LogEntry) => ({
    ...entry,
    payload: { tool_name, parameters, output: null },
  });

  it("are those that the answer before has asked for, in order", async () => {
    const [a, b] = [entries[2], entries[3]] as [LogEntry, LogEntry];
    const swapped = [...entries.slice(0, 2), b, a, ...entries.slice(4)];
    expect(await problemsOf(swapped)).toEqual([
      '3: payload.tool_name: expected "memory_write", as the answer before has asked, found "message_operator"',
      '4: payload.tool_name: expected "message_operator", as the answer before has asked, found "memory_write"',
    ]);
    expect(await problemsOf(changed({ 4: call("message_operator", { message: "ho" }) }))).toEqual([
      '4: payload.parameters: not what the answer before has asked of "message_operator"',
    ]);
  });

  it("are neither more nor fewer", async () => {
    expect((await problemsOf([...entries.slice(0, 4), entries[3] as LogEntry]))[0]).toBe(
      '5: TOOL_CALL of "message_operator" that the answer before has not asked for',
    );
    expect(await problemsOf(without(4))).toEqual([
      '4: no TOOL_CALL of "message_operator", which the answer before has asked for',
      "5: payload.metrics.messages_to_operator: expected 0 by the entries of the cycle, found 1",
    ]);
  });

  it("are made before the cycle ends", async () => {
    const lines = changed({
      8: (entry: Extract<LogEntry, { event_type: "LLM_INVOCATION" }>) => ({
        ...entry,
        payload: {
          ...entry.payload,
          response_message: {
            ...entry.payload.response_message,
            tool_calls: [{ id: "1", name: "memory_list", args: {} }],
          },
        },
      }),
    });
    expect(await problemsOf(lines)).toEqual([
      '9: no TOOL_CALL of "memory_list", which the answer before has asked for',
    ]);
  });
});

describe("a line that cannot be read", () => {
  it("is one problem, whatever it was", async () => {
    for (let line = 1; line <= entries.length; line += 1) {
      const lines: (LogEntry | string)[] = [...entries];
      lines[line - 1] = "?";
      expect(await problemsOf(lines)).toEqual([`${line}: not JSON`]);
    }
  });

  it("does not keep what comes after from being checked", async () => {
    const lines: (LogEntry | string)[] = [...entries];
    lines[1] = "?";
    lines[12] = { ...(entries[12] as LogEntry), run_id: "b" };
    expect(await problemsOf(lines)).toEqual([
      "2: not JSON",
      '13: run_id: expected "a", as the file is named, found "b"',
    ]);
  });
});

it("keeps the first 50 problems and counts all", async () => {
  const result = await check(Array.from({ length: 70 }, () => "?"));
  expect(result.problem_count).toBe(70);
  expect(result.problems).toHaveLength(50);
  expect(result.problems.at(-1)).toEqual({ line: 50, message: "not JSON" });
});
