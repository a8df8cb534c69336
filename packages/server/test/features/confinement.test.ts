/** Variables of resource templates: no URI or argument can escape its path segment, in any use. */
import * as Resources from "@effect-mcp/core/Resources"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Stream } from "effect"
import { everyVersion, session } from "../support/raw.ts"
import { subscribe } from "../support/subscribed.ts"

/** Values that a hostile client sends in place of a file name. */
const attacks: ReadonlyArray<string> = [
  "..",
  ".",
  "%2e%2e",
  ".%2E",
  "../../etc/passwd",
  "..%2F..%2Fetc%2Fpasswd",
  "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
  "%2Fetc%2Fpasswd",
  "sub%2F..%2F..%2Fx",
  "..%5C..%5Cwin",
  "..\\..\\win",
  "a%00b",
  "%00"
]
/** Names that only look hostile: each is a single entry of a folder. */
const names: ReadonlyArray<string> = ["a.txt", "..a", "...", ".env", "..%252Fetc", "%EF%BC%8Fetc"]

/** A template whose functions record the value they receive. */
const noting = (uriTemplate: string, unconfined?: ReadonlyArray<string>) => {
  const seen: Array<string> = []
  const layer = Resources.layerTemplate(
    {
      uriTemplate,
      name: "document",
      ...(unconfined === undefined ? undefined : { unconfined }),
      complete: {
        name: (value, others) => Effect.sync(() => [seen.push(value, ...Object.values(others)).toString()]),
        other: (value, others) => Effect.sync(() => [seen.push(value, ...Object.values(others)).toString()])
      }
    },
    ({ name }) => Effect.sync(() => seen.push(String(name)).toString()),
    ({ name }) => {
      seen.push(String(name))
      return Stream.never
    }
  )
  return { layer, seen }
}

for (const version of everyVersion()) {
  describe(`Template variables in ${version}`, () => {
    for (const attack of attacks) {
      it.effect(
        `A template variable in ${version} never matches ${attack} in a read, subscription or completion`,
        () =>
          Effect.gen(function* () {
            const { layer, seen } = noting("file:///documents/{name}/{other}")
            const client = yield* session(layer, { version })
            for (const uri of [`file:///documents/${attack}/x`, `file:///documents/x/${attack}`]) {
              const { code } = yield* client.refused("resources/read", { uri })
              assert.strictEqual(code, version >= "2026-07-28" ? -32602 : -32002)
              assert.isUndefined(yield* subscribe(client, version, uri))
            }
            const ref = { type: "ref/resource", uri: "file:///documents/{name}/{other}" }
            const value = decodeURIComponent(attack)
            const typed = { ref, argument: { name: "name", value } }
            assert.deepStrictEqual((yield* client.request("completion/complete", typed)).completion.values, [])
            // 2024-11-05 and 2025-03-26 have no context, so the server must never read it from a client.
            const context = { arguments: { name: value } }
            const beside = { ref, argument: { name: "other", value: "" }, context }
            if (version >= "2025-06-18") {
              assert.deepStrictEqual((yield* client.request("completion/complete", beside)).completion.values, [])
            }
            assert.deepStrictEqual(seen, [])
          }),
        verifies("resources.security.uri-validated")
      )
    }

    it.effect(
      `A template variable in ${version} accepts every plain file name in reads, subscriptions and completions`,
      () =>
        Effect.gen(function* () {
          const { layer, seen } = noting("file:///documents/{name}")
          const client = yield* session(layer, { version })
          for (const name of names) {
            const value = decodeURIComponent(name)
            yield* client.request("resources/read", { uri: `file:///documents/${name}` })
            assert.isDefined(yield* subscribe(client, version, `file:///documents/${name}`))
            const ref = { type: "ref/resource", uri: "file:///documents/{name}" }
            yield* client.request("completion/complete", { ref, argument: { name: "name", value } })
            assert.deepStrictEqual(new Set(seen.splice(0)), new Set([value]))
          }
        })
    )

    it.effect(`A template variable in ${version} accepts any value if it is {+name} or unconfined`, () =>
      Effect.gen(function* () {
        for (const [uriTemplate, unconfined] of [
          ["file:///documents/{+name}", undefined],
          ["file:///documents/{name}", ["name"]]
        ] as const) {
          const { layer, seen } = noting(uriTemplate, unconfined)
          const client = yield* session(layer, { version })
          for (const attack of attacks.filter((attack) => !attack.includes("/"))) {
            const value = decodeURIComponent(attack)
            yield* client.request("resources/read", { uri: `file:///documents/${attack}` })
            assert.isDefined(yield* subscribe(client, version, `file:///documents/${attack}`))
            const ref = { type: "ref/resource", uri: uriTemplate }
            yield* client.request("completion/complete", { ref, argument: { name: "name", value } })
            assert.deepStrictEqual(new Set(seen.splice(0)), new Set([value]))
          }
        }
      })
    )
  })
}

it.effect("An unknown unconfined variable is a defect that names the variable", () =>
  Effect.gen(function* () {
    const exit = yield* Effect.exit(session(noting("x://{name}", ["nmae"]).layer))
    assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("no variable nmae"))
  })
)
