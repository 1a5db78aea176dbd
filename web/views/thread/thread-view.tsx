import { useRoute } from "preact-iso";
import { lazyView } from "../../components/boundary.tsx";
import { StepsTab } from "./steps-tab.tsx";
import { ThreadPage } from "./thread-page.tsx";

// Their scripts are half of the view's.
const GraphTab = lazyView(async () => (await import("./graph-tab.tsx")).GraphTab);
const TimelineTab = lazyView(async () => (await import("./timeline-tab.tsx")).TimelineTab);

/** A thread: its steps, their times, and the path through the graph of its agent. */
export function ThreadView() {
  const { params } = useRoute();
  const { thread: threadId = "", tab } = params;
  switch (tab) {
    case "timeline":
      return (
        <ThreadPage threadId={threadId} tab="Timeline">
          {(_thread, runs) => <TimelineTab threadId={threadId} runs={runs} />}
        </ThreadPage>
      );
    case "graph":
      return (
        <ThreadPage threadId={threadId} tab="Graph">
          {(thread) => <GraphTab thread={thread} />}
        </ThreadPage>
      );
    default:
      return (
        <ThreadPage threadId={threadId} tab="Steps">
          {(thread, runs) => <StepsTab thread={thread} runs={runs} />}
        </ThreadPage>
      );
  }
}
