import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * When a process started, as text that tells it from every other process that has had or will have its id: boot and
 * clock ticks on Linux, the start date elsewhere. Undefined where the system does not say, or no such process runs.
 */
export function processStart(pid: number): string | undefined {
  return process.platform === "linux" ? linuxStart(pid) : startDate(pid);
}

/**
 * Whether the process that had `pid` and started at `start` still runs. Without `start` a process with a reused id
 * counts as the same one. A process that ended and was not yet collected by its parent does not run.
 */
export function isRunning(pid: number, start: string | undefined): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, as another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  if (process.platform === "linux" && linuxStat(pid)?.state === "Z") return false;
  const running = processStart(pid);
  return start === undefined || running === undefined || running === start;
}

function linuxStart(pid: number): string | undefined {
  const stat = linuxStat(pid);
  if (!stat) return undefined;
  const boot = readText("/proc/sys/kernel/random/boot_id");
  return boot === undefined ? undefined : `${boot.trim()}/${stat.startTicks}`;
}

/** proc_pid_stat(5): the command name in parentheses may hold anything, the fields after it are words. */
function linuxStat(pid: number): { state: string; startTicks: string } | undefined {
  const text = readText(`/proc/${pid}/stat`);
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, startTicks] = [fields?.[0], fields?.[19]];
  return state === undefined || startTicks === undefined ? undefined : { state, startTicks };
}

function startDate(pid: number): string | undefined {
  try {
    const options = {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      stdio: "pipe",
    } as const;
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], options).trim() || undefined;
  } catch {
    return undefined; // No `ps` here, as on Windows, or no such process.
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
