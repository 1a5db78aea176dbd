import type { RunnableConfig } from "@langchain/core/runnables";
import type { GraphState } from "../../state/channels.ts";
import type { Redactions } from "../../state/redactions.ts";
import { PrivateConfig } from "../private-config.ts";

/** Where an agent finds what was redacted around it. */
const redacted = new PrivateConfig<Redactions>("redactions");

const none: Redactions = Object.freeze({});

/** What the agents around a node have redacted; nothing where there are none. */
export function inheritedRedactions(config: RunnableConfig): Redactions {
  return redacted.in(config) ?? none;
}

/** The config for an agent that runs inside of a node. */
export function handDownRedactions(config: RunnableConfig, redactions: Redactions): RunnableConfig {
  if (Object.keys(redactions).length === 0) return config;
  return redacted.with(config, redactions);
}

/** The state with what the agents around have redacted, which its templates must not show either. */
export function withInherited(state: GraphState, config: RunnableConfig): GraphState {
  const inherited = inheritedRedactions(config);
  if (Object.keys(inherited).length === 0) return state;
  return { ...state, redactions: { ...inherited, ...state.redactions } };
}
