/** Skills and views through a gateway, in every pair of revisions: the same as without it. */
import { App, UiExtension } from "@effect-mcp/apps"
import { ClientExtension } from "@effect-mcp/client"
import type { McpClient } from "@effect-mcp/client"
import { Memory, Tool, Tools } from "@effect-mcp/core"
import { Gateway } from "@effect-mcp/gateway"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { Skills, SkillsExtension } from "@effect-mcp/skills"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"

const refunds: Skills.SkillDefinition = {
  name: "refunds",
  prefix: "acme",
  description: "Refunds",
  instructions: "Read policy.md first.\n",
  files: { "policy.md": "30 days\n", "pixel.bin": new Uint8Array([0, 1, 254, 255]) }
}
const root = "skill://acme/refunds"

const Dice = Tool.make("dice", { description: "Rolls a die", output: { eyes: Schema.Int } })
const Shown = Tool.make("shown", { description: "Says if views are shown" })
const Save = Tool.make("save", { description: "Saves the roll" })

const features = Layer.mergeAll(
  Skills.layer([refunds]),
  Tools.layer(Dice, () => Effect.succeed({ eyes: 4 })),
  App.layer(Dice, { html: "<!doctype html>", csp: { connectDomains: ["https://api.example.com"] } }),
  Tools.layer(Shown, () => Effect.map(App.isShown, String)),
  Tools.layer(Save, () => Effect.succeed("Saved")),
  App.layerForViews(Save)
)

const behind = McpServer.layer({ name: "behind", version: "1.0.0", features })

/** A client of the server itself, or of a gateway to the server in the revision `upstream`. */
const connect = Effect.fnUntraced(function* (revision: Revision.Revision, upstream?: Revision.Revision) {
  const built = yield* Layer.build(Layer.fresh(behind))
  if (upstream === undefined) return yield* Effect.provide(McpTest.join(revision), built)
  const server = Context.get(built, McpServer.McpServer)
  const connector = Effect.gen(function* () {
    const [client, end] = yield* Memory.pair()
    yield* server.connect(end)
    return client
  })
  const gateway = Gateway.layer({ connector, client: { revisions: [upstream.version] } })
  return yield* Effect.provide(McpTest.join(revision), yield* Layer.build(Layer.fresh(gateway)))
})

const { get, list, readDirectory } = SkillsExtension.requests

/** Everything that a host reads of skills. */
const skillsOf = (client: McpClient.Client) =>
  Effect.gen(function* () {
    return {
      settings: yield* client.serverSettings(SkillsExtension),
      list: yield* client.request(list, {}),
      one: yield* client.request(get, { uri: `${root}/SKILL.md` }),
      directory: yield* client.request(readDirectory, { uri: root }),
      files: yield* Effect.forEach(["SKILL.md", "policy.md", "pixel.bin"], (file) =>
        Effect.map(client.readResource(`${root}/${file}`), ({ contents }) => contents)
      )
    }
  })

/** Everything that a host reads of views. */
const viewsOf = (client: McpClient.Client) =>
  Effect.gen(function* () {
    const call = (name: string) => Effect.map(Effect.result(client.callToolByName(name)), (result) => result._tag)
    const { content } = yield* client.callToolByName("shown")
    const resources = yield* Stream.runCollect(client.listResources)
    return {
      tools: yield* Stream.runCollect(client.listTools),
      view: resources.filter(({ uri }) => uri.startsWith("ui://")),
      page: (yield* client.readResource("ui://dice")).contents,
      shown: content[0],
      saved: yield* call("save")
    }
  })

const shows = ClientExtension.layer(UiExtension.UiExtension, { settings: { mimeTypes: [UiExtension.mimeType] } })

describe.each(Revision.all.flatMap((downstream) => Revision.all.map((upstream) => ({ downstream, upstream }))))(
  "A gateway in $downstream.version before $upstream.version",
  ({ downstream, upstream }) => {
    /** The older revision of the two: the gateway cannot add what one side lacks. */
    const common = downstream.version < upstream.version ? downstream : upstream

    it.effect("Skills, their directories and their files are the same behind a gateway", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const direct = yield* skillsOf(yield* connect(downstream))
          assert.strictEqual(direct.list.skills.length, 1)
          const hint = downstream.era === "stateless" ? [0, "private"] : [undefined, undefined]
          for (const { cacheScope, ttlMs } of [direct.list, direct.one, direct.directory])
            assert.deepStrictEqual([ttlMs, cacheScope], hint)
          assert.deepStrictEqual(yield* skillsOf(yield* connect(downstream, upstream)), direct)
        })
      )
    )

    it.effect("Views, their tools and their pages are the same behind a gateway", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const direct = yield* viewsOf(yield* connect(common))
          assert.deepStrictEqual(direct.shown, { type: "text", text: "true" })
          assert.strictEqual(direct.saved, "Success")
          const through = yield* viewsOf(yield* connect(downstream, upstream))
          assert.deepStrictEqual(through, direct)
        })
      ).pipe(Effect.provide(shows))
    )

    it.effect("Tools for views stay hidden behind a gateway from a client without views", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { saved, shown, tools } = yield* viewsOf(yield* connect(downstream, upstream))
          assert.deepStrictEqual(
            tools.map(({ name }) => name),
            ["dice", "shown"]
          )
          assert.deepStrictEqual(shown, { type: "text", text: "false" })
          assert.strictEqual(saved, "Failure")
        })
      )
    )
  }
)
