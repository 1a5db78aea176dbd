import { isIPv6 } from "node:net";

export interface OllamaAddress {
  /** Without credentials and without a slash at its end. */
  readonly url: string;
  /** What the credentials in the address say, for the Authorization header; null where it has none. */
  readonly authorization: { readonly header: string; readonly password: string } | null;
}

const defaultPort = "11434";

/**
 * Reads a host as Ollama's own programs do: a URL, or `host`, `host:port` or `:port`, with 11434 where no port is said.
 * 0.0.0.0, where a server listens, is asked at 127.0.0.1.
 * @returns null where it is neither
 */
export function ollamaAddress(host: string): OllamaAddress | null {
  const url = parsed(host.trim());
  if (url === null || url.hostname === "") return null;
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return {
    url: `${url.origin}${url.pathname}`.replace(/\/+$/, ""),
    authorization: basic(url),
  };
}

function parsed(host: string): URL | null {
  if (/^https?:\/\//i.test(host)) return read(host);
  if (host === "" || host.includes("://")) return null;
  if (isIPv6(host)) return read(`http://[${host}]:${defaultPort}`);
  const full = host.startsWith(":") ? `127.0.0.1${host}` : host;
  const url = read(`http://${full}`);
  // A port that is said is not to be seen in the URL where it is the protocol's own.
  if (url !== null && url.port === "" && !/:\d+(\/|$)/.test(full)) url.port = defaultPort;
  return url;
}

function read(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}

function basic(url: URL): OllamaAddress["authorization"] {
  if (url.username === "" && url.password === "") return null;
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const header = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  return { header, password };
}
