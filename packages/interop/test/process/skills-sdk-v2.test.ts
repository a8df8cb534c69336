/** Skills between us and the official SDK v2, in both directions and both eras, also through our gateway. */
import { McpClient, Stdio } from "@effect-mcp/client"
import { Gateway } from "@effect-mcp/gateway"
import { type Skill, SkillFiles, SkillStore } from "@effect-mcp/skills"
import { compileCache } from "@effect-mcp/spec/compileCache"
import { McpTest } from "@effect-mcp/testing"
import { McpServer } from "@effect-mcp/server"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Context, Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"
import { clientInfo, serverFile } from "../support/official.ts"
import { overHttp } from "../support/proxy.ts"

const versions = ["2025-11-25", "2026-07-28"] as const
type Version = (typeof versions)[number]

const fixture = fileURLToPath(new URL("../fixtures/sdk-v2-skills-server.ts", import.meta.url))
const parameters = { command: process.execPath, args: [fixture], env: compileCache }

const store = SkillStore.layer({ consent: () => Effect.succeed(true) }).pipe(Layer.provide(SkillFiles.layerMemory))

const direct = (version: Version) =>
  Effect.map(
    Layer.build(Layer.provide(McpClient.layerStdio({ ...parameters, revisions: [version] }), NodeServices.layer)),
    Context.get(McpClient.McpClient)
  )

/** Our gateway in front of the SDK's server. */
const relayed = (version: Version) =>
  Effect.gen(function* () {
    const gateway = Gateway.layer({ connector: Stdio.open(parameters) })
    const built = yield* Layer.build(Layer.provide(gateway, NodeServices.layer))
    return yield* Effect.provideService(
      McpTest.join(version),
      McpServer.McpServer,
      Context.get(built, McpServer.McpServer)
    )
  })

const refunds = "skill://acme/billing/refunds"

const hosts = versions.flatMap((version) => [
  { version, way: "directly", open: direct(version) },
  { version, way: "through our gateway", open: relayed(version) }
])

describe.each(hosts)("Our store and a server of the SDK v2 in $version, $way", ({ open }) => {
  it.live("Our store lists, loads and verifies every file of the SDK's skills", () =>
    Effect.gen(function* () {
      const client = yield* open
      const skills = (yield* SkillStore.SkillStore).connected("sdk", client)
      const listing = yield* skills.list
      assert.deepStrictEqual(listing.refused, [])
      assert.deepStrictEqual(
        listing.skills.map(({ label, skill }) => [label, skill.uri]),
        [
          ["sdk/refunds", `${refunds}/SKILL.md`],
          ["sdk/partial", `${refunds}/parts/partial/SKILL.md`],
          ["sdk/tour", "skill://acme/tour/SKILL.md"]
        ]
      )
      const skill = yield* skills.load(`${refunds}/SKILL.md`)
      assert.deepStrictEqual<Skill.SkillFrontmatter>(skill.skill.frontmatter, {
        name: "refunds",
        description: "Refunds an order, or a part of it.",
        license: "MIT",
        metadata: { version: "1.10", author: "Ada" },
        "allowed-tools": ["Read", "Bash"],
        priority: 31
      })
      assert.strictEqual((yield* skill.read("references/Q&A (1).md")).text, "Ask Ada.")
      assert.deepStrictEqual((yield* skill.read("pixel.bin")).bytes, new Uint8Array([0, 1, 254, 255]))
      yield* Effect.forEach(skill.paths, skill.read)
      assert.strictEqual((yield* skills.load("skill://acme/tour/SKILL.md")).body, "Look around.\n")
      const entry = yield* skills.get(`${refunds}/SKILL.md`)
      assert.deepStrictEqual(entry, skill.skill)
    }).pipe(Effect.provide(store))
  )
})

const stdio = Effect.succeed(
  () => new StdioClientTransport({ ...parameters, args: [serverFile, "--stdio"], stderr: "ignore" })
)
const proxied = Effect.map(
  overHttp,
  ({ url }) =>
    () =>
      new StreamableHTTPClientTransport(new URL(url))
)
const clients = versions.flatMap((version) => [
  { version, way: "over stdio", transport: stdio },
  { version, way: "through effect-mcp proxy over HTTP", transport: proxied }
])

const root = "skill://reference-tour"

describe.each(clients)("The SDK v2 as a host of our server in $version, $way", ({ transport, version }) => {
  it.live("The SDK's client lists, reads and verifies every file, and lists directories", () =>
    Effect.gen(function* () {
      const open = yield* transport
      const client = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const client = new Client(clientInfo, {
            versionNegotiation: { mode: version === "2025-11-25" ? "legacy" : { pin: version } }
          })
          await client.connect(open())
          return client
        }),
        (client) => Effect.promise(() => client.close())
      )
      yield* Effect.promise(async () => {
        const skills = new SkillsClient(client)
        assert.isTrue(skills.supported)
        assert.isTrue(skills.directoryRead)
        const { skills: entries } = await skills.list()
        assert.deepStrictEqual(
          entries.map(({ uri }) => uri),
          [`${root}/SKILL.md`, "skill://reference-tutorials/questions/SKILL.md"]
        )
        for (const entry of entries) {
          if (entry.resources === "dynamic") throw new Error("The skill has no manifest")
          for (const { uri } of entry.resources) assert.isTrue((await skills.read(entry, uri)).verified)
          assert.deepStrictEqual((await skills.get(entry.uri)).skill, entry)
        }
        const { resources } = await skills.readDirectory(root)
        assert.deepStrictEqual(
          resources.map(({ name }) => name),
          ["reference-tour", "assets", "references"]
        )
      })
    })
  )
})
