import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
} from "node:fs";
import { dirname } from "node:path";
import { StratagraphError } from "../errors.ts";

/** Read, write and search for the owner alone. */
const PRIVATE = 0o700;
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** In such a folder only owners rename and remove their files. */
const STICKY = 0o1000;

/** The folder of an embedded database belongs to another user, who could read and change whatever is stored in it. */
export class ForeignFolderError extends StratagraphError {
  readonly code = "foreign_folder";

  constructor(
    readonly folder: string,
    /** The user id of the owner. */
    readonly owner: number,
  ) {
    super(
      `Expected ${folder} to belong to the user of this process, but it belongs to user ${owner}. ` +
        "Choose another folder, give this one to the user of this process, or set DATABASE_URL.",
    );
  }
}

/** What users other than that of this process may do with a folder. */
export interface FolderAccess {
  /** The user id of the owner where that is neither this user nor root, else null. Always null for root. */
  readonly foreignOwner: number | null;
  /** Permission bits. */
  readonly mode: number;
  /** Whether others can list or enter it. */
  readonly isOpen: boolean;
  /** Whether others can replace what is in it. */
  readonly isReplaceable: boolean;
}

/**
 * Makes a folder that only the user of this process can enter, or closes one that is there to all others. What is in it
 * needs no modes of its own then: PGlite makes its files with mode 0666. The mode is given to `mkdir` and set on an open
 * folder, so that no other folder can take its place in between. Windows has no such modes: there the folder is made.
 *
 * @param isOwn tells by its name what belongs to this package; a folder that holds anything else keeps its mode
 * @returns what others may still do, for instance on file systems without modes
 */
export function makePrivateFolder(
  path: string,
  isOwn: (name: string) => boolean = () => true,
): FolderAccess {
  mkdirSync(dirname(path), { recursive: true });
  try {
    mkdirSync(path, { mode: PRIVATE });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return withFolder(path, (folder) => {
    const access = accessOf(folder);
    if (!access.isOpen || access.foreignOwner !== null) return access;
    if (!readdirSync(path).every(isOwn)) return access;
    try {
      fchmodSync(folder, PRIVATE);
    } catch {
      // Some file systems refuse; the modes below tell.
    }
    return accessOf(folder);
  });
}

/** What others may do with a folder that is there. */
export function folderAccess(path: string): FolderAccess {
  return withFolder(path, accessOf);
}

function withFolder(path: string, use: (folder: number) => FolderAccess): FolderAccess {
  if (process.platform === "win32") {
    return { foreignOwner: null, mode: PRIVATE, isOpen: false, isReplaceable: false };
  }
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return use(folder);
  } finally {
    closeSync(folder);
  }
}

function accessOf(folder: number): FolderAccess {
  const { uid: owner, mode } = fstatSync(folder);
  const user = process.geteuid?.() ?? owner;
  const isForeign = user !== 0 && owner !== 0 && owner !== user;
  return {
    foreignOwner: isForeign ? owner : null,
    mode: mode & 0o7777,
    isOpen: (mode & OTHERS) !== 0,
    isReplaceable: isForeign || ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0),
  };
}
