import { constants, type Dirent, type Stats } from "node:fs";
import * as fileSystem from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { StratagraphError } from "../../errors.ts";
import { nearestName } from "../../nearest-name.ts";
import { ToolFailure } from "../tool-result.ts";

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

function locationIn(folder: Location, name: string): Location {
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
  /**
   * The entries of a folder, in the order of the system.
   * @throws ToolFailure; PathRuleError when a link has taken its place meanwhile.
   */
  readonly readFolder: (folder: Location) => Promise<readonly Dirent[]>;
  /**
   * What the system says of a file, folder or link itself.
   * @throws ToolFailure; PathRuleError when a link has taken its folder's place meanwhile.
   */
  readonly lstat: (location: Location) => Promise<Stats>;
}

/** What is used of `node:fs/promises`. Between any two calls another process may swap a folder for a link. */
export type FileSystem = Pick<
  typeof fileSystem,
  "lstat" | "open" | "readdir" | "readlink" | "realpath"
>;

/**
 * `root` is resolved when it is first used; it need not exist before. Everything is reached through the handle of the
 * folder that it is in, once the system has said where that handle leads: a folder that is swapped for a link, before or
 * after, is not followed. That takes the `/proc` of Linux. Without it paths are checked before and after they are used,
 * which a link that is swapped in and out in between can pass.
 */
export function rootFolder(root: string, files: FileSystem = fileSystem): RootFolder {
  const given = resolve(root);
  let real: Promise<string> | undefined;
  const realRoot = () => {
    real ??= files.realpath(given).catch((cause: unknown) => {
      real = undefined;
      throw new ToolFailure("The folder of the file tools does not exist.", { cause });
    });
    return real;
  };
  const inside = new Inside(files, realRoot);
  return {
    async locate(path) {
      const names = namesOf(path);
      let location: Location = { absolute: await realRoot(), shown: "." };
      for (const name of names) location = await inside.enter(path, location, name);
      return location;
    },
    open: (location) => inside.open(location).catch(refuseTo(location)),
    readFolder: (folder) => inside.readFolder(folder).catch(refuseTo(folder)),
    lstat: (location) => inside.lstat(location).catch(refuseTo(location)),
  };
}

function refuseTo({ shown }: Location): (thrown: unknown) => never {
  return (thrown) => {
    throw unreadable(shown, thrown);
  };
}

/** Opens a folder only to reach what is in it. Linux alone has the flag, and Node has no name for it. */
const pathOnly = 0o10000000;

/** Rejects with the errors of the system as they are. */
class Inside {
  readonly #files: FileSystem;
  readonly #realRoot: () => Promise<string>;

  constructor(files: FileSystem, realRoot: () => Promise<string>) {
    this.#files = files;
    this.#realRoot = realRoot;
  }

  async open(location: Location): Promise<FileHandle> {
    if (location.absolute === (await this.#realRoot())) throw noFile(location);
    return this.#within(location, parentOf(location), async (folder, isPinned) => {
      // Neither is a link followed that has just taken the file's place, nor a named pipe waited for.
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const file = await this.#files.open(join(folder, basename(location.absolute)), flags);
      try {
        if (!(await file.stat()).isFile()) throw noFile(location);
        if (!isPinned) await this.#checkPath(location, file);
        return file;
      } catch (thrown) {
        await file.close();
        throw thrown;
      }
    });
  }

  readFolder(folder: Location): Promise<readonly Dirent[]> {
    return this.#within(folder, folder, (path) => {
      return this.#files.readdir(path, { withFileTypes: true });
    });
  }

  async lstat(location: Location): Promise<Stats> {
    if (location.absolute === (await this.#realRoot())) {
      return this.#within(location, location, (path) => this.#files.lstat(`${path}/.`));
    }
    return this.#within(location, parentOf(location), (folder) => {
      return this.#files.lstat(join(folder, basename(location.absolute)));
    });
  }

  /** One step down, from inside the root to inside the root. */
  async enter(path: string, folder: Location, name: string): Promise<Location> {
    const base = await this.#realRoot();
    const next = locationIn(folder, name);
    const found = await this.lstat(next).catch((thrown: unknown) => {
      if (hasCode(thrown, "ENOENT", "ENOTDIR", "ENAMETOOLONG")) return undefined;
      throw unreadable(path, thrown);
    });
    if (found === undefined) {
      const entries = await this.readFolder(folder).catch((): readonly Dirent[] => []);
      throw notFound(path, name, entries);
    }
    if (!found.isSymbolicLink()) return next;
    // A target that is missing must look like one that is outside, else links would tell what there is outside.
    const target = await this.#files.realpath(next.absolute).catch(() => undefined);
    if (target === undefined || !isInside(base, target)) throw new PathRuleError(path, outsideRule);
    return { absolute: target, shown: next.shown };
  }

  /**
   * Acts on a folder by a path that leads to it and nowhere else as long as its handle is open.
   *
   * @param asked what errors are about
   */
  async #within<Result>(
    asked: Location,
    folder: Location,
    act: (path: string, isPinned: boolean) => Promise<Result>,
  ): Promise<Result> {
    if (process.platform !== "linux") return this.#withinPath(asked, folder, act);
    const handle = await this.#files.open(folder.absolute, pathOnly | constants.O_DIRECTORY);
    try {
      const path = `/proc/self/fd/${handle.fd}`;
      const there = await this.#files.readlink(path).catch(() => undefined);
      if (there === undefined) return await this.#withinPath(asked, folder, act);
      if (!isInside(await this.#realRoot(), there)) {
        throw new PathRuleError(asked.shown, outsideRule);
      }
      return await act(path, true);
    } finally {
      await handle.close();
    }
  }

  async #withinPath<Result>(
    asked: Location,
    { absolute }: Location,
    act: (path: string, isPinned: boolean) => Promise<Result>,
  ): Promise<Result> {
    const check = async () => {
      const there = await this.#files.realpath(absolute);
      if (!isInside(await this.#realRoot(), there)) {
        throw new PathRuleError(asked.shown, outsideRule);
      }
    };
    await check();
    const result = await act(absolute, false);
    try {
      await check();
    } catch (thrown) {
      if (isClosable(result)) await result.close();
      throw thrown;
    }
    return result;
  }

  async #checkPath(location: Location, file: FileHandle): Promise<void> {
    const opened = await file.stat();
    const now = await this.#files.realpath(location.absolute);
    const there = await this.#files.lstat(now);
    const same = there.ino === opened.ino && there.dev === opened.dev;
    if (!same || !isInside(await this.#realRoot(), now)) {
      throw new PathRuleError(location.shown, outsideRule);
    }
  }
}

