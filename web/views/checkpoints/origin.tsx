import { isOfThread } from "../../api/changes.ts";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { links } from "../../links.ts";

/** The status of a thread, and where it was forked from, with a link back. */
export function Origin({ threadId }: { threadId: string }) {
  const { data } = useQuery(
    `thread ${threadId}`,
    (signal) =>
      bodyOf(
        api.GET("/v1/threads/{thread_id}", { params: { path: { thread_id: threadId } }, signal }),
      ),
    { refreshOn: isOfThread(threadId) },
  );
  if (data === null) return null;
  const origin = originIn(data.metadata);
  return (
    <>
      <Badge status={data.status} />
      {origin !== null && (
        <span class="soft">
          From{" "}
          <a href={links.checkpoint(origin.threadId, origin.checkpointId)}>
            a checkpoint of thread <span class="mono">{origin.threadId.slice(0, 8)}…</span>
          </a>
        </span>
      )}
    </>
  );
}

/** The checkpoint at which a thread began, if it is a fork; null else. */
function originIn(
  metadata: Readonly<Record<string, unknown>>,
): { readonly threadId: string; readonly checkpointId: string } | null {
  const from = metadata["replayed_from"] ?? metadata["forked_from"];
  const { thread_id: threadId, checkpoint_id: checkpointId } = Object(from) as Record<
    string,
    unknown
  >;
  if (typeof threadId !== "string" || typeof checkpointId !== "string") return null;
  return { threadId, checkpointId };
}
