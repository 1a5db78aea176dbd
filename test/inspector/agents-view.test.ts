import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { foreignElements, hostileTexts } from "../helpers/hostile-texts.ts";
import { type InspectorTab, useInspector } from "../helpers/inspector.ts";

const fitsIn = (tab: InspectorTab) =>
  tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth");

describe.skipIf(browserHere === null)(`The views of agents${needsBrowser}`, () => {
  const inspected = useInspector();

  it("say what to do while there are none, then list them with their runs", async () => {
    await using tab = await inspected.open("agents", { width: 375 });
    await tab.page.getByRole("heading", { name: "No agents yet" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    const id = await inspected.addAgent({
      name: "lister",
      tools: ["calculator"],
      llm_config: { default_model: "openai:test" },
    });
    inspected.models.answer({ text: "Hello." });
    await inspected.send("POST", `/v1/agents/${id}/runs`, { input: { message: "Hi" } });
    await tab.page.reload();
    const row = tab.page.getByRole("link", { name: "lister" });
    await row.getByText("openai:test").waitFor();
    await row.getByText("complete").waitFor();
    expect(await row.textContent()).toContain("1 run");
    expect(await fitsIn(tab)).toBe(true);
    expect(await tab.axe()).toEqual([]);
    await tab.page.keyboard.press("n");
    await tab.page.waitForURL("**/agents/new");
    tab.expectClean();
  });

  it("show what an agent is made of, its graph, and what differs between two versions", async () => {
    const id = await inspected.addAgent({
      name: "clerk",
      description: "Sorts mail.",
      system_prompt: {
        role: "You are a clerk.",
        instructions: "Be brief.",
        examples: [{ input: "Hi", output: "Hello" }],
      },
      tools: [
        "calculator",
        { mcp: { name: "files", transport: "stdio", command: "files-server" } },
      ],
      guardrail_config: { input_rails: [{ type: "pii" }], tool_rails: { max_calls_per_turn: 3 } },
      execution_config: { mode: "deep" },
    });
    await inspected.send("PATCH", `/v1/agents/${id}`, {
      system_prompt: { instructions: "Be very brief." },
    });
    await using tab = await inspected.open(`agents/${id}`);
    const { page } = tab;
    for (const text of ["Sorts mail.", "You are a clerk.", "Be very brief.", "MCP server", "pii"])
      await page.getByText(text, { exact: true }).first().waitFor();
    await page.getByText("max calls per turn").waitFor();
    await page.locator("dd", { hasText: "deep" }).waitFor();
    expect(await tab.axe()).toEqual([]);

    await page.getByRole("link", { name: "Graph", exact: true }).click();
    await page.getByRole("group", { name: "Graph of the agent" }).getByText("reason").waitFor();
    expect(await tab.axe()).toEqual([]);

    await page.keyboard.press("v");
    const difference = page.getByRole("region", { name: "Lines that differ, 1.0.0 to 1.0.1" });
    await difference.waitFor();
    expect(await difference.locator("tr.removed, tr.added").allTextContents()).toEqual([
      expect.stringContaining("version: 1.0.0"),
      expect.stringContaining("version: 1.0.1"),
      expect.stringContaining("instructions: Be brief."),
      expect.stringContaining("instructions: Be very brief."),
    ]);
    expect(await page.locator(".diff-view .key").allTextContents()).toEqual([
      "version",
      "system_prompt",
    ]);
    await page.getByRole("radio", { name: "Compare to 1.0.0" }).check();
    await page.getByText("No line differs.").waitFor();
    expect(page.url()).toContain("from=1.0.0&to=1.0.0");
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("link", { name: "1.0.0" }).click();
    await page.getByText("This is version 1.0.0").waitFor();
    await page.getByText("Be brief.", { exact: true }).waitFor();
    tab.expectClean();
  });

  it("deactivate an agent once that is confirmed", async () => {
    const id = await inspected.addAgent({ name: "leaver" });
    await using tab = await inspected.open(`agents/${id}`);
    const open = tab.page.getByRole("button", { name: "Deactivate" });
    await open.click();
    const dialog = tab.page.getByRole("dialog", { name: "Deactivate leaver?" });
    expect(await tab.axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Keep it" }).click();
    expect(await inspected.send("GET", `/v1/agents/${id}`)).toMatchObject({ status: "active" });
    await open.click();
    await dialog.getByRole("button", { name: "Deactivate" }).click();
    await tab.page.waitForURL("**/inspector/agents");
    await tab.page.getByText("leaver takes no new runs.").waitFor();
    await expect(inspected.send("GET", `/v1/agents/${id}`)).rejects.toThrow(/404/);
    tab.expectClean();
  });

  it("show hostile texts of a definition as texts", async () => {
    const text = hostileTexts.join("\n");
    const id = await inspected.addAgent({
      name: "hostile",
      description: text,
      system_prompt: { role: text, instructions: text, examples: [{ input: text, output: text }] },
      input_schema: { type: "object", properties: { '"><img src=x onerror=hacked>': {} } },
      guardrail_config: { input_rails: [{ type: "topic", config: { deny: [...hostileTexts] } }] },
    });
    await inspected.send("PATCH", `/v1/agents/${id}`, { description: `${text}\nagain` });
    await using tab = await inspected.open(`agents/${id}`, { width: 375, theme: "dark" });
    const { page } = tab;
    await page.getByText("Whole definition").click();
    for (const place of ["", "/versions"]) {
      if (place !== "") await page.goto(`${inspected.url}/inspector/agents/${id}${place}`);
      if (place !== "") await page.getByRole("button", { name: "Show all lines" }).click();
      await page.getByText("xss-probe").first().waitFor();
      expect(await page.locator(foreignElements).count()).toBe(0);
      expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
      expect(await fitsIn(tab)).toBe(true);
    }
    tab.expectClean();
  });
});
