import { describe, expect, it } from "vitest";
import { kindOfAddress } from "../../../../src/tools/builtins/http/addresses.ts";

describe("kindOfAddress", () => {
  it.each([
    ["8.8.8.8", "public"],
    ["2606:4700:4700::1111", "public"],
    ["::ffff:8.8.8.8", "public"],
    ["64:ff9b::8.8.8.8", "public"],
    ["172.32.0.1", "public"],
    ["127.0.0.1", "loopback"],
    ["127.8.9.10", "loopback"],
    ["::1", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::127.0.0.1", "loopback"],
    ["64:ff9b::7f00:1", "loopback"],
    ["10.1.2.3", "private"],
    ["172.31.255.255", "private"],
    ["192.168.0.1", "private"],
    ["100.64.0.1", "private"],
    ["fd12::1", "private"],
    ["::ffff:10.0.0.1", "private"],
    ["169.254.169.254", "special"],
    ["::ffff:169.254.169.254", "special"],
    ["64:ff9b::a9fe:a9fe", "special"],
    ["fd00:ec2::254", "special"],
    ["100.100.100.200", "special"],
    ["168.63.129.16", "special"],
    ["fe80::1%eth0", "special"],
    ["0.0.0.0", "special"],
    ["::", "special"],
    ["224.0.0.1", "special"],
    ["255.255.255.255", "special"],
    ["2002:7f00:1::", "special"],
    ["ff02::1", "special"],
  ])("%s is %s", (address, kind) => {
    expect(kindOfAddress(address)).toBe(kind);
  });
});
