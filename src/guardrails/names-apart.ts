/**
 * Changed names of properties, none of them twice: one that another property has already is followed by a number, as in
 * `<EMAIL_1> (2)`, so that no property is lost. Those that did not change keep their name.
 */
export function namesApart(
  names: readonly string[],
  changed: readonly string[],
): readonly string[] {
  const taken = new Set(names.filter((name, at) => changed[at] === name));
  const counts = new Map<string, number>();
  return changed.map((name, at) => {
    if (name === names[at]) return name;
    let count = counts.get(name) ?? 1;
    let apart = name;
    while (taken.has(apart)) {
      count += 1;
      apart = `${name} (${count})`;
    }
    counts.set(name, count);
    taken.add(apart);
    return apart;
  });
}
