/** The fetch handler on Cloudflare's runtime, without sessions: no request may use objects that another one created. */
import { McpClient } from "@effect-mcp/client"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const workerFile = fileURLToPath(new URL("../fixtures/worker.ts", import.meta.url))

/** Why the runtime is missing, or `undefined` if it is available. */
const missing = (): string | undefined => {
  try {
    const miniflare = createRequire(import.meta.resolve("miniflare"))
    const workerd = createRequire(miniflare.resolve("workerd"))
    const binary = workerd.resolve(
      `@cloudflare/workerd-${process.platform}-${{ x64: "64" }[process.arch as string] ?? process.arch}/bin/workerd`
    )
    return existsSync(binary) ? undefined : `there is no file ${binary}`
  } catch (error) {
    return String(error)
  }
}
const reason = missing()
if (reason !== undefined) process.stderr.write(`Skipped, for workerd is not installed: ${reason}\n`)

/** One module. */
const bundled = async (): Promise<string> => {
  const made = await rolldown({
    input: workerFile,
    platform: "neutral",
    resolve: { conditionNames: ["development", "workerd", "import", "default"], mainFields: ["module", "main"] },
    external: [/^node:/],
    logLevel: "silent"
  })
  const { output } = await made.generate({ format: "esm", codeSplitting: false })
  await made.close()
  return output[0].code
}

const url = Effect.gen(function* () {
  const contents = yield* Effect.promise(bundled)
  const { Miniflare } = yield* Effect.promise(() => import("miniflare"))
  const worker = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Miniflare({
          modules: [{ type: "ESModule", path: "worker.mjs", contents }],
          compatibilityDate: "2026-07-01",
          compatibilityFlags: ["nodejs_compat"],
          host: "127.0.0.1",
          port: 0,
          cf: false,
          telemetry: { enabled: false }
        })
    ),
    (worker) => Effect.promise(() => worker.dispose())
  )
  return new URL("/mcp", yield* Effect.promise(() => worker.ready)).href
})

describe.skipIf(reason !== undefined)("Sessionless Workers", () => {
  it.live.each(["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const)(
    "A sessionless Worker serves our client in %s, call after call",
    (version) =>
      Effect.gen(function* () {
        const context = yield* Layer.build(
          McpClient.layerHttp({ url: yield* url, revisions: [version] }).pipe(
            Layer.provide(FetchHttpClient.layer),
            Layer.fresh
          )
        )
        const client = Context.get(context, McpClient.McpClient)
        assert.strictEqual(client.revision.version, version)
        const names = yield* Stream.runCollect(Stream.map(client.listTools, ({ name }) => name))
        assert.deepStrictEqual([...names], ["steps"])
        for (const text of ["one", "two"]) {
          const { content } = yield* client.callToolByName("steps", { text })
          assert.deepInclude(content[0], { text })
        }
        if (version === "2026-07-28") return
        // It would need a session.
        assert.strictEqual(client.serverCapabilities.resources?.subscribe, undefined)
        const refused = yield* Effect.flip(client.request("resources/subscribe", { uri: "test://one" }))
        assert.include(refused.message, "does not support resources.subscribe")
      }),
    60_000
  )
})
