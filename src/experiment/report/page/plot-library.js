/** Observable Plot, which a script before this one has put on the page. */
export const Plot = globalThis.Plot;
