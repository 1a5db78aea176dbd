import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { readLogLines, withoutTimes } from "../../helpers/experiment-run.ts";
import { freePort } from "../../helpers/free-port.ts";
import { openDatabases } from "../../helpers/open-databases.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { memoryIo } from "../memory-io.ts";

const config = `run_id: diary
model_name: offline:rules
cycle_count: 3
system_prompt: You keep a diary.
cycle_prompt: Write "calm" to memory under the key day-\${cycle_number}, then send the operator the message "day \${cycle_number}".
matrix:
  seed: [1, 2]
`;

const databases = openDatabases();
afterEach(() => databases.release());

function setUp(text = config) {
  const cwd = tempFolder({ "diary.yaml": text });
  const run = async (...argv: readonly string[]) => {
    const io = memoryIo({ cwd });
    await databases.hold(cwd);
    const code = await runCli(["experiment", "run", "diary.yaml", ...argv], io);
    return { code, out: io.stdout.take(), err: io.stderr.take() };
  };
  return { cwd, run, logs: join(cwd, "logs") };
}

// Each command opens an embedded database of its own.
describe("stratagraph experiment run", { timeout: 120_000 }, () => {
  it("runs all that is in the matrix, tells of it, and has nothing to do the next time", async () => {
    const { run, logs } = setUp();
    const { code, out, err } = await run();
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^diary\n2 runs · 3 cycles each · offline:rules\n/);
    expect(out).toContain("✉ diary.seed-2 cycle 3\n  day 3\n");
    expect(out).toMatch(/\ndiary\.seed-1 {2}done +3\/3 /);
    expect(out).toContain(
      "\nLogs: logs\nTo compare the runs:\n  stratagraph experiment report logs\n",
    );
    const before = readFileSync(join(logs, "diary.seed-1.jsonl"), "utf8");
    expect((await run()).code).toBe(0);
    expect(readFileSync(join(logs, "diary.seed-1.jsonl"), "utf8")).toBe(before);
  });

  it("prints one JSON document, and nothing else, when that is asked for", async () => {
    const { run, logs } = setUp();
    const { code, out } = await run("--json", "--logs", "elsewhere", "--parallel", "2");
    expect(code).toBe(0);
    const folder = join(logs, "../elsewhere");
    expect(JSON.parse(out)).toMatchObject({
      log_folder: folder,
      runs: [
        {
          run_id: "diary.seed-1",
          status: "done",
          cycles_done: 3,
          log: join(folder, "diary.seed-1.jsonl"),
        },
        { run_id: "diary.seed-2", status: "done", cycles_done: 3 },
      ],
    });
  });

  it("stops at a signal, and goes on with the same command to the same logs", async () => {
    const { cwd, run, logs } = setUp();
    const io = memoryIo({ cwd });
    const running = runCli(["experiment", "run", "diary.yaml"], io);
    let told = "";
    await expect.poll(() => (told += io.stdout.take()), { timeout: 100_000 }).toContain("day 1\n");
    io.stop("SIGINT");
    expect(await running).toBe(1);
    told += io.stdout.take();
    expect(told).toContain("Stopping.");
    expect(told).toContain("To continue:\n  stratagraph experiment run diary.yaml\n");
    expect(io.listening).toBe(0);
    expect((await run()).code).toBe(0);
    const whole = setUp();
    await whole.run();
    for (const runId of ["diary.seed-1", "diary.seed-2"]) {
      expect(withoutTimes(readLogLines(logs, runId))).toEqual(
        withoutTimes(readLogLines(whole.logs, runId)),
      );
    }
  });

  it("refuses a config that has changed, and begins again with --fresh", async () => {
    const { cwd, run, logs } = setUp();
    await run();
    writeFileSync(join(cwd, "diary.yaml"), config.replace("a diary", "a log"));
    const refused = await run();
    expect(refused.code).toBe(2);
    expect(refused.err).toBe(
      'error: Run "diary.seed-1" was begun with another config: system_prompt ("You keep a diary." → "You keep a log."). ' +
        "Put the config back, give the run another run_id, or begin again with --fresh. [experiment_changed]\n",
    );
    expect((await run("--fresh")).code).toBe(0);
    expect(JSON.stringify(readLogLines(logs, "diary.seed-1"))).toContain("You keep a log.");
  });

  it("writes nothing for a config that is wrong", async () => {
    const { cwd, run } = setUp(config.replace("cycle_count: 3", "cycle_cuont: 3"));
    const { code, err } = await run();
    expect(code).toBe(2);
    expect(err).toContain("cycle_cuont");
    expect(existsSync(join(cwd, "logs"))).toBe(false);
    expect(existsSync(join(cwd, ".stratagraph"))).toBe(false);
  });
});

describe("an experiment on an Ollama server that is not there", { timeout: 120_000 }, () => {
  it.each([
    ["piped", []],
    ["for JSON", ["--json"]],
  ])("ends before the first cycle, %s", async (_, argv) => {
    const { run, logs } = setUp(
      config.replace(
        "model_name: offline:rules",
        `model_name: ollama:llama3\nollama_client_config: { host: "127.0.0.1:${await freePort()}" }`,
      ),
    );
    const { code, out, err } = await run(...argv);
    expect(code).not.toBe(0);
    expect(out + err).toMatch(
      /No Ollama server answers at http:\/\/127\.0\.0\.1:\d+ \(.*\)\. Start it with `ollama serve`/,
    );
    expect(out).not.toContain("cycle 1");
    expect(existsSync(logs)).toBe(false);
  });
});
