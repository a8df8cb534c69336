/** Servers and hosts made with the official packages, over HTTP without sockets. */
import { App } from "@effect-mcp/apps"
import * as AppHost from "@effect-mcp/apps/AppHost"
import { Fetch, McpClient } from "@effect-mcp/client"
import { McpServer } from "@effect-mcp/promise"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { getToolUiResourceUri, isToolVisibilityAppOnly } from "@modelcontextprotocol/ext-apps/app-bridge"
import {
  EXTENSION_ID,
  getUiCapability,
  registerAppResource,
  registerAppTool,
  RESOURCE_MIME_TYPE
} from "@modelcontextprotocol/ext-apps/server"
import { createMcpHandler, McpServer as SdkServer } from "@modelcontextprotocol/server"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { z } from "zod"

const html = "<!doctype html><title>Dice</title>"
const uri = "ui://dice/view.html"
const url = "http://localhost/mcp"

/** A server made with the official packages, with a view and a tool for views. */
const sdkServer = () => {
  const server = new SdkServer({ name: "dice", version: "1.0.0" })
  const output = z.object({ eyes: z.int() })
  const ui = { resourceUri: uri }
  registerAppTool(
    server,
    "dice",
    { description: "Rolls a die", inputSchema: z.object({}), outputSchema: output, _meta: { ui } },
    async () => ({ content: [{ type: "text", text: "4" }], structuredContent: { eyes: 4 } })
  )
  registerAppTool(
    server,
    "save",
    { description: "Saves", inputSchema: z.object({}), _meta: { ui: { ...ui, visibility: ["app"] } } },
    async () => ({ content: [{ type: "text", text: "Saved" }] })
  )
  registerAppResource(server, "Dice", uri, { _meta: { ui: { prefersBorder: true } } }, async () => ({
    contents: [{ uri, mimeType: RESOURCE_MIME_TYPE, text: html }]
  }))
  return server
}

describe("The official packages", () => {
  it.live("Our host reads an official server's view and hides its view tools", () =>
    Effect.gen(function* () {
      const handler = createMcpHandler(sdkServer)
      const fetch = (input: string | URL | Request, init?: RequestInit) => handler.fetch(new Request(input, init))
      const transport = yield* Fetch.open({ url, transport: "streamable", fetch })
      const client = yield* Effect.provide(McpClient.connect(transport), AppHost.declaration)
      const host = yield* AppHost.make(client)
      const [tool, ...others] = yield* host.modelTools
      assert.deepStrictEqual(others, [])
      assert.isDefined(tool)
      assert.deepStrictEqual(yield* host.read(tool ?? ""), { uri, html, prefersBorder: true })
    }).pipe(Effect.scoped)
  )

  it.live("An official client finds our view and our view tools", () =>
    Effect.promise(async () => {
      const server = new McpServer({ name: "dice", version: "1.0.0" })
      server.tool("dice", { description: "Rolls a die", output: z.object({ eyes: z.int() }) }, () => ({ eyes: 4 }))
      server.tool("save", { description: "Saves" }, () => "Saved")
      server.add(App.layer("dice", { html, uri, prefersBorder: true }))
      server.add(App.layerForViews("save"))
      const handler = server.toFetch()
      const capabilities = { extensions: { [EXTENSION_ID]: { mimeTypes: [RESOURCE_MIME_TYPE] } } }
      assert.deepStrictEqual(getUiCapability(capabilities), { mimeTypes: [RESOURCE_MIME_TYPE] })
      const client = new Client({ name: "host", version: "1.0.0" }, { capabilities })
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url), {
          fetch: (input, init) => Promise.resolve(handler(new Request(input, init)))
        })
      )
      const { tools } = await client.listTools()
      assert.deepStrictEqual(
        tools.map((tool) => [tool.name, getToolUiResourceUri(tool), isToolVisibilityAppOnly(tool)]),
        [
          ["dice", uri, false],
          ["save", undefined, true]
        ]
      )
      const { contents } = await client.readResource({ uri })
      const { resources } = await client.listResources()
      assert.strictEqual(contents[0]?.mimeType, RESOURCE_MIME_TYPE)
      assert.deepStrictEqual(contents[0]?._meta, resources[0]?._meta)
      await client.close()
      await server.close()
    })
  )
})
