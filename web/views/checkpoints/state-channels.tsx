import { useLocation } from "preact-iso";
import { useMemo } from "preact/hooks";
import { CopyButton } from "../../components/copy-button.tsx";
import { formatBytes, formatCount } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { Show } from "../../components/states.tsx";
import { TypedField } from "../../components/typed-field.tsx";
import { searchJson } from "./search-json.ts";
import { type Channel, type StoredState, useChannel } from "./stored-state.ts";

/** Matches that are listed. */
const maxMatches = 200;

/** The two tiers of a state, which attempts of a turn treat differently. */
const tiers: readonly { readonly name: string; readonly says: string }[] = [
  { name: "execution", says: "Outlives a failed attempt" },
  { name: "attempt", says: "Starts over with each attempt" },
];

/** The state at a checkpoint: its two tiers, the other channels, and a search in all of them. */
export function StateChannels({ threadId, stored }: { threadId: string; stored: StoredState }) {
  const { query, route, path } = useLocation();
  const { checkpoint, channels } = stored;
  const text = query["q"] ?? "";
  const open = new Set((query["open"] ?? "").split(",").filter((name) => name !== ""));
  const set = (more: Record<string, string>) => {
    const entries = Object.entries({ ...query, ...more }).filter(([, value]) => value !== "");
    const search = new URLSearchParams(Object.fromEntries(entries)).toString();
    route(search === "" ? path : `${path}?${search}`, true);
  };
  const toggle = (name: string) => {
    const names = new Set(open);
    if (!names.delete(name)) names.add(name);
    set({ open: [...names].join(",") });
  };
  const of = { threadId, checkpointId: checkpoint.id };
  const others = channels.filter(({ name }) => tiers.every((tier) => tier.name !== name));
  return (
    <>
      <TypedField
        label="Search keys and values of the state"
        placeholder="Search keys and values"
        value={text}
        onChange={(q) => set({ q })}
      />
      {text === "" ? null : <Matches channels={channels} text={text} />}
      <div class="tiers">
        {tiers.map(({ name, says }) => {
          const channel = channels.find((one) => one.name === name);
          return (
            <section key={name} aria-label={`Tier ${name}`}>
              <header>
                <h3>
                  <code>{name}</code>
                </h3>
                <span class="faint">{says}</span>
              </header>
              {channel === undefined ? (
                <p class="faint">Nothing is set.</p>
              ) : (
                <ChannelValue of={of} channel={channel} open={2} />
              )}
            </section>
          );
        })}
      </div>
      <h3>Other channels</h3>
      <ul class="channels">
        {others.map((channel) => (
          <li key={channel.name}>
            <div class="channel">
              <button
                type="button"
                aria-expanded={open.has(channel.name)}
                onClick={() => toggle(channel.name)}
              >
                <span aria-hidden="true">{open.has(channel.name) ? "▾" : "▸"}</span>
                <code class="truncate">{channel.name}</code>
                <span class="faint truncate">
                  {channel.loaded && summaryOf(channel.loaded.value)}
                </span>
                <span class="faint number">{formatBytes(channel.bytes)}</span>
              </button>
            </div>
            {open.has(channel.name) && <ChannelValue of={of} channel={channel} open={1} />}
          </li>
        ))}
      </ul>
    </>
  );
}

function Matches({ channels, text }: { channels: readonly Channel[]; text: string }) {
  const matches = useMemo(() => {
    const values = channels.flatMap(({ name, loaded }) =>
      loaded === null ? [] : [[name, loaded.value] as const],
    );
    return searchJson(Object.fromEntries(values), text, { limit: maxMatches });
  }, [channels, text]);
  const isPartial = channels.some(({ loaded }) => loaded === null);
  return (
    <section class="matches" aria-label="Matches">
      <p class="soft" role="status">
        {matches.length === 0
          ? "Nothing found."
          : `${formatCount(matches.length)}${matches.length === maxMatches ? " or more" : ""} found`}
        {isPartial && " The state is too large to be searched whole: open its channels."}
      </p>
      <ul>
        {matches.map(({ path, part, snippet: [before, found, after] }) => (
          <li key={`${part} ${path}`}>
            <code class="path">{path}</code>{" "}
            <span class="soft">
              {before}
              <mark>{found}</mark>
              {after}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The value of a channel, which is loaded when it has to be. */
function ChannelValue({
  of,
  channel,
  open,
}: {
  of: { readonly threadId: string; readonly checkpointId: string };
  channel: Channel;
  open: number;
}) {
  const { name, loaded: known } = channel;
  const loaded = useChannel(of.threadId, known === null ? of.checkpointId : null, name);
  if (known !== null) return <Value value={known.value} open={open} />;
  return <Show loaded={loaded}>{({ value }) => <Value value={value} open={open} />}</Show>;
}

function Value({ value, open }: { value: unknown; open: number }) {
  return (
    <div class="channel-value">
      <JsonTree value={value} open={open} />
      {(typeof value !== "object" || value === null) && <CopyButton text={() => String(value)} />}
    </div>
  );
}

/** A value in a few words. */
function summaryOf(value: unknown): string {
  if (Array.isArray(value))
    return value.length === 1 ? "1 item" : `${formatCount(value.length)} items`;
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value);
    return keys.length === 0 ? "empty" : keys.slice(0, 6).join(", ");
  }
  return String(value).slice(0, 120);
}
