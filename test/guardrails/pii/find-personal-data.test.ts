import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { piiEntities } from "../../../src/definition/schema/guardrails.ts";
import { findPersonalData } from "../../../src/guardrails/pii/pii-rail.ts";

const found = (text: string, entities = piiEntities as readonly (typeof piiEntities)[number][]) =>
  findPersonalData(text, entities).map(
    ({ start, end, label }) => `${label} ${text.slice(start, end)}`,
  );

describe("e-mail addresses", () => {
  it.each([
    ["write to ann.b+x@mail.example.com.", "ann.b+x@mail.example.com"],
    ["<ann@example.org>", "ann@example.org"],
    ["mailto:ann@example.org?subject=x", "ann@example.org"],
    ["mail=jürgen@müller.de", "jürgen@müller.de"],
    ["('o'brien@example.ie')", "o'brien@example.ie"],
  ])("are found in %s", (text, value) => {
    expect(found(text)).toEqual([`EMAIL ${value}`]);
  });

  it.each([
    "git clone git@github.com:owner/name.git",
    "logo@2x.png",
    "npm install left@1.2.3 @scope/name @ 5",
    "http://ann@example.org/path",
    "meet @ann @ 5pm",
  ])("are not in %s", (text) => {
    expect(found(text)).toEqual([]);
  });
});

describe("phone numbers", () => {
  it.each([
    ["+1 (602) 272-9781", "+1 (602) 272-9781"],
    ["ring 602.272.9781x459 now", "602.272.9781x459"],
    ["(602)272-9781", "(602)272-9781"],
    ["+44 20 7946 0958", "+44 20 7946 0958"],
    ["+46 (0)8 928 571 38 fax", "+46 (0)8 928 571 38"],
    ["00 49 30 901820 is in Berlin", "00 49 30 901820"],
    ["at 020 7946 0958 in London", "020 7946 0958"],
    ["in Paris 01 42 68 53 00", "01 42 68 53 00"],
    ["Phone:\n4500840", "4500840"],
    ["can someone call me on 450 0840?", "450 0840"],
    ["Handy: 0171 1234567", "0171 1234567"],
    ["432 03 163 mobile", "432 03 163"],
    ["they sent 12 602-272-9781", "602-272-9781"],
    ["+49\u00A0176\u202F12345678", "+49\u00A0176\u202F12345678"],
    ["ring 602–272–9781", "602–272–9781"],
    ["appelez-moi au 06.12.34.56.78", "06.12.34.56.78"],
    ["(in Berlin 030 1234567)", "030 1234567"],
    ["Tel: 0800-1111", "0800-1111"],
  ])("are found in %s", (text, value) => {
    expect(found(text)).toEqual([`PHONE ${value}`]);
  });

  it("are found one by one", () => {
    expect(found("602-272-9781, 602-272-9782 and 602-272-9783")).toHaveLength(3);
  });
});

describe("card numbers", () => {
  it.each([
    ["4111 1111 1111 1111", "4111 1111 1111 1111"],
    ["pay with 5500-0000-0000-0004 please", "5500-0000-0000-0004"],
    ["378282246310005", "378282246310005"],
    ["card 4222222222222 is lost", "4222222222222"],
    ["4111 1111 1111 1111 12/27", "4111 1111 1111 1111"],
    ["4111\u00A01111\u00A01111\u00A01111", "4111\u00A01111\u00A01111\u00A01111"],
    ["4111\u20091111\u20091111\u20091111", "4111\u20091111\u20091111\u20091111"],
    ["4111–1111–1111–1111", "4111–1111–1111–1111"],
    ["mine is—4111—1111—1111—1111", "4111—1111—1111—1111"],
  ])("are found in %s", (text, value) => {
    expect(found(text)).toEqual([`CARD ${value}`]);
  });

  it("need their check digit", () => {
    expect(found("card 4111 1111 1111 1112")).toEqual([]);
  });

  it("without a word beside them need an issuer and a usual length", () => {
    expect(found("4222222222222")).toEqual([]);
    expect(found("9111111111111111")).toEqual([]);
  });
});

describe("bank account numbers", () => {
  it.each([
    ["to DE89370400440532013000 today", "DE89370400440532013000"],
    ["IBAN gb82 west 1234 5698 7654 32 to me", "gb82 west 1234 5698 7654 32"],
    ["IBAN: DE 89 3704 0044 0532 0130 00", "DE 89 3704 0044 0532 0130 00"],
    [
      "DE89\u202F3704\u202F0044\u202F0532\u202F0130\u202F00",
      "DE89\u202F3704\u202F0044\u202F0532\u202F0130\u202F00",
    ],
    ["DE89–3704–0044–0532–0130–00", "DE89–3704–0044–0532–0130–00"],
    ["on 12 2024 1234 DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"],
  ])("are found in %s", (text, value) => {
    expect(found(text)).toEqual([`IBAN ${value}`]);
  });

  it.each(["DE88370400440532013000", "DE8937040044053201300", "ZZ89370400440532013000"])(
    "need the check digits and the length of their country: %s",
    (text) => {
      expect(found(text)).toEqual([]);
    },
  );
});

