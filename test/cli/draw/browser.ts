import { findBrowser } from "../../../src/cli/draw/find-browser.ts";

/** The browser that pictures are drawn in, or null where there is none. */
export const browserHere: string | null = await findBrowser({
  given: undefined,
  env: process.env,
  platform: process.platform,
  cwd: process.cwd(),
}).catch(() => null);

/** For the title of tests that are skipped without one. */
export const needsBrowser =
  browserHere === null ? " (skipped: no Chromium here; install one or set CHROMIUM_PATH)" : "";
