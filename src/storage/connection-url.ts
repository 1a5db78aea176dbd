const SECRET_PARAMETERS = ["password", "sslpassword", "sslkey"];

/** The URL as messages and logs may show it: passwords replaced by `***`, nothing at all of a URL that does not parse. */
export function redactUrl(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return "a URL that cannot be read";
  }
  if (parsed.password !== "") parsed.password = "***";
  for (const name of SECRET_PARAMETERS)
    if (parsed.searchParams.has(name)) parsed.searchParams.set(name, "***");
  return parsed.toString();
}
