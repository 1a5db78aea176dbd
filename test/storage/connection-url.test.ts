import { expect, test } from "vitest";
import { redactUrl } from "../../src/storage/pool.ts";

test.each([
  [
    "postgres://user:hunter2@host:5433/name?sslmode=require",
    "postgres://user:***@host:5433/name?sslmode=require",
  ],
  ["postgres://user@host/name", "postgres://user@host/name"],
  ["postgres://host/name?user=u&password=hunter2", "postgres://host/name?user=u&password=***"],
  ["postgres://us er:hunter2@ho st/name", "a URL that cannot be read"],
  ["host=h password=hunter2", "a URL that cannot be read"],
])("shows %s as %s", (url, shown) => {
  expect(redactUrl(url)).toBe(shown);
});
