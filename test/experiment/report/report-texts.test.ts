import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../../cli/draw/browser.ts";
import { madeLog } from "../../helpers/experiment-logs.ts";
import { foreignElements, hostileTexts } from "../../helpers/hostile-texts.ts";
import { markup, reportBrowser, textsOf, writtenReport } from "../../helpers/report-page.ts";

describe.skipIf(browserHere === null)(`the texts of a report${needsBrowser}`, () => {
  const { visit } = reportBrowser();

  it("shows what logs say as text alone", async () => {
    const { result, complaints } = await visit(async (page) => {
      await page.locator(".picks label", { hasText: "gpt-1" }).click();
      return {
        reflection: await page.locator(".reflection", { hasText: "onerror" }).textContent(),
        models: await textsOf(page, ".runs tbody tr:first-child td"),
        notice: await page.locator(".notice").textContent(),
        made: await page.locator("header .note").textContent(),
        elements: await page.locator("img, b, i").count(),
        hacked: await page.evaluate(() => "hacked" in globalThis),
      };
    });
    expect(result).toMatchObject({ reflection: markup, elements: 0, hacked: false });
    expect(result.models.slice(0, 3)).toEqual(["<b>model</b>", "–", "<i>prompt</i>"]);
    expect(result.notice).toMatch(/^1 log left out.*broken\.jsonl: 1 problem, line 1: not JSON$/);
    expect(result.made).toBe("Made 2026-11-22 03:04 UTC from the logs in logs/<b>");
    expect(complaints).toEqual([]);
  });

  it("shows hostile texts of any kind as text", async () => {
    const [name = ""] = hostileTexts;
    const log = madeLog({
      run_id: "hostile",
      model_name: name,
      prompt_name: hostileTexts[2]!,
      config_hash: hostileTexts[3]!,
      cycles: [{ reflection: hostileTexts.join("\n\n") }],
    });
    const path = await writtenReport({ "hostile.jsonl": log });
    const { result, requests, complaints } = await visit(
      async (page) => {
        await page.getByRole("button", { name: "Show all" }).click();
        await page.locator(".runs tbody a").click();
        await page.getByRole("link", { name: "1", exact: true }).click();
        await page.getByRole("button", { name: "Show all" }).click();
        return {
          hacked: await page.evaluate<unknown>("globalThis.hacked ?? null"),
          elements: await page.locator(`#report :is(${foreignElements})`).count(),
        };
      },
      { path },
    );
    expect(result).toEqual({ hacked: null, elements: 0 });
    expect({ requests, complaints }).toEqual({ requests: [`file://${path}`], complaints: [] });
  });

  it("shows reflections side by side, of the runs that are chosen", async () => {
    const { result } = await visit(async (page) => {
      const heads = () => textsOf(page, ".reflections thead th");
      const atFirst = await heads();
      await page.locator(".picks label", { hasText: "bold" }).click();
      await page.locator(".picks label", { hasText: "llama-2" }).click();
      return {
        atFirst,
        chosen: await heads(),
        rows: await page.locator(".reflections tbody tr").count(),
        second: await textsOf(page, ".reflections tbody tr:nth-child(2) .reflection"),
      };
    });
    expect(result).toEqual({
      atFirst: ["Cycle", "bold<b>model</b>, no seed", "llama-1ollama:llama3:latest, seed 1"],
      chosen: [
        "Cycle",
        "llama-1ollama:llama3:latest, seed 1",
        "llama-2ollama:llama3:latest, seed 2",
      ],
      rows: 20,
      second: ["Cycle 2 went badly.", "Cycle 2 went badly."],
    });
  });

  it("turns the pages of reflections, and finds what is looked for", async () => {
    const { result } = await visit(async (page) => {
      const first = () => page.locator(".reflections tbody th").first().textContent();
      await page.getByRole("button", { name: "Next page of reflections" }).click();
      const turned = await first();
      await page.getByRole("searchbox").fill("CYCLE 3 WENT");
      await page.getByText("1 of 30 cycles").waitFor();
      return {
        turned,
        found: await page.locator(".found").textContent(),
        at: await first(),
        marks: await textsOf(page, ".reflections mark"),
        pager: await page.locator("#reflections .pager").isVisible(),
      };
    });
    expect(result).toEqual({
      turned: "Cycle 21",
      found: "1 of 30 cycles",
      at: "Cycle 3",
      marks: ["Cycle 3 went", "Cycle 3 went"],
      pager: false,
    });
  });

  it("opens a long reflection, and finds what is deep in it", async () => {
    const { result } = await visit(async (page) => {
      await page.locator(".picks label", { hasText: "gpt-1" }).click();
      const long = page.locator(".reflections tr:nth-child(2) td").last();
      const length = async () => (await long.locator("p").textContent())?.length ?? 0;
      const closed = await length();
      await long.getByRole("button", { name: "Show all" }).click();
      const open = await length();
      await page.getByRole("searchbox").fill("word end");
      await page.getByText("1 of 30 cycles").waitFor();
      const found = page.locator(".reflections td p", { hasText: "word end" });
      return { closed, open, found: await found.textContent() };
    });
    expect(result.closed).toBeLessThan(430);
    expect(result.open).toBe(`A long one. ${"word ".repeat(300)}end`.length);
    expect(result.found).toMatch(/^….*word end…$/);
  });

  it("has the numbers of every cycle, opened from the table of runs", async () => {
    const { result } = await visit(async (page) => {
      await page.locator(".runs").getByText("gpt-1").click();
      await page.waitForSelector("#run table");
      return {
        head: await textsOf(page, "#run thead th"),
        first: await textsOf(page, "#run tbody tr:first-child > *"),
        facts: await textsOf(page, "#run dd"),
      };
    });
    expect(result.head).toEqual(
      ["Cycle", "Began", "Took", "Model calls", "Tool calls", "Failed", "Memory calls"].concat(
        ["Messages to the operator", "Response length", "Written to memory"],
        ["Keys in memory", "Text in memory", "Tokens in", "Tokens out", "Cost"],
      ),
    );
    expect(result.first).toEqual(
      ["1", "2026-11-20 08:00 UTC", "10.0 s", "1", "0", "0", "0", "0"].concat([
        String(markup.length),
        "0",
        "0",
        "0",
        "–",
        "–",
        "unknown",
      ]),
    );
    expect(result.facts).toEqual([
      "openai:gpt-5",
      "1",
      "–",
      "2026-11-20 08:00 UTC",
      "20.0 s",
      "–",
      "unknown",
      "–",
      "seed 1",
      "0".repeat(64),
    ]);
  });
});
