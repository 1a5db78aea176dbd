import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { useInspector } from "../helpers/inspector.ts";

describe.skipIf(browserHere === null)(`The memories of agents${needsBrowser}`, () => {
  const inspected = useInspector();

  it("are added, found with the parts of their score, and forgotten", async () => {
    const agent = await inspected.addAgent({ name: "helper", system_prompt: "Help." });
    const add = (content: string, user?: string) =>
      inspected.send("POST", `/v1/agents/${agent}/memory`, { content, ...(user && { user }) });
    await add("<img src=x onerror=alert(1)> likes ‮tea");
    await add("The invoice is due in May.");
    await add("Bob drinks coffee.", "bob");
    await using tab = await inspected.open("memory");
    const { page } = tab;
    const list = page.getByRole("list", { name: "Memories" });
    await list.getByText("onerror=alert(1)").waitFor();
    expect(await list.getByRole("listitem").count()).toBe(3);

    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog", { name: "Add memory" });
    await dialog.getByLabel("What to remember").fill("Ada prefers short answers.");
    await dialog.getByRole("button", { name: "Add" }).click();
    await list.getByText("Ada prefers").waitFor();
    expect(await tab.axe()).toEqual([]);

    await page.keyboard.press("/");
    await page.keyboard.type("short answers");
    await page.getByText(/1 memory fits|memories fit/).waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBe("short answers");
    await list.getByRole("link").first().click();
    const detail = page.getByRole("region", { name: "Selected memory" });
    await detail
      .getByText("Words: answer, short")
      .or(detail.getByText(/Words: /))
      .waitFor();
    expect(await detail.locator(".why dt").allTextContents()).toContain("words");
    expect(await tab.axe()).toEqual([]);
    await detail.getByRole("button", { name: "Forget" }).click();
    const asked = page.getByRole("dialog", { name: "Forget this memory?" });
    await asked.getByText("Messages and answers in threads stay").waitFor();
    expect(await tab.axe()).toEqual([]);
    await asked.getByRole("button", { name: "Forget" }).click();
    await page.getByText("Forgotten: 1 memory").waitFor();
    const { entries } = await inspected.send<{ entries: { content: string }[] }>(
      "GET",
      `/v1/agents/${agent}/memory`,
    );
    expect(entries.map(({ content }) => content)).not.toContain("Ada prefers short answers.");

    await page.goto(`${inspected.url}/inspector/memory?agent=${agent}&user=bob`);
    await list.getByText("Bob drinks coffee.").waitFor();
    await page.getByRole("button", { name: "Forget this user" }).click();
    await page.getByRole("button", { name: "Forget all memories of bob" }).click();
    await page.getByRole("heading", { name: "No memories" }).waitFor();
    await page.getByRole("button", { name: "Consolidate" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Consolidate" }).click();
    await page.getByText(/0 consolidated, 0 merged/).waitFor();
    tab.expectClean();
  });
});
