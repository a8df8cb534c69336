/**
 * The `io.modelcontextprotocol/skills` extension: servers publish skills, hosts list them, and their files are ordinary resources. The
 * client and the server share this value.
 */
import * as Extension from "@effect-mcp/core/Extension"
import { Resource } from "@effect-mcp/protocol/model/Resource"
import * as Schema from "effect/Schema"

const page = { nextCursor: Schema.optionalKey(Schema.String) }
/** Freshness of a result, required since 2026-07-28 and undefined before. */
const cache = { ttlMs: Schema.optionalKey(Schema.Finite), cacheScope: Schema.optionalKey(Schema.String) }
const cursor = Schema.optionalKey(Schema.String)

/** The extension, with its requests. A server declares it; a client calls its methods without declaring it. */
export const SkillsExtension = Extension.make("io.modelcontextprotocol/skills", {
  description: "Agent Skills. A client without it can list and read their files as resources.",
  // Clients declare nothing: they call the methods of every server that declares the extension.
  undeclared: "served",
  inSessions: "extensions",
  serverSettings: { directoryRead: Schema.optionalKey(Schema.Boolean) },
  requests: {
    // Entries are checked one by one, because an invalid one must not hide the others.
    list: Extension.request("skills/list", {
      params: { cursor },
      result: { skills: Schema.Array(Schema.Unknown), ...page, ...cache },
      mayAsk: false,
      readOnly: true
    }),
    get: Extension.request("skills/get", {
      params: { uri: Schema.String },
      result: { skill: Schema.Unknown, ...cache },
      mayAsk: false,
      readOnly: true
    }),
    readDirectory: Extension.request("resources/directory/read", {
      params: { uri: Schema.String, cursor },
      result: { resources: Schema.Array(Resource), ...page, ...cache },
      mayAsk: false,
      readOnly: true
    })
  }
})

/** Media type of a directory. */
export const directoryType = "inode/directory"
