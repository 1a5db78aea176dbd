import type { Style } from "./style.ts";

const colours: Readonly<Record<string, "green" | "yellow" | "red">> = {
  COMPLETED: "green",
  AWAITING_HUMAN: "yellow",
  CANCELLED: "yellow",
  FAILED: "red",
};

/** How a status is marked up. Threads of other graphs may have any text there. */
export function paintOfStatus(status: string | null, style: Style): (text: string) => string {
  const colour = Object.hasOwn(colours, status ?? "") ? colours[status ?? ""] : undefined;
  return colour === undefined ? (text) => text : style[colour];
}
