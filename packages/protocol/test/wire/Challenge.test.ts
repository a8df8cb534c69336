import * as Challenge from "@effect-mcp/protocol/Challenge"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { verifies } from "@effect-mcp/spec/verifies"

const parsed = (header: string) =>
  Challenge.parse(header).map(({ parameters, scheme }) => [scheme, Object.fromEntries(parameters)])

describe("Challenge", () => {
  it("Challenge.parse reads each scheme's parameters", verifies("authorization.client.parses-challenge"), () => {
    assert.deepStrictEqual(
      parsed('Basic realm="a, b", Bearer error="invalid_token",\t scope="x y" ,resource_metadata="https://h/p?q=1"'),
      [
        ["basic", { realm: "a, b" }],
        ["bearer", { error: "invalid_token", scope: "x y", resource_metadata: "https://h/p?q=1" }]
      ]
    )
  })

  const cases: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
    ["Bearer", [["bearer", {}]]],
    ["bEaReR scope=a", [["bearer", { scope: "a" }]]],
    ['Bearer scope = "a"', [["bearer", { scope: "a" }]]],
    ['Bearer SCOPE="a", scope="b"', [["bearer", { scope: "a" }]]],
    ['Bearer error_description="say \\"no\\" \\\\"', [["bearer", { error_description: 'say "no" \\' }]]],
    [
      "Bearer resource_metadata=https://h/p/.well-known",
      [["bearer", { resource_metadata: "https://h/p/.well-known" }]]
    ],
    [
      "Negotiate abc==, Bearer",
      [
        ["negotiate", {}],
        ["bearer", {}]
      ]
    ],
    [
      'Negotiate, DPoP algs="ES256"',
      [
        ["negotiate", {}],
        ["dpop", { algs: "ES256" }]
      ]
    ],
    [", ,Bearer a=1,, b=2", [["bearer", { a: "1", b: "2" }]]],
    [
      'Bearer scope="never closed',
      [
        ["bearer", {}],
        ["scope", {}]
      ]
    ],
    ["", []],
    ["=", []],
    ['"x"', []],
    ["Bearer __proto__=1", [["bearer", Object.fromEntries([["__proto__", "1"]])]]]
  ]
  for (const [header, expected] of cases)
    it(`Challenge.parse reads ${JSON.stringify(header)}`, () => assert.deepStrictEqual(parsed(header), expected))

  it("Challenge.demand reads a server's demand only from OAuth schemes", () => {
    const demand = Challenge.demand('Basic scope="no", Bearer error="insufficient_scope", DPoP scope="a  b"')
    assert.deepStrictEqual(demand, {
      resourceMetadata: undefined,
      scopes: ["a", "b"],
      error: "insufficient_scope"
    })
  })

  it("Challenge.demand is empty for a challenge without parameters", () => {
    for (const header of [undefined, "", "Basic", 'Bearer scope=""'])
      assert.deepStrictEqual(Challenge.demand(header), {
        resourceMetadata: undefined,
        scopes: undefined,
        error: undefined
      })
  })

  const text = Schema.String
  it.prop("Challenge.parse terminates for any text", [text], ([header]) => {
    assert.isArray(Challenge.parse(header))
  })
})
