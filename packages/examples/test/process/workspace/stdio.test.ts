/** The program itself, as a child process. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Elicitation } from "@effect-mcp/core"
import { Rename, Search } from "@effect-mcp/examples/workspace/tools"
import { assert, layer } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import { Context, Deferred, Effect, FileSystem, Fiber, Layer, Path, Stream } from "effect"

const program = fileURLToPath(new URL("../../../src/workspace/server.ts", import.meta.url))

layer(NodeServices.layer, { excludeTestServices: true })("workspace server as a program", (it) => {
  it.effect("The workspace server serves a folder: search, resources, a watched change and an agreed rename", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "served-" }))
      const place = (file: string) => path.join(folder, file)
      const uri = (file: string) => Effect.map(path.toFileUrl(place(file)), ({ href }) => href)
      yield* fs.makeDirectory(place("notes"))
      yield* fs.writeFileString(place("notes/today.md"), "Buy a needle.\n")

      const connection = McpClient.layerStdio({ command: process.execPath, args: [program, folder], env: compileCache })
      const client = Context.get(
        yield* Layer.build(Layer.provide(connection, Elicitation.layerAccept())),
        McpClient.McpClient
      )

      assert.strictEqual(client.serverInfo.name, "workspace")
      const { matches } = yield* client.callTool(Search, { query: "needle" })
      assert.deepStrictEqual(matches, [{ path: "notes/today.md", line: 1, text: "Buy a needle." }])

      const today = yield* uri("notes/today.md")
      assert.strictEqual(yield* client.readResourceText(today), "Buy a needle.\n")

      const watching = Deferred.makeUnsafe<void>()
      const updated = yield* client.watchResource(today).pipe(
        Stream.tap(({ _tag }) => (_tag === "Watching" ? Deferred.succeed(watching, undefined) : Effect.void)),
        Stream.filter(({ _tag }) => _tag === "Updated"),
        Stream.runHead,
        Effect.forkChild
      )
      yield* Deferred.await(watching)
      yield* fs.writeFileString(place("notes/today.md"), "Done.\n")
      yield* Fiber.join(updated)
      assert.strictEqual(yield* client.readResourceText(today), "Done.\n")

      yield* client.callTool(Rename, { from: "notes/today.md", to: "done.md" })
      assert.strictEqual(yield* fs.readFileString(place("done.md")), "Done.\n")
      assert.deepStrictEqual(
        (yield* Stream.runCollect(client.listResources)).map(({ name }) => name),
        ["done.md"]
      )
    })
  )
})
