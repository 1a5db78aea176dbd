import { type Call, refusal } from "./call.ts";

export const storeCalls: readonly Call[] = [
  {
    name: "store: write, read, delete",
    same: "value",
    call: async ({ store }) => {
      const none = await store.getItem(["users", "u-1"], "diet");
      await store.putItem(["users", "u-1"], "diet", { text: "Eats no fish.", rank: 1 });
      const item = await store.getItem(["users", "u-1"], "diet");
      await store.deleteItem(["users", "u-1"], "diet");
      await store.deleteItem(["users", "u-1"], "diet");
      return [none, item, await store.getItem(["users", "u-1"], "diet")];
    },
  },
  {
    name: "store: search and namespaces",
    same: "value",
    call: async ({ store }) => {
      for (const [at, user] of ["u-1", "u-2", "u-3"].entries())
        await store.putItem(["users", user], "rank", { rank: at });
      const found = [
        await store.searchItems(["users"], { limit: 2 }),
        await store.searchItems(["users"], { filter: { rank: { $gte: 1 } }, offset: 1 }),
        await store.searchItems(["none"]),
        await store.listNamespaces(),
        await store.listNamespaces({ prefix: ["users"], maxDepth: 1 }),
        await store.listNamespaces({ suffix: ["u-2"] }),
      ];
      for (const user of ["u-1", "u-2", "u-3"]) await store.deleteItem(["users", user], "rank");
      return found;
    },
  },
  {
    name: "store: refusals",
    same: "value",
    call: async ({ store }) => [
      await refusal(store.putItem([], "k", { text: "x" })),
      await refusal(store.putItem([""], "k", { text: "x" })),
      await refusal(store.searchItems([""])),
      await refusal(store.listNamespaces({ prefix: [] })),
    ],
  },
];
