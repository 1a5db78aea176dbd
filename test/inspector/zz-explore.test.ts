import { describe, it } from "vitest";
import { browserHere } from "../cli/draw/browser.ts";
import { useInspector } from "../helpers/inspector.ts";

describe.skipIf(browserHere === null)("explore", () => {
  const inspected = useInspector();
  it("shots", async () => {
    const shot = (tab: any, name: string) => tab.page.screenshot({ path: `/tmp/vc/${name}.png` });
    const agent = await inspected.addAgent({ name: "helper", description: "Helps with sums and other things.", system_prompt: "Help.", tools: ["calculator"], guardrail_config: { tool_rails: { require_approval: ["calculator"] } } });
    await inspected.addAgent({ name: "travel-planner", description: "Plans trips.", system_prompt: "Help." });
    await using tab = await inspected.open("chat");
    await tab.page.getByText("Helps with sums").waitFor();
    await shot(tab, "picker");
    console.log("axe picker", await tab.axe());
    await tab.page.getByRole("link", { name: "helper" }).click();
    const box = tab.page.getByRole("textbox", { name: "Message" });
    await box.waitFor();
    await shot(tab, "new");
    console.log("axe new", await tab.axe());
    inspected.models.answer({ text: "Hello! I am a **helper**.\n\n- one\n- two\n\n```js\nlet a = 1;\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |" });
    await box.fill("Hi there");
    await box.press("Enter");
    await tab.page.getByText("1 step").waitFor();
    await shot(tab, "answered");
    inspected.models.answer({ calls: [{ name: "calculator", args: { expression: "6*7" } }], text: "Let me calculate that." }, { text: "It is 42." });
    await box.fill("What is 6*7?");
    await box.press("Enter");
    await tab.page.getByRole("button", { name: "Approve" }).waitFor();
    await shot(tab, "approve");
    console.log("axe approve", await tab.axe());
    await tab.page.getByRole("button", { name: "Edit arguments" }).click();
    await shot(tab, "edit-args");
    await tab.page.getByRole("button", { name: "Back" }).click();
    await tab.page.getByRole("button", { name: "Approve" }).click();
    await tab.page.getByText("It is 42.").waitFor();
    await tab.page.getByText("2 steps").waitFor();
    await shot(tab, "done");
    console.log("axe done", await tab.axe());
    console.log(tab.page.url(), tab.complaints);
    for (const [w, h, theme] of [[375, 800, "light"], [375, 800, "dark"], [2560, 1440, "dark"], [1280, 800, "dark"]] as const) {
      await using t = await inspected.open(tab.page.url().split("/inspector/")[1]!, { width: w, height: h, theme });
      await t.page.getByText("2 steps").waitFor();
      await shot(t, `done-${w}-${theme}`);
      console.log(w, "overflow", await t.page.evaluate("document.documentElement.scrollWidth - innerWidth"), t.complaints);
    }
    // inbox
    inspected.models.answer({ calls: [{ name: "calculator", args: { expression: "6*7" } }, { name: "calculator", args: { expression: "8*8" } }] });
    await inspected.send("POST", `/v1/agents/${agent}/runs`, { input: { message: "two" } });
    inspected.models.answer({ calls: [{ name: "calculator", args: { expression: "1+1" } }] });
    await inspected.send("POST", `/v1/agents/${agent}/runs`, { input: { message: "one" } });
    await using inbox = await inspected.open("inbox");
    await inbox.page.getByText("2 calls").first().waitFor();
    await shot(inbox, "inbox");
    console.log("axe inbox", await inbox.axe(), inbox.complaints);
  }, 120_000);
});
