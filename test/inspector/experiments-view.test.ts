import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { madeLog, message, write } from "../helpers/experiment-logs.ts";
import { foreignElements, hostileTexts } from "../helpers/hostile-texts.ts";
import { useInspector } from "../helpers/inspector.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const short = '"><img src=x onerror="globalThis.hacked=99">';

const logOf = (run_id: string, of: { seed: number; model: string; size: number }) =>
  madeLog({
    run_id,
    seed: of.seed,
    model_name: of.model,
    usage: { tokens_in: 100 * of.size, tokens_out: 10, cost_usd: 0.001 * of.size },
    cycles: Array.from({ length: 6 }, (_none, index) => ({
      calls: [write(`key-${index}`, "x".repeat(of.size + of.seed)), message("hi")],
      reflection: `${run_id} went on, ${index + 1}.`,
    })),
  });

const folder = tempFolder({
  "drift/drift.a-1.jsonl": logOf("drift.a-1", { seed: 1, model: "openai:small", size: 10 }),
  "drift/drift.a-2.jsonl": logOf("drift.a-2", { seed: 2, model: "openai:small", size: 10 }),
  "drift/drift.b-1.jsonl": logOf("drift.b-1", { seed: 1, model: "openai:large", size: 40 }),
  "drift/drift.b-2.jsonl": logOf("drift.b-2", { seed: 2, model: "openai:large", size: 40 }),
  "drift/drift.c.jsonl": "?\n",
  "later/diary.jsonl": logOf("diary", { seed: 1, model: "openai:small", size: 25 }),
  "hostile/hostile.jsonl": madeLog({
    run_id: "hostile",
    model_name: short,
    prompt_name: short,
    config_hash: short,
    cycles: [
      {
        calls: hostileTexts.map((text) => ({
          tool: short,
          parameters: { [text]: text },
          output: { error: text },
        })),
        reflection: hostileTexts.join("\n\n"),
      },
      { reflection: short },
    ],
  }),
});

