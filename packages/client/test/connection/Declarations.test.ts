/** The declarations of a client when it opens a session, and that it keeps to the agreed revision. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Roots from "@effect-mcp/core/Roots"
import type { Root } from "@effect-mcp/protocol/model/Root"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, SubscriptionRef } from "effect"
import { connected, versions } from "../support/connected.ts"
import { both, form, model } from "../support/questions.ts"

const roots = Layer.unwrap(
  Effect.map(SubscriptionRef.make<ReadonlyArray<Root>>([{ uri: "file:///home" }]), (ref) => Roots.layerRef(ref))
)
const experimental = { "example.com/a": { level: 2 } }

/** By revision, the declaration of each feature. */
const elicitation = {
  "2024-11-05": undefined,
  "2025-03-26": undefined,
  "2025-06-18": {},
  "2025-11-25": { form: {}, url: {} }
}
const sampling = { "2024-11-05": {}, "2025-03-26": {}, "2025-06-18": {}, "2025-11-25": { tools: {}, context: {} } }
type Stateful = keyof typeof sampling
/** Every client of this revision follows the tasks of its calls. */
const always = (version: Stateful) => (version === "2025-11-25" ? { tasks: {} } : {})
const features = (version: Stateful): ReadonlyArray<readonly [string, Layer.Layer<never>, object]> => [
  ["sampling", model({ tools: true, context: true }), { sampling: sampling[version] }],
  ["roots", roots, { roots: { listChanged: true } }],
  ["elicitation", both, elicitation[version] === undefined ? {} : { elicitation: elicitation[version] }]
]

const declared = (version: Revision.Version, layer: Layer.Layer<never>, options: object = {}) =>
  Effect.map(
    connected({ version }, { revisions: [version], ...options }),
    ({ server }) => server.requests("initialize")[0]?.params?.capabilities
  ).pipe(Effect.provide(layer))

describe.each(versions as ReadonlyArray<Stateful>)("initialize in %s", (version) => {
  for (const [name, layer, expected] of features(version)) {
    it.effect(
      `Only fields of ${name} defined by the revision are declared`,
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* declared(version, layer), { ...expected, ...always(version) })
        }),
      verifies("lifecycle.initialize.request")
    )
  }

  it.effect(
    "A client declares everything it supports, and its experimental capabilities",
    () =>
      Effect.gen(function* () {
        const all = features(version)
        const layers = Layer.mergeAll(Layer.empty, ...all.map(([, layer]) => layer))
        assert.deepStrictEqual(
          yield* declared(version, layers, { experimental }),
          Object.assign({ experimental, ...always(version) }, ...all.map(([, , expected]) => expected))
        )
      }),
    verifies("lifecycle.initialize.request")
  )
})

it.effect("A client without tasks does not declare them", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* declared("2025-11-25", Layer.empty, { tasks: false }), {})
  })
)

describe.each(versions)("Clients that offer the newest revision to a %s server", (version) => {
  const answers = {
    "completion/complete": () => ({ completion: { values: [] } }),
    "tools/list": () => ({ tools: [] })
  }

  it.effect(
    "Only params defined by the negotiated revision are sent",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* connected({ version, answers })
        assert.strictEqual(server.requests("initialize")[0]?.params?.protocolVersion, "2025-11-25")
        assert.strictEqual(client.revision.version, version)
        yield* client.complete({
          ref: { type: "ref/prompt", name: "p" },
          argument: { name: "city", value: "Os" },
          context: { arguments: { country: "Norway" } }
        })
        assert.strictEqual(
          server.requests("completion/complete")[0]?.params?.["context"] !== undefined,
          version >= "2025-06-18"
        )
      }),
    verifies("lifecycle.operation.version-respected")
  )

  it.effect(
    "Only questions defined by the negotiated revision are answered",
    () =>
      Effect.gen(function* () {
        const { server } = yield* connected({ version, answers })
        const outcome = yield* Effect.exit(server.peer.request("elicitation/create", form()))
        assert.strictEqual(outcome._tag, version >= "2025-06-18" ? "Success" : "Failure")
        if (outcome._tag === "Failure") {
          const error = yield* Effect.flip(server.peer.request("elicitation/create", form()))
          assert.strictEqual((error as McpError.McpError).code, McpError.MethodNotFound)
        }
      }).pipe(Effect.provide(Elicitation.layer({ form: () => Effect.succeed({ action: "decline" }) }))),
    verifies("lifecycle.operation.version-respected")
  )
})
