import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  BrowserNotFoundError,
  findBrowser,
  usualPlaces,
} from "../../../src/cli/draw/find-browser.ts";
import { useFolders } from "../folder.ts";

const folderWith = useFolders();

async function folderOfBrowsers(): Promise<string> {
  const cwd = await folderWith({ given: "", named: "", "no-program": "" });
  await chmod(join(cwd, "given"), 0o755);
  await chmod(join(cwd, "named"), 0o755);
  return cwd;
}

it("takes the browser that is given before the one of CHROMIUM_PATH", async () => {
  const cwd = await folderOfBrowsers();
  const env = { CHROMIUM_PATH: join(cwd, "named") };
  const search = { env, cwd, platform: "linux" } as const;
  expect(await findBrowser({ ...search, given: "given" })).toBe(join(cwd, "given"));
  expect(await findBrowser({ ...search, given: undefined })).toBe(join(cwd, "named"));
});

it.each(["none", "no-program"])("refuses %s, and looks nowhere else", async (given) => {
  const cwd = await folderOfBrowsers();
  const search = findBrowser({ given, env: {}, cwd, platform: "linux" });
  await expect(search).rejects.toThrow(BrowserNotFoundError);
  await expect(search).rejects.toMatchObject({
    code: "browser_not_found",
    tried: [join(cwd, given)],
  });
});

it("knows the usual places of each platform", () => {
  expect(usualPlaces({ env: {}, platform: "linux" })).toEqual([
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ]);
  expect(usualPlaces({ env: {}, platform: "darwin" })).toEqual([
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
  ]);
  expect(usualPlaces({ env: { PROGRAMFILES: "/P" }, platform: "win32" })).toEqual([
    join("/P", "Google", "Chrome", "Application", "chrome.exe"),
  ]);
});
