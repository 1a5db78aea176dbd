import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { useInspector } from "../helpers/inspector.ts";
import { endOf, seedPlan, startRun } from "../helpers/inspector-threads.ts";

describe.skipIf(browserHere === null)(`The plan of a thread${needsBrowser}`, () => {
  const inspected = useInspector();

  it("says how to get one where there is none", async () => {
    const agent = await inspected.addAgent({ name: "plain" });
    inspected.models.answer({ text: "Hello." });
    const run = await startRun(inspected, agent);
    await endOf(inspected, run);
    await using tab = await inspected.open(`threads/${run.thread}/plan`);
    await tab.page.getByRole("heading", { name: "The last turn has no plan" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });

  it("shows subtasks as a graph and a list, and how they were before", async () => {
    const subtasks = Number(process.env["SUBTASKS"] ?? 24);
    const run = await seedPlan(inspected, { subtasks });
    await using tab = await inspected.open(`threads/${run.thread}/plan`);
    const { page } = tab;
    const graph = page.getByRole("group", { name: "Subtasks and what they stand on" });
    await graph.getByRole("link", { name: /^task-0/ }).waitFor();
    expect(await graph.getByRole("link").count()).toBe(subtasks);
    await page.getByText(`${subtasks} done`).waitFor();
    expect(await tab.axe()).toEqual([]);
    // From a subtask along an edge to one that stands on it, and back to the first version by the slider.
    await graph.getByRole("link", { name: /^task-0/ }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "task-0", exact: true }).waitFor();
    await page.getByText("Stands on").waitFor();
    await page.getByRole("slider").focus();
    await page.keyboard.press("Home");
    await page.getByText(`Planned ${subtasks} subtasks`).waitFor();
    await page.getByText(`${subtasks} pending`).waitFor();
    await page.getByRole("button", { name: "Next version" }).click();
    await page.getByText(/task-\d started/).waitFor();
    expect(new URL(page.url()).searchParams.get("at")).toBe("1");
    await page.getByRole("button", { name: "Show list" }).click();
    const list = page.getByRole("list", { name: "Subtasks" });
    await list.getByText("running").first().waitFor();
    expect(await tab.axe()).toEqual([]);
    // The list and the version are in the address; the agent of a subtask has steps of its own.
    await page.reload();
    await list.getByText("running").first().waitFor();
    await page.goto(`${inspected.url}/inspector/threads/${run.thread}/plan?subtask=task-3`);
    await page.getByRole("link", { name: "Show its steps" }).click();
    await page.getByRole("list", { name: "Steps" }).getByRole("link", { name: "0.0" }).waitFor();
    tab.expectClean();
    await page.setViewportSize({ width: 375, height: 800 });
    await page.goto(`${inspected.url}/inspector/threads/${run.thread}/plan?subtask=task-3`);
    await page.getByText("Stands on").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    expect(await tab.axe()).toEqual([]);
  });
});
