/** A view in the lists, the contents and the tool, in every revision. */
import { App, UiExtension } from "@effect-mcp/apps"
import { ClientExtension, type McpClient } from "@effect-mcp/client"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/promise"
import { Revision } from "@effect-mcp/protocol"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Schema, Stream } from "effect"
import { writeFileSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const html = "<!doctype html><title>Dice</title>"
const Dice = Tool.make("dice", { description: "Rolls a die", output: { eyes: Schema.Int } })
const dice = Tools.layer(Dice, () => Effect.succeed({ eyes: 4 }))
const Save = Tool.make("save", { description: "Saves the roll" })
const save = Layer.merge(
  Tools.layer(Save, () => Effect.succeed("Saved")),
  App.layerForViews(Save)
)

const csp = {
  connectDomains: ["https://api.example.com"],
  resourceDomains: ["https://*.example.com"],
  frameDomains: ["https://maps.example.com"]
}
const view = App.layer(Dice, { html, csp, permissions: { clipboardWrite: {} }, prefersBorder: false, domain: "dice" })

const resourceMeta = {
  ui: { csp, permissions: { clipboardWrite: {} }, domain: "dice", prefersBorder: false },
  "openai/widgetCSP": {
    connect_domains: ["https://api.example.com"],
    resource_domains: ["https://*.example.com"],
    frame_domains: ["https://maps.example.com"]
  }
}

const shows = ClientExtension.layer(UiExtension.UiExtension, { settings: { mimeTypes: [UiExtension.mimeType] } })

/** Revisions whose tools and resources have `_meta`. */
const withMeta = Revision.all.filter(({ version }) => version >= "2025-06-18")

const listed = async <A>(all: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for await (const item of all) items.push(item)
  return items
}

describe("App.layer", () => {
  for (const { version } of withMeta) {
    it.effect(
      `The list, the contents and the tool describe the same view in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* McpTest.connect(Layer.merge(dice, view), version)
          const [resource] = yield* Stream.runCollect(client.listResources)
          assert.strictEqual(resource?.uri, "ui://dice")
          assert.strictEqual(resource?.mimeType, "text/html;profile=mcp-app")
          assert.deepStrictEqual(resource?._meta, resourceMeta)
          const { contents } = yield* client.readResource("ui://dice")
          assert.deepStrictEqual(contents, [
            { uri: "ui://dice", mimeType: "text/html;profile=mcp-app", text: html, _meta: resourceMeta }
          ])
          const [tool] = yield* Stream.runCollect(client.listTools)
          assert.deepStrictEqual(tool?._meta, {
            ui: { resourceUri: "ui://dice", visibility: ["model", "app"] },
            "ui/resourceUri": "ui://dice"
          })
        }).pipe(Effect.scoped),
      verifies("apps.resource.scheme", "apps.resource.media-type", "apps.resource.content", "apps.tool.resource-exists")
    )
  }

  for (const { version } of Revision.all) {
    it.effect(
      `A client without views receives the tool's content in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* McpTest.connect(Layer.merge(dice, view), version)
          const { content } = yield* client.callToolByName("dice")
          assert.deepStrictEqual(content, [{ type: "text", text: '{"eyes":4}' }])
        }).pipe(Effect.scoped),
      verifies("apps.degradation.content")
    )

    it.effect(`Only clients without views receive the text for them in ${version}`, () =>
      Effect.gen(function* () {
        const Fail = Tool.make("fail", { description: "Fails", output: { eyes: Schema.Int } })
        const features = Layer.mergeAll(
          dice,
          App.layer(Dice, { html, text: ({ eyes }) => `You rolled ${eyes}` }),
          Tools.layer(Fail, () => Effect.fail(new Tools.ToolFailure({ message: "Broken" }))),
          App.layer(Fail, { html, text: () => "Never" })
        )
        const textsOf = (client: McpClient.Client) =>
          Effect.forEach(["dice", "fail"], (name) =>
            Effect.map(client.callToolByName(name), ({ content: [block] }) =>
              block?.type === "text" ? block.text : undefined
            )
          )
        const without = yield* McpTest.connect(features, version)
        assert.deepStrictEqual(yield* textsOf(without), ["You rolled 4", "Broken"])
        const client = yield* McpTest.connect(features, version).pipe(Effect.provide(shows))
        assert.deepStrictEqual(yield* textsOf(client), [`{"eyes":4}`, "Broken"])
      }).pipe(Effect.scoped)
    )

    it.effect(`Only clients with views see tools for views in ${version}`, () =>
      Effect.gen(function* () {
        const features = Layer.mergeAll(dice, view, save)
        const without = yield* McpTest.connect(features, version)
        assert.deepStrictEqual(
          (yield* Stream.runCollect(without.listTools)).map(({ name }) => name),
          ["dice"]
        )
        const refused = yield* Effect.exit(without.callToolByName("save"))
        assert.include(Exit.isFailure(refused) ? Cause.pretty(refused.cause) : "", "Unknown tool: save")
        const client = yield* McpTest.connect(features, version).pipe(Effect.provide(shows))
        const tools = yield* Stream.runCollect(client.listTools)
        assert.deepStrictEqual(
          tools.map(({ name }) => name),
          ["dice", "save"]
        )
        if (version >= "2025-06-18") assert.deepStrictEqual(tools[1]?._meta, { ui: { visibility: ["app"] } })
        assert.deepStrictEqual((yield* client.callToolByName("save")).content, [{ type: "text", text: "Saved" }])
      }).pipe(Effect.scoped)
    )
  }

  it.effect("A view without a policy declares empty lists, because some hosts require them", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(Layer.merge(dice, App.layer("dice", { html })), "2026-07-28")
      const { contents } = yield* client.readResource("ui://dice")
      assert.deepStrictEqual(contents[0]?._meta, {
        ui: { csp: { connectDomains: [], resourceDomains: [] } },
        "openai/widgetCSP": { connect_domains: [], resource_domains: [] }
      })
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    ["throws", () => assert.fail("thrown")],
    ["returns a promise", () => Promise.resolve("text")]
  ] as ReadonlyArray<readonly [string, () => any]>)("The tool's content stays if text %s", ([, text]) =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(Layer.merge(dice, App.layer(Dice, { html, text })), "2026-07-28")
      const { content, structuredContent } = yield* client.callToolByName("dice")
      assert.deepStrictEqual(content, [{ type: "text", text: '{"eyes":4}' }])
      assert.deepStrictEqual(structuredContent, { eyes: 4 })
    }).pipe(Effect.scoped)
  )

  it.effect("Several tools share one view and can be limited to the model", () =>
    Effect.gen(function* () {
      const Coin = Tool.make("coin", { description: "Throws a coin" })
      const coin = Tools.layer(Coin, () => Effect.succeed("Heads"))
      const shared = App.layer([Dice, Coin], { html, uri: "ui://chance/view", callableByViews: false })
      const client = yield* McpTest.connect(Layer.mergeAll(shared, dice, coin), "2025-11-25")
      const tools = yield* Stream.runCollect(client.listTools)
      for (const tool of tools) {
        assert.strictEqual(UiExtension.viewUri(tool), "ui://chance/view")
        assert.isTrue(UiExtension.isFor("model", tool))
        assert.isFalse(UiExtension.isFor("app", tool))
      }
      assert.strictEqual(tools.length, 2)
    }).pipe(Effect.scoped)
  )

  it.effect("A file is read while the layer is built", () =>
    Effect.gen(function* () {
      const file = join(mkdtempSync(join(tmpdir(), "apps-")), "dice.html")
      writeFileSync(file, html)
      for (const given of [file, pathToFileURL(file)]) {
        const client = yield* McpTest.connect(Layer.merge(dice, App.layer(Dice, { file: given })), "2026-07-28")
        assert.strictEqual(yield* client.readResourceText("ui://dice"), html)
      }
      const missing = yield* Effect.exit(
        McpTest.connect(App.layer(Dice, { file: `${file}.missing` }), "2026-07-28").pipe(Effect.scoped)
      )
      assert.include(
        Exit.isFailure(missing) ? Cause.pretty(missing.cause) : "",
        "Cannot load the page of the view ui://dice"
      )
    }).pipe(Effect.scoped)
  )

  it.effect("A module becomes one page whose script cannot be ended early", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "apps-"))
      writeFileSync(join(folder, "part.ts"), 'export const text: string = "</script><b>" + "<!--"')
      writeFileSync(join(folder, "dice.ts"), 'import { text } from "./part.ts"\ndocument.body.title = text')
      const bundle = join(folder, "dice.ts")
      const client = yield* McpTest.connect(Layer.merge(dice, App.layer(Dice, { bundle })), "2026-07-28")
      const page = yield* client.readResourceText("ui://dice")
      assert.strictEqual(page.match(/<\/script/g)?.length, 1)
      assert.notInclude(page, "<!--")
      assert.include(page, "document.body.title")
      assert.notInclude(page, "import")
    }).pipe(Effect.scoped)
  )

  it("Declarations that cannot work are rejected with their reason", verifies("apps.resource.scheme"), () => {
    const wrong: ReadonlyArray<readonly [() => unknown, string]> = [
      [() => App.layer(Dice, { html, uri: "https://example.com" }), "must start with ui://"],
      [() => App.layer(Dice, { html, uri: "ui://a b" }), "must start with ui://"],
      [() => App.layer([], { html }), "at least one tool"],
      ...[
        "example.com",
        "https://example.com; script-src *",
        "https://example.com https://evil.example",
        "'unsafe-eval'",
        "*",
        "https:",
        "http://example.com",
        "https://*",
        "https://*.com/*",
        "data:",
        "https://user@example.com",
        "https://example.com/path"
      ].map(
        (origin) => [() => App.layer(Dice, { html, csp: { connectDomains: [origin] } }), "Expected an origin"] as const
      )
    ]
    for (const [declare, reason] of wrong) assert.throws(declare, reason)
  })

  it.effect("A second view for the same tool is a defect", () =>
    Effect.gen(function* () {
      const twice = Layer.mergeAll(dice, view, App.layer(Dice, { html, uri: "ui://other" }))
      const exit = yield* Effect.exit(McpTest.connect(twice, "2026-07-28").pipe(Effect.scoped))
      assert.include(
        Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
        'The tool "dice" already has the _meta key "ui"'
      )
    })
  )

  it("A promise server gives clients without views the text for them", async () => {
    const server = new McpServer({ name: "dice", version: "1.0.0" })
    server.tool(
      "dice",
      { description: "Rolls a die", output: Schema.toStandardSchemaV1(Schema.Struct({ eyes: Schema.Int })) },
      () => ({ eyes: 4 })
    )
    server.add(App.layer("dice", { html, text: (data) => `You rolled ${JSON.stringify(data)}` }))
    const { McpClient } = await import("@effect-mcp/promise")
    await using client = await McpClient.connect(server)
    assert.deepStrictEqual((await client.callTool("dice")).content, [{ type: "text", text: 'You rolled {"eyes":4}' }])
    await server.close()
  })

  it.effect("Removing the layer removes the view from its tool", () =>
    Effect.gen(function* () {
      const server = new McpServer({ name: "dice", version: "1.0.0", dynamic: true })
      server.tool("dice", { description: "Rolls a die" }, () => "4")
      const added = server.add(App.layer("dice", { html }))
      const { McpClient } = yield* Effect.promise(() => import("@effect-mcp/promise"))
      yield* Effect.promise(async () => {
        await using client = await McpClient.connect(server)
        const before = await listed(client.listTools())
        assert.deepStrictEqual(before[0]?._meta?.["ui"], { resourceUri: "ui://dice", visibility: ["model", "app"] })
        await added.remove()
        const after = await listed(client.listTools())
        assert.strictEqual(after[0]?._meta?.["ui"], undefined)
        await server.close()
      })
    })
  )
})
