import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { checkLog } from "../experiment/log/check-log.ts";
import type { LogCheck } from "../experiment/log/log-checker.ts";
import { existingFile } from "./existing-file.ts";
import { logsIn } from "./experiment-logs.ts";
import type { CliIo } from "./io.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { shownPath } from "./shown-path.ts";
import { logCheckLines } from "./view/log-check-lines.ts";
import { viewOf } from "./view/view-of.ts";

export interface ExperimentCheckOptions {
  /** Files, or folders with logs in them. */
  readonly logs: readonly string[];
  readonly json?: boolean;
}

/**
 * `stratagraph experiment check`: whether logs are what runs write. A log that a run still writes, or that one was
 * stopped in, is as it should be.
 * @throws UsageError, UnreadableLogError
 */
export async function experimentCheckCommand(
  given: ExperimentCheckOptions,
  io: CliIo,
): Promise<number> {
  const files: string[] = [];
  for (const log of given.logs) files.push(...(await filesOf(log, io.cwd)));
  const checks: { file: string; check: LogCheck }[] = [];
  for (const file of files) {
    checks.push({ file: shownPath(file, io.cwd), check: await checkLog(file) });
  }
  const ok = checks.every(({ check }) => check.problem_count === 0);
  if (given.json) {
    const logs = checks.map(({ file, check }) => ({
      file,
      ok: check.problem_count === 0,
      ...check,
    }));
    printJson({ ok, logs }, io);
  } else {
    const { style } = viewOf(io);
    printLines(
      checks.flatMap(({ file, check }) => logCheckLines(file, check, style)),
      io,
    );
  }
  return ok ? exitCodes.done : exitCodes.runFailed;
}

async function filesOf(log: string, cwd: string): Promise<readonly string[]> {
  const path = resolve(cwd, log);
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() ? logsIn(path, log) : [await existingFile(path, log)];
}
