import type { Threads } from "./threads.ts";

/** Threads whose code is loaded when one of their methods is first called. */
export function lazyThreads(load: () => Promise<Threads>): Threads {
  let loading: Promise<Threads> | undefined;
  const loaded = () => (loading ??= load());
  return {
    list: async (options) => (await loaded()).list(options),
    history: async (threadId, options) => (await loaded()).history(threadId, options),
    stateAt: async (of) => (await loaded()).stateAt(of),
    diff: async (a, b) => (await loaded()).diff(a, b),
    context: async (of) => (await loaded()).context(of),
    plans: async (threadId) => (await loaded()).plans(threadId),
    fork: async (of) => (await loaded()).fork(of),
    replay: async (agent, of) => (await loaded()).replay(agent, of),
    recover: async (agent, of) => (await loaded()).recover(agent, of),
    verify: async (threadId, options) => (await loaded()).verify(threadId, options),
    prune: async (of) => (await loaded()).prune(of),
    delete: async (threadId) => (await loaded()).delete(threadId),
    async *export(threadId) {
      yield* (await loaded()).export(threadId);
    },
    import: async (lines, options) => (await loaded()).import(lines, options),
  };
}
