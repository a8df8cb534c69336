/** The sources of a project with Effect. */

const features = `import { Tool, Tools } from "@effect-mcp/core"
import { Effect, Schema } from "effect"

export const Greet = Tool.make("greet", {
  description: "Greets a person by name",
  input: { name: Schema.String },
  output: { greeting: Schema.String }
})

/** The server's features. Add more tools, resources and prompts with \`Layer.mergeAll\`. */
export const features = Tools.layer(Greet, ({ name }) => Effect.succeed({ greeting: \`Hello, \${name}\` }))
`

const stdio = (name: string): string => `import { McpServer } from "@effect-mcp/server"
import { NodeRuntime } from "@effect/platform-node"
import { features } from "./features.ts"

const server = McpServer.layer({ name: ${JSON.stringify(name)}, version: "0.1.0", features })

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
`

const http = (name: string): string => `import { McpServer } from "@effect-mcp/server"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Layer } from "effect"
import { createServer } from "node:http"
import { features } from "./features.ts"

const port = Number(process.env["PORT"] ?? 3000)

McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" })).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" })),
  Layer.provide(McpServer.layer({ name: ${JSON.stringify(name)}, version: "0.1.0", features })),
  Layer.launch,
  NodeRuntime.runMain
)
`

const test = `import { Revision } from "@effect-mcp/protocol"
import { McpTest } from "@effect-mcp/testing"
import { Effect } from "effect"
import assert from "node:assert/strict"
import { test } from "node:test"
import { features, Greet } from "../src/features.ts"

for (const revision of Revision.all) {
  test(\`greet greets by name (\${revision.version})\`, () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      const { greeting } = yield* client.callTool(Greet, { name: "Ada" })
      assert.equal(greeting, "Hello, Ada")
    }).pipe(Effect.scoped, Effect.runPromise))
}
`

/** Returns the sources by their paths in the project. */
export const files = (project: {
  readonly name: string
  readonly http: boolean
}): { readonly [path: string]: string } => ({
  "src/features.ts": features,
  "src/server.ts": project.http ? http(project.name) : stdio(project.name),
  "test/features.test.ts": test
})
