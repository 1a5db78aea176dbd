import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/index.ts";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { foreignElements, hostileTexts } from "../helpers/hostile-texts.ts";
import { useInspector } from "../helpers/inspector.ts";

const all = hostileTexts.join("\n\n");
const short = '"><img src=x onerror="globalThis.hacked=99">';
/** An object with hostile keys, hostile values, and both in lists. */
const nested = {
  ...Object.fromEntries(hostileTexts.map((text, index) => [`${index} ${text}`, text])),
  list: hostileTexts,
};

const echo = defineTool({
  name: "echo",
  description: all,
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => ({ text, nested }),
});
const breaks = defineTool({
  name: "breaks",
  description: "Fails.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }): string => {
    throw new Error(text);
  },
});

describe.skipIf(browserHere === null)(`Hostile texts in the inspector${needsBrowser}`, () => {
  const inspected = useInspector({ tools: [echo, breaks] });
  const places: string[] = [];

  beforeAll(async () => {
    const { models, send } = inspected;
    const agent = await inspected.addAgent({
      name: "hostile",
      description: all,
      system_prompt: { role: all, instructions: short },
      tools: ["echo", "breaks"],
      memory_config: { long_term: { enabled: true } },
    });
    models.answer(
      { text: all, calls: [{ name: "echo", args: { text: all } }] },
      { text: short, calls: [{ name: "breaks", args: { text: all } }] },
      { text: all },
    );
    const run = await send<{ thread_id: string; links: { events: string } }>(
      "POST",
      `/v1/agents/${agent}/runs`,
      {
        thread_id: `t ${short}`,
        input: { message: all },
        metadata: { title: short, [short]: nested },
        config: { user: short },
      },
    );
    await (await fetch(`${inspected.url}${run.links.events}`)).text();
    const careful = await inspected.addAgent({
      name: "careful",
      tools: ["echo"],
      guardrail_config: { tool_rails: { require_approval: ["echo"] } },
    });
    models.answer({ text: all, calls: [{ name: "echo", args: { text: all, [short]: nested } }] });
    const asked = await send<{ thread_id: string; links: { events: string } }>(
      "POST",
      `/v1/agents/${careful}/runs`,
      { input: { message: all } },
    );
    await (await fetch(`${inspected.url}${asked.links.events}`)).text();
    for (const content of hostileTexts.slice(0, 12))
      await send("POST", `/v1/agents/${agent}/memory`, { content });
    // Alone, a text may be a whole address or a whole style.
    const [memory] = await Promise.all(
      ["javascript:globalThis.hacked=33", ...hostileTexts.slice(-4, -1)].map((content) =>
        send<{ id: string }>("POST", `/v1/agents/${agent}/memory`, { content }),
      ),
    );
    const schedule = await send<{ id: string }>("POST", "/v1/schedules", {
      name: short,
      agent_id: agent,
      cron: "0 9 * * *",
      input: { message: all },
    });
    const { checkpoints } = await send<{ checkpoints: readonly { id: string }[] }>(
      "GET",
      `/v1/threads/${encodeURIComponent(run.thread_id)}/checkpoints?limit=3`,
    );
    const thread = `threads/${encodeURIComponent(run.thread_id)}`;
    places.push(
      "threads",
      thread,
      `${thread}?step=0.0&open=prompt+calls`,
      `${thread}?step=0.1`,
      `${thread}/timeline`,
      `${thread}/graph`,
      `${thread}/plan`,
      `${thread}/checkpoints`,
      ...checkpoints.map(({ id }) => `${thread}/checkpoints/${id}`),
      `${thread}/checkpoints/${checkpoints[1]?.id}?edit=1`,
      `${thread}/checkpoints/${checkpoints[0]?.id}?q=script&open=messages,steps`,
      `${thread}/diff?from=${checkpoints[2]?.id}&to=${checkpoints[0]?.id}`,
      `chat/${agent}?thread=${encodeURIComponent(run.thread_id)}`,
      `chat/${careful}?thread=${encodeURIComponent(asked.thread_id)}`,
      "inbox",
      "agents",
      `agents/${agent}`,
      `agents/${agent}/edit`,
      `agents/${agent}/versions`,
      `agents/${agent}/graph`,
      `memory?agent=${agent}`,
      `memory?agent=${agent}&entry=${memory?.id}`,
      "queue",
      "queue?state=awaiting_human",
      `schedules?schedule=${schedule.id}`,
      `schedules?schedule=${schedule.id}&edit=1`,
      "experiments",
      "api/createRun",
      // What is in an address is as hostile as what is stored.
      `threads?status=${encodeURIComponent(short)}&agent=${encodeURIComponent(short)}`,
      `threads/${encodeURIComponent(short)}?step=${encodeURIComponent(short)}`,
      `api/${encodeURIComponent(short)}`,
      `inbox?request=${encodeURIComponent(short)}`,
    );
  });

  it("are text in every view: nothing runs, loads or is drawn of them", async () => {
    await using tab = await inspected.open("");
    const { page } = tab;
    page.on("dialog", (dialog) => {
      tab.complaints.push(`A dialog opened: ${dialog.message()}`);
      void dialog.dismiss();
    });
    for (const place of places) {
      await page.goto(`${inspected.url}/inspector/${place}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForFunction(() => document.querySelector(".loading") === null);
      // What is folded is drawn too.
      for (const opener of await page.locator("main [aria-expanded='false']").all())
        await opener.click({ timeout: 500, noWaitAfter: true }).catch(() => {});
      const found = await page.evaluate((selector) => {
        // Addresses that the page makes begin with its own path; those of markdown are checked by their scheme.
        const isOwn = (link: Element) =>
          /^(?:\/inspector\/|#main$)/.test(link.getAttribute("href") ?? "") ||
          (link as HTMLAnchorElement).href.startsWith(`${location.origin}/v1/`) ||
          (link.matches(".markdown [rel~=noopener][target=_blank]") &&
            /^(?:https?|mailto):/.test((link as HTMLAnchorElement).protocol));
        const isOwnImage = (image: Element) =>
          /^(?:\/inspector\/|blob:)/.test(image.getAttribute("src") ?? "");
        const select = (of: string) => [...document.querySelectorAll(of)];
        const shown = (elements: readonly Element[]) => elements.map((one) => one.outerHTML);
        return {
          hacked: Reflect.get(globalThis, "hacked") ?? null,
          broken: shown(select("h1")).filter((text) => text.includes("This view")),
          elements: shown(select(selector)),
          links: shown(
            select("[href]").filter(
              (one) => one.localName !== "link" && one.localName !== "base" && !isOwn(one),
            ),
          ),
          images: shown(select("img, image").filter((one) => !isOwnImage(one))),
        };
      }, foreignElements);
      const none = { hacked: null, broken: [], elements: [], links: [], images: [] };
      expect({ place, ...found }).toEqual({ place, ...none });
    }
    // Addresses of what is not there are answered with 404, which the browser tells.
    const told = tab.complaints.filter((text) => !/status of 4\d\d/.test(text));
    expect({ told, foreign: tab.foreign }).toEqual({ told: [], foreign: [] });
  });
});