describe.skipIf(browserHere === null)(`The experiments of a folder${needsBrowser}`, () => {
  const inspected = useInspector({ experiments: folder });

  it("are compared, two conditions and two experiments, down to a cycle", async () => {
    await using tab = await inspected.open("experiments");
    const { page } = tab;
    const list = page.getByRole("list", { name: "Experiments" });
    await list.getByText("drift").first().waitFor();
    expect(await list.getByRole("listitem").count()).toBe(3);
    expect(await tab.axe()).toEqual([]);
    await list.getByRole("link").filter({ hasText: "drift" }).click();

    await page.getByText("4 runs · 2 models · 2 seeds · 24 cycles · $1.20").waitFor();
    await page.getByText("drift.c.jsonl").waitFor();
    await page.locator("#memory svg").last().waitFor();
    expect(await page.locator("#cycles figure").first().locator(".run-lines path").count()).toBe(4);
    expect(await tab.axe()).toEqual([]);

    const figures = page.getByRole("region", { name: "Differences of figures" });
    const rowOf = async (name: string) =>
      (await figures.getByRole("row", { name }).locator("td").allTextContents()).slice(0, 4);
    expect(await rowOf("Written to memory")).toEqual([
      "41.5 ± 0.70741 to 42, 2 runs",
      "11.5 ± 0.70711 to 12, 2 runs",
      "−30 (−72.3 %)",
      "differs: −33 to −27",
    ]);
    expect((await rowOf("Memory calls"))[3]).toBe("equal in all runs");
    const config = page.getByRole("region", { name: "Differences of configuration" });
    expect(
      await config.getByRole("row", { name: "Model" }).locator("td").allTextContents(),
    ).toEqual(["openai:large", "openai:small", "yes"]);
    await page.getByLabel("Left", { exact: true }).selectOption("run:drift.a-1");
    await page.getByLabel("Right", { exact: true }).selectOption("run:drift.b-1");
    await figures.getByText("one run on a side: spread unknown").first().waitFor();
    await page.getByText("Run more seeds.").waitFor();
    const address = new URL(page.url());
    expect(address.searchParams.get("left")).toBe("run:drift.a-1");

    await page.getByRole("group", { name: "Split" }).getByText("Model").click();
    await page.getByRole("link", { name: "drift.b-2" }).click();
    await page.getByRole("heading", { name: "drift.b-2" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    await page
      .getByRole("region", { name: "Cycles of drift.b-2" })
      .getByText("3", { exact: true })
      .first()
      .click();
    const log = page.getByRole("list", { name: "Log of cycle 3" });
    await log.getByText("drift.b-2 went on, 3.").first().waitFor();
    expect(await log.getByRole("heading", { name: "memory_write" }).count()).toBe(1);
    await log.getByText("Prompt of 1 message").first().click();
    await log.getByText("Cycle 3.", { exact: true }).first().waitFor();
    expect(await tab.axe()).toEqual([]);
    const shared = page.url();
    expect(new URL(shared).searchParams.get("cycle")).toBe("3");
    await page.getByRole("link", { name: "Cycle after" }).click();
    await page.getByRole("heading", { name: "drift.b-2, cycle 4" }).waitFor();
    await page.goto(shared);
    await log.getByText("drift.b-2 went on, 3.").first().waitFor();

    await page.getByRole("link", { name: "All runs" }).click();
    await page
      .getByLabel("Compare with another experiment")
      .selectOption({ label: "diary (later)" });
    await page.getByText("5 runs · 2 models").waitFor();
    await page.getByRole("heading", { level: 1, name: "drift and diary" }).waitFor();
    expect(await page.getByLabel("Left", { exact: true }).inputValue()).toBe("experiment:drift");
    expect(await page.getByLabel("Right", { exact: true }).inputValue()).toBe("experiment:diary");
    await page.getByRole("row", { name: "diary" }).first().waitFor();
    await page.getByRole("group", { name: "Colour" }).getByText("Experiment").click();
    expect(await page.locator(".legend li").allTextContents()).toEqual(["drift", "diary"]);
    tab.expectClean();
  });

  it("are shown as text, and fit a narrow screen", async () => {
    await using tab = await inspected.open("experiments", {
      width: 375,
      height: 700,
      theme: "dark",
    });
    const { page } = tab;
    await page.getByRole("link").filter({ hasText: "hostile" }).click();
    await page.locator("#memory svg").last().waitFor();
    const expectText = async () => {
      const found = await page.evaluate(
        (selector) => ({
          hacked: Reflect.get(globalThis, "hacked") ?? null,
          elements: [...document.querySelectorAll(selector)].map((one) => one.outerHTML),
          width: document.documentElement.scrollWidth,
        }),
        foreignElements,
      );
      expect(found).toEqual({ hacked: null, elements: [], width: 375 });
    };
    await page.getByRole("button", { name: "Show all" }).first().click();
    await expectText();
    expect(await tab.axe()).toEqual([]);
    await page.locator(".runs").getByRole("link", { name: "hostile" }).click();
    await page
      .getByRole("region", { name: "Cycles of hostile" })
      .getByText("1", { exact: true })
      .first()
      .click();
    await page.getByRole("heading", { name: "Reflection" }).waitFor();
    for (const closed of await page.locator("summary").all()) await closed.click();
    await expectText();
    expect(await tab.axe()).toEqual([]);
    await page.goto(page.url().replace(/cycle=\d+/, "cycle=77"));
    await page.getByText("There is no cycle").waitFor();
    tab.expectClean({ refused: [404] });
  });
});

describe.skipIf(browserHere === null)(`A server without experiments${needsBrowser}`, () => {
  const inspected = useInspector();

  it("names the command that shows them", async () => {
    await using tab = await inspected.open("experiments");
    await tab.page.getByText("stratagraph serve --experiments FOLDER").waitFor();
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });
});
