import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../../cli/draw/browser.ts";
import { madeLog } from "../../helpers/experiment-logs.ts";
import { madeCycles, reportBrowser, textsOf, writtenReport } from "../../helpers/report-page.ts";

/** Of an element. */
interface Width {
  readonly scrollWidth: number;
  readonly clientWidth: number;
}

describe.skipIf(browserHere === null)(`the page of a report${needsBrowser}`, () => {
  const { visit, file } = reportBrowser();

  it("asks for nothing but itself, and complains of nothing", async () => {
    const { requests, complaints } = await visit(async (page) => {
      for (const button of await page.locator(".choice button").all()) await button.click();
      await page.locator(".runs tbody a").first().click();
      await page.getByRole("heading", { name: "bold" }).waitFor();
    });
    expect(requests).toEqual([`file://${file()}`]);
    expect(complaints).toEqual([]);
  });

  it("has an address for what is selected", async () => {
    const { result } = await visit(async (page) => {
      await page.getByRole("group", { name: "Colour" }).getByText("Seed").click();
      await page.getByLabel("Right").selectOption("seed:seed 2");
      await page.getByRole("columnheader", { name: "Cost" }).getByRole("button").click();
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await page.waitForSelector("#cycles svg");
      return {
        hash: new URL(address).hash,
        seeds: await textsOf(page, ".legend li"),
        right: await page.getByLabel("Right").inputValue(),
        sorted: await page.getByRole("columnheader", { name: "Cost" }).getAttribute("aria-sort"),
      };
    });
    expect(result).toEqual({
      hash: "#colour=seed&right=seed%3Aseed+2&sort=-cost",
      seeds: ["no seed", "seed 1", "seed 2"],
      right: "seed:seed 2",
      sorted: "descending",
    });
  });

  it("reads the points of a plot to the pointer and to the arrow keys", async () => {
    const { result } = await visit(async (page) => {
      const plot = page.locator("#cycles .plot").first();
      const tip = async () => plot.locator(".plot-tip span").allTextContents();
      await plot.focus();
      await page.keyboard.press("ArrowRight");
      const first = await tip();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      const next = await tip();
      await page.keyboard.press("Escape");
      const none = await tip();
      const { width = 0 } = (await plot.boundingBox()) ?? {};
      await plot.hover({ position: { x: width - 14, y: 60 } });
      return { first, next, none, hovered: (await tip()).length > 0 };
    });
    expect(result).toEqual({
      first: ["bold", "and llama-1", "and llama-2", "<b>model</b>, no seed", "cycle 1: 1"],
      next: ["llama-1", "and bold", "and llama-2", "ollama:llama3:latest, seed 1", "cycle 2: 1"],
      none: [],
      hovered: true,
    });
  });

  it("has its parts in order", async () => {
    const { result } = await visit((page) => textsOf(page, "h1, h2"));
    expect(result).toEqual([
      "Experiment report: <b>",
      "Runs",
      "Metrics by cycle",
      "Metrics by model and seed",
      "Memory growth",
      "Compare",
      "Reflections",
    ]);
  });

  it("draws a line a run in every plot by cycle, and a point a run in those by model", async () => {
    const { result } = await visit((page) =>
      page.locator("figure").evaluateAll((figures) =>
        figures.map((figure) => ({
          label: figure.querySelector("svg")?.getAttribute("aria-label"),
          role: figure.querySelector("svg")?.getAttribute("role"),
          lines: figure.querySelectorAll(".run-lines path").length,
          means: figure.querySelectorAll(".mean-lines path").length,
          points: figure.querySelectorAll(".run-dots circle").length,
        })),
      ),
    );
    const titles = [
      "Memory calls",
      "Messages to the operator",
      "Response length",
      "Written to memory",
    ];
    const byCycle = { role: "img", lines: 4, means: 1, points: 0 };
    const byModel = { role: "img", lines: 0, means: 0, points: 4 };
    expect(result).toEqual([
      ...titles.map((title) => ({ label: `${title} by cycle`, ...byCycle })),
      ...titles.map((title) => ({ label: `${title} by model and seed`, ...byModel })),
      { label: "Keys in memory by cycle", ...byCycle },
      { label: "Text in memory by cycle", ...byCycle },
    ]);
  });

  it("names its colours, takes others, and hides what is not wanted", async () => {
    const { result } = await visit(async (page) => {
      const names = () => textsOf(page, ".legend li");
      const lines = () => page.locator("#cycles figure").first().locator(".run-lines path").count();
      const models = await names();
      await page.getByRole("group", { name: "Colour" }).getByText("Seed").click();
      const seeds = await names();
      await page.locator(".legend").getByText("seed 1").click();
      const left = await lines();
      await page.locator(".legend").getByText("seed 1").click();
      return { models, seeds, left, all: await lines() };
    });
    expect(result).toEqual({
      models: ["<b>model</b>", "ollama:llama3:latest", "openai:gpt-5"],
      seeds: ["no seed", "seed 1", "seed 2"],
      left: 2,
      all: 4,
    });
  });

  it("splits its plots into panels", async () => {
    const { result } = await visit(async (page) => {
      await page.getByRole("group", { name: "Split" }).getByText("Model").click();
      const first = page.locator("#cycles figure").first();
      return {
        lines: await first.locator(".run-lines path").count(),
        text: await first.locator("svg").textContent(),
      };
    });
    expect(result.lines).toBe(4);
    expect(result.text).toContain("openai:gpt-5");
    expect(result.text).toContain("<b>model</b>");
  });

  it("sorts its runs by a heading, and the other way round", async () => {
    const { result } = await visit(async (page) => {
      const order = () => textsOf(page, ".runs tbody th");
      const heading = page.locator(".runs thead th").nth(4);
      const first = await order();
      await heading.getByRole("button").click();
      const most = [await order(), await heading.getAttribute("aria-sort")];
      await heading.getByRole("button").press("Enter");
      const fewest = [await order(), await heading.getAttribute("aria-sort")];
      return { first, most, fewest, name: await heading.textContent() };
    });
    expect(result).toEqual({
      first: ["bold", "llama-1", "llama-2", "gpt-1"],
      name: "Cycles",
      most: [["llama-1", "llama-2", "bold", "gpt-1"], "descending"],
      fewest: [["gpt-1", "bold", "llama-2", "llama-1"], "ascending"],
    });
  });

  it("is dark where that is preferred, and legible in both", async () => {
    const styleOf = (page: Page, name: string) =>
      page.evaluate<string>(`getComputedStyle(document.body)["${name}"]`);
    const colours = async (page: Page) => ({
      page: await styleOf(page, "backgroundColor"),
      text: await styleOf(page, "color"),
    });
    const light = await visit(colours, { colorScheme: "light" });
    const dark = await visit(colours, { colorScheme: "dark" });
    const printed = await visit(
      async (page) => {
        await page.emulateMedia({ media: "print" });
        return styleOf(page, "color");
      },
      { colorScheme: "dark" },
    );
    expect(light.result).toEqual({ page: "rgb(246, 247, 249)", text: "rgb(23, 27, 34)" });
    expect(dark.result).toEqual({ page: "rgb(14, 17, 22)", text: "rgb(231, 234, 239)" });
    expect(printed.result).toBe("rgb(23, 27, 34)");
  });

  it("fits a narrow screen, however wide its tables are", async () => {
    const wider = ({ scrollWidth, clientWidth }: Width) => scrollWidth > clientWidth;
    const { result } = await visit(
      async (page) => {
        const widths = (selector: string) =>
          page
            .locator(selector)
            .evaluateAll((all: Width[]) =>
              all.map(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth })),
            );
        return {
          pages: await widths("html"),
          plots: (await widths(".plot")).filter(wider),
          tables: (await widths(".report-table:has(.runs)")).filter(wider).length,
        };
      },
      { viewport: { width: 320, height: 640 } },
    );
    expect(result).toEqual({
      pages: [{ scrollWidth: 320, clientWidth: 320 }],
      plots: [],
      tables: 1,
    });
  });

  it("shows runs of which no cycle has ended", async () => {
    const begun = `${madeLog({ run_id: "begun", cycles: [{}] }).split("\n")[0]}\n`;
    const path = await writtenReport({ "begun.jsonl": begun });
    const { result, complaints } = await visit((page) => textsOf(page, ".runs tbody td"), {
      path,
    });
    expect(result).toEqual([
      "ollama:llama3:latest",
      "1",
      "0 +",
      "–",
      "–",
      "–",
      "–",
      "–",
      "–",
      "–",
      "–",
    ]);
    expect(complaints).toEqual([]);
  });

  it("draws many cycles as fewer points", async () => {
    const many = madeLog({ run_id: "many", cycles: madeCycles(1000, 1) });
    const path = await writtenReport({ "many.jsonl": many });
    const { result } = await visit(
      async (page) => ({
        note: await page.locator("#cycles .note").textContent(),
        points: await page
          .locator("#memory .run-lines path")
          .first()
          .evaluate((line) => line.getAttribute("d")?.match(/[ML]/g)?.length),
        rows: await page.locator(".reflections tbody tr").count(),
      }),
      { path },
    );
    expect(result).toEqual({
      note: "One line a run, each point the mean of 5 cycles; where runs share a colour, the strong line is their mean. Lines that coincide are dashed.",
      points: 200,
      rows: 20,
    });
  });
});
