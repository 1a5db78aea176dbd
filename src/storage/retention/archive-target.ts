import { resolve } from "node:path";
import { StratagraphError } from "../../errors.ts";
import { tenantIdPattern } from "../tenant.ts";

/** The place of an object: ids alone, so that no text of a tenant becomes part of a path. */
export interface ObjectKey {
  readonly tenantId: string;
  readonly archiveId: string;
  /** From 0, at most 999,999. */
  readonly part: number;
}

/** Stores the objects of archives. An object is written whole, or is not there. */
export interface ArchiveTarget {
  /** Replaces an object that is there. */
  put(key: ObjectKey, bytes: Uint8Array): Promise<void>;
  /** Returns an object; null if there is none. @throws ArchiveTargetError for more than `maxBytes` */
  get(key: ObjectKey, maxBytes: number): Promise<Buffer | null>;
  /** Removes the objects of a tenant, or those of one of its archives, and returns how many there were. */
  remove(of: Omit<ObjectKey, "part"> | Pick<ObjectKey, "tenantId">): Promise<number>;
}

/** The place for archives did not do what was asked of it. */
export class ArchiveTargetError extends StratagraphError {
  readonly code = "archive_target";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(
    /** `put`, `get`, `list` or `delete`. */
    readonly operation: string,
    reason: string,
    options?: { cause?: unknown },
  ) {
    super(
      `The archive failed to ${operation} an object: ${reason}. The next round tries it again.`,
      options,
    );
  }
}

/** The location of archives, or its credentials, cannot be read. */
export class InvalidArchiveLocationError extends StratagraphError {
  readonly code = "invalid_archive_location";

  constructor(expected: string, got: string) {
    super(
      `Expected ${expected} for archives, got ${got}. ` +
        "Set STRATAGRAPH_ARCHIVE to a folder or to s3://BUCKET/PREFIX?endpoint=URL&region=REGION.",
    );
  }
}

/**
 * Opens the place for archives that `STRATAGRAPH_ARCHIVE` names: a folder, or `s3://bucket/prefix?endpoint=…&region=…` with
 * the credentials in `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`. Returns null without one.
 *
 * @param cwd what a relative folder begins at
 * @throws InvalidArchiveLocationError
 */
export async function openArchiveTarget(
  env: Readonly<Record<string, string | undefined>>,
  cwd = process.cwd(),
): Promise<ArchiveTarget | null> {
  const location = env["STRATAGRAPH_ARCHIVE"];
  if (!location) return null;
  if (location.startsWith("s3://")) {
    const { openS3Target } = await import("./s3-target.ts");
    return openS3Target(location, env);
  }
  const [scheme] = /^[a-z][a-z0-9+.-]+:\/\//i.exec(location) ?? [];
  if (scheme !== undefined)
    throw new InvalidArchiveLocationError("a folder or an s3:// location", `one of ${scheme}`);
  const { FolderTarget } = await import("./folder-target.ts");
  return new FolderTarget(resolve(cwd, location));
}

/** Returns the names in the path of an archive, or of all archives of a tenant. @throws RangeError for what is no id */
export function prefixOf(of: {
  readonly tenantId: string;
  readonly archiveId?: string;
}): readonly string[] {
  const ids = [of.tenantId, ...(of.archiveId === undefined ? [] : [of.archiveId])];
  const bad = ids.find((id) => !tenantIdPattern.test(id));
  if (bad !== undefined) throw new RangeError("Expected ids of a tenant and an archive as UUIDs.");
  return ids;
}

/** Returns the name of a part within its archive. @throws RangeError */
export function partName(part: number): string {
  if (!Number.isInteger(part) || part < 0 || part > 999_999)
    throw new RangeError(`Expected a part from 0 to 999,999, got ${part}.`);
  return `${String(part).padStart(6, "0")}.jsonl.gz`;
}
