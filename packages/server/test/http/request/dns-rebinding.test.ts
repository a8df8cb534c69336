/** Host names that a server accepts, and origins that may use it. */
import { check } from "@effect-mcp/server/internal/origins"
import { assert, describe, it } from "@effect/vitest"

const hosts = { allowedHosts: ["mcp.example.com", "https.example.com:443", "[2001:db8::1]:8080"] }
const allowed = (host: string, origin?: string) => check({ host, origin }, hosts) === undefined

describe("Allowed hosts", () => {
  it("Loopback hosts in any form and listed hosts, with their port or any port, are allowed", () => {
    for (const host of [
      "localhost",
      "LOCALHOST:3000",
      "127.0.0.1:1",
      "127.8.9.10",
      "[::1]",
      "[::1]:3000",
      "mcp.example.com",
      "MCP.example.com:8443",
      "https.example.com",
      "https.example.com:443",
      "[2001:db8::1]:8080"
    ]) {
      assert.isTrue(allowed(host), host)
    }
  })

  it("A lookalike of an allowed host is rejected", () => {
    for (const host of [
      "",
      "evil.example.com",
      "localhost.",
      "localhost.evil.example.com",
      "127.0.0.1.evil.example.com",
      "localhost:3000@evil.example.com",
      "evil.example.com@localhost",
      ":secret@localhost",
      "localhost/",
      "localhost\\",
      "localhost#evil.example.com",
      "localhost?evil.example.com",
      "localhost, evil.example.com",
      "local host",
      "localhost:99999",
      "0.0.0.0",
      "[::]",
      "[::ffff:127.0.0.1]",
      "mcp.example.com.",
      "mcp.example.com.evil.example.com",
      "https.example.com:8443",
      "[2001:db8::1]:8081"
    ]) {
      assert.isFalse(allowed(host), host)
    }
  })
})

describe("Allowed origins", () => {
  it("An origin is allowed if it is absent, loopback or the server's host in any scheme", () => {
    for (const origin of [undefined, "https://mcp.example.com", "http://mcp.example.com", "http://localhost:8080"]) {
      assert.isTrue(allowed("mcp.example.com", origin), origin)
    }
    assert.isTrue(allowed("mcp.example.com:8443", "https://mcp.example.com:8443"))
  })

  it("Any other origin is rejected", () => {
    for (const origin of [
      "",
      "null",
      "mcp.example.com",
      "https://mcp.example.com:8443",
      "https://evil.example.com",
      "https://mcp.example.com.evil.example.com",
      "https://localhost.evil.example.com",
      "https://mcp.example.com@evil.example.com",
      "https://evil.example.com@mcp.example.com",
      "https://mcp.example.com/",
      "file://localhost",
      "chrome-extension://localhost",
      "https://mcp.example.com https://evil.example.com"
    ]) {
      assert.isFalse(allowed("mcp.example.com", origin), origin)
    }
  })
})
