import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { useInspector } from "../helpers/inspector.ts";

describe.skipIf(browserHere === null)(`The list of threads${needsBrowser}`, () => {
  const inspected = useInspector();

  it("says what to do while there are none", async () => {
    await using tab = await inspected.open("");
    await tab.page.getByRole("heading", { name: "No threads yet" }).waitFor();
    expect(tab.page.url()).toBe(`${inspected.url}/inspector/threads`);
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });

  it("shows threads as they begin and end, and opens one", async () => {
    await using tab = await inspected.open("threads");
    const agent = await inspected.addAgent({ name: "helper", system_prompt: "Help." });
    inspected.models.answer({ text: "Hello." });
    const run = await inspected.send<{ thread_id: string }>("POST", `/v1/agents/${agent}/runs`, {
      input: { message: "Hi" },
    });
    const row = tab.page.getByRole("link", { name: run.thread_id });
    await row.getByText("completed").waitFor();
    expect(await tab.axe()).toEqual([]);
    await row.click();
    await tab.page.getByRole("heading", { level: 1 }).waitFor();
    expect(tab.page.url()).toBe(`${inspected.url}/inspector/threads/${run.thread_id}`);
    tab.expectClean();
  });
});
