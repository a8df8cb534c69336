import { assert, describe, it } from "@effect/vitest"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Revision from "@effect-mcp/protocol/Revision"

const names = (table: object) => Object.keys(table).toSorted()

const stateless = Revision.get("2026-07-28")!

describe("Method table", () => {
  it("Methods removed in 2026-07-28 are marked as session methods, handshake or ping", () => {
    const gone = names(MethodInfo.clientRequests).filter((method) => !(method in stateless.clientRequests))
    assert.deepStrictEqual(
      gone.filter((method) => MethodInfo.ofRequest(method)?.needsSession !== true),
      ["initialize", "ping"]
    )
  })

  it("Every method whose name ends in list is a list method", () => {
    assert.deepStrictEqual(
      Object.values(MethodInfo.lists).map(({ method }) => method),
      Object.keys(MethodInfo.clientRequests).filter((method) => method.endsWith("/list"))
    )
    const { capability, key, method } = MethodInfo.lists.resourceTemplates
    assert.deepStrictEqual([method, key, capability], ["resources/templates/list", "uriTemplate", "resources"])
  })

  it("Only methods with cacheable results are listed as becoming stale", () => {
    const stale = Object.values(MethodInfo.serverNotifications).flatMap(
      (info: MethodInfo.ServerNotificationInfo) => info.stale ?? []
    )
    assert.deepStrictEqual(
      stale.filter((method) => MethodInfo.ofRequest(method)?.cacheable !== true),
      []
    )
    assert.deepStrictEqual(
      names(MethodInfo.clientRequests).filter(
        (method) => MethodInfo.ofRequest(method)?.cacheable === true && !stale.some((name) => name === method)
      ),
      // Capabilities do not change while a server runs.
      ["server/discover"]
    )
  })

  it("Names on Object.prototype have no row in the table", () => {
    assert.isUndefined(MethodInfo.ofRequest("constructor"))
    assert.isUndefined(MethodInfo.ofServerNotification("toString"))
  })
})

describe("missingCapability", () => {
  const kinds = Object.fromEntries(MethodInfo.listKinds.map((kind) => [kind, {}]))
  const all = { ...kinds, completions: {}, logging: {}, resources: { subscribe: true } }

  it.each(Object.entries(MethodInfo.clientRequests))(
    "The missing capability for %s is the method's own if none is declared",
    (_, info) => {
      const { capability } = info
      assert.strictEqual(MethodInfo.missingCapability(info, {}, { completionsDeclared: true }), capability)
      assert.isUndefined(MethodInfo.missingCapability(info, all, { completionsDeclared: true }))
    }
  )

  it("resources/subscribe lacks a capability if resources are declared without subscriptions", () => {
    const info = MethodInfo.clientRequests["resources/subscribe"]
    assert.strictEqual(
      MethodInfo.missingCapability(info, { resources: {} }, { completionsDeclared: true }),
      "resources.subscribe"
    )
  })

  it("completion/complete never lacks a capability in a revision without that declaration", () => {
    const info = MethodInfo.clientRequests["completion/complete"]
    assert.isUndefined(MethodInfo.missingCapability(info, {}, { completionsDeclared: false }))
  })
})
