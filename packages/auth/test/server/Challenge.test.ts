import * as Challenge from "@effect-mcp/auth/server/Challenge"
import { assert, describe, it } from "@effect/vitest"

describe("Challenge", () => {
  it("names the error, the scopes and the metadata, each quoted", () => {
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

  it("is the bare scheme when there is nothing to say", () => {
    assert.strictEqual(Challenge.format({ scheme: "DPoP", scopes: [] }), "DPoP")
  })

  it("lets no text break out of its quotes or add a header", () => {
    assert.strictEqual(
      Challenge.format({ scheme: "Bearer", description: 'a" b\\ \r\nSet-Cookie: x é' }),
      'Bearer error_description="a\\" b\\\\ ??Set-Cookie: x ?"'
    )
  })
})
