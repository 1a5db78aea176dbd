import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";

/** Loads a version of an agent with its definition, also as text. Default: the active version. */
export function useAgent(id: string, version?: string) {
  return useQuery(`agent ${id} ${version ?? ""}`, (signal) =>
    bodyOf(
      api.GET("/v1/agents/{agent_id}", {
        params: {
          path: { agent_id: id },
          query: { format: "yaml", ...(version !== undefined && { version }) },
        },
        signal,
      }),
    ),
  );
}
