import { expect, it } from "vitest";
import { experimentCheckCommand } from "../../../src/cli/experiments/inspect.ts";
import { madeLog } from "../../helpers/experiment-logs.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const cwd = tempFolder({
  "logs/a.jsonl": madeLog({ run_id: "a", cycles: [{}, {}] }),
  "logs/b.jsonl": `${madeLog({ run_id: "b", cycles: [{}] })}${madeLog({ run_id: "b", cycles: [{}] })}{`,
  "logs/notes.txt": "",
  "c.jsonl": `${madeLog({ run_id: "c", cycles: [{}, {}] })
    .split("\n")
    .slice(0, 5)
    .join("\n")}\n{"half`,
  "many.jsonl": "?\n".repeat(70),
  "escape.jsonl": '{"\\u001b[31mred":1}\n',
  "none/x.txt": "",
  "config.yaml":
    "run_id: drift\nmodel_name: offline:rules\ncycle_count: 3\nmatrix:\n  seed: [1, 2]\n",
  "wrong.yml": "run_id: drift\nmodel_name: offline:rules\ncycle_cuont: 3\n",
});

async function check(logs: readonly string[], json = false) {
  const io = memoryIo({ cwd });
  const code = await experimentCheckCommand({ logs, json }, io);
  return { code, out: io.stdout.take() };
}

it("says of each log what it holds, and whether it is whole", async () => {
  expect(await check(["logs/a.jsonl", "c.jsonl"])).toEqual({
    code: 0,
    out: [
      "ok logs/a.jsonl (2 cycles, 6 events)",
      "ok c.jsonl (1 cycle, 5 events, cycle 2 unfinished, ends in a partial line)",
      "",
    ].join("\n"),
  });
});

it("checks the logs of a folder, and names problems by file and line", async () => {
  expect(await check(["logs"])).toEqual({
    code: 1,
    out: [
      "ok logs/a.jsonl (2 cycles, 6 events)",
      "2 problems logs/b.jsonl (2 cycles, 6 events, ends in a partial line)",
      "  logs/b.jsonl:4: timestamp: goes back, from 2026-11-20T08:00:10.000Z to 2026-11-20T08:00:00.000Z",
      "  logs/b.jsonl:4: cycle_number: expected 2, found 1",
      "",
    ].join("\n"),
  });
});

it("shows fifty problems and counts the others", async () => {
  const { code, out } = await check(["many.jsonl"]);
  const lines = out.split("\n");
  expect(code).toBe(1);
  expect(lines).toHaveLength(53);
  expect(lines[0]).toBe("70 problems many.jsonl (0 cycles, 0 events)");
  expect(lines.at(-2)).toBe("  … and 20 more problems");
});

it("prints nothing of a log that could act on a terminal", async () => {
  expect((await check(["escape.jsonl"])).out).not.toContain("\u001b");
});

it("tells all as JSON", async () => {
  const { code, out } = await check(["logs"], true);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toEqual({
    ok: false,
    logs: [
      {
        file: "logs/a.jsonl",
        ok: true,
        run_id: "a",
        cycles: 2,
        events: 6,
        unfinished: null,
        problem_count: 0,
        problems: [],
      },
      {
        file: "logs/b.jsonl",
        ok: false,
        run_id: "b",
        cycles: 2,
        events: 6,
        unfinished: { cycle_number: null, half_line: true },
        problem_count: 2,
        problems: [
          {
            line: 4,
            message:
              "timestamp: goes back, from 2026-11-20T08:00:10.000Z to 2026-11-20T08:00:00.000Z",
          },
          { line: 4, message: "cycle_number: expected 2, found 1" },
        ],
      },
    ],
  });
});

it("checks configs too", async () => {
  const { code, out } = await check(["logs/a.jsonl", "config.yaml"]);
  expect({ code, out }).toEqual({
    code: 0,
    out: "ok config.yaml (2 runs of 3 cycles)\nok logs/a.jsonl (2 cycles, 6 events)\n",
  });
  const wrong = await check(["wrong.yml"]);
  expect(wrong.code).toBe(1);
  expect(wrong.out.split("\n")[0]).toBe("2 problems wrong.yml");
  expect(wrong.out).toMatch(/wrong\.yml:3:1 cycle_cuont: unknown key/);
  expect(JSON.parse((await check(["config.yaml"], true)).out)).toEqual({
    ok: true,
    configs: [
      {
        file: "config.yaml",
        ok: true,
        run_id: "drift",
        runs: ["drift.seed-1", "drift.seed-2"],
        cycle_count: 3,
        problems: [],
      },
    ],
  });
});

it("refuses what is not there, and a folder without logs", async () => {
  await expect(check(["nothing.jsonl"])).rejects.toMatchObject({ code: "file_not_found" });
  await expect(check(["none"])).rejects.toMatchObject({ code: "no_logs", kind: "usage" });
});