describe("social security numbers", () => {
  it.each([
    ["mine is 219-09-9999.", "219-09-9999"],
    ["SSN 219 09 9999", "219 09 9999"],
    ["my social security number is 219099999", "219099999"],
    ["219\u201109\u20119999", "219\u201109\u20119999"],
    ["219-09-9999-thanks", "219-09-9999"],
  ])("are found in %s", (text, value) => {
    expect(found(text)).toEqual([`SSN ${value}`]);
  });

  it.each(["000-12-3456", "666-12-3456", "912-12-3456", "219-00-9999", "219-09-0000", "219099999"])(
    "are none where they cannot be: %s",
    (text) => {
      expect(found(text)).toEqual([]);
    },
  );
});

describe("IP addresses", () => {
  it.each([
    ["blocked 179.177.214.91 today", "179.177.214.91"],
    ["http://10.1.2.3:8080/x", "10.1.2.3"],
    ["the IP is 1.2.3.4", "1.2.3.4"],
    ["ip:8.8.8.8", "8.8.8.8"],
    ["ssh root@12.34.56.78", "12.34.56.78"],
    ["::ffff:192.0.2.128", "::ffff:192.0.2.128"],
    ["from 2001:db8::8a2e:370:7334, again", "2001:db8::8a2e:370:7334"],
    ["fe80::1ff:fe23:4567:890a", "fe80::1ff:fe23:4567:890a"],
  ])("are found in %s", (text, value) => {
    expect(found(text)).toEqual([`IP ${value}`]);
  });

  it.each([
    "version 10.15.7.12",
    "1.2.3.4",
    "v12.34.56.78",
    "app-12.34.56.78",
    "300.1.2.3",
    "1.22.33.44.55",
    "127.0.0.1 and ::1 and 0.0.0.0",
    "at 12:30:45",
    "std::vector and Ab::Cd1",
    "00:1b:44:11:3a:b7",
    "aa:bb:cc:dd:ee:ff:00:11",
  ])("are not in %s", (text) => {
    expect(found(text)).toEqual([]);
  });
});

describe("passports", () => {
  it.each([
    ["my passport number is 340007237", "340007237"],
    ["Passport no. C01X00T47 (German)", "C01X00T47"],
    ["Reisepassnummer: C01X00T47", "C01X00T47"],
    ["Passnummer C01X00T47", "C01X00T47"],
    ["Pass-Nr. C01X00T47", "C01X00T47"],
    [
      "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10",
      "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
    ],
  ])("are found in %s", (text, value) => {
    expect(found(text)).toEqual([`PASSPORT ${value}`]);
  });

  it("need to be called so, or their check digit", () => {
    expect(found("C01X00T47 340007237")).toEqual([]);
    expect(found("L898902C37UTO7408122F1204159ZE184226B<<<<<10")).toEqual([]);
    expect(found("my passport expired in december 2024")).toEqual([]);
  });
});

