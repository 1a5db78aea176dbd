import "../../styles/schedules.css";
import { useLocation } from "preact-iso";
import { api, bodyOf } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { links } from "../../links.ts";
import { useAgents } from "../threads/threads-view.tsx";
import { cronText } from "./cron-text.ts";
import { ScheduleDetail } from "./schedule-detail.tsx";
import { ScheduleForm } from "./schedule-form.tsx";
import { type Schedule, ScheduleStatus } from "./schedule-status.tsx";

/** The schedules of the tenant, and the one that is selected, made or changed. */
export function SchedulesView() {
  const { query, route } = useLocation();
  const agents = useAgents();
  const { schedule: id, edit } = query;
  const schedules = usePages<Schedule>(
    "schedules",
    async (cursor, signal) => {
      const page = { limit: 100, ...(cursor !== null && { cursor }) };
      const body = await bodyOf(api.GET("/v1/schedules", { params: { query: page }, signal }));
      return { items: body.schedules, next: body.next_cursor };
    },
    // A firing queues a run.
    {
      keyOf: (one) => one.id,
      refreshOn: ({ status }) => ["queued", "running", "*"].includes(status),
    },
  );
  const { items } = schedules;
  const selected = items?.find((one) => one.id === id);
  const isNew = edit === "new";
  const close = () =>
    route(links.schedules(selected === undefined ? {} : { schedule: selected.id }), true);
  useShortcuts("Schedules", [
    { keys: "n", does: "New schedule", run: () => route(links.schedules({ edit: "new" })) },
    {
      keys: "e",
      does: "Edit the selected schedule",
      run: () =>
        selected !== undefined && route(links.schedules({ schedule: selected.id, edit: "1" })),
    },
    { keys: "Escape", does: "Close", run: () => route(links.schedules()) },
  ]);
  const saved = (one: Schedule) => {
    schedules.reload();
    route(links.schedules({ schedule: one.id }), true);
  };
  const nameOf = (agentId: string) => agents.find((one) => one.id === agentId)?.name ?? agentId;
  const hasSide = isNew || selected !== undefined;
  return (
    <Page
      title="Schedules"
      fills
      actions={
        <a class="button primary" href={links.schedules({ edit: "new" })}>
          New schedule
        </a>
      }
    >
      {schedules.error !== null && <Failure error={schedules.error} retry={schedules.reload} />}
      {items === null ? (
        schedules.error === null && <Loading lines={8} />
      ) : (
        <div class={hasSide ? "schedules split" : "schedules"}>
          {items.length === 0 ? (
            <Empty title="No schedules yet">
              <p>
                A schedule queues runs of an agent at the times of a cron expression, as every
                working day at nine.{" "}
                <a href={links.schedules({ edit: "new" })}>Make the first one</a>.
              </p>
            </Empty>
          ) : (
            <VirtualList
              label="Schedules"
              items={items}
              keyOf={(one) => one.id}
              hrefOf={(one) => links.schedules({ schedule: one.id })}
              isSelected={(one) => one.id === id}
              rowHeight={48}
              columns="minmax(0, 1fr) 5rem 5.5rem"
              onEnd={schedules.more}
              row={(one) => (
                <>
                  <span class="what">
                    <strong class="truncate">{one.name ?? nameOf(one.agent_id)}</strong>
                    <span class="faint truncate">
                      {cronText(one.cron) ?? one.cron} · {one.time_zone}
                    </span>
                  </span>
                  <span class="soft">
                    {one.enabled && one.next_at !== null ? <Ago at={one.next_at} /> : "–"}
                  </span>
                  <span>
                    <ScheduleStatus schedule={one} />
                  </span>
                </>
              )}
            />
          )}
          {isNew ? (
            <ScheduleForm key="new" agents={agents} onSaved={saved} onClose={close} />
          ) : selected === undefined ? null : edit === "1" ? (
            <ScheduleForm
              key={selected.id}
              schedule={selected}
              agents={agents}
              onSaved={saved}
              onClose={close}
            />
          ) : (
            <ScheduleDetail
              key={selected.id}
              schedule={selected}
              agent={nameOf(selected.agent_id)}
              onChanged={schedules.reload}
            />
          )}
        </div>
      )}
    </Page>
  );
}
