/** A server that publishes any entries and any files, even against the rules. */
import { Extensions, Resources } from "@effect-mcp/core"
import { McpError } from "@effect-mcp/protocol"
import type { ResourceContents } from "@effect-mcp/protocol/model/ResourceContents"
import { SkillsExtension } from "@effect-mcp/skills"
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"

/** Entries and files that the server currently serves. Tests change them between requests. */
export interface Served {
  entries: ReadonlyArray<unknown>
  /** Entry for each URI, if it differs from the listed one. */
  got?: { [uri: string]: unknown }
  files: { [uri: string]: string | Uint8Array | ReadonlyArray<ResourceContents> }
  /** Cursor of the next page, for every page. */
  nextCursor?: string | (() => string)
  /** URIs that were read, in order. */
  readonly reads: Array<string>
}

export const digestOf = (content: string | Uint8Array): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`

/** An entry of a manifest with the file's real digest and size. */
export const listedFile = (uri: string, content: string | Uint8Array) => ({
  uri,
  digest: digestOf(content),
  size: Buffer.byteLength(content)
})

export const features = (served: Served) =>
  Layer.merge(
    Extensions.layer(SkillsExtension, {
      settings: {},
      requests: {
        list: () =>
          Effect.sync(() => ({
            skills: served.entries,
            ...(served.nextCursor !== undefined && {
              nextCursor: typeof served.nextCursor === "string" ? served.nextCursor : served.nextCursor()
            })
          })),
        get: ({ uri }) =>
          Effect.suspend(() => {
            const entry = served.got?.[uri] ?? served.entries.find((one: any) => one.uri === uri)
            return entry === undefined
              ? Effect.fail(McpError.invalidParams("No skill is served there"))
              : Effect.succeed({ skill: entry })
          }),
        readDirectory: ({ uri }) => McpError.invalidParams(`${uri} is not a directory`)
      }
    }),
    Resources.layerTemplate({ uriTemplate: "skill://{+path}", name: "file" }, (_, uri) =>
      Effect.suspend(() => {
        served.reads.push(uri)
        const content = served.files[uri]
        return content === undefined ? Effect.fail(new Resources.ResourceNotFound({ uri })) : Effect.succeed(content)
      })
    )
  )
