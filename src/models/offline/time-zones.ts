/** Places that are no zone's own name. */
const elsewhere: Readonly<Record<string, string>> = {
  utc: "UTC",
  gmt: "UTC",
  beijing: "Asia/Shanghai",
  mumbai: "Asia/Kolkata",
  delhi: "Asia/Kolkata",
  bangalore: "Asia/Kolkata",
  india: "Asia/Kolkata",
  japan: "Asia/Tokyo",
  china: "Asia/Shanghai",
  germany: "Europe/Berlin",
  france: "Europe/Paris",
  munich: "Europe/Berlin",
  hamburg: "Europe/Berlin",
  geneva: "Europe/Zurich",
  barcelona: "Europe/Madrid",
  milan: "Europe/Rome",
  "san francisco": "America/Los_Angeles",
  seattle: "America/Los_Angeles",
  california: "America/Los_Angeles",
  boston: "America/New_York",
  washington: "America/New_York",
  miami: "America/New_York",
  montreal: "America/Toronto",
  canberra: "Australia/Sydney",
};

let cities: Map<string, string> | undefined;

/** The IANA time zone a text names, itself or by a city or country; null when it names none. */
export function timeZoneIn(text: string): string | null {
  const written = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+(?:\/[A-Z][A-Za-z_]+)?\b/.exec(text);
  if (written !== null) return written[0];
  cities ??= zonesByCity();
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  for (let length = 3; length >= 1; length -= 1) {
    for (let i = 0; i + length <= words.length; i += 1) {
      const zone = cities.get(words.slice(i, i + length).join(" "));
      if (zone !== undefined) return zone;
    }
  }
  return null;
}

function zonesByCity(): Map<string, string> {
  const zones = Intl.supportedValuesOf("timeZone").map((zone): [string, string] => {
    const city = zone.slice(zone.lastIndexOf("/") + 1);
    return [city.replaceAll("_", " ").toLowerCase(), zone];
  });
  return new Map([...zones, ...Object.entries(elsewhere)]);
}
