import { LocationProvider, Route, Router, useLocation } from "preact-iso";
import { useEffect, useRef } from "preact/hooks";
import { connection } from "./api/changes.ts";
import { api, bodyOf, needsKey } from "./api/client.ts";
import { useQuery } from "./api/query.ts";
import { Boundary, lazyView } from "./components/boundary.tsx";
import { Icon, type IconName } from "./components/icon.tsx";
import { KeyDialog } from "./components/key-dialog.tsx";
import { Page } from "./components/page.tsx";
import { openShortcutHelp, ShortcutHelp, useShortcuts } from "./components/shortcuts.tsx";
import { Empty } from "./components/states.tsx";
import { ThemeButton } from "./components/theme.tsx";
import { Toasts } from "./components/toast.tsx";
import { basePath, links } from "./links.ts";

const Threads = lazyView(
  async () => (await import("./views/threads/threads-view.tsx")).ThreadsView,
);
const Thread = lazyView(async () => (await import("./views/thread/thread-view.tsx")).ThreadView);
const Checkpoints = lazyView(
  async () => (await import("./views/checkpoints/checkpoints-view.tsx")).CheckpointsView,
);
const Plan = lazyView(async () => (await import("./views/plan/plan-view.tsx")).PlanView);
const Chat = lazyView(async () => (await import("./views/chat/chat-view.tsx")).ChatView);
const Inbox = lazyView(async () => (await import("./views/inbox/inbox-view.tsx")).InboxView);
const Agents = lazyView(async () => (await import("./views/agents/agents-view.tsx")).AgentsView);
const Agent = lazyView(async () => (await import("./views/agents/agent-view.tsx")).AgentView);
const AgentEditor = lazyView(
  async () => (await import("./views/agents/editor-view.tsx")).EditorView,
);
const Memory = lazyView(async () => (await import("./views/memory/memory-view.tsx")).MemoryView);
const Queue = lazyView(async () => (await import("./views/queue/queue-view.tsx")).QueueView);
const Schedules = lazyView(
  async () => (await import("./views/schedules/schedules-view.tsx")).SchedulesView,
);
const Experiments = lazyView(
  async () => (await import("./views/experiments/experiments-view.tsx")).ExperimentsView,
);
const Reference = lazyView(
  async () => (await import("./views/reference/reference-view.tsx")).ReferenceView,
);

/** The places of the navigation: their names, addresses, icons and the second key after `g`. */
const places: readonly { name: string; href: string; icon: IconName; key: string }[] = [
  { name: "Threads", href: links.threads(), icon: "threads", key: "t" },
  { name: "Chat", href: links.chat(), icon: "chat", key: "c" },
  { name: "Inbox", href: links.inbox(), icon: "inbox", key: "i" },
  { name: "Agents", href: links.agents(), icon: "agents", key: "a" },
  { name: "Memory", href: links.memory(), icon: "memory", key: "m" },
  { name: "Queue", href: links.queue(), icon: "queue", key: "q" },
  { name: "Schedules", href: links.schedules(), icon: "schedules", key: "s" },
  { name: "Experiments", href: links.experiments(), icon: "experiments", key: "e" },
  { name: "API", href: links.reference(), icon: "reference", key: "r" },
];

/** The whole page. */
export function App() {
  return (
    <LocationProvider scope={basePath}>
      <Shell />
    </LocationProvider>
  );
}

function Shell() {
  const { path, url, route } = useLocation();
  useShortcuts(
    "Everywhere",
    places.map(({ name, href, key }) => ({
      keys: `g ${key}`,
      does: `Go to ${name.toLowerCase()}`,
      run: () => route(href),
    })),
  );
  const nav = useRef<HTMLElement>(null);
  const current = places.find(({ href }) => path === href || path.startsWith(`${href}/`))?.name;
  // On a narrow screen the views are a row that scrolls.
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ inline: "center" });
  }, [current]);
  const at = (pattern: string) => `${basePath}${pattern}`;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <nav aria-label="Views" ref={nav}>
        <a class="brand" href={links.threads()} aria-label="Stratagraph">
          <img src={`${basePath}icon.svg`} alt="" />
          <span>Stratagraph</span>
        </a>
        {places.map(({ name, href, icon }) => (
          <a
            key={name}
            class="nav-link"
            href={href}
            aria-current={name === current ? "page" : undefined}
          >
            <Icon name={icon} />
            {name}
            {name === "Inbox" && <InboxCount />}
          </a>
        ))}
        <div class="nav-end">
          <ThemeButton />
          <button type="button" class="button small plain" onClick={openShortcutHelp} title="Keys">
            <Icon name="keys" />
            <span class="visually-hidden">Keys</span>
          </button>
          <button
            type="button"
            class="button small plain"
            onClick={() => (needsKey.value = true)}
            title="API key"
          >
            <Icon name="key" />
            <span class="visually-hidden">API key</span>
          </button>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {connection.value === "lost" && (
          <div class="lost-connection" role="status">
            The server does not answer. What you see may be old; the page tries again by itself.
          </div>
        )}
        <Boundary url={url}>
          <Router>
            <Route path={at("")} component={Home} />
            <Route path={at("threads")} component={Threads} />
            <Route path={at("threads/:thread/checkpoints/:checkpoint?")} component={Checkpoints} />
            <Route path={at("threads/:thread/diff")} component={Checkpoints} />
            <Route path={at("threads/:thread/plan")} component={Plan} />
            <Route path={at("threads/:thread/:tab?")} component={Thread} />
            <Route path={at("chat/:agent?")} component={Chat} />
            <Route path={at("inbox")} component={Inbox} />
            <Route path={at("agents")} component={Agents} />
            <Route path={at("agents/new")} component={AgentEditor} />
            <Route path={at("agents/:agent/edit")} component={AgentEditor} />
            <Route path={at("agents/:agent/:tab?")} component={Agent} />
            <Route path={at("memory")} component={Memory} />
            <Route path={at("queue")} component={Queue} />
            <Route path={at("schedules")} component={Schedules} />
            <Route path={at("experiments/:experiment?")} component={Experiments} />
            <Route path={at("api/:operation?")} component={Reference} />
            <Route default component={NotFound} />
          </Router>
        </Boundary>
      </main>
      <KeyDialog />
      <ShortcutHelp />
      <Toasts />
    </div>
  );
}

function Home() {
  const { route } = useLocation();
  useEffect(() => route(links.threads(), true), []);
  return null;
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty title="There is nothing at this address">
        <p>
          <a href={links.threads()}>Go to the threads</a>
        </p>
      </Empty>
    </Page>
  );
}

/** How many requests wait for people. */
function InboxCount() {
  const { data } = useQuery(
    "inbox-count",
    (signal) => bodyOf(api.GET("/v1/requests", { params: { query: { limit: 100 } }, signal })),
    { refreshOn: () => true },
  );
  const count = data?.requests.length ?? 0;
  if (count === 0) return null;
  return (
    <span class="count badge wait">
      {count}
      {data?.next_cursor === null ? "" : "+"}
      <span class="visually-hidden"> waiting</span>
    </span>
  );
}
