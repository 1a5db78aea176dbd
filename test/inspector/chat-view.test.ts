import type { Locator } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { type InspectorTab, useInspector } from "../helpers/inspector.ts";
import { Silence } from "../helpers/openai-server.ts";

describe.skipIf(browserHere === null)(`The chat${needsBrowser}`, () => {
  const inspected = useInspector({
    runtime: {
      defaultModel: "openai:test",
      modelOptions: { inputs: { "openai:test": ["image"] } },
    },
  });
  beforeEach(() => inspected.models.forget());
  const sum = {
    calls: [{ name: "calculator", args: { expression: "6 * 7" } }],
    text: "Let me see.",
  };

  it("leads from an empty database to a streamed answer and its steps", async () => {
    await using tab = await inspected.open("");
    await tab.page.getByRole("link", { name: "New chat" }).click();
    await tab.page.getByRole("heading", { name: "No agents yet" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    await inspected.addAgent({
      name: "greeter",
      description: "Greets people.",
      system_prompt: "Greet.",
    });
    await tab.page.reload();
    await tab.page.getByRole("link", { name: "greeter" }).getByText("Greets people.").waitFor();
    await tab.page.getByRole("searchbox", { name: "Search agents" }).fill("greet");
    await tab.page.getByRole("link", { name: "greeter" }).click();
    const silence = new Silence();
    inspected.models.answer({ silent: silence, first: "Good" });
    await say(tab, "hello");
    const turn = tab.page.getByRole("article");
    await turn.getByText("Good").waitFor();
    await turn.getByText("answering").waitFor();
    await tab.page.waitForURL(/\/chat\/[^/]+\?thread=/);
    expect(await tab.axe()).toEqual([]);
    silence.release(" morning, **Ada**");
    await turn.locator("strong", { hasText: "Ada" }).waitFor();
    const spoken = tab.page.getByRole("status").filter({ hasText: "Good morning, **Ada**" });
    await spoken.waitFor({ state: "attached" });
    await turn.getByText(/\d+ in, \d+ out/).waitFor();
    expect(await tab.axe()).toEqual([]);
    const thread = new URL(tab.page.url()).searchParams.get("thread");
    await turn.getByRole("link", { name: "1 step" }).click();
    await tab.page.waitForURL(`${inspected.url}/inspector/threads/${thread}?step=0.0`);
    tab.expectClean();
  });

  it("asks for approvals, and shows calls with their results, live and from the history", async () => {
    const agent = await inspected.addAgent({
      name: "careful",
      system_prompt: "Help.",
      tools: ["calculator"],
      guardrail_config: { tool_rails: { require_approval: ["calculator"] } },
    });
    await using tab = await inspected.open(`chat/${agent}`);
    const { page } = tab;
    inspected.models.answer(sum, { text: "It is 43." });
    await say(tab, "6 * 7?");
    await page.getByRole("button", { name: "Edit arguments" }).click();
    await page.getByRole("textbox", { name: "expression" }).fill("6 * 7 + 1");
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("button", { name: "Approve with changes" }).click();
    const first = page.getByRole("article", { name: "Turn 1" });
    await first.getByText("It is 43.").waitFor();
    await first.getByText('→ {"result":43}').click();
    await first.getByRole("link", { name: "Open the step" }).waitFor();
    expect(await tab.axe()).toEqual([]);

    // Two calls at once, each with its own decision; the tab is opened again while they wait.
    const call = (expression: string) => ({ name: "calculator", args: { expression } });
    inspected.models.answer({ calls: [call("1 + 1"), call("2 + 2")] }, { text: "Only two." });
    await say(tab, "both?");
    await page.getByText("0 of 2 decided").waitFor();
    await page.reload();
    const decide = (index: number, decision: string) =>
      page.locator("fieldset.decision").nth(index).getByLabel(decision);
    await decide(0, "Approve").check();
    await decide(1, "Reject").check();
    await page.getByRole("textbox", { name: "Why not?" }).fill("Not that one");
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("button", { name: "Send decisions" }).click();
    await page.getByRole("article", { name: "Turn 2" }).getByText("Only two.").waitFor();
    const read = JSON.stringify(inspected.models.requests.at(-1)?.body.messages);
    expect(read).toContain("Not that one");
    expect(read).not.toContain("2 + 2 = 4");
    await page.reload();
    await page.getByRole("article", { name: "Turn 1" }).getByText('→ {"result":43}').waitFor();
    await page.getByRole("article", { name: "Turn 2" }).getByText('→ {"result":2}').waitFor();
    tab.expectClean();
  });

  it("fills in forms for inputs, questions and results of client tools", async () => {
    const location = {
      name: "user_location",
      description: "Says in which city the user is.",
      input_schema: { type: "object", properties: {} },
      output_schema: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
      },
      transport: { type: "client" },
    };
    const node = { kind: "input", prompt: "How many?", writes: "execution.count" };
    const agent = await inspected.addAgent({
      name: "booker",
      tools: [location],
      input_schema: {
        type: "object",
        properties: {
          place: { type: "string", description: "Where to eat." },
          day: { type: "string", format: "date" },
        },
        required: ["place"],
      },
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          {
            name: "ask",
            type: "human",
            config: {
              ...node,
              timeout_seconds: 600,
              schema: {
                type: "object",
                properties: { n: { type: "integer", minimum: 1 } },
                required: ["n"],
              },
            },
          },
          { name: "locate", type: "tool", config: { tool: "user_location", args: {} } },
        ],
        edges: [
          { from: "ask", to: "locate" },
          { from: "locate", to: "END" },
        ],
        output: { city: "${nodes.locate.result}" },
      },
    });
    await using tab = await inspected.open(`chat/${agent}`);
    const { page } = tab;
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("Required.").waitFor();
    expect(await page.evaluate("document.activeElement.labels[0].textContent")).toBe("place");
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("textbox", { name: "place" }).fill("Aroma");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const asked = page.getByRole("region", { name: "How many?" });
    await asked.getByText(/expires in 9 min/).waitFor();
    await asked.getByRole("textbox", { name: "n" }).fill("0");
    await asked.getByRole("button", { name: "Answer" }).click();
    await asked.getByRole("alert").getByText("At least 1.").waitFor();
    expect(await tab.axe()).toEqual([]);
    await asked.getByRole("textbox", { name: "n" }).fill("2");
    await asked.getByRole("button", { name: "Answer" }).click();
    await page.getByRole("textbox", { name: "city" }).fill("Oslo");
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("button", { name: "Send the result" }).click();
    await page.getByRole("article", { name: "Turn 1" }).getByText("Oslo").first().waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).waitFor();
    tab.expectClean();
  });

  it("stops a turn, takes messages into one, and goes on after a lost connection", async () => {
    const agent = await inspected.addAgent({
      name: "patient",
      system_prompt: "Help.",
      tools: ["calculator"],
    });
    await using tab = await inspected.open(`chat/${agent}`);
    const { page } = tab;
    const stopped = new Silence();
    inspected.models.answer({ silent: stopped, first: "So" });
    await say(tab, "first");
    await page.getByRole("article").getByText("So").waitFor();
    await page.getByRole("textbox").last().press("Escape");
    await page.getByText("Stopped.").waitFor();
    await stopped.aborted;

    // The connection breaks once the server has taken the turn.
    const cut = new Silence();
    inspected.models.answer({ silent: cut, first: "Fine" });
    await page.route("**/turns/stream", async (route) => {
      const request = route.request();
      const aborted = new AbortController();
      await fetch(request.url(), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: request.postData() ?? "",
        signal: aborted.signal,
      });
      await cut.asked;
      aborted.abort();
      await route.abort("connectionreset");
    });
    await say(tab, "second");
    await page.getByRole("article").getByText("Fine").waitFor();
    cut.release(" again");
    await page.getByRole("article").getByText("Fine again").waitFor();
    await page.unroute("**/turns/stream");
    await page.getByText("1 step").last().waitFor();

    const held = new Silence();
    inspected.models.answer({ silent: held }, { text: "Cheap ones: 42." });
    await say(tab, "third");
    await held.asked;
    inspected.models.forget();
    await page.getByRole("textbox", { name: "Add a message to this turn" }).fill("only cheap ones");
    await page.keyboard.press("Enter");
    await page.getByText("Sent. The next step reads it.").waitFor();
    expect(await tab.axe()).toEqual([]);
    held.release("Done.");
    await page.getByText("Kept for the next turn").waitFor();
    inspected.models.answer({ text: "Cheap ones." });
    await say(tab, "go on");
    await page.getByText("Added while the turn ran").waitFor();
    await page.getByRole("article").getByText("Cheap ones.").waitFor();
    expect(tab.complaints.filter((one) => !one.includes("ERR_CONNECTION_RESET"))).toEqual([]);
    expect(tab.foreign).toEqual([]);
  });

  it("edits a message in a fork, and runs a turn again", async () => {
    const agent = await inspected.addAgent({ name: "forker", system_prompt: "Help." });
    await using tab = await inspected.open(`chat/${agent}`);
    const { page } = tab;
    inspected.models.answer({ text: "One." }, { text: "Two." });
    for (const [message, answer] of [
      ["first", "One."],
      ["second", "Two."],
    ] as const) {
      await say(tab, message);
      await page.getByRole("article").getByText(answer).waitFor();
      await page.getByText("1 step").last().waitFor();
    }
    const original = page.url();
    await page.getByRole("log").focus();
    await page.keyboard.press("e");
    const field = page.getByRole("textbox", { name: "Your message" });
    await field.fill("second, but other");
    expect(await tab.axe()).toEqual([]);
    inspected.models.answer({ text: "Other two." });
    await field.press("Enter");
    await page.getByRole("article", { name: "Turn 2" }).getByText("Other two.").waitFor();
    expect(page.url()).not.toBe(original);
    expect(await texts(page.getByRole("article").locator(".said"))).toEqual([
      "first",
      "second, but other",
    ]);
    const sent = inspected.models.requests.at(-1)?.body.messages.map(({ content }) => content);
    expect(sent).toEqual(["Help.", "first", "One.", "second, but other"]);

    // The first turn was before the fork: it is found in the original thread.
    inspected.models.answer({ text: "One again." });
    await page.getByRole("article", { name: "Turn 1" }).hover();
    await page.getByRole("button", { name: "Run again" }).first().click();
    await page.getByRole("article", { name: "Turn 1" }).getByText("One again.").waitFor();
    expect(await texts(page.getByRole("article").locator(".said"))).toEqual(["first"]);

    await page.goto(original);
    await page
      .getByRole("article", { name: "Turn 2" })
      .getByText("Two.", { exact: true })
      .waitFor();
    tab.expectClean();
  });

  it("sends files that were chosen, and says which it does not take", async () => {
    const agent = await inspected.addAgent({ name: "viewer", system_prompt: "Look." });
    await using tab = await inspected.open(`chat/${agent}`);
    const { page } = tab;
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const hostile = "<img src=x onerror=alert(1)>\u202e.png";
    await page.locator('input[type="file"]').setInputFiles([
      { name: hostile, mimeType: "image/png", buffer: png },
      { name: "notes.ts", mimeType: "video/mp2t", buffer: Buffer.from("let a = 1;") },
      { name: "app.exe", mimeType: "application/x-msdownload", buffer: Buffer.from([0, 255, 0]) },
    ]);
    await page.getByRole("alert").getByText("app.exe: models read text").waitFor();
    await page.getByRole("button", { name: "Remove notes.ts" }).click();
    const preview = page.getByRole("list", { name: "Files" }).locator("img");
    expect(await preview.getAttribute("src")).toMatch(/^blob:/);
    const width = await preview.evaluate(async (element) => {
      const image = element as unknown as { decode(): Promise<void>; naturalWidth: number };
      await image.decode();
      return image.naturalWidth;
    });
    expect(width).toBe(1);
    expect(await tab.axe()).toEqual([]);
    inspected.models.answer({ text: "A pixel." });
    await say(tab, "What is it?");
    await page.getByRole("article").getByText("A pixel.").waitFor();
    const sent = JSON.stringify(inspected.models.requests.at(-1)?.body.messages);
    expect(sent).toContain(png.toString("base64"));
    await page.reload();
    await page.getByRole("article").getByText("img src=x onerror=alert(1)").waitFor();
    tab.expectClean();
  });

  it("opens a long thread at its end, and shows hostile texts as texts", async () => {
    const agent = await inspected.addAgent({
      name: "long",
      description: "<b>bold</b>",
      system_prompt: "Help.",
    });
    const hostile = `<script>alert(1)</script> [a](javascript:alert(1)) ![b](https://example.com/b.png) \u202eabc ${"x".repeat(5_000)}`;
    inspected.models.answer({ text: hostile });
    const { thread_id: thread } = await inspected.send<{ thread_id: string }>(
      "POST",
      `/v1/agents/${agent}/runs`,
      { input: { message: "turn 499" } },
    );
    const path = `chat/${agent}?thread=${thread}`;
    await using tab = await inspected.open(path, { width: 375, theme: "dark" });
    const { page } = tab;
    await page.getByText("1 step").waitFor();
    const messages = Array.from({ length: 499 }, (_, index) => [
      { type: "human", content: `turn ${index}`, id: `h${index}` },
      { type: "ai", content: `answer ${index}`, id: `a${index}` },
    ]).flat();
    await inspected.send("POST", `/threads/${thread}/state`, { values: { messages } });
    await page.reload();
    await page.getByText("answer 498", { exact: true }).waitFor();
    const log = page.getByRole("log");
    const left = async () => (await scrolled(log)).left;
    await expect.poll(left).toBeLessThan(2);
    expect(await page.getByRole("article").count()).toBe(20);
    await page.evaluate(growTwice);
    await page.getByText("grown twice").waitFor();
    await expect.poll(left).toBeLessThan(2);
    // As far as one press of an arrow key.
    const { top } = await scrolled(log);
    await scrollTo(log, top - 40);
    await page.evaluate(growOnce);
    expect((await scrolled(log)).top).toBe(top - 40);
    await scrollTo(log, 100);
    await page.getByText("answer 478", { exact: true }).waitFor();
    // What was read stays where it was.
    expect((await scrolled(log)).top).toBeGreaterThan(400);
    await scrollTo(log, 500);
    await page.evaluate(growOnce);
    const read = page.getByText("answer 478", { exact: true });
    const place = await read.boundingBox();
    await page.getByRole("button", { name: "Load earlier turns" }).dispatchEvent("click");
    await page.getByText("answer 458", { exact: true }).waitFor();
    expect(await read.boundingBox()).toEqual(place);
    await page.getByRole("button", { name: "To the end" }).click();
    await expect.poll(left).toBeLessThan(2);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    expect(await page.locator(".answer a, .answer img, .answer script").count()).toBe(0);
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });
});

