/** Large results in the database of tasks: they survive the process, and nodes share them and their bounds. */
import * as Spill from "@effect-mcp/tasks/spill"
import * as McpError from "@effect-mcp/protocol/McpError"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { connect, serve } from "../../../../server/test/support/raw.ts"
import { ada, all, big, bob, letters, read, testStore, uriOf } from "../../../../server/test/support/spilling.ts"
import { file, open } from "../../support/sqlite.ts"
import { type Database, databases, type Opened } from "../../support/stores.ts"

const version = "2026-07-28"

const spillIn = ({ context }: Opened) => Layer.provide(Spill.layer, Layer.succeedContext(context))

/** The databases, each with an effect that lets time pass by its clock. */
const clocks: ReadonlyArray<Database & { readonly pass: (opened: Opened, millis: number) => Effect.Effect<unknown> }> =
  databases.map((database) => ({
    ...database,
    pass: ({ sql }, millis) =>
      database.name === "SQLite"
        ? TestClock.adjust(millis)
        : Effect.orDie(sql`UPDATE mcp_spill SET expires = expires - ${millis}`)
  }))

for (const { missing, name, pass, place } of clocks) {
  /** A node on the tables, whose server keeps large results there. */
  const node = Effect.fnUntraced(function* (opened: Opened, spill: object = {}) {
    const features = Layer.merge(big(letters), spillIn(opened))
    return yield* serve({ features, limits: { spill: { ...all, ...spill } } })
  })

  describe(`Large results in ${name}`, needs(missing === undefined, missing ?? ""), () => {
    testStore(
      `in ${name}`,
      Effect.gen(function* () {
        const opened = yield* (yield* place)()
        return { features: spillIn(opened), pass: (millis) => Effect.asVoid(pass(opened, millis)) }
      }),
      ["2025-11-25", version]
    )

    it.effect("A result can be read by its owner after a restart", () =>
      Effect.gen(function* () {
        const open = yield* place
        const before = yield* Scope.make()
        const server = yield* Scope.provide(
          Effect.flatMap(open(), (opened) => node(opened)),
          before
        )
        const client = yield* Scope.provide(connect(server, { version, principal: ada }), before)
        const uri = uriOf(yield* client.call("big", { size: 1001 }))
        yield* Scope.close(before, Exit.void)
        const again = yield* node(yield* open())
        const [own, other] = [
          yield* connect(again, { version, principal: ada }),
          yield* connect(again, { version, principal: bob })
        ]
        assert.strictEqual((yield* read(own, `${uri}?from=990`)).text, letters(1001).slice(990))
        yield* other.refused("resources/read", { uri })
      })
    )

    it.effect("A result can be read at another node, by its owner only", () =>
      Effect.gen(function* () {
        const open = yield* place
        const [a, b] = [yield* node(yield* open()), yield* node(yield* open())]
        const here = yield* connect(a, { version, principal: ada })
        const uri = uriOf(yield* here.call("big", { size: 1001 }))
        const [own, other] = [
          yield* connect(b, { version, principal: ada }),
          yield* connect(b, { version, principal: bob })
        ]
        assert.strictEqual((yield* read(own, uri)).text, letters(400))
        yield* other.refused("resources/read", { uri })
      })
    )

    it.effect("Nodes together stay within the bounds if they keep results at the same time", () =>
      Effect.gen(function* () {
        const open = yield* place
        const [one, two] = [yield* open(), yield* open()]
        const bounds = { callerBytes: 6000, totalBytes: 9000 }
        const [a, b] = [yield* node(one, bounds), yield* node(two, bounds)]
        const clients = yield* Effect.forEach([ada, bob], (principal) =>
          Effect.all([connect(a, { version, principal }), connect(b, { version, principal })])
        )
        const calls = yield* Effect.forEach(
          Array.from({ length: 10 }, () => clients.flat()).flat(),
          (client) => client.call("big", { size: 1001 }),
          { concurrency: "unbounded" }
        )
        for (const { isError } of calls) assert.isUndefined(isError)
        const held = yield* one.sql<{ caller: string; charge: number }>`SELECT caller, charge FROM mcp_spill`
        const sum = (rows: typeof held) => rows.reduce((total, { charge }) => total + charge, 0)
        assert.strictEqual(sum(held), 5 * (1001 + 512))
        for (const { caller } of held) assert.isAtMost(sum(held.filter((row) => row.caller === caller)), 6000)
      })
    )

    it.effect("Expired results are deleted, even if no other result is kept", () =>
      Effect.gen(function* () {
        const opened = yield* (yield* place)()
        const client = yield* connect(yield* node(opened), { version })
        const uri = uriOf(yield* client.call("big", { size: 1001 }))
        const rows = opened.sql`SELECT id FROM mcp_spill`
        assert.lengthOf(yield* rows, 1)
        yield* pass(opened, 600_000)
        yield* client.refused("resources/read", { uri })
        yield* TestClock.adjust("1 minute")
        yield* Effect.repeat(rows, { until: ({ length }) => length === 0 })
      })
    )

    it.effect("A result becomes an error if the database cannot keep it, and the failure is logged", () => {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      return Effect.gen(function* () {
        const opened = yield* (yield* place)()
        const client = yield* connect(yield* node(opened), { version })
        const uri = uriOf(yield* client.call("big", { size: 1001 }))
        yield* opened.sql`DROP TABLE mcp_spill`
        const { content, isError } = yield* client.call("big", { size: 1001 })
        assert.isTrue(isError)
        assert.include(content[0].text, "was omitted because it is too large: 1001 bytes, limit 1000")
        const { code } = yield* client.refused("resources/read", { uri })
        assert.strictEqual(code, McpError.Interrupted)
        assert.lengthOf(
          logged.filter((line) => line.includes("could not be")),
          2
        )
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  })
}

it.effect("A full disk turns a large result into an error at once", () =>
  Effect.gen(function* () {
    const { context, sql } = yield* open({ file: yield* file })
    const features = Layer.merge(big(letters), Layer.provide(Spill.layer, Layer.succeedContext(context)))
    const client = yield* connect(yield* serve({ features, limits: { spill: all } }), { version })
    const [row] = yield* sql<{ pages: number }>`SELECT page_count AS pages FROM pragma_page_count()`
    yield* sql.unsafe(`PRAGMA max_page_count = ${row?.pages}`)
    assert.isTrue((yield* client.call("big", { size: 100_000 })).isError)
    yield* sql.unsafe("PRAGMA max_page_count = 10000")
    uriOf(yield* client.call("big", { size: 100_000 }))
  })
)
