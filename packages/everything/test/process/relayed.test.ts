/** What a gateway between a client and a server of the official SDK carries (2025-11-25), over each wire and for each version of it. */
import { assert, layer } from "@effect/vitest"
import { needs } from "@effect-mcp/spec/skip"
import { Effect, Queue } from "effect"
import { experimental, uri } from "../support/relayed.ts"
import { cells, declared, layerRelayed, Relayed } from "../support/relays.ts"

interface Options {
  readonly signal?: AbortSignal
  readonly onprogress?: (event: any) => void
}

const call = (name: string, params: object = {}, options: Options = {}) =>
  Effect.flatMap(Relayed, ({ client }) =>
    Effect.promise(async () => {
      const { content }: any = await client.callTool({ name, ...params }, undefined, options)
      return JSON.parse(content[0].text)
    })
  )

/** The methods of the notifications that the client gets, up to and with `last`. */
const heardUntil = (last: string) =>
  Effect.gen(function* () {
    const { heard } = yield* Relayed
    const methods: Array<string> = []
    while (methods.at(-1) !== last) methods.push((yield* Queue.take(heard)).method)
    return methods
  })

for (const { name, open, sdk } of cells) {
  layer(layerRelayed(sdk, open), { timeout: 60_000, excludeTestServices: true })(`A gateway ${name}`, (it) => {
    it.effect("A gateway shows each side what the other side declares as experimental", () =>
      Effect.gen(function* () {
        const { client } = yield* Relayed
        assert.deepStrictEqual(client.getServerCapabilities()?.experimental, experimental)
        assert.deepStrictEqual((yield* call("declared")).experimental, declared.experimental)
      })
    )

    it.effect("A gateway passes on the `_meta` of a call, and asks for no progress that the client does not want", () =>
      Effect.gen(function* () {
        const _meta = { "example.com/own": { deep: [1] } }
        assert.deepStrictEqual(yield* call("meta", { _meta }), _meta)
        assert.isNull(yield* call("meta"))
      })
    )

    // Two processes write and read a pipe at their own pace: no pause of the writer keeps two writes out of one read.
    const separate = needs(
      !name.includes("stdio"),
      "the official SDK drops progress that it reads from a pipe in one chunk with the answer"
    )
    it.effect(
      "A gateway passes on each progress event of a call that ends at once afterwards",
      () =>
        Effect.gen(function* () {
          const events: Array<unknown> = []
          yield* call("steps", {}, { onprogress: ({ progress, total }) => void events.push([progress, total]) })
          assert.deepStrictEqual(
            events,
            [1, 2, 3].map((step) => [step, 3])
          )
        }),
      separate
    )

    it.effect("A gateway tells the server the reason for which the client cancels a call", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const onprogress = () => controller.abort("The user closed the window")
        yield* Effect.exit(call("hang", {}, { signal: controller.signal, onprogress }))
        yield* heardUntil("notifications/prompts/list_changed")
        assert.strictEqual(yield* call("reason"), "The user closed the window")
      })
    )

    it.effect(
      "A gateway passes on the progress of a question's answer",
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* call("ask"), [[1, 2]])
        }),
      separate
    )

    it.effect("A gateway tells the client the reason for which the server withdraws a question", () =>
      Effect.gen(function* () {
        const { withdrawn } = yield* Relayed
        assert.include(yield* call("withdraw"), "the tool changed its mind")
        assert.strictEqual(yield* Queue.take(withdrawn), "the tool changed its mind")
      })
    )

    it.effect("A gateway keeps the messages of a question apart, and the contents of a message together", () =>
      Effect.gen(function* () {
        const { asked } = yield* Relayed
        yield* Queue.clear(asked)
        const [left, right] = ["left", "right"].map((text) => ({ type: "text", text }))
        yield* call("both")
        assert.deepStrictEqual((yield* Queue.take(asked)).messages, [
          { role: "user", content: left },
          { role: "user", content: right }
        ])
        yield* call("list")
        assert.deepStrictEqual((yield* Queue.take(asked)).messages, [{ role: "user", content: [left, right] }])
      })
    )

    for (const kind of ["tool", "prompt", "resource"]) {
      it.effect(`A gateway tells the client of a ${kind} that the server registers while the client is connected`, () =>
        Effect.gen(function* () {
          yield* Queue.clear((yield* Relayed).heard)
          yield* call("register", { arguments: { kind } })
          yield* heardUntil(`notifications/${kind}s/list_changed`)
        })
      )
    }

    it.effect("A gateway passes on a log message in the middle of a call", () =>
      Effect.gen(function* () {
        const { heard } = yield* Relayed
        yield* Queue.clear(heard)
        yield* call("talk")
        assert.deepInclude((yield* Queue.take(heard)).params, { level: "info", data: "during" })
      })
    )

    it.effect(
      "A gateway passes on no update of a resource that the client has unsubscribed from, whatever else is watched",
      () =>
        Effect.gen(function* () {
          const { client, heard } = yield* Relayed
          yield* Effect.promise(() => client.subscribeResource({ uri }))
          yield* Effect.promise(() => client.subscribeResource({ uri: "test://other" }))
          yield* call("update")
          yield* heardUntil("notifications/resources/updated")
          yield* Effect.promise(() => client.unsubscribeResource({ uri }))
          yield* Queue.clear(heard)
          yield* call("update")
          yield* call("register", { arguments: { kind: "tool", name: "later" } })
          assert.notInclude(yield* heardUntil("notifications/tools/list_changed"), "notifications/resources/updated")
        })
    )
  })
}
