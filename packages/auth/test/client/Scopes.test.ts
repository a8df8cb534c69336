import { assert, describe, it } from "@effect/vitest"
import * as Scopes from "../../src/client/Scopes.ts"

describe("Scopes", () => {
  it("A scope list with extra spaces and duplicates is parsed", () => {
    assert.deepStrictEqual(Scopes.parse(" read  write read "), ["read", "write"])
    assert.deepStrictEqual(Scopes.parse(""), [])
  })

  it("The challenge's scopes take precedence over the resource's", () => {
    const common = { before: ["openid"], supported: ["read"], wanted: ["write"] }
    assert.deepStrictEqual(Scopes.select({ ...common, challenged: ["admin"] }), ["openid", "admin", "write"])
    assert.deepStrictEqual(Scopes.select({ ...common, challenged: undefined }), ["openid", "read", "write"])
  })

  it("No scopes are requested if none are named", () => {
    const none = { before: [], challenged: undefined, supported: undefined, wanted: [] }
    assert.isUndefined(Scopes.select(none))
  })
})
