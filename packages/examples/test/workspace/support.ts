/** The workspace server and its client, over one in-memory wire, in one revision. */
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { McpTest } from "@effect-mcp/testing"
import { Effect, Layer, PubSub } from "effect"
import { features } from "@effect-mcp/examples/workspace/features"
import { type Change, Watcher } from "@effect-mcp/examples/workspace/Watcher"
import { Workspace } from "@effect-mcp/examples/workspace/Workspace"

export const files = {
  "README.md": "# Title\n\nNeedle in the readme.\n",
  "logo.png": new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1]),
  "src/index.ts": "export const needle = 1\n",
  "src/deep/a b#c.ts": "nothing\nhere is a NEEDLE\n"
}

export interface Options {
  readonly workspace?: Layer.Layer<Workspace>
  readonly watcher?: Layer.Layer<Watcher>
  readonly pageSize?: number
}

const idle = Layer.unwrap(Effect.map(PubSub.unbounded<Change>(), (hub) => Watcher.layerTest(hub)))

/** The server for the lifetime of the scope; it accepts several connections. */
export const serve = (options: Options = {}) =>
  Effect.map(
    Layer.build(
      McpServer.layer({ name: "workspace", version: "0", features, pageSize: options.pageSize }).pipe(
        Layer.provide([options.workspace ?? Workspace.layerMemory(files), options.watcher ?? idle])
      )
    ),
    (context) => McpServer.McpServer.pipe(Effect.provideContext(context))
  ).pipe(Effect.flatten)

/** The services provided around this are the client's capabilities. */
export const connectTo = (server: McpServer.McpServer["Service"], revision = Revision.latestStateful) =>
  Effect.provideService(McpTest.join(revision), McpServer.McpServer, server)

export const connect = (revision?: Revision.Revision, options?: Options) =>
  Effect.flatMap(serve(options), (server) => connectTo(server, revision))
