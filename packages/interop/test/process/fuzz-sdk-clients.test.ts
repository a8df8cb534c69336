/** The official SDKs as clients of misbehaving servers: the fuzzer's findings about them are right. */
import { NodeServices, NodeSocketServer } from "@effect/platform-node"
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Revision from "@effect-mcp/protocol/Revision"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { assert, describe, it } from "@effect/vitest"
import { Client as ClientV2 } from "@modelcontextprotocol/client"
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js"
import { Data, Effect, Layer } from "effect"

const services = Layer.merge(NodeServices.layer, NodeSocketServer.layer({ port: 0, host: "127.0.0.1" }))

class Stopped extends Data.TaggedError("Stopped")<{ readonly message: string }> {}

interface Worker {
  readonly listTools: (params: { cursor?: string }) => Promise<{ nextCursor?: string | undefined }>
  readonly callTool: (params: { name: string; arguments: { a: number; b: number } }) => Promise<unknown>
  readonly close: () => Promise<void>
}

const info = { name: "official", version: "1" }

const clients: ReadonlyArray<
  readonly [name: string, version: Version, open: (given: FuzzClient.GivenCommand) => Promise<Worker>]
> = [
  [
    "v1",
    "2025-11-25",
    async ({ args, command }) => {
      const client = new ClientV1(info)
      await client.connect(new StdioV1({ command, args: [...args], stderr: "ignore" }))
      return client
    }
  ],
  ...(["2025-11-25", "2026-07-28"] as const).map((version): (typeof clients)[number] => [
    "v2",
    version,
    async ({ args, command }) => {
      const mode = version === "2026-07-28" ? { pin: version } : "legacy"
      const client = new ClientV2(info, { versionNegotiation: { mode } })
      await client.connect(new StdioV2({ command, args: [...args], stderr: "ignore" }))
      return client
    }
  ])
]

const work = async (client: Worker): Promise<void> => {
  let cursor: string | undefined
  for (let page = 0; page === 0 || (cursor !== undefined && page < 20); page++) {
    cursor = (await client.listTools(cursor === undefined ? {} : { cursor })).nextCursor
  }
  await client.callTool({ name: "add_numbers", arguments: { a: 1, b: 2 } })
}

describe("Official SDK clients over stdio", () => {
  it.live.each(clients)("The SDK client keeps every MUST with misbehaving servers: %s in %s", ([name, version, open]) =>
    Effect.gen(function* () {
      const target = yield* FuzzClient.stdioClient(name, (given) =>
        Effect.scoped(
          Effect.acquireRelease(
            Effect.tryPromise({ try: () => open(given), catch: (error) => new Stopped({ message: String(error) }) }),
            (client) => Effect.promise(() => client.close())
          ).pipe(
            Effect.flatMap((client) =>
              Effect.tryPromise({
                try: () => work(client),
                catch: (error) => new Stopped({ message: String(error) })
              })
            )
          )
        )
      )
      const report = yield* FuzzClient.run(target, {
        revisions: Revision.all.filter((revision) => revision.version === version),
        only: ["MUST"],
        runs: scaled(8, 300),
        time: "1 day",
        jobs: 4,
        patience: 3000
      })
      assert.isFalse(Fuzz.Report.fails(report, "MUST"), Fuzz.Report.text(report))
      assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 4, Fuzz.Report.text(report))
    }).pipe(Effect.provide(services))
  )
})
