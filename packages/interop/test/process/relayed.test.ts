/**
 * A gateway between a client and a server of the official SDK (2025-11-25), over each wire and for each SDK version.
 */
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

/** The methods of the client's notifications, up to and including `last`. */
const heardUntil = (last: string) =>
  Effect.gen(function* () {
    const { heard } = yield* Relayed
    const methods: Array<string> = []
    while (methods.at(-1) !== last) methods.push((yield* Queue.take(heard)).method)
    return methods
  })

for (const { name, open, sdk } of cells) {
  layer(layerRelayed(sdk, open), { timeout: 60_000, excludeTestServices: true })(`Gateways ${name}`, (it) => {
    it.effect("Each side sees the other side's experimental capabilities", () =>
      Effect.gen(function* () {
        const { client } = yield* Relayed
        assert.deepStrictEqual(client.getServerCapabilities()?.experimental, experimental)
        assert.deepStrictEqual((yield* call("declared")).experimental, declared.experimental)
      })
    )

    it.effect("A call's `_meta` is forwarded, and progress is requested only if the client wants it", () =>
      Effect.gen(function* () {
        const _meta = { "example.com/own": { deep: [1] } }
        assert.deepStrictEqual(yield* call("meta", { _meta }), _meta)
        assert.isNull(yield* call("meta"))
      })
    )

    // Two processes write and read a pipe at their own pace, so no pause of the writer guarantees two separate reads.
    const separate = needs(
      !name.includes("stdio"),
      "the official SDK drops progress that it reads from a pipe in one chunk with the answer"
    )
    it.effect(
      "Each progress event of a call that ends right afterwards is forwarded",
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

    it.effect("The client's reason for cancelling a call is forwarded", () =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const onprogress = () => controller.abort("The user closed the window")
        yield* Effect.exit(call("hang", {}, { signal: controller.signal, onprogress }))
        yield* heardUntil("notifications/prompts/list_changed")
        assert.strictEqual(yield* call("reason"), "The user closed the window")
      })
    )

    it.effect(
      "Progress of a question's answer is forwarded",
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* call("ask"), [[1, 2]])
        }),
      separate
    )

    it.effect("The server's reason for withdrawing a question is forwarded", () =>
      Effect.gen(function* () {
        const { withdrawn } = yield* Relayed
        assert.include(yield* call("withdraw"), "the tool changed its mind")
        assert.strictEqual(yield* Queue.take(withdrawn), "the tool changed its mind")
      })
    )

    it.effect("A question's messages stay separate, and a message's contents stay together", () =>
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
      it.effect(`A ${kind} registered by the server while the client is connected is announced`, () =>
        Effect.gen(function* () {
          yield* Queue.clear((yield* Relayed).heard)
          yield* call("register", { arguments: { kind } })
          yield* heardUntil(`notifications/${kind}s/list_changed`)
        })
      )
    }

    it.effect("A log message in the middle of a call is forwarded", () =>
      Effect.gen(function* () {
        const { heard } = yield* Relayed
        yield* Queue.clear(heard)
        yield* call("talk")
        assert.deepInclude((yield* Queue.take(heard)).params, { level: "info", data: "during" })
      })
    )

    it.effect("No resource update is forwarded after the client has unsubscribed", () =>
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
