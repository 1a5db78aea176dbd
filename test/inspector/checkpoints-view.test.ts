import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { type Inspected, useInspector } from "../helpers/inspector.ts";

interface Listed {
  readonly id: string;
  readonly nodes: readonly string[];
  readonly trigger: string;
}

/** Asks for an expression, which the state keeps, and calculates it. */
const calculating = {
  name: "calculating",
  tools: ["calculator"],
  workflow_graph: {
    entry_point: "draft",
    nodes: [
      { name: "draft", type: "llm", config: { prompt: "An expression", writes: "execution.sum" } },
      {
        name: "compute",
        type: "tool",
        config: { tool: "calculator", args: { expression: "${execution.sum}" } },
      },
    ],
    edges: [
      { from: "draft", to: "compute" },
      { from: "compute", to: "END" },
    ],
  },
};

const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3)) ‮override ${"long ".repeat(400)}`;

describe.skipIf(browserHere === null)(`Checkpoints of a thread${needsBrowser}`, () => {
  const inspected = useInspector();

  it("are a tree, whose states can be searched and compared by keyboard", async () => {
    const { models } = inspected;
    models.answer({ text: "One." }, { text: hostile });
    const agent = await inspected.addAgent({ name: "chatty", system_prompt: "Help." });
    const { thread } = await runOf(inspected, agent, { message: "Hi" });
    await runOf(inspected, agent, { message: hostile }, thread);
    const all = await listed(inspected, thread);
    await using tab = await inspected.open(`threads/${thread}/checkpoints`);
    const { page } = tab;
    const tree = page.getByRole("list", { name: "Checkpoints" });
    await tree
      .getByRole("link", { name: /finalize/ })
      .first()
      .waitFor();
    expect(await tree.getByRole("listitem").count()).toBe(all.length);
    // Without a checkpoint in the address, the newest one is shown.
    const detail = page.getByRole("region", { name: "Selected checkpoint" });
    await detail.getByText(all[0]!.id).waitFor();
    await detail.getByText("Outlives a failed attempt").waitFor();
    await detail.getByText("Starts over with each attempt").waitFor();
    expect(await tab.axe()).toEqual([]);

    await detail.getByRole("button", { name: /^input/ }).click();
    await expect.poll(() => page.url()).toContain("open=input");
    await detail.getByText("alert(1)").first().waitFor();
    await detail.getByRole("searchbox").fill("OnError");
    const matches = page.getByRole("region", { name: "Matches" });
    await matches.locator("mark").first().waitFor();
    expect(await matches.locator("mark").first().textContent()).toBe("onerror");
    expect(page.url()).toContain("q=OnError");
    expect(await tab.axe()).toEqual([]);

    // Rows are walked with arrow keys; a and b mark the sides of a comparison, d compares them.
    await tree.getByRole("link").nth(2).focus();
    await page.keyboard.press("b");
    await page.keyboard.press("End");
    await expect.poll(() => page.locator(":focus").textContent()).toContain("input received");
    await page.keyboard.press("a");
    await expect.poll(() => new URL(page.url()).searchParams.get("a")).toBe(all.at(-1)!.id);
    await page.keyboard.press("d");
    await page.getByRole("heading", { name: "Differences" }).waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      from: all.at(-1)!.id,
      to: all[2]!.id,
    });
    await page.getByRole("region", { name: "Channel input" }).locator("ins").first().waitFor();
    await page.keyboard.press("n");
    await expect.poll(() => page.locator("[data-change]:focus").count()).toBe(1);
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });

  it("have states that are too large loaded channel by channel, and are forked without a run", async () => {
    inspected.models.answer({ text: "One." });
    const agent = await inspected.addAgent({ name: "large", system_prompt: "Help." });
    const { thread } = await runOf(inspected, agent, { message: "Hi" });
    const [last] = await listed(inspected, thread);
    await using tab = await inspected.open("threads");
    const { page } = tab;
    const whole = `**/v1/threads/${thread}/checkpoints/${last!.id}`;
    await page.route(whole, async (route) => {
      const json = {
        type: "/problems/invalid_input",
        detail: "The state has more than 16,777,216 bytes of JSON.",
        code: "state_too_large",
        channel_bytes: { input: 20_000_000, status: 11, execution: 2 },
      };
      await route.fulfill({ status: 422, contentType: "application/problem+json", json });
    });
    await page.goto(`${inspected.url}/inspector/threads/${thread}/checkpoints/${last!.id}?q=hi`);
    const detail = page.getByRole("region", { name: "Selected checkpoint" });
    await detail.getByText("too large to be searched whole").waitFor();
    await detail.getByRole("button", { name: /^input 20.0 MB/ }).click();
    await detail.locator(".channel-value").getByText("Hi").waitFor();
    await page.unroute(whole);

    await page.keyboard.press("e");
    const editor = page.getByRole("region", { name: "Edit and run on" });
    await editor.getByText("there is nothing to run").waitFor();
    await editor.getByRole("radio", { name: /Only fork/ }).check();
    await editor.getByRole("button", { name: "Fork" }).click();
    await page.waitForURL((url) => !url.pathname.includes(thread));
    await page.getByRole("link", { name: /a checkpoint of thread/ }).waitFor();
    const tree = page.getByRole("list", { name: "Checkpoints" });
    await tree.getByText("from another thread").first().waitFor();
    expect(await tab.axe()).toEqual([]);
    tab.expectClean({ refused: [422] });
  });

  it("let a value that failed a run be edited, and the run goes on in a new thread", async () => {
    inspected.models.answer({ text: "6 *" }, { text: "6 *" }, { text: "6 *" }, { text: "6 *" });
    const agent = await inspected.addAgent(calculating);
    const { thread, status } = await runOf(inspected, agent, { message: "Go" });
    expect(status).toBe("failed");
    inspected.models.forget();
    const all = await listed(inspected, thread);
    const before = all.findLast(({ nodes }) => nodes.includes("draft"))!;
    await using tab = await inspected.open(`threads/${thread}/checkpoints/${before.id}`);
    const { page } = tab;
    await page.getByRole("button", { name: "Edit and run on" }).click();
    await expect.poll(() => page.url()).toContain("edit=1");
    const editor = page.getByRole("region", { name: "Edit and run on" });
    await editor.getByRole("button", { name: /execution/ }).click();
    const text = editor.getByRole("textbox", { name: "execution as JSON" });
    expect(JSON.parse(await text.inputValue())).toEqual({ sum: "6 *" });
    const run = editor.getByRole("button", { name: "Run in a new thread" });

    // Neither a text that is no JSON nor a state that the server refuses makes a thread.
    await text.fill("{");
    await run.click();
    await editor.getByRole("alert").getByText("Not JSON").waitFor();
    await text.fill("7");
    await run.click();
    await editor.locator("#edit-execution-problems").waitFor();
    expect(await text.getAttribute("aria-invalid")).toBe("true");
    expect(await tab.axe()).toEqual([]);
    const { threads } = await inspected.send<{ threads: { thread_id: string }[] }>(
      "GET",
      `/v1/threads?agent_id=${agent}`,
    );
    expect(threads.map(({ thread_id: id }) => id)).toEqual([thread]);

    await text.fill('{ "sum": "6 * 7" }');
    await run.click();
    await page.waitForURL((url) => !url.pathname.includes(thread));
    const made = decodeURIComponent(page.url().split("/threads/")[1]!);
    // The new thread says where it came from, and shows its end as it comes.
    await page.goto(`${inspected.url}/inspector/threads/${made}/checkpoints`);
    await page.locator(".page-head").getByText("completed").waitFor();
    await page.getByRole("link", { name: /a checkpoint of thread/ }).click();
    await page.getByRole("region", { name: "Selected checkpoint" }).getByText(before.id).waitFor();
    expect(page.url()).toContain(`threads/${thread}/checkpoints/${before.id}`);
    tab.expectClean({ refused: [422] });
  });
});

/** Runs an agent, and waits for the end. */
async function runOf(
  inspected: Inspected,
  agent: string,
  input: object,
  thread?: string,
): Promise<{ readonly thread: string; readonly status: string }> {
  const path = `/v1/agents/${agent}/runs`;
  const run = await inspected.send<{ run_id: string; thread_id: string }>("POST", path, {
    input,
    ...(thread !== undefined && { thread_id: thread }),
  });
  let status = "";
  await expect
    .poll(
      async () => {
        ({ status } = await inspected.send<{ status: string }>("GET", `${path}/${run.run_id}`));
        return ["queued", "running"].includes(status);
      },
      { timeout: 60_000 },
    )
    .toBe(false);
  return { thread: run.thread_id, status };
}

async function listed(inspected: Inspected, thread: string): Promise<readonly Listed[]> {
  const { checkpoints } = await inspected.send<{ checkpoints: Listed[] }>(
    "GET",
    `/v1/threads/${thread}/checkpoints?limit=200`,
  );
  return checkpoints;
}
