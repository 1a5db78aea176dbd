import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { type InspectorTab, useInspector } from "../helpers/inspector.ts";
import { foreignElements, hostileTexts } from "../helpers/hostile-texts.ts";
import { endOf, seedLongThread, startRun } from "../helpers/inspector-threads.ts";

const long = "x".repeat(3_000);
/** Each text as a paragraph of its own: one after another could hide the next. */
const hostile = [...hostileTexts, long].join("\n\n");

describe.skipIf(browserHere === null)(`A thread${needsBrowser}`, () => {
  const inspected = useInspector();

  /** The heading of the tab that is open, once it is there. */
  const row = ({ page }: InspectorTab, id: string) =>
    page.getByRole("list", { name: "Steps" }).getByRole("link", { name: id });

  it("leads from the list of failed threads to the error of the call in three clicks", async () => {
    const agent = await inspected.addAgent({
      name: "strict",
      tools: ["calculator"],
      execution_config: { max_attempts: 2 },
      output_schema: {
        type: "object",
        properties: { sum: { type: "integer" } },
        required: ["sum"],
      },
    });
    inspected.models.answer(
      { text: "Let me see.", calls: [{ name: "calculator", args: { expression: "1 / 0" } }] },
      { text: "No." },
      { text: "Still no." },
    );
    const run = await startRun(inspected, agent);
    expect(await endOf(inspected, run)).toBe("failed");
    await using tab = await inspected.open("threads?status=FAILED");
    await tab.page.getByRole("link", { name: "Go." }).click();
    const cause = tab.page.getByText(/All 2 attempts failed/);
    await cause.waitFor();
    // Both attempts are marked, with the reasons that the turn has noted.
    const headings = tab.page.getByText(/^Turn 0, attempt \d$/);
    await headings.nth(1).waitFor();
    await tab.page
      .getByText("The answer has no JSON object or array.", { exact: true })
      .nth(1)
      .waitFor();
    expect(await tab.axe()).toEqual([]);
    await tab.page.getByRole("link", { name: "Go to where it failed" }).click();
    const call = tab.page.getByRole("article", { name: "Call of calculator" });
    await call.getByText("Division by zero").waitFor();
    expect(new URL(tab.page.url()).searchParams.get("step")).toBe("0.0");
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });

  it("shows hostile texts as texts, what the model read, and the calls of models", async () => {
    const agent = await inspected.addAgent({
      name: "assistant",
      system_prompt: "Use tools.",
      tools: ["calculator"],
    });
    inspected.models.answer(
      {
        text: hostile,
        calls: [
          { name: "calculator", args: { expression: "6 * 7" } },
          { name: "calculator", args: { expression: "1 + 1", [hostileTexts[2]!]: hostile } },
        ],
      },
      { text: "**42**, see [here](https://example.com)." },
    );
    const run = await startRun(inspected, agent, { message: hostile });
    expect(await endOf(inspected, run)).toBe("complete");
    await using tab = await inspected.open(`threads/${run.thread}?step=0.0&open=prompt calls`);
    const { page } = tab;
    const detail = page.getByRole("region", { name: "Step 0.0" });
    await detail.getByText("that ran concurrently").waitFor();
    await detail.getByText("the system prompt and how to answer").waitFor();
    await detail.getByText("Use tools.").first().waitFor();
    await detail.getByRole("article", { name: "Request to openai:test" }).waitFor();
    expect(await page.title()).toMatch(/^<script>globalThis.hacked=1.*… · Stratagraph$/);
    expect(await page.locator(foreignElements).count()).toBe(0);
    expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
    const overflow = "document.documentElement.scrollWidth - innerWidth";
    expect(await page.evaluate(overflow)).toBe(0);
    expect(await tab.axe()).toEqual([]);
    // The second key of the list goes on, and closes the step.
    await page.keyboard.press("j");
    await page
      .getByRole("region", { name: "Step 0.1" })
      .locator("strong", { hasText: /^42$/ })
      .waitFor();
    const link = page.getByRole("link", { name: "here", exact: true });
    expect(await link.getAttribute("rel")).toContain("noopener");
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Step 0.1" }).waitFor({ state: "detached" });
    await page.setViewportSize({ width: 375, height: 800 });
    await row(tab, "0.0").click();
    await page.getByRole("region", { name: "Step 0.0" }).waitFor();
    expect(await page.evaluate(overflow)).toBe(0);
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("link", { name: "Fork from here" }).click();
    expect(page.url()).toMatch(/\/checkpoints\?at=[\w-]+$/);
    tab.expectClean();
  });

  it("follows a run as its steps come, cancels it, and deletes the thread", async () => {
    const agent = await inspected.addAgent({
      name: "careful",
      tools: ["calculator"],
      guardrail_config: { tool_rails: { require_approval: ["calculator"] } },
    });
    inspected.models.answer({ text: "Hello." });
    const first = await startRun(inspected, agent);
    expect(await endOf(inspected, first)).toBe("complete");
    await using tab = await inspected.open(`threads/${first.thread}`);
    const { page } = tab;
    await row(tab, "0.0").waitFor();
    inspected.models.answer({
      text: "I compute.",
      calls: [{ name: "calculator", args: { expression: "6 * 7" } }],
    });
    await startRun(inspected, agent, { thread: first.thread });
    await row(tab, "1.0").getByText("I compute.").waitFor();
    await page.getByRole("link", { name: "Answer what it asks" }).waitFor();
    await page.getByText("awaiting human").first().waitFor();
    expect(await page.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
    await page.getByRole("link", { name: "Timeline" }).click();
    const waiting = page.getByRole("link", { name: /^human.*waiting for people included/ });
    await waiting.waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("button", { name: "Cancel run" }).click();
    await page.getByText("cancelled").first().waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("button", { name: "Delete thread" }).click();
    await page.getByRole("heading", { level: 1, name: "Threads" }).waitFor();
    tab.expectClean();
  });

  it("says that it is not live while its stream is broken, then loads what it missed", async () => {
    const agent = await inspected.addAgent({ name: "plain" });
    inspected.models.answer({ text: "First." }, { text: "Second." });
    const first = await startRun(inspected, agent);
    expect(await endOf(inspected, first)).toBe("complete");
    await using tab = await inspected.open("agents");
    const { page } = tab;
    await page.route("**/v1/changes", (route) => route.abort());
    await page.goto(`${inspected.url}/inspector/threads/${first.thread}`);
    await row(tab, "0.0").waitFor();
    await page.getByText("The server does not answer.").waitFor();
    const second = await startRun(inspected, agent, { thread: first.thread });
    expect(await endOf(inspected, second)).toBe("complete");
    expect(await row(tab, "1.0").count()).toBe(0);
    await page.unroute("**/v1/changes");
    await row(tab, "1.0").waitFor();
    expect(await page.getByText("The server does not answer.").count()).toBe(0);
  });

  it("says what to do about an address that cannot be read, and leaves the other views usable", async () => {
    await using tab = await inspected.open("threads/%E0%A4%A");
    await tab.page.getByRole("heading", { name: "This view broke" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    await tab.page.getByRole("link", { name: "Agents" }).click();
    await tab.page.getByRole("heading", { name: "Agents", level: 1 }).waitFor();
  });

  it("plays the path back, and shows many steps as a list and a timeline", async () => {
    const steps = Number(process.env["STEPS"] ?? 60);
    const run = await seedLongThread(inspected, { steps });
    await using tab = await inspected.open(`threads/${run.thread}/graph`);
    const { page } = tab;
    const node = (name: string) => page.getByRole("button", { name: new RegExp(`^${name}`) });
    await node("think").getByText("executions").waitFor();
    expect(await tab.axe()).toEqual([]);
    // Keys of the playback, then those of the graph: along edges, and to what is beside.
    for (let count = 0; count < 6; count += 1) await page.keyboard.press("j");
    await page.getByText("6 of ").waitFor();
    await page.getByText("turn 0, attempt 0").waitFor();
    await node("initialize").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const focused = () => page.evaluate("document.activeElement.textContent");
    expect(await focused()).toContain("think");
    await page.keyboard.press("ArrowDown");
    const branches = [await focused()];
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowRight"]) {
      await page.keyboard.press(key);
      branches.push(await focused());
    }
    expect(branches.join(" ")).toMatch(/left.*middle|middle.*left/);
    await node("middle").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: /^Open step/ }).waitFor();
    // The selection goes along to the other parts.
    const step = new URL(page.url()).searchParams.get("step");
    await page.getByRole("link", { name: "Steps", exact: true }).click();
    await page.getByRole("region", { name: `Step ${step}` }).waitFor();
    await page.getByRole("combobox", { name: "Node" }).selectOption("think");
    await page.getByRole("searchbox").fill("Thought 3");
    await row(tab, "Thought 3").first().waitFor();
    expect(await page.getByText("middle", { exact: true }).count()).toBeLessThan(3);
    await page.goto(`${inspected.url}/inspector/threads/${run.thread}`);
    const list = page.getByRole("list", { name: "Steps" });
    await list.getByRole("link").first().focus();
    await page.keyboard.press("End");
    await list.getByText("The end.").waitFor();
    expect(await list.getByRole("link").count()).toBeLessThan(60);
    await page.getByRole("link", { name: "Timeline" }).click();
    const lanes = page.getByRole("group", { name: "Timeline" });
    await lanes.getByRole("group", { name: "middle" }).waitFor();
    expect(await lanes.locator(".bar").count()).toBeLessThan(1_500);
    await lanes.locator(".bar[tabindex='0']").focus();
    await page.keyboard.press("End");
    await page.keyboard.press("+");
    await page.keyboard.press("+");
    expect(await tab.axe()).toEqual([]);
    await page.keyboard.press("0");
    await lanes.getByRole("group", { name: "think" }).locator("a.bar").first().click();
    await page.getByRole("region", { name: /^Step 0\./ }).waitFor();
    tab.expectClean();
  });
});
