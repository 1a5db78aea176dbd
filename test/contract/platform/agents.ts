import { describe, expect, test } from "vitest";
import { systemIds } from "../../../src/clock.ts";
import {
  ConflictError,
  InvalidValueError,
  NotFoundError,
  VersionConflictError,
} from "../../../src/storage/platform/errors.ts";
import type {
  AgentSummary,
  ListedAgent,
  StoredAgent,
} from "../../../src/storage/platform/agents.ts";
import type { PlatformSubject } from "./subject.ts";

/** Agents with their versions and tools, webhooks, and idempotency keys. */
export function agentsContract(subject: PlatformSubject): void {
  describe.skipIf(!subject.database.available)(`agents on ${subject.database.kind}`, () => {
    const definition = { system_prompt: "Help.\0\ud800" };
    const start = async () => {
      const { id: tenantId } = await subject.newTenant();
      const agent = await subject.platform.agents.create(tenantId, { name: "support", definition });
      return { tenantId, agent, agentId: agent.agentId };
    };

    test("are created once by name, also when two callers do so at once", async () => {
      const { agents } = subject.platform;
      const { tenantId, agent, agentId } = await start();
      expect(agent).toMatchObject({ version: "1.0.0", isActive: true, definition });
      expect(await agents.get(tenantId, agentId)).toEqual(agent);
      expect(await agents.getVersion(tenantId, agent.id)).toEqual(agent);
      const twice = [1, 2].map((major) =>
        agents.create(tenantId, { name: "other", definition, version: `${major}.0.0` }),
      );
      const settled = await Promise.allSettled(twice);
      expect(settled.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(settled.find((one) => one.status === "rejected")?.reason).toBeInstanceOf(
        ConflictError,
      );
    });

    test("have one active version, which follows the version that was changed", async () => {
      const { agents } = subject.platform;
      const { tenantId, agentId } = await start();
      const change = { agentId, base: "1.0.0", definition: { changed: 1 } };
      const racing = await Promise.allSettled([
        agents.newVersion(tenantId, change),
        agents.newVersion(tenantId, change),
      ]);
      expect(racing.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      const refused = racing.find((one) => one.status === "rejected")?.reason as unknown;
      expect(refused).toBeInstanceOf(VersionConflictError);
      expect(refused).toMatchObject({ code: "version_conflict", base: "1.0.0", current: "1.0.1" });
      expect(await agents.get(tenantId, agentId)).toMatchObject({
        version: "1.0.1",
        definition: { changed: 1 },
      });
      const next = { ...change, base: "1.0.1", version: "2.0.0" };
      expect(await agents.newVersion(tenantId, next)).toMatchObject({ version: "2.0.0" });
      const older = { ...next, base: "2.0.0", version: "1.9.0" };
      await expect(agents.newVersion(tenantId, older)).rejects.toThrow(InvalidValueError);
      expect(await agents.get(tenantId, agentId, "1.0.0")).toMatchObject({ isActive: false });
      const { items } = await agents.versions(tenantId, agentId);
      expect(items.map(({ version, isActive }) => [version, isActive])).toEqual([
        ["2.0.0", true],
        ["1.0.1", false],
        ["1.0.0", false],
      ]);
    });

    test("have no page of versions where there is no agent, whatever the cursor", async () => {
      const { agents } = subject.platform;
      const { tenantId, agentId } = await start();
      await agents.newVersion(tenantId, { agentId, base: "1.0.0", definition });
      const { next } = await agents.versions(tenantId, agentId, { limit: 1 });
      const page = { cursor: next! };
      const { items } = await agents.versions(tenantId, agentId, page);
      expect(items.map(({ version }) => version)).toEqual(["1.0.0"]);
      const { id: other } = await subject.newTenant();
      await expect(agents.versions(other, agentId, page)).rejects.toThrow(NotFoundError);
      const { agentId: older } = await agents.create(tenantId, { name: "older", definition });
      expect(await agents.versions(tenantId, older, page)).toEqual({ items: [], next: null });
    });

    test("go back to an older version, and are deactivated", async () => {
      const { agents } = subject.platform;
      const { tenantId, agentId } = await start();
      await agents.newVersion(tenantId, { agentId, base: "1.0.0", definition });
      const back = await agents.activate(tenantId, agentId, "1.0.0");
      expect(back).toMatchObject({ isActive: true });
      subject.clock.advance(1);
      expect(await agents.activate(tenantId, agentId, "1.0.0")).toEqual(back);
      // After 1.0.1, not after its base.
      const next = await agents.newVersion(tenantId, { agentId, base: "1.0.0", definition });
      expect(next.version).toBe("1.0.2");
      await agents.deactivate(tenantId, agentId);
      await agents.deactivate(tenantId, agentId);
      await expect(agents.get(tenantId, agentId)).rejects.toThrow(NotFoundError);
      expect((await agents.list(tenantId)).items).toEqual([]);
      const again = agents.create(tenantId, { name: "support", definition, version: "9.0.0" });
      await expect(again).rejects.toThrow(ConflictError);
      await expect(agents.activate(tenantId, agentId, "7.0.0")).rejects.toThrow(NotFoundError);
      expect(await agents.activate(tenantId, agentId, "1.0.2")).toMatchObject({ isActive: true });
    });

    test("are listed with their models and numbers of tools, whatever texts they have", async () => {
      const { agents } = subject.platform;
      const { tenantId } = await start();
      const llm = { default_model: "openai:gpt-4o-mini" };
      const definitions = [
        { llm_config: llm, tools: ["calculator", { mcp: { name: "files" } }] },
        { llm_config: llm, description: "\0" },
        { llm_config: llm, tools: "none", description: "\ud83d\ude00" },
      ];
      for (const [at, one] of definitions.entries())
        await agents.create(tenantId, { name: `listed-${at}`, definition: one });
      const { items } = await agents.list(tenantId, { limit: 3 });
      expect(items.map(({ model, toolCount }) => [model, toolCount])).toEqual([
        ["openai:gpt-4o-mini", 0],
        [null, null],
        ["openai:gpt-4o-mini", 2],
      ]);
    });

    test("are listed page by page without definitions, and belong to their tenant", async () => {
      const { agents } = subject.platform;
      const { tenantId, agent, agentId } = await start();
      const second = await agents.create(tenantId, { name: "b", definition });
      const summary = ({ definition: _definition, ...rest }: StoredAgent): AgentSummary => rest;
      const listed = (stored: StoredAgent): ListedAgent => {
        // The definition has a NUL, which Postgres cannot read.
        return { ...summary(stored), model: null, toolCount: null };
      };
      const page = await agents.list(tenantId, { limit: 1 });
      expect(page.items).toEqual([listed(second)]);
      const { items } = await agents.list(tenantId, { cursor: page.next! });
      expect(items).toEqual([listed(agent)]);
      expect((await agents.list(tenantId, { name: "b" })).items).toEqual([listed(second)]);
      expect((await agents.versions(tenantId, agentId)).items).toEqual([summary(agent)]);
      const { id: other } = await subject.newTenant();
      await expect(agents.get(other, agentId)).rejects.toThrow(NotFoundError);
      await expect(agents.versions(other, agentId)).rejects.toThrow(NotFoundError);
      await expect(agents.deactivate(other, agentId)).rejects.toThrow(NotFoundError);
      await expect(agents.get(tenantId, "' or true")).rejects.toThrow(NotFoundError);
    });

    test.each(["1", "1.0", "01.0.0", "1.0.0-beta", "1.0.9999999999"])(
      "refuse the version %j",
      async (version) => {
        const { id } = await subject.newTenant();
        const given = { name: "a", definition, version };
        await expect(subject.platform.agents.create(id, given)).rejects.toThrow(InvalidValueError);
      },
    );

    test("refuse definitions that are too large or no JSON", async () => {
      const { id } = await subject.newTenant();
      const circular: Record<string, unknown> = {};
      circular["self"] = circular;
      for (const bad of [{ text: "x".repeat(1_048_576) }, circular, { n: 1n }])
        await expect(
          subject.platform.agents.create(id, { name: "a", definition: bad }),
        ).rejects.toThrow(InvalidValueError);
    });

    test("use the tools that their tenant has", async () => {
      const { tools } = subject.platform;
      const { tenantId, agentId } = await start();
      const tool = await tools.create(tenantId, { name: "search", definition });
      await expect(tools.create(tenantId, { name: "search", definition })).rejects.toThrow(
        ConflictError,
      );
      expect((await tools.list(tenantId)).items).toEqual([tool]);
      await tools.bind(tenantId, { agentId, toolId: tool.id });
      const overrides = { requires_approval: true };
      await tools.bind(tenantId, { agentId, toolId: tool.id, overrides, isEnabled: false });
      expect(await tools.bindings(tenantId, agentId)).toMatchObject([
        { agentId, tool, overrides, isEnabled: false },
      ]);
      const other = await start();
      const foreign = { agentId: other.agentId, toolId: tool.id };
      await expect(tools.bind(other.tenantId, foreign)).rejects.toThrow(NotFoundError);
      await expect(tools.bind(tenantId, foreign)).rejects.toThrow(NotFoundError);
      const nul = { agentId, toolId: tool.id, overrides: { a: "\0" } };
      await expect(tools.bind(tenantId, nul)).rejects.toThrow(InvalidValueError);
      expect(await tools.unbind(other.tenantId, { agentId, toolId: tool.id })).toBe(false);
      expect(await tools.unbind(tenantId, { agentId, toolId: tool.id })).toBe(true);
      await expect(tools.remove(other.tenantId, tool.id)).rejects.toThrow(NotFoundError);
      await tools.remove(tenantId, tool.id);
      await expect(tools.get(tenantId, tool.id)).rejects.toThrow(NotFoundError);
    });

    test("and their tools are found by name, each tenant's own", async () => {
      const { agents, tools } = subject.platform;
      const { tenantId, agent, agentId } = await start();
      const other = await start();
      const tool = await tools.create(tenantId, { name: "search", definition });
      await tools.bind(tenantId, { agentId, toolId: tool.id });
      const odd = ["\0", "\ud800", "'", "", "x".repeat(10_000), "Support"];
      expect(await agents.activeNamed(tenantId, ["support", "none", ...odd])).toEqual([agent]);
      expect(await tools.named(tenantId, ["search", "none", ...odd])).toEqual([tool]);
      expect(await tools.named(tenantId, [tool.id, "search"])).toEqual([tool]);
      expect(await tools.named(other.tenantId, ["search", tool.id])).toEqual([]);
      expect(await tools.bindingsOf(tenantId, [agentId, other.agentId])).toHaveLength(1);
      expect(await tools.bindingsOf(other.tenantId, [agentId])).toEqual([]);
      await agents.deactivate(tenantId, agentId);
      expect(await agents.activeNamed(tenantId, ["support"])).toEqual([]);
    });

    test("notify webhooks that want an event, again and again until they answer", async () => {
      const { webhooks } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const url = "https://example.com/hook";
      const { webhook, secret } = await webhooks.create(tenantId, { url, events: ["run.failed"] });
      const all = await webhooks.create(tenantId, { url, events: ["*"] });
      const off = await webhooks.create(tenantId, { url, events: ["*"] });
      await webhooks.setActive(tenantId, off.webhook.id, false);
      expect(await webhooks.enqueue(tenantId, { event: "run.complete", body: { n: 1 } })).toBe(1);
      expect(await webhooks.enqueue(tenantId, { event: "run.failed", body: { n: 2 } })).toBe(2);
      const take = async () =>
        (await webhooks.claimDue({ leaseMs: 1_000, limit: 200 })).filter(
          (one) => one.tenantId === tenantId,
        );
      const due = await take();
      expect(due).toHaveLength(3);
      expect(await take()).toEqual([]);
      const [mine] = due.filter((one) => one.webhookId === webhook.id);
      expect(mine).toMatchObject({ url, secret, event: "run.failed", body: { n: 2 }, attempt: 1 });
      expect(await webhooks.record(mine!, { isDelivered: false, result: "503\0" })).toBe(true);
      for (const one of due.filter((other) => other.webhookId !== webhook.id))
        expect(await webhooks.record(one, { isDelivered: true, result: "200" })).toBe(true);
      subject.clock.advance(9_999);
      expect(await take()).toEqual([]);
      subject.clock.advance(1);
      const [again] = await take();
      expect(again).toMatchObject({ id: mine!.id, attempt: 2 });
      expect(await webhooks.record(mine!, { isDelivered: true, result: "late" })).toBe(false);
      for (let attempt = 3; attempt <= 10; attempt += 1) {
        subject.clock.advance(3_600_000);
        expect(await take()).toMatchObject([{ attempt }]);
      }
      await webhooks.record({ ...mine!, attempt: 10 }, { isDelivered: false, result: "503" });
      subject.clock.advance(7_200_000);
      expect(await take()).toEqual([]);
      const { items } = await webhooks.deliveries(tenantId, webhook.id);
      expect(items).toMatchObject([{ state: "failed", attempts: 10, lastResult: "503" }]);
      await webhooks.remove(tenantId, all.webhook.id);
      expect((await webhooks.list(tenantId)).items).toHaveLength(2);
      for (const [of, id] of [
        [(await subject.newTenant()).id, webhook.id],
        [tenantId, all.webhook.id],
      ] as const)
        await expect(webhooks.deliveries(of, id)).rejects.toThrow(NotFoundError);
    });

    test("keep no deliveries of webhooks that ended long ago", async () => {
      const { webhooks } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const { webhook } = await webhooks.create(tenantId, { url: "https://a.b", events: ["*"] });
      for (const event of ["ended", "waiting"])
        await webhooks.enqueue(tenantId, { event, body: {} });
      const due = await webhooks.claimDue({ leaseMs: 1_000, limit: 200 });
      const ended = due.find((one) => one.tenantId === tenantId && one.event === "ended");
      await webhooks.record(ended!, { isDelivered: true, result: "200" });
      const left = async () =>
        (await webhooks.deliveries(tenantId, webhook.id)).items
          .map(({ event }) => event)
          .toSorted();
      const day = 86_400_000;
      // Ids have the time at which they were made, whatever the clock of the test says.
      subject.clock.advance(Date.now() + 29 * day - subject.clock.now().getTime());
      await webhooks.removeEnded({ olderThanDays: 30 });
      expect(await left()).toEqual(["ended", "waiting"]);
      subject.clock.advance(2 * day);
      expect(await webhooks.removeEnded({ olderThanDays: 30 })).toBeGreaterThanOrEqual(1);
      expect(await left()).toEqual(["waiting"]);
    });

    test("answer a request again instead of executing it twice", async () => {
      const { idempotency } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const [lost, attempt] = [systemIds(), systemIds()];
      const request = { key: "k", attempt, requestHash: Buffer.alloc(32, 1) };
      const begin = (more = {}) => idempotency.begin(tenantId, { ...request, ...more });
      const racing = await Promise.all([begin(), begin(), begin()]);
      expect(racing.map(({ state }) => state).toSorted()).toEqual([
        "new",
        "under_way",
        "under_way",
      ]);
      expect(await begin({ requestHash: Buffer.alloc(32, 2) })).toEqual({ state: "other_request" });
      await idempotency.abandon(tenantId, request);
      expect(await begin({ attempt: lost })).toEqual({ state: "new" });
      await idempotency.abandon(tenantId, { key: "k", attempt: lost });
      expect(await begin()).toEqual({ state: "new" });
      // The end of the request before is stored once more.
      await idempotency.abandon(tenantId, { key: "k", attempt: lost });
      await idempotency.finish(tenantId, { key: "k", attempt: lost }, { status: 500, answer: 0 });
      expect(await begin()).toEqual({ state: "under_way" });
      await idempotency.finish(tenantId, request, { status: 201, answer: { id: "a\0" } });
      await idempotency.abandon(tenantId, request);
      const answered = { state: "answered", status: 201, answer: { id: "a\0" } };
      expect(await begin()).toEqual(answered);
      const { id: other } = await subject.newTenant();
      expect(await idempotency.begin(other, request)).toEqual({ state: "new" });
      subject.clock.advance(3_600_000);
      expect(await begin()).toEqual(answered);
      // Its process is taken for dead, and its end comes too late.
      const again = { ...request, attempt: systemIds() };
      expect(await idempotency.begin(other, again)).toEqual({ state: "new" });
      await idempotency.abandon(other, request);
      expect(await idempotency.begin(other, request)).toEqual({ state: "under_way" });
      subject.clock.advance(23 * 3_600_000 + 1);
      expect(await idempotency.sweep()).toBeGreaterThanOrEqual(1);
      expect(await begin()).toEqual({ state: "new" });
      expect(await idempotency.begin(other, request)).toEqual({ state: "new" });
      await expect(begin({ key: "" })).rejects.toThrow(InvalidValueError);
    });

    test("are on one thread each", async () => {
      const { instances } = subject.platform;
      const { tenantId, agent } = await start();
      const given = { threadId: "t", agent: "support", definitionId: agent.id };
      const made = await Promise.all([1, 2].map(() => instances.create(tenantId, given)));
      expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(made[0]!.id).toBe(made[1]!.id);
      expect(made[0]).toMatchObject({ status: "CREATED", definitionId: agent.id, startedAt: null });
      await expect(instances.create(tenantId, { ...given, agent: "other" })).rejects.toThrow(
        ConflictError,
      );
      const { id: other } = await subject.newTenant();
      await expect(instances.create(other, given)).rejects.toThrow(NotFoundError);
      expect((await instances.create(other, { ...given, definitionId: null })).isNew).toBe(true);
      const [one] = made;
      expect(await instances.onThread(tenantId, "t")).toMatchObject({ id: one!.id });
      const found = async (filter: object) => (await instances.list(tenantId, filter)).items;
      const own = await instances.get(tenantId, one!.id);
      expect(own).toMatchObject({ agentId: agent.agentId, completedAt: null });
      expect(await found({ status: "CREATED", agentId: agent.agentId })).toEqual([own]);
      expect(await found({ status: "COMPLETED" })).toEqual([]);
      expect(await found({ agentId: systemIds() })).toEqual([]);
      await expect(instances.get(tenantId, systemIds())).rejects.toThrow(NotFoundError);
    });
  });
}
