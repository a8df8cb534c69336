/** One key per caller. */
import * as Principal from "@effect-mcp/core/Principal"
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"

const of = (subject: string | undefined, iss?: string): Principal.Principal["Service"] => ({
  subject,
  scopes: [],
  claims: iss === undefined ? {} : { iss }
})

it("A caller's key is its principal's issuer and subject, or else its address", () => {
  assert.strictEqual(Principal.callerKey(of("ann", "https://a"), "127.0.0.1"), '["https://a","ann"]')
  assert.notStrictEqual(Principal.callerKey(of("ann", "https://a")), Principal.callerKey(of("ann", "https://b")))
  assert.notStrictEqual(Principal.callerKey(of("ann", "https://a")), Principal.callerKey(of("ann")))
  assert.strictEqual(Principal.callerKey(Principal.anonymous, "127.0.0.1"), "127.0.0.1")
  assert.strictEqual(Principal.callerKey(Principal.anonymous), undefined)
})

it("Anonymous IPv6 callers are grouped by the first 64 bits of their address", () => {
  const keyOf = (address: string) => Principal.callerKey(Principal.anonymous, address)
  const network = "2001:db8:0:1::/64"
  for (const address of [
    "2001:db8:0:1::1",
    "2001:DB8:0:1:ffff:eeee:dddd:cccc",
    "2001:db8::1:0:0:0:2",
    "2001:0db8:0000:0001::",
    "2001:db8:0:1:2:3:192.0.2.1",
    "[2001:db8:0:1::1]",
    "[2001:db8:0:1::1]:8080",
    "2001:db8:0:1::1%eth0"
  ]) {
    assert.strictEqual(keyOf(address), network, address)
  }
  assert.notStrictEqual(keyOf("2001:db8:0:2::1"), network)
  assert.strictEqual(keyOf("::1"), "0:0:0:0::/64")
})

it("An IPv4 address is its own group, even when mapped to IPv6", () => {
  for (const address of [
    "192.0.2.1",
    "::ffff:192.0.2.1",
    "::FFFF:192.0.2.1",
    "::ffff:c000:201",
    "0:0:0:0:0:ffff:c000:0201"
  ]) {
    assert.strictEqual(Principal.callerKey(Principal.anonymous, address), "192.0.2.1", address)
  }
})

it("A reported name that is not an address is kept as is", () => {
  for (const name of ["unknown", "proxy:8080", "1::2::3", "12345::", "1:2:3:4:5:6:7", "_hidden", "", ":", ":::"]) {
    assert.strictEqual(Principal.callerKey(Principal.anonymous, name), name)
  }
})

it.prop(
  "A proxied address can never equal a principal's key",
  { subject: Schema.String, iss: Schema.String, address: Schema.String },
  ({ address, iss, subject }) => {
    const key = Principal.callerKey(of(subject, iss)) ?? ""
    for (const reported of [address, key]) {
      assert.notStrictEqual(Principal.callerKey(Principal.anonymous, reported), key)
    }
  }
)
