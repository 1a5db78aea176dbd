import { access, constants } from "node:fs/promises";
import { join, resolve } from "node:path";
import { BrowserNotFoundError } from "./errors.ts";

export interface BrowserSearch {
  /** `--browser`; then nothing else is tried. */
  readonly given: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly cwd: string;
}

/**
 * Where a Chromium or Chrome is: the one given, that of `CHROMIUM_PATH`, or the first in the usual places.
 * @throws BrowserNotFoundError
 */
export async function findBrowser(search: BrowserSearch): Promise<string> {
  const { given, env, cwd } = search;
  const named = given || env["CHROMIUM_PATH"];
  const tried = named ? [resolve(cwd, named)] : usualPlaces(search);
  for (const place of tried) {
    const runs = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return place;
  }
  throw new BrowserNotFoundError(tried);
}

/** The usual places of a platform, in the order in which they are tried. */
export function usualPlaces({ env, platform }: Pick<BrowserSearch, "env" | "platform">): string[] {
  switch (platform) {
    case "darwin":
      return ["Google Chrome", "Chromium"].map((name) =>
        join("/Applications", `${name}.app`, "Contents/MacOS", name),
      );
    case "win32":
      return ["PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"].flatMap((variable) => {
        const folder = env[variable];
        return folder ? [join(folder, "Google", "Chrome", "Application", "chrome.exe")] : [];
      });
    default:
      return ["chromium", "chromium-browser", "google-chrome"].map((name) =>
        join("/usr/bin", name),
      );
  }
}
