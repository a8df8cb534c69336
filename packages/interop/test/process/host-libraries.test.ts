/** Agents built with the libraries of hosts, whose models follow a script, use a server made with ours. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { start } from "../support/http-server.ts"
import * as AiSdk from "../support/libraries/ai-sdk.ts"
import * as LangChain from "../support/libraries/langchain.ts"
import type { Connect, Library, ModelCall, Reach, Script } from "../support/libraries/library.ts"
import * as OpenAiAgents from "../support/libraries/openai-agents.ts"
import { fileOf } from "../support/our-client.ts"

const file = fileOf("../fixtures/host-libraries-server.ts")

const wires: ReadonlyArray<readonly [string, Effect.Effect<Reach, never, Scope.Scope>]> = [
  ["stdio", Effect.succeed({ args: [file] })],
  ["HTTP", Effect.map(start([file, "--http"]), ({ url }) => ({ url }))]
]

interface Peer {
  readonly connect: Connect
  /** True if the library shows `_meta` of resources. */
  readonly meta: boolean
  /** Its name and the revision that it negotiates. */
  readonly speaks: RegExp
}

const libraries: ReadonlyArray<readonly [string, Peer]> = [
  // Over stdio it waits one second for an answer to `server/discover`, and then initializes a session: as seen in 2.0.99.
  ["The AI SDK", { connect: AiSdk.connect, meta: true, speaks: /^ai-sdk-mcp-client in (2026-07-28|2025-11-25)$/ }],
  // It reads resources without their `_meta`: as seen in 1.1.4 of the adapters.
  ["LangChain", { connect: LangChain.connect, meta: false, speaks: /^@langchain\/mcp-adapters in 2025-11-25$/ }],
  // Its client is named after the command or the URL.
  ["The OpenAI Agents SDK", { connect: OpenAiAgents.connect, meta: true, speaks: / in 2026-07-28$/ }]
]

class Connected extends Context.Service<Connected, Library>()("test/Connected") {}

const connected = (connect: Connect, reaching: Effect.Effect<Reach, never, Scope.Scope>) =>
  Layer.effect(
    Connected,
    Effect.acquireRelease(
      Effect.flatMap(reaching, (reach) => Effect.promise(() => connect(reach))),
      (library) => Effect.promise(() => library.close())
    )
  )

/** Makes the calls one after the other, whatever they return. */
const inOrder = (...calls: ReadonlyArray<ModelCall>): Script => {
  const left = [...calls]
  return () => left.shift()
}

/** A model that obeys texts which name the tool to call next. It rings the bell once it has seen that the task is running. */
const baker = (): Script => {
  let rang = false
  let waiting: ModelCall | undefined
  return (result) => {
    if (result === undefined) return { name: "bake", args: {} }
    if (result === "Rang") return waiting
    const [, name = "", json = ""] = /call (\S+) with (\{[^}]*\})/.exec(result) ?? []
    if (name === "") return undefined
    waiting = { name, args: JSON.parse(json) }
    if (rang) return waiting
    rang = true
    return { name: "ring", args: {} }
  }
}

/** Reads all ranges of a result. */
const readAll = async (library: Library, uri: string, size: number): Promise<string> => {
  let text = ""
  while (text.length < size) text += (await library.read(`${uri}?from=${text.length}`)).text
  return text
}

for (const [library, { connect, meta, speaks }] of libraries) {
  for (const [wire, reaching] of wires) {
    layer(connected(connect, reaching), { excludeTestServices: true })(`${library} over ${wire}`, (it) => {
      it.effect("The library names itself and negotiates a revision", () =>
        Effect.gen(function* () {
          const { run } = yield* Connected
          const { results } = yield* Effect.promise(() => run(inOrder({ name: "who", args: {} })))
          assert.match(String(results[0]), speaks)
        })
      )

      it.effect("A model is offered a union as one object, and calls each member", () =>
        Effect.gen(function* () {
          const { run } = yield* Connected
          const file = { kind: "file", path: "a.txt" }
          const page = { kind: "page", url: "https://example.com", depth: 2 }
          const neither = { kind: "file", url: "https://example.com" }
          const script = inOrder(...[file, page, neither].map((args) => ({ name: "open", args })))
          const { offered, results } = yield* Effect.promise(() => run(script))
          const schema = offered.find(({ name }) => name === "open")?.schema
          assert.isUndefined(schema?.["anyOf"])
          assert.strictEqual(schema?.["type"], "object")
          assert.deepStrictEqual(Object.keys(Object(schema?.["properties"])), ["kind", "path", "url", "depth"])
          assert.deepStrictEqual(schema?.["required"], ["kind"])
          assert.deepStrictEqual(results.slice(0, 2), [
            `Opened ${JSON.stringify(file)}`,
            `Opened ${JSON.stringify(page)}`
          ])
          assert.match(String(results[2]), /path/)
        })
      )

      it.effect("A model finishes a call that takes longer than the time limit of its host", () =>
        Effect.gen(function* () {
          const { run } = yield* Connected
          const { offered, results } = yield* Effect.promise(() => run(baker()))
          assert.includeMembers(
            offered.map(({ name }) => name),
            ["tasks_status", "tasks_result", "tasks_cancel"]
          )
          assert.match(String(results[0]), /is still running/)
          assert.strictEqual(results.at(-1), "A cake")
        })
      )

      it.effect("A program reads a result of 5 MiB in ranges", () =>
        Effect.gen(function* () {
          const library = yield* Connected
          const { results } = yield* Effect.promise(() => library.run(inOrder({ name: "large", args: {} })))
          const [uri = ""] = /result:\/\/[\w-]{43}/.exec(String(results[0])) ?? []
          assert.isBelow(String(results[0]).length, 8192)
          const { next } = yield* Effect.promise(() => library.read(uri))
          assert.strictEqual(next, meta ? `${uri}?from=262144` : undefined)
          const size = 5 * 1024 * 1024
          const text = yield* Effect.promise(() => readAll(library, uri, size))
          assert.isTrue(text === "abcdefghij".repeat(size / 10))
        })
      )
    })
  }
}
