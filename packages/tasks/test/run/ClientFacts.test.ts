/** Facts that a task keeps about the principal that created it. */
import { callerKey } from "@effect-mcp/core/Principal"
import { latestStateful } from "@effect-mcp/protocol/Revision"
import { assert, it } from "@effect/vitest"
import * as ClientFacts from "../../src/run/ClientFacts.ts"

/** The key of a caller as a handler of ada's task sees it. */
const keyOf = (iss: string, claims: ReadonlyArray<string>) => {
  const principal = { subject: "ada", scopes: [], claims: { iss, email: "ada@example.com", token: "secret" } }
  const client = { clientCapabilities: {}, clientInfo: undefined, revision: latestStateful, sessionId: undefined }
  const kept = ClientFacts.kept({ ...client, id: 1, meta: {}, method: "tools/call", principal }, claims)
  assert.isUndefined(kept.principal.claims["token"])
  return callerKey(kept.principal)
}

it("A principal keeps its issuer regardless of its claims", () => {
  for (const claims of [[], ["email"]]) {
    assert.strictEqual(keyOf("https://a.example", claims), '["https://a.example","ada"]')
    assert.notStrictEqual(keyOf("https://a.example", claims), keyOf("https://b.example", claims))
  }
})
