import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { readRuns } from "../../src/experiment/report/read-runs.ts";
import { reportHtml } from "../../src/experiment/report/report-html.ts";
import { browserHere } from "../cli/draw/browser.ts";
import { madeLog, message, write, type MadeCycle } from "./experiment-logs.ts";
import { tempFolder } from "./temp-folder.ts";

/** A reflection that would be run if it were read as HTML. */
export const markup = '</script><img src=x onerror="globalThis.hacked = true"><b>bold</b>';

export const madeCycles = (count: number, words: number): readonly MadeCycle[] =>
  Array.from({ length: count }, (_none, index) => ({
    calls: [
      write(`key-${index % 7}`, "x".repeat(words + index)),
      ...(index % 3 === 0 ? [message("hi")] : []),
    ],
    reflection: `Cycle ${index + 1} went ${index % 2 === 0 ? "well" : "badly"}.`,
  }));

/** Four runs of three models, one of which is called what HTML would take for markup, and a broken log. */
const logs = {
  "llama-1.jsonl": madeLog({ run_id: "llama-1", seed: 1, cycles: madeCycles(30, 4) }),
  "llama-2.jsonl": madeLog({ run_id: "llama-2", seed: 2, cycles: madeCycles(28, 9) }),
  "gpt-1.jsonl": madeLog({
    run_id: "gpt-1",
    model_name: "openai:gpt-5",
    seed: 1,
    cycles: [{ reflection: markup }, { reflection: `A long one. ${"word ".repeat(300)}end` }],
  }),
  "bold.jsonl": madeLog({
    run_id: "bold",
    model_name: "<b>model</b>",
    prompt_name: "<i>prompt</i>",
    seed: null,
    cycles: madeCycles(3, 1),
  }),
  "broken.jsonl": "<b>\n",
};

/** Writes the report of some logs. Returns its path. */
export async function writtenReport(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = tempFolder(files);
  const paths = Object.keys(files).map((name) => join(folder, name));
  const { runs, leftOut } = await readRuns(paths);
  const source = { folder: "logs/<b>", madeAt: new Date("2026-11-22T03:04:05Z"), runs, leftOut };
  const file = join(folder, "report.html");
  writeFileSync(file, [...reportHtml(source)].join(""));
  return file;
}

/** What came of a page, and what it asked for or complained of meanwhile. */
export interface Visit<Result> {
  readonly result: Result;
  readonly requests: readonly string[];
  readonly complaints: readonly string[];
}

/** Reads reports in the browser that is here, which runs as long as the test file does. */
export function reportBrowser() {
  let browser: Browser;
  let file = "";
  beforeAll(async () => {
    file = await writtenReport(logs);
    browser = await chromium.launch({
      executablePath: browserHere ?? "",
      args: ["--headless", "--no-sandbox", "--disable-gpu"],
    });
  });
  afterAll(() => browser.close());

  const visit = async <Result>(
    use: (page: Page) => Promise<Result>,
    { path = file, ...options }: BrowserContextOptions & { readonly path?: string } = {},
  ): Promise<Visit<Result>> => {
    const context = await browser.newContext({
      viewport: { width: 1200, height: 900 },
      ...options,
    });
    const page = await context.newPage();
    const requests: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    page.on("console", (told) => complaints.push(told.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(`file://${path}`);
    await page.waitForSelector("#cycles svg");
    const result = await use(page);
    await context.close();
    return { result, requests, complaints };
  };
  return {
    visit,
    /** Path of the report that is visited where no other is given. */
    file: () => file,
  };
}

/** The texts of all elements that a selector names. */
export function textsOf(page: Page, selector: string): Promise<(string | null)[]> {
  return page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent));
}