describe("keys, tokens and passwords", () => {
  const mixed = "aZ3kQ9xW7pL2mN8vB4cD";
  const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${mixed}`;
  const pem = `-----BEGIN RSA PRIVATE KEY-----\nMIIB${mixed}\n-----END RSA PRIVATE KEY-----`;

  it.each([
    `sk-${mixed}`,
    `sk-proj-${mixed}_${mixed}`,
    "AKIAIOSFODNN7EXAMPLE",
    `ghp_${mixed}${mixed.slice(0, 16)}`,
    `github_pat_${mixed}_${mixed}`,
    `xoxb-123456789012-${mixed}`,
    `AIza${mixed}${mixed.slice(0, 15)}`,
    `sk_live_${mixed}`,
    jwt,
    pem,
  ])("are found by their form: %s", (key) => {
    expect(found(`use ${key} for it`)).toEqual([`API_KEY ${key}`]);
  });

  it.each([
    [`api_key = "${mixed}"`, mixed],
    [`{"clientSecret": "${mixed}"}`, mixed],
    [`MY_API_TOKEN=${mixed}`, mixed],
    [`Authorization: Bearer ${mixed}`, mixed],
    [`the API key is ${mixed}.`, mixed],
    [`authorization: bearer ${mixed}`, mixed],
    [`authorization: token ${mixed}`, mixed],
    ["password: hunter2hunter", "hunter2hunter"],
    ["Passwort: Sommer2024!", "Sommer2024"],
    ["Mein Kennwort ist Geheim123.", "Geheim123"],
    ["postgres://app:s3cr3t@db.example.com/x", "s3cr3t"],
  ])("are found where they are called so: %s", (text, value) => {
    expect(found(text)).toEqual([`API_KEY ${value}`]);
  });

  it("go to the end of the text where a private key is cut off", () => {
    expect(found("a -----BEGIN PRIVATE KEY-----\nabc")).toEqual([
      "API_KEY -----BEGIN PRIVATE KEY-----\nabc",
    ]);
  });

  it.each([
    "api_key = process.env.OPENAI_API_KEY_2",
    "api_key: your-api-key-goes-here-1",
    "the token budget is 4096 tokens",
    "password: required",
    "api_key = $API_KEY_PRODUCTION_1",
    "api_key = aaaaaaaaaaaaaaaaaaaaaaaa1",
    "Bearer authentication is described below",
    "a bearer of 12 tokens, token authentication-2-factor-9, Passwort: erforderlich",
    "sk-learn, sk-proj, risk-management-of-large-things",
    "postgres://app:$PASSWORD@db.example.com/x",
    "{{secret:OPENAI_API_KEY}}",
    "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
  ])("are not in %s", (text) => {
    expect(found(text)).toEqual([]);
  });
});

describe("what is nobody's", () => {
  it.each([
    "order 123-456-7890, order number 4111111111111111, invoice #20240506123",
    "tracking number 1234567890123456, ticket id: 00498213377",
    "on 2024-05-06 12:30:45, 06.05.2024, 2024-05-06T12:30:45.123Z, 05/06/2024, 20240506",
    "between 1999-2004, 1990 - 1995",
    "it costs 1 234 567, 1.234.567,89 € or $12,345,678.00, EUR 12 345 678",
    "1234567 rows, 12345678 bytes, 100000000 users",
    "version 1.2.3, 1.2.3.4, v20.11.1.5, 10.0.19045.3803, chrome 120.0.6099.109",
    "ISBN 978-3-16-148410-0, 0-306-40615-2, 9783161484100",
    "550e8400-e29b-41d4-a716-446655440000 and 12345678-1234-1234-1234-123456789012",
    "d41d8cd98f00b204e9800998ecf8427e da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "40.712776, -74.005974 and +48.858370 2.294481",
    "https://example.com/items/4155552671/20240506",
    "epoch 1700000000000, pi 3.14159265358979, 94103-1234",
    "EAN 4006381333931, 2 + 2 = 4, 12-13-14, 1 2 3 4 5 6 7 8 9 10 11 12",
    "rgb(255, 255, 255), 16x16, 1e-10, 0x7fffffff",
    "SELECT * FROM orders WHERE id IN (100200300, 100200301); foo(0301234567, 1)",
    "Kundennummer 0178-2345678, Auftragsnummer: 0178 2345678, Rechnungs-Nr. 0178/2345678",
    "Teilenummer 415-555-2671, Az. 0178/2345678, Aktenzeichen 0178 2345678",
    "Rechnung Nr. 0178-2345678, Vertragsnummer lautet 0178 2345678",
    "open 0800-1700, room 0221-03, part no. 123-45-6789-A",
    "1\u202F234\u202F567 and 1999–2004 and 2024—0506",
  ])("is not found: %s", (text) => {
    expect(found(text)).toEqual([]);
  });
});

describe("findPersonalData", () => {
  it("gives what was asked for only", () => {
    const text = "ann@example.org, 602-272-9781";
    expect(found(text, ["PHONE"])).toEqual(["PHONE 602-272-9781"]);
    expect(found(text, [])).toEqual([]);
  });

  it("takes no part of something more specific for a phone's number, asked for or not", () => {
    const text = "call 4111 1111 1111 1111 or DE89 3704 0044 0532 0130 00 or 179.177.214.91";
    expect(found(text, ["PHONE"])).toEqual([]);
  });

  it("gives spans in order that do not overlap and are in the text", () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom(
        "call 602-272-9781",
        "ann@example.org",
        "4111111111111111",
        "+44",
        " ",
        "\n",
        "password=",
        "https://a:b1@",
        "Bearer ",
        "DE89370400440532013000",
        "12",
        ".",
        "-",
        "passport ",
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        let last = 0;
        for (const { start, end } of findPersonalData(text, piiEntities)) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          last = end;
        }
        expect(last).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});
