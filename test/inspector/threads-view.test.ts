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
    const row = tab.page.getByRole("link", { name: "Hi" });
    await row.getByText("completed").waitFor();
    expect(await tab.axe()).toEqual([]);
    await row.click();
    await tab.page.getByRole("heading", { level: 1, name: "Hi" }).waitFor();
    expect(tab.page.url()).toBe(`${inspected.url}/inspector/threads/${run.thread_id}`);
    tab.expectClean();
  });

  it("is searched by the beginnings of titles and ids, with the keyboard, by an address", async () => {
    const agent = await inspected.addAgent({ name: "searched", system_prompt: "Help." });
    const start = async (message: string) => {
      inspected.models.answer({ text: "Hello." });
      const body = { input: { message } };
      return inspected.send<{ thread_id: string }>("POST", `/v1/agents/${agent}/runs`, body);
    };
    const invoice = await start("Invoice 17 is <b>late</b>\nPlease look");
    await start("Greetings");
    await using tab = await inspected.open(`threads?agent=${agent}`);
    const { page } = tab;
    const rows = page.getByRole("link", { name: /Invoice|Greetings/ });
    const shows = async (count: number) => {
      await expect.poll(() => rows.count()).toBe(count);
    };
    await shows(2);
    await page.keyboard.press("/");
    await page.keyboard.type("inVOICE 17");
    await page.waitForURL(`${inspected.url}/inspector/threads?agent=${agent}&q=inVOICE+17`);
    await shows(1);
    await page.getByText("Invoice 17 is <b>late</b> Please look").waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("late");
    await page.getByRole("heading", { name: "No thread fits the filter" }).waitFor();
    await page.getByText("compares the beginnings of titles").waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("link", { name: "Show all threads" }).click();
    await shows(2);
    expect(await page.getByRole("searchbox").inputValue()).toBe("");
    tab.expectClean();
    await using shared = await inspected.open(`threads?q=${invoice.thread_id.slice(0, 34)}`);
    await shared.page.getByRole("link", { name: /Invoice 17/ }).waitFor();
    expect(await shared.page.getByRole("searchbox").inputValue()).toBe(
      invoice.thread_id.slice(0, 34),
    );
    shared.expectClean();
  });
});
