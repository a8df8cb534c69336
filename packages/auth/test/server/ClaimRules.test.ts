import * as ClaimRules from "@effect-mcp/auth/server/ClaimRules"
import { InvalidToken } from "@effect-mcp/auth/server/TokenVerifier"
import { assert, describe, it } from "@effect/vitest"

const rules = { issuers: ["https://a.example"], audiences: ["https://b.example/mcp"], skew: 0 }
const good = { iss: "https://a.example", aud: "https://b.example/mcp", sub: "alice" }

describe("ClaimRules", () => {
  it.each<readonly [claims: object, scopes: ReadonlyArray<string>]>([
    [{ scope: "a b" }, ["a", "b"]],
    [{ scope: ["a", "b c"] }, ["a", "b", "c"]],
    [{ scp: "a  b" }, ["a", "b"]],
    [{ scp: ["a", "b"] }, ["a", "b"]],
    [{ scope: "a", scp: ["b"] }, ["a"]],
    [{ scope: "" }, []],
    [{ scp: 7 }, []],
    [{}, []]
  ])("Claims %j grant the scopes %j", (claims, scopes) => {
    const admitted = ClaimRules.admit({ ...good, ...claims }, rules, 0)
    assert.deepStrictEqual(admitted instanceof InvalidToken ? admitted.message : admitted.scopes, scopes)
  })

  // A custom verifier may not check the issuer.
  it.each([
    ["another issuer", { iss: "https://evil.example" }, "Invalid issuer"],
    ["no issuer", { iss: undefined }, "Invalid issuer"],
    ["a non-string issuer", { iss: ["https://a.example"] }, "Invalid issuer"],
    ["another audience", { aud: "https://b.example/other" }, "Invalid audience"],
    ["no audience", { aud: [] }, "Invalid audience"]
  ])("Claims with %s are rejected by every verifier", (_, claims, step) => {
    const refused = ClaimRules.admit({ ...good, ...claims }, rules, 0)
    assert.instanceOf(refused, InvalidToken)
    assert.strictEqual(refused instanceof InvalidToken ? refused.step : "", step)
  })
})
