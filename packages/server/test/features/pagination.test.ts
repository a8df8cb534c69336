/** Pages of lists: pages of any size add up to the list. Cursors are opaque and survive changes of the list. */
import * as Pagination from "../../src/features/Pagination.ts"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { everyVersion, session } from "../support/raw.ts"

const numbers = Array.from({ length: 7 }, (_, index) => index)
const features = Layer.mergeAll(
  ...(numbers.flatMap((n) => [
    Tools.layer(Tool.make(`t${n}`, { description: "" }), () => Effect.succeed("")),
    Prompts.layer(Prompt.make(`p${n}`), () => Effect.succeed("")),
    Resources.layer({ uri: `x:${n}`, name: `r${n}` }, Effect.succeed("")),
    Resources.layerTemplate({ uriTemplate: `y${n}://{a}`, name: `m${n}` }, () => Effect.succeed(""))
  ]) as [Layer.Layer<never, never, any>])
)
const lists = [
  ["tools/list", "tools"],
  ["prompts/list", "prompts"],
  ["resources/list", "resources"],
  ["resources/templates/list", "resourceTemplates"]
] as const

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const key = (item: string) => item
const pages = Effect.fnUntraced(function* (items: () => ReadonlyArray<string>, size: number) {
  const out: Array<ReadonlyArray<string>> = []
  let cursor: string | undefined
  do {
    const page: Pagination.Page<string> = yield* Pagination.page(items(), key, cursor, size)
    out.push(page.items)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return out
})

describe("Pagination", () => {
  for (const version of everyVersion()) {
    for (const [method, field] of lists) {
      it.effect(
        `Each page of ${method} starts where the previous one ended in ${version}`,
        () =>
          Effect.gen(function* () {
            const client = yield* session(features, { version }, { pageSize: 3 })
            const sizes: Array<number> = []
            const names: Array<string> = []
            let cursor: string | undefined
            do {
              const result: any = yield* client.request(method, cursor === undefined ? undefined : { cursor })
              sizes.push(result[field].length)
              names.push(...result[field].map((item: any) => item.name))
              cursor = result.nextCursor
              assert.isTrue(cursor === undefined || typeof cursor === "string")
            } while (cursor !== undefined)
            assert.deepStrictEqual(sizes, [3, 3, 1])
            assert.deepStrictEqual(
              names.map((name) => Number(name.slice(1))),
              numbers
            )
          }),
        verifies("pagination.cursor.continues")
      )
    }
  }

  const Items = Schema.UniqueArray(Schema.String).check(Schema.isMaxLength(30))
  it.effect.prop("The pages of any list and size add up to the whole list", [Items, between(1, 12)], ([items, size]) =>
    Effect.gen(function* () {
      const found = yield* pages(() => items, size)
      assert.deepStrictEqual(found.flat(), items)
      assert.isTrue(found.slice(0, -1).every((page) => page.length === size))
      assert.isTrue(items.length === 0 || found.at(-1)!.length > 0)
    })
  )

  it.effect.prop(
    "Pagination returns unchanged items once while others are added and removed",
    [
      Schema.UniqueArray(Schema.String).check(Schema.isMinLength(6), Schema.isMaxLength(20)),
      between(1, 4),
      between(0, 19)
    ],
    ([items, size, drop]) =>
      Effect.gen(function* () {
        const gone = items[drop % items.length]!
        let call = 0
        const found = (yield* pages(
          () => (call++ === 0 ? items : [...items.filter((item) => item !== gone), "new!"]),
          size
        )).flat()
        const first = items.slice(0, size)
        const stays = items.filter((item) => item !== gone || first.includes(item))
        // One page was read before the change. If its last item was removed, the list continues at its position.
        assert.deepStrictEqual(
          found.filter((item) => item !== "new!"),
          stays
        )
      }),
    verifies("pagination.server.stable-cursors")
  )
})

describe("Cursors", () => {
  for (const version of everyVersion()) {
    it.effect(
      `A cursor that the server did not issue fails with -32602 in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(features, { version }, { pageSize: 3 })
          const bad = [
            "",
            " ",
            "nonsense",
            "3",
            "%%%",
            ":t1",
            "x:t1",
            " 1:t1",
            "-5:?",
            "1.5:?",
            "1e3:?",
            "1234567890:?"
          ]
          for (const [method] of lists) {
            for (const cursor of bad) {
              assert.strictEqual((yield* client.refused(method, { cursor })).code, -32602, `${method} ${cursor}`)
            }
            for (const cursor of [1, null, {}]) {
              assert.strictEqual((yield* client.refused(method, { cursor })).code, -32602)
            }
          }
          assert.strictEqual((yield* client.request("tools/list")).tools.length, 3)
        }),
      verifies("pagination.cursor.invalid", "pagination.server.invalid-cursor-graceful")
    )
  }

  it.effect("Cursors can be reused even if their item was removed", () =>
    Effect.gen(function* () {
      const { nextCursor } = yield* Pagination.page(["a", "b", "c", "d"], key, undefined, 2)
      const once = yield* Pagination.page(["a", "b", "c", "d"], key, nextCursor, 2)
      assert.deepStrictEqual(once, yield* Pagination.page(["a", "b", "c", "d"], key, nextCursor, 2))
      assert.deepStrictEqual((yield* Pagination.page([], key, nextCursor, 2)).items, [])
    })
  )
})

it.effect("Every page contains at least one item, so that paging ends", () =>
  Effect.gen(function* () {
    for (const size of [0, -1]) assert.deepStrictEqual(yield* pages(() => ["a", "b"], size), [["a"], ["b"]])
  })
)

it.effect("An unpaginated list has no cursor, and the default page size is a hundred", () =>
  Effect.gen(function* () {
    const items = Array.from({ length: 101 }, (_, index) => `i${index}`)
    const page = yield* Pagination.page(items, key, undefined, Pagination.defaultPageSize)
    assert.strictEqual(page.items.length, 100)
    assert.isDefined(page.nextCursor)
    const client = yield* session(features)
    assert.isFalse("nextCursor" in (yield* client.request("tools/list")))
  })
)
