/** Where a text has what is looked for, whatever its case; -1 where it has not. */
export function indexIn(text, query) {
  return text.toLowerCase().indexOf(query.toLowerCase());
}

/** A text as nodes, with what is looked for marked in it. */
export function marked(text, query) {
  if (query === "") return [text];
  const lower = text.toLowerCase();
  const wanted = query.toLowerCase();
  // Where lower case has another length, places would be wrong.
  if (lower.length !== text.length) return [text];
  const nodes = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    const mark = document.createElement("mark");
    mark.textContent = text.slice(at, at + wanted.length);
    nodes.push(text.slice(from, at), mark);
    from = at + wanted.length;
  }
  return [...nodes, text.slice(from)];
}
