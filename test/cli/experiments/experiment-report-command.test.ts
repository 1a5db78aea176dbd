import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { experimentReportCommand } from "../../../src/cli/experiments/inspect.ts";
import { madeLog, message, write } from "../../helpers/experiment-logs.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const llama = madeLog({
  run_id: "llama-2",
  seed: 2,
  prompt_name: "terse",
  cycles: [
    { calls: [write("plan", "find out"), message("hi")] },
    { calls: [write("more", "ask")], reflection: "I know\n  enough." },
  ],
});
const gpt = madeLog({
  run_id: "gpt",
  model_name: "openai:gpt-5",
  seed: null,
  usage: { tokens_in: 1200, tokens_out: 34, cost_usd: 0.0125 },
  cycles: [{}],
});
const begun = `${madeLog({ run_id: "begun", seed: 1, cycles: [{}] }).split("\n")[0]}\n`;

const clock = { now: () => new Date("2026-11-22T03:04:05Z") };

async function report(
  files: Readonly<Record<string, string>>,
  options: { out?: string; csv?: string; json?: boolean } = {},
) {
  const cwd = tempFolder(files);
  const io = memoryIo({ cwd });
  const code = await experimentReportCommand({ folder: "logs", ...options }, io, clock);
  return { cwd, code, out: io.stdout.take(), err: io.stderr.take() };
}

it("compares the runs of a folder in a table and writes both files beside them", async () => {
  const { cwd, code, out, err } = await report({
    "logs/gpt.jsonl": gpt,
    "logs/llama-2.jsonl": llama,
    "logs/begun.jsonl": begun,
  });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toBe(
    [
      "Experiment report: logs",
      "",
      "run      model                 seed  prompt  cycles  memory calls  messages  response chars  written chars  keys  tokens   cost  last reflection",
      "begun    ollama:llama3:latest     1  –           0+             –         –               –              –     –       –      –  –",
      "llama-2  ollama:llama3:latest     2  terse        2             1       0.5            14.5            5.5     2       –      –  I know enough.",
      "gpt      openai:gpt-5             –  –            1             0         0              13              0     0   1,234  $0.01  Reflection 1.",
      "",
      "Report: logs/report.html",
      "CSV:    logs/report.csv",
      "",
    ].join("\n"),
  );
  expect(readFileSync(join(cwd, "logs/report.csv"), "utf8").split("\r\n")).toHaveLength(5);
  const page = readFileSync(join(cwd, "logs/report.html"), "utf8");
  expect(page).toContain("<title>Experiment report: logs</title>");
  expect(page).toContain('"made_at":"2026-11-22T03:04:05.000Z"');
  expect(readdirSync(join(cwd, "logs")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

it("writes where it is told to", async () => {
  const { cwd, out } = await report({ "logs/gpt.jsonl": gpt }, { out: "page.html", csv: "a.csv" });
  expect(out).toMatch(/Report: page\.html\nCSV: {4}a\.csv\n$/);
  expect(existsSync(join(cwd, "page.html")) && existsSync(join(cwd, "a.csv"))).toBe(true);
  expect(readdirSync(join(cwd, "logs"))).toEqual(["gpt.jsonl"]);
});

it("names logs that are broken or empty, and reports the others", async () => {
  const { cwd, code, out, err } = await report({
    "logs/gpt.jsonl": gpt,
    "logs/broken.jsonl": "?\n",
    "logs/empty.jsonl": "",
  });
  expect(code).toBe(1);
  expect(err).toBe(
    [
      "Skipped broken log: logs/broken.jsonl",
      "  logs/broken.jsonl:1: not JSON",
      "Skipped empty log: logs/empty.jsonl",
      "",
    ].join("\n"),
  );
  expect(out.split("\n").map((line) => line.split(" ")[0])).toContain("gpt");
  expect(readFileSync(join(cwd, "logs/report.html"), "utf8")).toContain("line 1: not JSON");
});

it("fails for no log that is only empty", async () => {
  const { code } = await report({ "logs/gpt.jsonl": gpt, "logs/empty.jsonl": "" });
  expect(code).toBe(0);
});

it("writes nothing where no run is left", async () => {
  const { cwd, code, out } = await report({ "logs/broken.jsonl": "?\n" });
  expect({ code, out }).toEqual({ code: 1, out: "No runs to report.\n" });
  expect(readdirSync(join(cwd, "logs"))).toEqual(["broken.jsonl"]);
});

it("tells all as JSON", async () => {
  const { cwd, code, out, err } = await report(
    { "logs/llama-2.jsonl": llama, "logs/broken.jsonl": "?\n" },
    { json: true },
  );
  expect({ code, err }).toEqual({ code: 1, err: "" });
  expect(JSON.parse(out)).toEqual({
    ok: false,
    files: { html: join(cwd, "logs/report.html"), csv: join(cwd, "logs/report.csv") },
    runs: [
      {
        run_id: "llama-2",
        model_name: "ollama:llama3:latest",
        seed: 2,
        prompt_name: "terse",
        config_hash: "0".repeat(64),
        model_options: { seed: 2 },
        unfinished_cycle: null,
        cycles_done: 2,
        mean_metrics: {
          memory_ops_total: 1,
          messages_to_operator: 0.5,
          response_chars: 14.5,
          memory_write_chars: 5.5,
        },
        usage: null,
        memory_keys: 2,
        memory_chars: 11,
        last_reflection: "I know\n  enough.",
      },
    ],
    left_out: [
      {
        file: "logs/broken.jsonl",
        reason: "broken",
        problem_count: 1,
        problems: [{ line: 1, message: "not JSON" }],
      },
    ],
  });
});

it("refuses a folder that is not there, or has no logs", async () => {
  await expect(report({ "a.txt": "" })).rejects.toMatchObject({ code: "folder_not_found" });
  await expect(report({ "logs/a.txt": "" })).rejects.toMatchObject({
    code: "no_logs",
    message: "There are no logs (*.jsonl) in logs. Give the folder that experiments log to.",
  });
});

it("says so when a file cannot be written", async () => {
  const writing = report({ "logs/gpt.jsonl": gpt }, { out: "none/page.html" });
  await expect(writing).rejects.toMatchObject({ code: "output_file" });
});
