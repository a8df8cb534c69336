import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import { declaration, inputRequired } from "@effect-mcp/protocol/internal/eras"
import { canonical } from "../canonical.ts"
import { wire } from "../wire.ts"

type AnyCodec = Schema.Codec<unknown, unknown>

/** Every codec of a revision next to the strict wire schema it must agree with. */
const codecs = (revision: Revision.Revision) => {
  const oracle = wire(revision.version)
  const calls = (["clientRequests", "serverRequests"] as const).flatMap((side) =>
    Object.entries<{ params: AnyCodec; result: AnyCodec }>({ ...revision[side] } as never).flatMap(([method, codec]) =>
      (["params", "result"] as const).map((part) => ({
        name: `${side} ${method} ${part}`,
        // The revision of a request is in `_meta`, outside the params that codecs decode.
        declare: revision.era === "stateless" && side === "clientRequests" && part === "params" ? declared : asItIs,
        codec: codec[part],
        strict: oracle[side][method]![part]
      }))
    )
  )
  const notes = (["clientNotifications", "serverNotifications"] as const).flatMap((side) =>
    Object.entries<AnyCodec>({ ...revision[side] } as never).map(([method, codec]) => ({
      name: `${side} ${method}`,
      declare: asItIs,
      codec,
      strict: oracle[side][method]!
    }))
  )
  const around = [
    { name: "declaration", declare: asItIs, codec: declaration as AnyCodec, strict: oracle.around.declaration },
    { name: "inputRequired", declare: asItIs, codec: inputRequired as AnyCodec, strict: oracle.around.inputRequired }
  ]
  return revision.era === "stateless" ? [...around, ...calls, ...notes] : [...calls, ...notes]
}

const asItIs = (value: unknown): unknown => value
const declared = (value: unknown): unknown =>
  Meta.withMeta((value ?? {}) as Meta.Meta, {
    [Meta.protocolVersion]: "2026-07-28",
    [Meta.clientInfo]: { name: "n", version: "1" },
    [Meta.clientCapabilities]: {},
    [Meta.logLevel]: "debug"
  })

const options = { arbitrary: { runs: 40, size: 8, seed: 20251125 } }

const maps = new Set(["properties", "experimental", "extensions", "inputRequests", "inputResponses"])
/** The same value with an unknown field in every object that allows one. */
const withUnknown = (value: unknown, key: string, closed = false): unknown => {
  if (Array.isArray(value)) return value.map((item) => withUnknown(item, key))
  if (typeof value !== "object" || value === null) return value
  const fields = Object.entries(value).map(([name, field]) => {
    // Maps with typed values have no room for a string.
    return [name, withUnknown(field, key, maps.has(name))]
  })
  return Object.fromEntries(closed ? fields : [...fields, [`x-${key}`, "kept"]])
}

const notWritable = /^MCP [0-9-]+ cannot express /

for (const revision of Revision.all) {
  describe(`Codecs of ${revision.version}`, () => {
    for (const { name, codec, strict, declare } of codecs(revision)) {
      const read = Schema.decodeUnknownSync(codec)
      const write = Schema.encodeUnknownSync(codec)

      it.prop(
        `The ${name} codec of ${revision.version} round-trips values with unknown fields`,
        [strict, Schema.String],
        ([value, key]) => {
          assert.deepStrictEqual(write(read(value)), value)
          const extended = withUnknown(value, key)
          assert.deepStrictEqual(write(read(extended)), extended)
        },
        options
      )

      const isStrict = Schema.decodeUnknownResult(strict, { onExcessProperty: "error" })
      const tryWrite = Schema.encodeUnknownResult(codec)
      it.prop(
        `The ${name} codec of ${revision.version} reads model values and writes them validly or rejects them`,
        [canonical.get(name)!],
        ([value]) => {
          assert.deepStrictEqual(read(value), value)
          const written = tryWrite(declare(value))
          if (Result.isFailure(written)) return assert.match(written.failure.message, notWritable)
          const valid = isStrict(written.success)
          assert.isTrue(Result.isSuccess(valid), Result.isFailure(valid) ? valid.failure.message : "")
          assert.deepStrictEqual(write(read(written.success)), written.success)
        },
        options
      )
    }
  })
}

it.effect("A codec failure is one short line without terminal control characters", () =>
  Effect.gen(function* () {
    const { decode } = Codecs.coder(Schema.Record(Schema.String, Schema.Finite))
    const message = yield* Effect.flip(decode({ [`\u001b]0;x\u0007${"x".repeat(10_000)}`]: "no number" }))
    assert.include(message, String.raw`\u001b]0;x\u0007xxx`)
    assert.isBelow(message.length, 1100)
  })
)
