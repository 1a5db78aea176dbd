/** A text of the document, in which names of the API stand between backticks. */
export function Prose({ text }: { text: string | undefined }) {
  return (
    <>
      {(text ?? "")
        .split("`")
        .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}
    </>
  );
}

/** A method of HTTP, of one width so that paths align. */
export function Method({ method }: { method: string }) {
  return (
    <span class={`method ${method}`}>{method === "delete" ? "DEL" : method.toUpperCase()}</span>
  );
}
