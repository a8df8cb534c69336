import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as Revision from "@effect-mcp/protocol/Revision"
import { declaration, inputRequired } from "@effect-mcp/protocol/internal/eras"
import * as Check from "../../src/internal/Check.ts"
import * as SchemaBypass from "../../src/internal/SchemaBypass.ts"
import { canonical } from "../canonical.ts"

type AnyCodec = Schema.Codec<unknown, unknown>

const named = (revision: Revision.Revision): ReadonlyArray<readonly [string, AnyCodec]> => [
  ...(["clientRequests", "serverRequests"] as const).flatMap((side) =>
    Object.entries<{ params: AnyCodec; result: AnyCodec }>({ ...revision[side] } as never).flatMap(([method, codec]) =>
      (["params", "result"] as const).map((part) => [`${side} ${method} ${part}`, codec[part]] as const)
    )
  ),
  ...(["clientNotifications", "serverNotifications"] as const).flatMap((side) =>
    Object.entries<AnyCodec>({ ...revision[side] } as never).map(
      ([method, codec]) => [`${side} ${method}`, codec] as const
    )
  )
]
const codecs = [
  ["declaration", declaration as AnyCodec] as const,
  ["inputRequired", inputRequired as AnyCodec] as const,
  ...Revision.all.flatMap(named)
]

/** Wrong values for a field. */
const wrong: ReadonlyArray<unknown> = [undefined, null, 0, "text", true, [], {}, { type: "text" }, [{ type: "image" }]]

/** Every value that differs from this one in one field, missing or replaced, up to `depth` levels deep. */
const damaged = (value: unknown, depth = 3): ReadonlyArray<unknown> => {
  if (typeof value !== "object" || value === null || depth === 0) return wrong
  if (Array.isArray(value)) return value.flatMap((item, i) => damaged(item, depth - 1).map((d) => value.with(i, d)))
  return Object.entries(value).flatMap(([key, field]) => {
    const { [key]: _gone, ...rest } = value as Record<string, unknown>
    return [rest, ...damaged(field, depth - 1).map((d) => ({ ...value, [key]: d }))]
  })
}

const outcome = (effect: Effect.Effect<unknown, string>) => {
  const exit = Effect.runSyncExit(effect)
  return Exit.isSuccess(exit) ? { value: exit.value } : "refused"
}
const plain = (result: Result.Result<unknown, unknown>) =>
  Result.isSuccess(result) ? { value: result.success } : "refused"

const options = { arbitrary: { runs: 5, size: 4, seed: 20261121 } }
const seen = new Set<AnyCodec>()

describe("Codec fast path", () => {
  for (const [name, codec] of codecs) {
    // Most codecs are shared by several revisions.
    if (seen.has(codec)) continue
    seen.add(codec)
    const coder = Codecs.coder(codec)
    const decode = Schema.decodeUnknownResult(codec)
    const encode = Schema.encodeUnknownResult(codec)
    it.prop(
      `The fast path of ${name} reads, writes and rejects the same values as its Schema`,
      [canonical.get(name)!],
      ([value]) => {
        // The fast path is actually used.
        assert.notStrictEqual(SchemaBypass.of(codec).decode(value), SchemaBypass.none)
        for (const some of [value, ...damaged(value).slice(0, 400), ...wrong]) {
          assert.deepStrictEqual(outcome(coder.decode(some)), plain(decode(some)))
          assert.deepStrictEqual(outcome(coder.encode(some)), plain(encode(some)))
        }
      },
      options
    )
  }
})

describe("Compiled checks", () => {
  /** Values on which the two disagree. */
  const disputed = (schemas: ReadonlyArray<Schema.Codec<unknown>>, values: ReadonlyArray<unknown>) =>
    schemas.flatMap((schema) => {
      const is = Schema.is(schema)
      const check = Check.compile(schema.ast)
      return values.filter((value) => check(value) !== is(value)).map((value) => ({ schema, value }))
    })
  const inheriting: unknown = Object.create({ a: "b" })

  it("A compiled check agrees with Schema.is for every model schema", () => {
    const values = [...wrong, { a: "b" }, { a: 1 }, { a: undefined }, ["a"], [1], inheriting, Number.NaN, 1.5, "b"]
    const schemas = [
      Schema.Struct({ a: Schema.String }),
      Schema.Struct({ a: Schema.optionalKey(Schema.String) }),
      Schema.Struct({ a: Schema.optional(Schema.String) }),
      Schema.Struct({ toString: Schema.optionalKey(Schema.String) }),
      Schema.Struct({ a: Schema.Literals(["b", 1]) }),
      Schema.Struct({ a: Schema.Unknown }),
      Schema.Array(Schema.String),
      Schema.Union([Schema.String, Schema.Struct({ a: Schema.String })]),
      Schema.StructWithRest(Schema.Struct({ a: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)])
    ]
    assert.deepStrictEqual(disputed(schemas, values), [])
  })

  it("A compiled check falls back to Schema.is for unknown schemas", () => {
    const values = [...wrong, { a: "b" }, { a: 1 }, [1, "a"], Number.NaN, -1, 1n]
    const schemas = [
      Schema.Finite,
      Schema.Struct({}),
      Schema.Record(Schema.String, Schema.String),
      Schema.Tuple([Schema.Number, Schema.String]),
      Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ a: Schema.Unknown })], { mode: "oneOf" })
    ]
    assert.deepStrictEqual(disputed(schemas, values), [])
  })

  it("A compiled check supports a recursive schema", () => {
    interface Tree {
      readonly leaves: ReadonlyArray<Tree>
    }
    const Tree = Schema.Struct({ leaves: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)) })
    const values = [{ leaves: [] }, { leaves: [{ leaves: [] }] }, { leaves: [{ leaves: [1] }] }, { leaves: {} }]
    assert.deepStrictEqual(disputed([Tree], values), [])
  })
})
