import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** Parts of the address; null removes one. */
export type SelectionChange = Readonly<Record<string, string | number | null | undefined>>;

/** What is selected in a report. It is in the address, so that it can be shared. */
export interface Selection {
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Returns the address with a change. */
  readonly hrefOf: (change: SelectionChange) => string;
  /** Changes the address in place. */
  readonly set: (change: SelectionChange) => void;
}

export const SelectionContext = createContext<Selection>({
  query: {},
  hrefOf: () => "",
  set: () => {},
});

export function useSelection(): Selection {
  return useContext(SelectionContext);
}

/** Writes names as one part of an address. */
export function joinNames(names: readonly string[]): string {
  return names.map((name) => encodeURIComponent(name)).join(",");
}

export function splitNames(text: string | undefined): readonly string[] {
  if (text === undefined || text === "") return [];
  return text.split(",").map((name) => {
    try {
      return decodeURIComponent(name);
    } catch {
      return name;
    }
  });
}
