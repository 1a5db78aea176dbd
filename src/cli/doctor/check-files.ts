import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { logExtension } from "../../experiment/log/check-log.ts";
import { DATABASE } from "../../storage/folder-lock.ts";
import { folderAccess, type FolderAccess } from "../../storage/private-folder.ts";
import type { CliIo } from "../io.ts";
import { shellCommand } from "../shell-command.ts";
import { count } from "../view/figures.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";

const about = { check: "files", subject: "" };

/** Whether other users of this machine can read or replace what runs have stored. */
export async function checkFiles({ cwd }: Pick<CliIo, "cwd">): Promise<readonly Finding[]> {
  return [...checkFolder(join(cwd, ".stratagraph")), ...(await checkLogs(join(cwd, "logs")))];
}

function checkFolder(folder: string): readonly Finding[] {
  const around = accessOf(folder);
  if (around === null) return [];
  const database = join(folder, DATABASE);
  const inside = accessOf(database);
  if (inside !== null && inside.foreignOwner !== null) {
    const message = `${database} belongs to user ${inside.foreignOwner}, so it is not opened.`;
    return [problem(about, message, "Give it to your user, or choose another folder.")];
  }
  const findings: Finding[] = [];
  if (around.isReplaceable) {
    const fix =
      around.foreignOwner === null
        ? shellCommand(["chmod", "go-w", folder])
        : `It belongs to user ${around.foreignOwner}: choose another folder.`;
    findings.push(warning(about, `Other users can replace the database in ${folder}.`, fix));
  }
  if (around.isOpen && inside?.isOpen === true) {
    const message = `Other users can read ${database}. The next run closes it to them.`;
    findings.push(warning(about, message, shellCommand(["chmod", "700", database])));
  }
  return findings.length > 0 ? findings : [ok(about, `Only you can read ${folder}.`)];
}

/** Null where there is no such folder, or none that can be looked into: the check of the database says so. */
function accessOf(folder: string): FolderAccess | null {
  try {
    return folderAccess(folder);
  } catch {
    return null;
  }
}

async function checkLogs(folder: string): Promise<readonly Finding[]> {
  if (accessOf(folder)?.isOpen !== true) return [];
  const names = await readdir(folder);
  const modes = await Promise.all(
    names
      .filter((name) => name.endsWith(logExtension))
      .map((name) => stat(join(folder, name)).catch(() => null)),
  );
  const open = modes.filter((found) => found !== null && (found.mode & 0o066) !== 0);
  if (open.length === 0) return [];
  const message = `Other users can read or change ${count(open.length, "log")} in ${folder}.`;
  return [warning(about, message, `${shellCommand(["chmod", "go-rw", folder])}/*${logExtension}`)];
}