async function say({ page }: InspectorTab, message: string): Promise<void> {
  const box = page.getByRole("textbox", { name: "Message", exact: true });
  await box.fill(message);
  await box.press("Enter");
}

/** How far a box is scrolled, and how much is left below. */
function scrolled(box: Locator): Promise<{ readonly top: number; readonly left: number }> {
  return box.evaluate((element) => {
    const of = element as unknown as Record<"scrollTop" | "scrollHeight" | "clientHeight", number>;
    return { top: of.scrollTop, left: of.scrollHeight - of.scrollTop - of.clientHeight };
  });
}

/** Scrolls a box, and waits for the event. */
async function scrollTo(box: Locator, top: number): Promise<void> {
  await box.evaluate((element, scrollTop) => {
    Object.assign(element, { scrollTop });
  }, top);
  await box.page().evaluate(twoFrames);
}

const twoFrames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** Runs in the page: text grows, and the page may follow it. */
const growOnce = `{
  const box = document.createElement("div");
  box.style.height = "200px";
  document.querySelector(".turns").append(box);
  ${twoFrames};
}`;

/** Runs in the page: text grows once more after the page has followed it, before the event of that scroll. */
const growTwice = `{
  const turns = document.querySelector(".turns");
  const add = (text) => {
    const box = document.createElement("div");
    Object.assign(box.style, { height: "200px" });
    box.append(text);
    turns.append(box);
  };
  const observer = new ResizeObserver(() => {
    observer.disconnect();
    setTimeout(() => add("grown twice"));
  });
  observer.observe(turns);
  add("grown once");
}`;

async function texts(locator: Locator): Promise<readonly string[]> {
  return locator.allInnerTexts();
}
