/** The lazily created services of a request behave like a plain map. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, References } from "effect"
import { HandlerContext } from "../../src/features/HandlerContext.ts"
import * as Log from "../../src/request/Log.ts"
import * as Principal from "../../src/transport/Principal.ts"
import type { RequestServices } from "../../src/request/RequestContext.ts"
import { ServiceTable, LazyContext, service } from "../../src/internal/LazyContext.ts"

class Base extends Context.Service<Base, string>()("test/Base") {}
class Counted extends Context.Service<Counted, { readonly n: number }>()("test/Counted") {}
class Never extends Context.Service<Never, string>()("test/Never") {}

interface One {
  made: number
}
const table = new ServiceTable<One>([
  service(Counted, (one) => ({ n: ++one.made })),
  service(Principal.Principal, () => ({ subject: "ada", scopes: [], claims: {} })),
  service(Log.Log, () => Log.none)
])
const base = new Map<string, unknown>([
  [Base.key, "base"],
  [Principal.Principal.key, Principal.anonymous]
])

describe.each([
  ["with a shared context", true],
  ["with its own context", false]
])("Lazy request services %s", (_, shared) => {
  const make = (one: One = { made: 0 }) => new LazyContext(base, table, one, [], shared)

  it("Request services are created once, on first read", () => {
    const one = { made: 0 }
    const map = make(one)
    assert.isTrue(map.has(Counted.key))
    assert.strictEqual(map.size, 4)
    assert.strictEqual(one.made, 0)
    assert.strictEqual(map.get(Counted.key), map.get(Counted.key))
    assert.strictEqual(map.over((below) => below).get(Counted.key), map.get(Counted.key))
    assert.strictEqual(one.made, 1)
  })

  it("Request services iterate and look up like a plain map", () => {
    const map = make()
    const plain = new Map(map)
    assert.strictEqual(plain.size, map.size)
    assert.deepStrictEqual([...map.keys()], [...plain.keys()])
    assert.deepStrictEqual([...map.values()], [...plain.values()])
    assert.deepStrictEqual([...map.entries()], [...plain])
    const seen: Array<unknown> = []
    map.forEach((value, key) => seen.push([key, value]))
    assert.deepStrictEqual(seen, [...plain])
    for (const key of [...plain.keys(), Never.key]) {
      assert.strictEqual(map.get(key), plain.get(key))
      assert.strictEqual(map.has(key), plain.has(key))
    }
    assert.isTrue(map.has(Base.key))
    assert.isFalse(map.has(Never.key))
  })

  it("Request services shadow the underlying map without changing it", () => {
    assert.deepStrictEqual(make().get(Principal.Principal.key), { subject: "ada", scopes: [], claims: {} })
    assert.strictEqual(base.get(Principal.Principal.key), Principal.anonymous)
    assert.strictEqual(base.size, 2)
  })
})

describe("Lazy handler context", () => {
  const context = new HandlerContext<Base | RequestServices>(Context.make(Base, "captured"))
  // The services that a handler receives, and no others.
  const own = new ServiceTable<One>([
    service(Principal.Principal, (one) => ({ subject: `${++one.made}`, scopes: [], claims: {} })),
    service(Log.Log, () => Log.none)
  ])
  /** Which of all possible services a handler sees. */
  const seen: Effect.Effect<string, never, Base | RequestServices> = Effect.map(
    Effect.all([
      Effect.serviceOption(Base),
      Effect.serviceOption(Principal.Principal),
      Effect.serviceOption(Log.Log),
      Effect.serviceOption(Never),
      Log.callerAnnotations,
      References.LogToStderr
    ]),
    (found) => JSON.stringify(found)
  )
  const annotated = (annotations: object) =>
    new Map([...base, [References.CurrentLogAnnotations.key, annotations], [References.LogToStderr.key, true]])
  const within = (services: ReadonlyMap<string, unknown>) =>
    Effect.runSync(Effect.updateContext(context.provide(seen), () => Context.makeUnsafe<RequestServices>(services)))

  it("A handler's context is the same for lazy services as for a plain map", () => {
    for (const below of [base, annotated({ step: 1 }), annotated({ step: 2 }), base]) {
      const map = new LazyContext(below, own, { made: 0 })
      assert.strictEqual(within(map), within(new Map(map)))
      assert.include(within(map), '"subject":"1"')
    }
  })
})
