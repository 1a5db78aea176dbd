import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { useInspector } from "../helpers/inspector.ts";

interface Run {
  readonly thread_id: string;
  readonly links: { readonly self: string; readonly events: string };
}

describe.skipIf(browserHere === null)(`The inbox${needsBrowser}`, () => {
  const inspected = useInspector();
  const waiting = async (agent: string, message: string, expression: string): Promise<Run> => {
    inspected.models.answer({ calls: [{ name: "calculator", args: { expression } }] });
    const run = await inspected.send<Run>("POST", `/v1/agents/${agent}/runs`, {
      input: { message },
    });
    await fetch(`${inspected.url}${run.links.events}`).then((answer) => answer.text());
    return run;
  };

  it("lists what waits, oldest first, and runs go on live once they are answered", async () => {
    await using tab = await inspected.open("inbox");
    const { page } = tab;
    await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    const agent = await inspected.addAgent({
      name: "careful",
      system_prompt: "Help.",
      tools: ["calculator"],
      guardrail_config: { tool_rails: { require_approval: ["calculator"] } },
    });
    const first = await waiting(agent, "first", "1 + 1");
    const second = await waiting(agent, "second", "2 + 2");
    const third = await waiting(agent, "third", "3 + 3");
    const rows = page.getByRole("list", { name: "Requests" }).getByRole("link");
    await rows.nth(2).waitFor();
    await page.getByRole("navigation", { name: "Views" }).getByText("3 waiting").waitFor();
    await page.getByText("1 + 1").waitFor();
    expect(await tab.axe()).toEqual([]);

    // Approve: the chat of its thread has the rest of the turn.
    inspected.models.answer({ text: "It is 2." });
    await page.keyboard.press("a");
    await page.getByText("Answered:").waitFor();
    await page.getByRole("status").getByText("complete").waitFor();
    expect(await rows.count()).toBe(2);
    await using chat = await inspected.open(`chat?thread=${first.thread_id}`);
    await chat.page.getByRole("article").getByText("It is 2.").waitFor();
    await chat.page.getByRole("article").getByText('→ {"result":2}').waitFor();
    chat.expectClean();

    // Another person answers what is open here.
    await page.getByText("2 + 2").waitFor();
    const shown = page.url();
    inspected.models.answer({ text: "It is 4." });
    await inspected.send("POST", `${second.links.self}/resume`, { answer: "approve" });
    await page.getByRole("heading", { name: "Inbox" }).waitFor();
    await page.getByText("Waits no longer: May careful").waitFor();
    expect(await rows.count()).toBe(1);
    await page.goto(shown);
    await page.getByText("This request waits no longer").waitFor();
    expect(await tab.axe()).toEqual([]);

    // Reject with a reason, by keys.
    await page.keyboard.press("j");
    await page.getByText("3 + 3").waitFor();
    await page.keyboard.press("r");
    await page.keyboard.type("Too much");
    expect(await tab.axe()).toEqual([]);
    inspected.models.answer({ text: "Then not." });
    await page.getByRole("button", { name: "Reject" }).click();
    await page.getByText("Answered:").waitFor();
    await fetch(`${inspected.url}${third.links.events}`).then((answer) => answer.text());
    expect(JSON.stringify(inspected.models.requests.at(-1)?.body.messages)).toContain("Too much");
    tab.expectClean();
  });

  it("says that an answer came too late, and keeps what was typed for a wrong one", async () => {
    const agent = await inspected.addAgent({
      name: "asker",
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          {
            name: "ask",
            type: "human",
            config: {
              kind: "input",
              prompt: "<b>Who</b> pays?",
              writes: "execution.who",
              schema: { type: "string", pattern: "^[A-Z]" },
            },
          },
          {
            name: "paid",
            type: "wait",
            config: { event: "order.paid" },
          },
        ],
        edges: [
          { from: "ask", to: "paid" },
          { from: "paid", to: "END" },
        ],
      },
    });
    const run = await inspected.send<Run>("POST", `/v1/agents/${agent}/runs`, {
      input: { message: "Order" },
    });
    await using tab = await inspected.open("inbox");
    const { page } = tab;
    const answer = page.getByRole("textbox", { name: "Answer" });
    await answer.fill("ada");
    await page.getByRole("button", { name: "Answer" }).click();
    await page.getByRole("alert").getByText("does not fit").first().waitFor();
    expect(await answer.inputValue()).toBe("ada");
    expect(await tab.axe()).toEqual([]);
    // The list does not learn of the answer before this one is sent.
    await page.route("**/v1/requests*", (route) => route.abort());
    await inspected.send("POST", `${run.links.self}/resume`, { answer: "Bob" });
    await answer.fill("Ada");
    await page.getByRole("button", { name: "Answer" }).click();
    await page.getByText("This was answered already.").waitFor();
    await page.unroute("**/v1/requests*");
    await page.reload();
    await page.getByRole("heading", { name: "order.paid" }).waitFor();
    expect(await tab.axe()).toEqual([]);
    await page.getByRole("combobox", { name: "Payload" }).selectOption("JSON");
    await page.getByRole("textbox", { name: "JSON" }).fill('{"amount": 5}');
    await page.getByRole("button", { name: "Send the event" }).click();
    await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
    expect(tab.foreign).toEqual([]);
  });
});
