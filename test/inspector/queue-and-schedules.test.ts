import { describe, expect, it } from "vitest";
import { browserHere, needsBrowser } from "../cli/draw/browser.ts";
import { useInspector } from "../helpers/inspector.ts";
import { cronText, timeInZone } from "../../web/views/schedules/cron-text.ts";

describe("a cron expression in words", () => {
  it("has its times, and none where it cannot be read", () => {
    expect(cronText("0 9 * * MON-FRI")).toBe("At 09:00, Monday through Friday");
    expect(cronText("@daily")).toBe("At 00:00");
    expect(cronText("never")).toBeNull();
  });

  it("fires at times of its zone", () => {
    expect(timeInZone("2026-07-01T07:00:00Z", "Europe/Berlin")).toBe("Wed, 1 Jul 2026, 09:00 CEST");
    expect(timeInZone("2026-07-01T07:00:00Z", "Mars/Olympus")).toContain("07:00 UTC");
  });
});

describe.skipIf(browserHere === null)(`The queue and schedules${needsBrowser}`, () => {
  const inspected = useInspector();

  it("show what waits and which workers there are, as it changes, and let a dead run be retried", async () => {
    const agent = await inspected.addAgent({ name: "helper", system_prompt: "Help." });
    await using tab = await inspected.open("queue?state=queued");
    const { page } = tab;
    await page.getByRole("heading", { name: "Nothing is queued" }).waitFor();
    await page.getByRole("region", { name: "Workers" }).getByText("0 / 16").waitFor();
    const run = await inspected.send<{ run_id: string; thread_id: string }>(
      "POST",
      `/v1/agents/${agent}/runs`,
      { input: { message: "Hi" }, config: { after_seconds: 3_600 } },
    );
    await page.getByRole("link", { name: run.thread_id }).waitFor();
    await page.getByRole("link", { name: /1 Queued 1 later/ }).waitFor();
    expect(await tab.axe()).toEqual([]);

    const { pool } = inspected.server.platform.tables.tenants;
    await pool.query(
      "update stratagraph.run set state = 'dead', attempts = 5, ended_at = now() where id = $1",
      [run.run_id],
    );
    await page.getByRole("link", { name: /Dead/ }).click();
    const runs = page.getByRole("region", { name: "Runs" });
    await runs.getByText("Correct the cause, then retry it").waitFor();
    expect(await tab.axe()).toEqual([]);
    inspected.models.answer({ text: "Hello." });
    await runs.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("heading", { name: "No run is dead" }).waitFor();
    tab.expectClean();
  });

  it("hide workers from keys without the scope of operators", async () => {
    await using tab = await inspected.open("queue");
    await tab.page.route("**/v1/queue", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), fleet: null } });
    });
    await tab.page.reload();
    await tab.page.getByText("a key with the scope operator shows them").waitFor();
    expect(await tab.axe()).toEqual([]);
    tab.expectClean();
  });

  it("make a schedule, refuse times that cannot be, run it, pause it and delete it", async () => {
    const agent = await inspected.addAgent({ name: "reporter", system_prompt: "Report." });
    await using tab = await inspected.open("schedules");
    const { page } = tab;
    await page.getByRole("heading", { name: "No schedules yet" }).waitFor();
    await page.keyboard.press("n");
    const form = page.getByRole("form", { name: "New schedule" });
    await form.getByLabel("Name").fill("<b>daily</b>");
    await form.getByLabel("Agent").selectOption(agent);
    await form.getByLabel("Time zone").fill("Europe/Berlin");
    await form.getByLabel("Cron expression").fill("0 9 30 2 *");
    await form.getByText("never fires").waitFor();
    expect(await form.getByLabel("Cron expression").getAttribute("aria-invalid")).toBe("true");
    expect(await tab.axe()).toEqual([]);
    await form.getByLabel("Cron expression").fill("0 9 * * *");
    await form.getByText("At 09:00").waitFor();
    await expect.poll(() => form.locator(".firings li").count()).toBe(5);
    await form.getByLabel("Input").fill("Write the report.");
    await form.getByRole("button", { name: "Create" }).click();

    const detail = page.getByRole("region", { name: "Selected schedule" });
    await detail.getByRole("heading", { name: "<b>daily</b>" }).waitFor();
    const id = new URL(page.url()).searchParams.get("schedule")!;
    const stored = () => inspected.send("GET", `/v1/schedules/${id}`);
    expect(await stored()).toMatchObject({
      agent_id: agent,
      cron: "0 9 * * *",
      time_zone: "Europe/Berlin",
      input: { message: "Write the report." },
      thread: { policy: "new" },
    });
    await expect.poll(() => detail.locator(".firings li").count()).toBe(5);
    expect(await detail.locator(".firings li").first().textContent()).toMatch(/09:00 CES?T/);
    expect(await tab.axe()).toEqual([]);

    await detail.getByRole("link", { name: "Edit" }).click();
    const edit = page.getByRole("form", { name: "Edit schedule" });
    await edit.getByLabel("All runs continue one thread").check();
    await edit.getByLabel("Missed firings").selectOption("none");
    await edit.getByRole("button", { name: "Save" }).click();
    await detail.getByText("no run").waitFor();
    const kept = (await stored())["thread"];
    expect(kept).toMatchObject({ policy: "keep", thread_id: expect.any(String) });
    // Another change leaves the thread that is kept as it is.
    await page.keyboard.press("e");
    await edit.getByLabel("Missed firings").selectOption("all");
    await edit.getByRole("button", { name: "Save" }).click();
    await detail.getByText("one run for each, the newest 10").waitFor();
    expect((await stored())["thread"]).toEqual(kept);

    await detail.getByRole("button", { name: "Pause" }).click();
    await detail.getByText("paused").waitFor();
    expect(await stored()).toMatchObject({ enabled: false });
    await detail.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "No schedules yet" }).waitFor();
    tab.expectClean({ refused: [422] });
  });
});
