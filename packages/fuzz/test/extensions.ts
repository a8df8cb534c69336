/** A server of skills and views that follows both extensions. Written without their packages, on which the fuzzer must not depend. */
import { Extension, Extensions, Resources, Tool, Tools } from "@effect-mcp/core"
import { McpError } from "@effect-mcp/protocol"
import { Resource } from "@effect-mcp/protocol/model/Resource"
import { McpServer, Middleware } from "@effect-mcp/server"
import { Effect, Layer, Option, Schema } from "effect"
import { createHash } from "node:crypto"

const cached = { ttlMs: Schema.Finite, cacheScope: Schema.String }
const cache = { ttlMs: 0, cacheScope: "private" }
const cursor = Schema.optionalKey(Schema.String)

const SkillsExtension = Extension.make("io.modelcontextprotocol/skills", {
  description: "Skills.",
  undeclared: "served",
  inSessions: "extensions",
  serverSettings: { directoryRead: Schema.optionalKey(Schema.Boolean) },
  requests: {
    list: Extension.request("skills/list", {
      params: { cursor },
      result: { skills: Schema.Array(Schema.Json), nextCursor: cursor, ...cached },
      mayAsk: false,
      readOnly: true
    }),
    get: Extension.request("skills/get", {
      params: { uri: Schema.String },
      result: { skill: Schema.Json, ...cached },
      mayAsk: false,
      readOnly: true
    }),
    read: Extension.request("resources/directory/read", {
      params: { uri: Schema.String },
      result: { resources: Schema.Array(Resource), ...cached },
      mayAsk: false,
      readOnly: true
    })
  }
})

const markdown = (name: string) => `---\nname: ${name}\ndescription: About ${name}\nlicense: MIT\n---\n\n# ${name}\n`

const outer = "skill://acme/refunds"
const files = new Map<string, string | Uint8Array>([
  [`${outer}/SKILL.md`, markdown("refunds")],
  [`${outer}/references/policy.md`, "30 days\n"],
  [`${outer}/references/table.bin`, new Uint8Array([0, 255, 1])],
  [`${outer}/late/SKILL.md`, markdown("late")]
])

const entryOf = (root: string, name: string) => ({
  uri: `${root}/SKILL.md`,
  frontmatter: { name, description: `About ${name}`, license: "MIT" },
  resources: [...files]
    .filter(([uri]) => uri.startsWith(`${root}/`))
    .map(([uri, content]) => ({
      uri,
      digest: `sha256:${createHash("sha256").update(content).digest("hex")}`,
      size: Buffer.byteLength(content)
    }))
})

const entries = [entryOf(outer, "refunds"), entryOf(`${outer}/late`, "late")]

const resourceOf = (uri: string) => {
  const entry = entries.find((one) => one.uri === uri)
  return {
    uri,
    name: entry?.frontmatter.name ?? uri,
    ...(entry && { description: entry.frontmatter.description }),
    mimeType: uri.endsWith(".md") ? "text/markdown" : "application/octet-stream"
  }
}

/** Returns the files and folders directly in a directory. */
const childrenOf = (directory: string) => {
  const children = new Map<string, ReturnType<typeof resourceOf>>()
  for (const uri of files.keys()) {
    if (!directory.startsWith("skill://acme") || !uri.startsWith(`${directory}/`)) continue
    const end = uri.indexOf("/", directory.length + 1)
    const child = end === -1 ? uri : uri.slice(0, end)
    children.set(child, end === -1 ? resourceOf(uri) : { uri: child, name: child, mimeType: "inode/directory" })
  }
  return [...children.values()]
}

const skills = Layer.merge(
  Extensions.layer(SkillsExtension, {
    settings: { directoryRead: true },
    requests: {
      // One entry per page.
      list: ({ cursor = "0" }) => {
        const index = ["0", "1"].indexOf(cursor)
        return index === -1
          ? Effect.fail(McpError.invalidParams("The cursor is invalid"))
          : Effect.succeed({
              skills: entries.slice(index, index + 1),
              ...(index === 0 && { nextCursor: "1" }),
              ...cache
            })
      },
      get: ({ uri }) => {
        const skill = entries.find((one) => one.uri === uri)
        return skill === undefined
          ? Effect.fail(McpError.invalidParams("There is no skill at this URI"))
          : Effect.succeed({ skill, ...cache })
      },
      read: ({ uri }) => {
        const resources = childrenOf(uri)
        return resources.length === 0
          ? Effect.fail(McpError.invalidParams("There is no directory at this URI"))
          : Effect.succeed({ resources, ...cache })
      }
    }
  }),
  Resources.layerTemplate(
    { uriTemplate: "skill://{+path}", name: "file", list: Effect.succeed(entries.map(({ uri }) => resourceOf(uri))) },
    (_, uri) => {
      const content = files.get(uri)
      const { mimeType } = resourceOf(uri)
      if (content === undefined) return Effect.fail(new Resources.ResourceNotFound({ uri }))
      return Effect.succeed([
        typeof content === "string"
          ? { uri, mimeType, text: content }
          : { uri, mimeType, blob: Buffer.from(content).toString("base64") }
      ])
    }
  )
)

const Ui = Extension.make("io.modelcontextprotocol/ui", {
  description: "Views.",
  clientSettings: { mimeTypes: Schema.optionalKey(Schema.Array(Schema.String)) }
})

const view = "ui://dice"
const mimeType = "text/html;profile=mcp-app"
const meta = { ui: { csp: { connectDomains: ["https://api.example.com"], resourceDomains: [] } } }
const Dice = Tool.make("dice", { description: "Rolls a die.", output: { eyes: Schema.Int } })
const Save = Tool.make("save", { description: "Saves a roll, for views only." })

const views = Layer.mergeAll(
  Tools.layer(Dice, () => Effect.succeed({ eyes: 4 })),
  Tools.layer(Save, () => Effect.succeed("saved")),
  Layer.effectDiscard(
    Effect.flatMap(Tools.ToolRegistry, ({ annotate }) =>
      Effect.andThen(
        annotate("dice", { ui: { resourceUri: view, visibility: ["model", "app"] }, "ui/resourceUri": view }),
        annotate("save", { ui: { visibility: ["app"] } })
      )
    )
  ),
  Middleware.on("tools/list", (_, next) =>
    Effect.gen(function* () {
      const result = yield* next
      const shows = yield* Effect.option(Effect.flatMap(Extensions.declared(Ui), Effect.fromOption))
      return Option.isNone(shows) && "tools" in result
        ? { ...result, tools: result.tools.filter(({ name }) => name !== "save") }
        : result
    })
  ),
  Resources.layer(
    { uri: view, name: "dice", mimeType, meta },
    Effect.succeed([{ uri: view, mimeType, text: "<!doctype html><title>Dice</title>", _meta: meta }])
  )
)

export const server = McpServer.layer({ name: "extended", version: "1.0.0", features: Layer.merge(skills, views) })
