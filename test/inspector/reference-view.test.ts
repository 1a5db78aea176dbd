import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { useInspector } from "../helpers/inspector.ts";

describe.skipIf(browserHere === null)(`The reference of the API${needsBrowser}`, () => {
  const inspected = useInspector();

  it("finds an operation, describes it, sends it and shows its answer", async () => {
    await inspected.addAgent({ name: "found", description: "<img src=x onerror=hacked=1>" });
    await using tab = await inspected.open("api");
    const { page } = tab;
    await page
      .getByRole("heading", { name: /operations|Stratagraph/ })
      .first()
      .waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.keyboard.press("/");
    await page.keyboard.type("agents:read newest first active");
    const list = page.getByRole("navigation", { name: "Operations" }).getByRole("link");
    await expect.poll(() => list.count()).toBe(1);
    await list.click();
    await page.waitForURL("**/api/listAgents?q=*");
    await page.getByText("Agents of exactly this name.").first().waitFor();
    expect(await tab.axe()).toEqual([]);

    await page.getByRole("button", { name: "Add Query" }).click();
    await page.getByLabel("name").fill("found' & more");
    expect(await page.getByLabel("curl command").textContent()).toContain("name=found%27+%26+more");
    await page.getByLabel("name").fill("found");
    await page.getByRole("button", { name: "Send GET" }).click();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("200", { exact: true }).waitFor();
    await answer.getByRole("button", { name: "Open 8 keys" }).click();
    await answer.getByText("found", { exact: true }).waitFor();
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });

  it("asks before it changes anything, and shows a stream that can be stopped", async () => {
    await using tab = await inspected.open("api/createAgent", { width: 375, height: 800 });
    const { page } = tab;
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    // The row of views has scrolled to this one.
    const link = await page.getByRole("link", { name: "API", exact: true }).boundingBox();
    expect(link!.x + link!.width).toBeLessThanOrEqual(375);
    await page
      .getByLabel("Value as JSON")
      .fill(JSON.stringify({ body: { name: "tried", tools: ["calculator"] } }));
    const count = async () => {
      const { agents } = await inspected.send<{ agents: unknown[] }>(
        "GET",
        "/v1/agents?name=tried",
      );
      return agents.length;
    };
    await page.getByRole("button", { name: "Send POST" }).click();
    const dialog = page.getByRole("dialog", { name: "Send POST?" });
    await dialog.getByText(`POST ${inspected.url}/v1/agents`).waitFor();
    expect(await tab.axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Do not send" }).click();
    expect(await count()).toBe(0);
    await page.getByRole("button", { name: "Send POST" }).click();
    await dialog.getByRole("button", { name: "Send POST" }).click();
    await page.getByRole("region", { name: "Answer" }).getByText("201", { exact: true }).waitFor();
    expect(await count()).toBe(1);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);

    await page.goto(`${inspected.url}/inspector/api/followChanges`);
    await page.getByRole("button", { name: "Send GET" }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    const [agent] = (
      await inspected.send<{ agents: { id: string }[] }>("GET", "/v1/agents?name=tried")
    ).agents;
    inspected.models.answer({ text: "Hello." });
    await inspected.send("POST", `/v1/agents/${agent?.id}/runs`, { input: { message: "Hi" } });
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByLabel("Events").locator("li").first().waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await answer.getByText(/events$/).waitFor();
    tab.expectClean();
  });

  it("says so where the server has no such operation", async () => {
    await using tab = await inspected.open("api/noSuchOperation");
    await tab.page.getByRole("heading", { name: "This server has no such operation" }).waitFor();
    await tab.page.getByRole("link", { name: "Show all operations" }).click();
    await tab.page.waitForURL("**/inspector/api");
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });
});
