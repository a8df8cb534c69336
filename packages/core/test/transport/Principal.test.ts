/** One text per caller. */
import * as Principal from "@effect-mcp/core/Principal"
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"

const of = (subject: string | undefined, iss?: string): Principal.Principal["Service"] => ({
  subject,
  scopes: [],
  claims: iss === undefined ? {} : { iss }
})

it("A caller's key is its principal by issuer and subject, else its address, else nothing", () => {
  assert.strictEqual(Principal.callerKey(of("ann", "https://a"), "127.0.0.1"), '["https://a","ann"]')
  assert.notStrictEqual(Principal.callerKey(of("ann", "https://a")), Principal.callerKey(of("ann", "https://b")))
  assert.notStrictEqual(Principal.callerKey(of("ann", "https://a")), Principal.callerKey(of("ann")))
  assert.strictEqual(Principal.callerKey(Principal.anonymous, "::1"), "::1")
  assert.strictEqual(Principal.callerKey(Principal.anonymous), undefined)
})

it.prop(
  "No address has the key of a principal, whatever a proxy reports as the address",
  { subject: Schema.String, iss: Schema.String, address: Schema.String },
  ({ address, iss, subject }) => {
    const key = Principal.callerKey(of(subject, iss)) ?? ""
    for (const reported of [address, key]) {
      assert.notStrictEqual(Principal.callerKey(Principal.anonymous, reported), key)
    }
  }
)
