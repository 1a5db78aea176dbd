import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { foreignElements, hostileTexts } from "../helpers/hostile-texts.ts";
import { useInspector } from "../helpers/inspector.ts";

/** The members of a textarea that tests read in the page. */
interface TextArea {
  value: string;
  readonly selectionStart: number;
}

const textBeforeCaret = (element: unknown) => {
  const { value, selectionStart } = element as TextArea;
  return value.slice(0, selectionStart);
};
const hasFocus = (element: { matches(selector: string): boolean }) => element.matches(":focus");
const paste = (element: EventTarget, text: string) => {
  (element as unknown as TextArea).value = text;
  element.dispatchEvent(new Event("input", { bubbles: true }));
};

describe.skipIf(browserHere === null)(`The editor of definitions${needsBrowser}`, () => {
  const inspected = useInspector();

  it("creates an agent by keyboard, with completions, help, problems and a graph", async () => {
    await using tab = await inspected.open("agents/new");
    const { page } = tab;
    const text = page.getByLabel("Definition in YAML");
    const create = page.getByRole("button", { name: "Create agent" });
    await page.getByText("no problems").waitFor();
    await page.getByRole("group", { name: "Graph of the agent" }).getByText("reason").waitFor();
    expect(await tab.axe()).toEqual([]);

    await text.press("Control+End");
    await page.keyboard.type("execution_config:\nmo");
    await page.keyboard.press("Control+Space");
    await page.getByRole("option", { name: "mode" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Control+Space");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await text.inputValue()).toMatch(/execution_config:\n {2}mode: deep$/);
    await page.locator(".caret-help", { hasText: '"fast" | "deep"' }).waitFor();

    await page.keyboard.type("\nmax_iteration: 3");
    const problem = page.getByRole("button", { name: /unknown key/ });
    await problem.getByText("max_iterations").waitFor();
    expect(await create.isDisabled()).toBe(true);
    expect(await page.locator(".gutter .marked").textContent()).toBe("9");
    expect(await tab.axe()).toEqual([]);
    await text.press("Control+Home");
    await problem.click();
    const before = () => text.evaluate(textBeforeCaret);
    expect(await before()).toMatch(/mode: deep\n {2}$/);
    await page.keyboard.press("Control+ArrowRight");
    await page.keyboard.press("End");
    for (let count = 0; count < 3; count++) await page.keyboard.press("Backspace");
    await page.keyboard.type("s: 3");
    await page.getByText("no problems").waitFor();

    await page.reload();
    expect(await text.inputValue()).toMatch(/max_iterations: 3$/);
    await text.focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await text.evaluate(hasFocus)).toBe(false);
    await text.focus();
    await page.getByText("no problems").waitFor();
    await page.keyboard.press("Control+s");
    await page.waitForURL(/\/agents\/[0-9a-f-]{36}$/);
    await page.getByRole("heading", { name: "helper" }).waitFor();
    tab.expectClean();
  });

  it("saves a new version, and shows the other's where one was saved meanwhile", async () => {
    const id = await inspected.addAgent({
      name: "edited",
      system_prompt: "One.",
      tools: ["calculator"],
    });
    await using tab = await inspected.open(`agents/${id}/edit`, { theme: "dark" });
    const { page } = tab;
    const text = page.getByLabel("Definition in YAML");
    const change = async (from: string, to: string) =>
      text.fill((await text.inputValue()).replace(from, to));
    const save = page.getByRole("button", { name: "Save as a new version" });
    expect(await save.isDisabled()).toBe(true);
    await change("One.", "Two.");
    await save.click();
    await page.getByText("Saved as version 1.0.1.").waitFor();
    const stored = async () => inspected.send("GET", `/v1/agents/${id}`);
    expect(await stored()).toMatchObject({
      version: "1.0.1",
      definition: { system_prompt: "Two.", tools: ["calculator"] },
    });

    await inspected.send("PATCH", `/v1/agents/${id}`, { description: "Theirs." });
    await change("Two.", "Three.");
    await change("tools:\n  - calculator\n", "");
    await save.click();
    const conflict = page.getByRole("alert", { name: "Another version was saved" });
    await conflict.getByText("Version 1.0.2 was saved since you began with 1.0.1.").waitFor();
    await conflict.getByText("description: Theirs.").waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.reload();
    await conflict.getByRole("button", { name: "Keep my text, on top of 1.0.2" }).click();
    await save.click();
    await page.getByText("Saved as version 1.0.3.").waitFor();
    const { definition } = (await stored()) as { definition: object };
    expect(definition).toEqual({ name: "edited", version: "1.0.3", system_prompt: "Three." });
    // The conflict is an answer with 412, of which Chromium writes a line.
    expect(tab.complaints.splice(0)).toEqual([expect.stringContaining("412")]);
    tab.expectClean();
  });

  it("shows hostile and huge texts as they are", async () => {
    const hostile = hostileTexts.map((one) => `# ${one.replaceAll("\n", " ")}`).join("\n");
    const huge = `${hostile}\n${"x".repeat(20_000)}: 1\n${"- y\n".repeat(5_000)}`;
    await using tab = await inspected.open("agents/new", { width: 375 });
    const { page } = tab;
    // As pasting does. Typing thousands of lines, as `fill` does, takes Chromium minutes.
    await page.getByLabel("Definition in YAML").evaluate(paste, huge);
    await page.getByText(/\d problems?/).waitFor();
    expect(await page.locator(foreignElements).count()).toBe(0);
    expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
    expect(await page.locator(".text-editor .line").count()).toBeLessThan(100);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
    tab.expectClean();
  });
});
