/** What a task keeps of the principal that made it. */
import { callerKey } from "@effect-mcp/core/Principal"
import { latestStateful } from "@effect-mcp/protocol/Revision"
import { assert, it } from "@effect/vitest"
import * as ClientFacts from "../../src/run/ClientFacts.ts"

/** The key of a caller, as a handler of a task of ada sees it. */
const keyOf = (iss: string, claims: ReadonlyArray<string>) => {
  const principal = { subject: "ada", scopes: [], claims: { iss, email: "ada@example.com", token: "secret" } }
  const client = { clientCapabilities: {}, clientInfo: undefined, revision: latestStateful, sessionId: undefined }
  const kept = ClientFacts.kept({ ...client, id: 1, meta: {}, method: "tools/call", principal }, claims)
  assert.isUndefined(kept.principal.claims["token"])
  return callerKey(kept.principal)
}

it("The issuer of a principal is kept whatever claims are: the same subject of another issuer is another caller", () => {
  for (const claims of [[], ["email"]]) {
    assert.strictEqual(keyOf("https://a.example", claims), '["https://a.example","ada"]')
    assert.notStrictEqual(keyOf("https://a.example", claims), keyOf("https://b.example", claims))
  }
})