function isClosable(result: unknown): result is { close(): Promise<void> } {
  return typeof (result as { close?: unknown } | null)?.close === "function";
}

function parentOf({ absolute, shown }: Location): Location {
  return { absolute: dirname(absolute), shown };
}

function noFile({ shown }: Location): ToolFailure {
  return new ToolFailure(`"${shown}" is not a file.`);
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

function isInside(base: string, location: string): boolean {
  return location === base || location.startsWith(base.endsWith(sep) ? base : base + sep);
}

/** Names that are looked through for a near one. */
const maxNames = 1_000;

function notFound(path: string, name: string, entries: readonly Dirent[]): ToolFailure {
  const names = entries.slice(0, maxNames).map((entry) => entry.name);
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
function unreadable(path: string, thrown: unknown): StratagraphError {
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

export interface FolderEntry {
  readonly location: Location;
  /** Links are neither followed nor entered; `other` are sockets, pipes and devices. */
  readonly type: "file" | "folder" | "link" | "other";
}

/** Entries that one walk looks at. */
export const maxWalked = 20_000;

/** Folders that are shown and not entered: large, and seldom what is looked for. */
const notEntered: readonly string[] = [".git", "node_modules"];

/**
 * What is in a folder: its entries by name, then those of the folders in it. Ends early after {@link maxWalked}
 * entries. Inner folders that may not be read are shown and not entered.
 * @throws ToolFailure when `folder` cannot be read; the signal's reason when that aborts.
 */
export async function* walkFolder(
  root: RootFolder,
  folder: Location,
  { recursive, signal }: { readonly recursive: boolean; readonly signal: AbortSignal },
): AsyncGenerator<FolderEntry> {
  const open: Location[] = [folder];
  let walked = 0;
  for (let within = open.pop(); within !== undefined; within = open.pop()) {
    signal.throwIfAborted();
    const inner: Location[] = [];
    for (const entry of await entriesOf(root, within, within === folder)) {
      walked += 1;
      if (walked > maxWalked) return;
      const location = locationIn(within, entry.name);
      const type = typeOf(entry);
      yield { location, type };
      if (type === "folder" && !notEntered.includes(entry.name)) inner.push(location);
    }
    if (recursive) open.push(...inner.toReversed());
  }
}

async function entriesOf(
  root: RootFolder,
  folder: Location,
  mustBeReadable: boolean,
): Promise<readonly Dirent[]> {
  const entries = await root.readFolder(folder).catch((thrown: unknown): readonly Dirent[] => {
    if (mustBeReadable) throw thrown;
    return [];
  });
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function typeOf(entry: Dirent): FolderEntry["type"] {
  if (entry.isSymbolicLink()) return "link";
  if (entry.isDirectory()) return "folder";
  return entry.isFile() ? "file" : "other";
}

/** Characters of a pattern. */
export const maxPatternLength = 200;

/**
 * A test of slash-separated paths: `*` and `?` stand for characters within a name, `**` for any number of folders. A
 * pattern without a slash is compared with the last name only. Takes time in proportion to pattern times path.
 */
export function fileGlob(pattern: string): (path: string) => boolean {
  if (!pattern.includes("/")) {
    return (path) => matchesName(pattern, path.slice(path.lastIndexOf("/") + 1));
  }
  const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
  return (path) => matchesSequence(parts, path.split("/"), (part) => part === "**", matchesName);
}

function matchesName(pattern: string, name: string): boolean {
  return matchesSequence(
    Array.from(pattern),
    Array.from(name),
    (part) => part === "*",
    (part, character) => part === "?" || part === character,
  );
}

/** Matches parts with items, where a wild part takes any number of items; falls back to the last wild part only. */
function matchesSequence(
  parts: readonly string[],
  items: readonly string[],
  isWild: (part: string) => boolean,
  matches: (part: string, item: string) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let wildPart = -1;
  let takenUpTo = 0;
  while (item < items.length) {
    const current = parts[part];
    if (current !== undefined && isWild(current)) {
      wildPart = part;
      takenUpTo = item;
      part += 1;
    } else if (current !== undefined && matches(current, items[item] ?? "")) {
      part += 1;
      item += 1;
    } else if (wildPart >= 0) {
      takenUpTo += 1;
      item = takenUpTo;
      part = wildPart + 1;
    } else return false;
  }
  return parts.slice(part).every(isWild);
}
