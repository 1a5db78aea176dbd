import { stat } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { checkLog } from "../experiment/log/check-log.ts";
import type { LogCheck } from "../experiment/log/log-checker.ts";
import { checkConfig, type ConfigCheck } from "./check-config.ts";
import { existingFile } from "./existing-file.ts";
import { logsIn } from "./experiment-logs.ts";
import type { CliIo } from "./io.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { shownPath } from "./shown-path.ts";
import { configCheckLines } from "./view/config-check-lines.ts";
import { logCheckLines } from "./view/log-check-lines.ts";
import { viewOf } from "./view/view-of.ts";

export interface ExperimentCheckOptions {
  /** Logs, folders with logs in them, or configs (`.yaml`, `.yml`, `.json`). */
  readonly logs: readonly string[];
  readonly json?: boolean;
}

const configExtensions: readonly string[] = [".yaml", ".yml", ".json"];

/**
 * `stratagraph experiment check`: whether logs are what runs write, and configs what runs are made from. A log that a run
 * still writes, or that one was stopped in, is as it should be.
 * @throws UsageError, UnreadableLogError
 */
export async function experimentCheckCommand(
  given: ExperimentCheckOptions,
  io: CliIo,
): Promise<number> {
  const files: string[] = [];
  for (const file of given.logs) files.push(...(await filesOf(file, io.cwd)));
  const configs: { file: string; check: ConfigCheck }[] = [];
  const logs: { file: string; check: LogCheck }[] = [];
  for (const path of files) {
    const file = shownPath(path, io.cwd);
    if (isConfig(path)) configs.push({ file, check: await checkConfig(path) });
    else logs.push({ file, check: await checkLog(path) });
  }
  const ok = [...configs, ...logs].every(({ check }) => isOk(check));
  if (given.json) {
    const documents = {
      ...(configs.length > 0 && { configs: configs.map(checkJson) }),
      ...(logs.length > 0 && { logs: logs.map(checkJson) }),
    };
    printJson({ ok, ...documents }, io);
  } else {
    const view = viewOf(io);
    const lines = [
      ...configs.flatMap(({ file, check }) => configCheckLines(file, check, view)),
      ...logs.flatMap(({ file, check }) => logCheckLines(file, check, view.style)),
    ];
    printLines(lines, io);
  }
  return ok ? exitCodes.done : exitCodes.runFailed;
}

async function filesOf(given: string, cwd: string): Promise<readonly string[]> {
  const path = resolve(cwd, given);
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() ? logsIn(path, given) : [await existingFile(path, given)];
}

function isConfig(path: string): boolean {
  return configExtensions.includes(extname(path).toLowerCase());
}

function isOk({ problems }: LogCheck | ConfigCheck): boolean {
  return problems.length === 0;
}

function checkJson({ file, check }: { file: string; check: LogCheck | ConfigCheck }) {
  return { file, ok: isOk(check), ...check };
}
