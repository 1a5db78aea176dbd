import { type Call, refusal } from "./call.ts";

const ownVersion = ["+ [].metadata.agent_version"];

export const assistantCalls: readonly Call[] = [
  {
    name: "assistants.search",
    same: "shape",
    differs: ownVersion,
    call: ({ assistants }) => assistants.search(),
  },
  {
    name: "assistants.search of a graph, selected",
    same: "value",
    call: ({ assistants }) =>
      assistants.search({ graphId: "letters", select: ["graph_id", "name", "version", "config"] }),
  },
  {
    name: "assistants.search by name and metadata",
    same: "value",
    call: async ({ assistants }) => {
      const metadata = { created_by: "system" };
      const found = await assistants.search({ name: "LETT", metadata, select: ["name"] });
      const none = await assistants.search({ metadata: { created_by: "user" } });
      return [found, none];
    },
  },
  {
    name: "assistants.count",
    same: "value",
    call: async ({ assistants }) => [
      await assistants.count(),
      await assistants.count({ graphId: "office" }),
      await assistants.count({ name: "none" }),
    ],
  },
  {
    name: "assistants.get by name",
    same: "shape",
    differs: ["+ .metadata.agent_version"],
    call: ({ assistants }) => assistants.get("letters"),
  },
  {
    name: "assistants.get of none",
    same: "value",
    call: ({ assistants }) => refusal(assistants.get("00000000-0000-4000-8000-000000000000")),
  },
  {
    name: "assistants.getGraph",
    same: "value",
    call: ({ assistants }) => assistants.getGraph("letters"),
  },
  {
    name: "assistants.getGraph with what is inside",
    same: "value",
    call: ({ assistants }) => assistants.getGraph("office", { xray: true }),
  },
  {
    name: "assistants.getSchemas",
    same: "value",
    call: ({ assistants }) => assistants.getSchemas("letters"),
  },
  {
    name: "assistants.getSubgraphs",
    same: "value",
    call: async ({ assistants }) => [
      await assistants.getSubgraphs("office"),
      await assistants.getSubgraphs("office", { namespace: "post-room", recurse: true }),
      await assistants.getSubgraphs("letters"),
    ],
  },
  {
    name: "assistants.getVersions",
    same: "shape",
    differs: ownVersion,
    call: ({ assistants }) =>
      assistants
        .search({ graphId: "letters" })
        .then(async ([found]) => assistants.getVersions(found?.assistant_id ?? "")),
  },
  {
    name: "assistants.setLatest of no version",
    same: "value",
    call: ({ assistants }) => refusal(assistants.setLatest("letters", 9)),
  },
];
