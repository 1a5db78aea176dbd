import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { StratagraphError } from "../../errors.ts";
import { nearestName } from "../../nearest-name.ts";
import { ToolFailure } from "../tool-failure.ts";

/** A path that leads, or could lead, out of the folder that file tools are confined to. */
export class PathRuleError extends StratagraphError {
  readonly code = "path_rule";
  override readonly kind = "run";

  constructor(
    readonly path: string,
    /** Continues "because". Says nothing of what is outside. */
    readonly rule: string,
  ) {
    super(`The path ${JSON.stringify(path.slice(0, 200))} is refused: ${rule}.`);
  }
}

/** Something that exists inside the root folder. */
export interface Location {
  /** Its real path. */
  readonly absolute: string;
  /** Its path from the root as tools show it, with slashes; `.` for the root itself. */
  readonly shown: string;
}

export function locationIn(folder: Location, name: string): Location {
  const shown = folder.shown === "." ? name : `${folder.shown}/${name}`;
  return { absolute: join(folder.absolute, name), shown };
}

export interface RootFolder {
  /**
   * Finds a file or folder by its path from the root. Links are followed as long as they stay inside.
   * @throws PathRuleError; ToolFailure with near names when there is nothing at `path`.
   */
  readonly locate: (path: string) => Promise<Location>;
  /**
   * Opens a file for reading.
   * @throws ToolFailure when it is no regular file; PathRuleError when a link has taken its place meanwhile.
   */
  readonly open: (location: Location) => Promise<FileHandle>;
}

/** `root` is resolved when it is first used; it need not exist before. */
export function rootFolder(root: string): RootFolder {
  const given = resolve(root);
  let real: Promise<string> | undefined;
  const realRoot = () => {
    real ??= realpath(given).catch((cause: unknown) => {
      real = undefined;
      throw new ToolFailure("The folder of the file tools does not exist.", { cause });
    });
    return real;
  };
  return {
    async locate(path) {
      const names = namesOf(path);
      const base = await realRoot();
      let location: Location = { absolute: base, shown: "." };
      for (const name of names) location = await enter(path, base, location, name);
      return location;
    },
    async open(location) {
      const base = await realRoot();
      // Neither is a link followed that has just taken the file's place, nor a named pipe waited for.
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const file = await open(location.absolute, flags).catch((thrown: unknown) => {
        throw unreadable(location.shown, thrown);
      });
      try {
        const opened = await file.stat();
        if (!opened.isFile()) throw new ToolFailure(`"${location.shown}" is not a file.`);
        const now = await realpath(location.absolute);
        const there = await lstat(now);
        const same = there.ino === opened.ino && there.dev === opened.dev;
        if (!same || !isInside(base, now)) throw new PathRuleError(location.shown, outsideRule);
        return file;
      } catch (thrown) {
        await file.close();
        throw unreadable(location.shown, thrown);
      }
    },
  };
}

const outsideRule = "links that do not lead to something inside the root folder are not followed";

/** The path's names, by rules that hold on every platform. */
function namesOf(path: string): readonly string[] {
  if (path.includes("\0")) throw new PathRuleError(path, "it has a NUL character");
  if (path.includes("\\")) throw new PathRuleError(path, "write / between folders, not \\");
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) {
    throw new PathRuleError(path, "paths are relative to the root folder, not absolute");
  }
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) throw new PathRuleError(path, 'it may not have ".." in it');
  return names;
}

/** One step down, from inside the root to inside the root. */
async function enter(
  path: string,
  base: string,
  folder: Location,
  name: string,
): Promise<Location> {
  const next = locationIn(folder, name);
  const found = await lstat(next.absolute).catch((thrown: unknown) => {
    if (hasCode(thrown, "ENOENT", "ENOTDIR", "ENAMETOOLONG")) return undefined;
    throw unreadable(path, thrown);
  });
  if (found === undefined) throw await notFound(path, folder.absolute, name);
  if (!found.isSymbolicLink()) return next;
  // A target that is missing must look like one that is outside, else links would tell what there is outside.
  const target = await realpath(next.absolute).catch(() => undefined);
  if (target === undefined || !isInside(base, target)) throw new PathRuleError(path, outsideRule);
  return { absolute: target, shown: next.shown };
}

function isInside(base: string, location: string): boolean {
  return location === base || location.startsWith(base.endsWith(sep) ? base : base + sep);
}

/** Names that are looked through for a near one. */
const maxNames = 1_000;

async function notFound(path: string, folder: string, name: string): Promise<ToolFailure> {
  const names = (await readdir(folder).catch((): string[] => [])).slice(0, maxNames);
  const near = nearestName(name, names);
  const hint =
    near !== undefined
      ? ` Did you mean "${near}"?`
      : names.length > 0
        ? ` Its folder has: ${names.toSorted().slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}.`
        : "";
  return new ToolFailure(`There is no file or folder "${path}".${hint}`);
}

/** The system's errors as failures that show no absolute path. */
export function unreadable(path: string, thrown: unknown): StratagraphError {
  if (thrown instanceof StratagraphError) return thrown;
  if (hasCode(thrown, "ELOOP")) return new PathRuleError(path, outsideRule);
  if (hasCode(thrown, "EACCES", "EPERM")) {
    return new ToolFailure(`"${path}" may not be read: permission denied.`);
  }
  if (hasCode(thrown, "ENOTDIR")) return new ToolFailure(`"${path}" is not a folder.`);
  if (hasCode(thrown, "ENOENT")) return new ToolFailure(`"${path}" no longer exists.`);
  return new ToolFailure(`"${path}" cannot be read (${codeOf(thrown) ?? "unknown reason"}).`);
}

function hasCode(thrown: unknown, ...codes: string[]): boolean {
  return codes.includes(codeOf(thrown) ?? "");
}

function codeOf(thrown: unknown): string | undefined {
  const code = (thrown as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}
