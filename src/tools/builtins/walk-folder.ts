import type { Dirent } from "node:fs";
import { type Location, locationIn, type RootFolder } from "./root-folder.ts";

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
