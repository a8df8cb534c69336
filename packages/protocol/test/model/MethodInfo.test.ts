/** The table of methods agrees with the tables of codecs of every revision. */
import { assert, describe, it } from "@effect/vitest"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Effect } from "effect"

const names = (tables: ReadonlyArray<object>) => [...new Set(tables.flatMap((table) => Object.keys(table)))].toSorted()

const directions = [
  ["requests of a client", MethodInfo.clientRequests, Revision.all.map((revision) => revision.clientRequests)],
  ["requests of a server", MethodInfo.serverRequests, Revision.all.map((revision) => revision.serverRequests)],
  [
    "notifications of a client",
    MethodInfo.clientNotifications,
    Revision.all.map((revision) => revision.clientNotifications)
  ],
  [
    "notifications of a server",
    MethodInfo.serverNotifications,
    Revision.all.map((revision) => revision.serverNotifications)
  ]
] as const

const stateless = Revision.get("2026-07-28")!
const statelessRequests = Object.keys(stateless.clientRequests) as ReadonlyArray<keyof typeof stateless.clientRequests>

describe("The table of methods", () => {
  it.each(directions)(
    "The table of methods has a row for each method that a revision has a codec of, and no other: %s",
    (_, rows, codecs) => {
      assert.deepStrictEqual(names([rows]), names(codecs))
    }
  )

  it.effect(
    "The table of methods marks as cacheable the methods whose result 2026-07-28 writes with caching hints",
    () =>
      Effect.gen(function* () {
        for (const method of statelessRequests) {
          // A result is an object in every method; what it lacks is a failure, which carries no hints either.
          const results: Record<string, object> = {
            "server/discover": { supportedVersions: [], capabilities: {} },
            "prompts/list": { prompts: [] },
            "resources/list": { resources: [] },
            "resources/templates/list": { resourceTemplates: [] },
            "resources/read": { contents: [] },
            "tools/list": { tools: [] },
            "tools/call": { content: [] },
            "prompts/get": { messages: [] },
            "completion/complete": { completion: { values: [] } },
            "subscriptions/listen": { _meta: { "io.modelcontextprotocol/subscriptionId": 1 } }
          }
          const wire = yield* Codecs.coders(stateless.clientRequests[method]!).result.encode(results[method] as never)
          assert.strictEqual("cacheScope" in (wire as object), MethodInfo.ofRequest(method)?.cacheable === true, method)
        }
      })
  )

  it("The table of methods says of methods that 2026-07-28 removed that they need a session, or are the handshake and ping", () => {
    const gone = names([MethodInfo.clientRequests]).filter((method) => !(method in stateless.clientRequests))
    assert.deepStrictEqual(
      gone.filter((method) => MethodInfo.ofRequest(method)?.needsSession !== true),
      ["initialize", "ping"]
    )
  })

  it("The table of methods marks as paginated the methods that list", () => {
    const paginated = names([MethodInfo.clientRequests]).filter(
      (method) => MethodInfo.ofRequest(method)?.paginated === true
    )
    assert.deepStrictEqual(
      paginated,
      names([MethodInfo.clientRequests]).filter((method) => method.endsWith("/list"))
    )
  })

  it("The table of methods names only cacheable methods as stale", () => {
    const stale = Object.values(MethodInfo.serverNotifications).flatMap(
      (info: MethodInfo.ServerNotificationInfo) => info.stale ?? []
    )
    assert.deepStrictEqual(
      stale.filter((method) => MethodInfo.ofRequest(method)?.cacheable !== true),
      []
    )
    assert.deepStrictEqual(
      names([MethodInfo.clientRequests]).filter(
        (method) => MethodInfo.ofRequest(method)?.cacheable === true && !stale.some((name) => name === method)
      ),
      // Capabilities do not change while a server runs.
      ["server/discover"]
    )
  })

  it("The table of methods has no row for a name of Object.prototype", () => {
    assert.isUndefined(MethodInfo.ofRequest("constructor"))
    assert.isUndefined(MethodInfo.ofServerNotification("toString"))
  })
})

describe("missingCapability", () => {
  const all = {
    completions: {},
    logging: {},
    prompts: {},
    resources: { subscribe: true },
    tools: {}
  }

  it.each(Object.entries(MethodInfo.clientRequests))(
    "The missing capability of %s is the capability of the method where no capability is declared",
    (_, info) => {
      const { capability } = info
      assert.strictEqual(MethodInfo.missingCapability(info, {}, { completionsDeclared: true }), capability)
      assert.isUndefined(MethodInfo.missingCapability(info, all, { completionsDeclared: true }))
    }
  )

  it("The capability of resources/subscribe is missing where resources are declared without subscriptions", () => {
    const info = MethodInfo.clientRequests["resources/subscribe"]
    assert.strictEqual(
      MethodInfo.missingCapability(info, { resources: {} }, { completionsDeclared: true }),
      "resources.subscribe"
    )
  })

  it("The capability of completion/complete is not missing in a revision that has no such declaration", () => {
    const info = MethodInfo.clientRequests["completion/complete"]
    assert.isUndefined(MethodInfo.missingCapability(info, {}, { completionsDeclared: false }))
  })
})
