import * as Challenge from "@effect-mcp/auth/server/Challenge"
import * as Reader from "@effect-mcp/protocol/Challenge"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

describe("Challenge", () => {
  it("A challenge names the error, the scopes and the metadata, each quoted", () => {
    assert.strictEqual(
      Challenge.format({
        scheme: "Bearer",
        error: "insufficient_scope",
        description: "needs more",
        scopes: ["a:read", "a:write"],
        resourceMetadata: "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
      }),
      'Bearer error="insufficient_scope", error_description="needs more", scope="a:read a:write", ' +
        'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"'
    )
  })

  it("A challenge without details is only the scheme", () => {
    assert.strictEqual(Challenge.format({ scheme: "DPoP", scopes: [] }), "DPoP")
  })

  it("Text in a challenge cannot break out of its quotes or add a header", () => {
    assert.strictEqual(
      Challenge.format({ scheme: "Bearer", description: 'a" b\\ \r\nSet-Cookie: x é' }),
      'Bearer error_description="a\\" b\\\\ ??Set-Cookie: x ?"'
    )
  })

  const Text = Schema.String.check(Schema.isMaxLength(40))
  it.effect.prop(
    "A client parses the challenge that a server wrote",
    [Text, Text, Schema.Literals(["Bearer", "DPoP"])],
    (given) =>
      Effect.sync(() => {
        const [description, second, scheme] = given
        const header = Challenge.formatAll([
          {
            scheme,
            error: "invalid_token",
            description,
            scopes: ["a:b", "c"],
            resourceMetadata: "https://x.example/y?z"
          },
          { scheme: "DPoP", description: second, algorithms: ["ES256"] }
        ])
        const [one, two] = Reader.parse(header)
        const printable = (text: string) => text.replaceAll(/[^\x20-\x7e]/gu, "?")
        assert.strictEqual(one?.scheme ?? "", scheme.toLowerCase())
        assert.strictEqual(one?.parameters.get("error_description") ?? "", printable(description))
        assert.strictEqual(two?.parameters.get("error_description") ?? "", printable(second))
        assert.deepStrictEqual(Reader.demand(header), {
          resourceMetadata: "https://x.example/y?z",
          scopes: ["a:b", "c"],
          error: "invalid_token"
        })
      })
  )
})
