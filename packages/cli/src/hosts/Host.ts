/**
 * The hosts whose configuration this command reads and writes: where each keeps its servers, and in which words.
 *
 * A new host is one row of the table.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Result from "effect/Result"
import { homedir } from "node:os"
import { join } from "node:path"
import type { ServerEntry, EnvironmentVariables } from "@effect-mcp/client/internal/ServerEntry"

interface Place {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: EnvironmentVariables
  readonly cwd: string
}

/** This machine and the folder in which the command was started. */
export class Machine extends Context.Reference<Place>("@effect-mcp/cli/Machine", {
  defaultValue: () => ({ platform: process.platform, home: homedir(), env: process.env, cwd: process.cwd() })
}) {}

export interface Host {
  readonly id: string
  readonly title: string
  readonly format: "json" | "toml"
  /** The key below which the servers are, by name. */
  readonly section: string
  /** The file of this user. */
  readonly user: (place: Place) => string
  /** The file of a project, relative to its folder; undefined where the host has none. */
  readonly project?: string
  /** The entry in the words of the host, or why it cannot have one. */
  readonly write: (entry: ServerEntry) => Result.Result<JsonObject, string>
}

/** Where applications keep their settings. */
const applications = ({ env, home, platform }: Place): string => {
  if (platform === "darwin") return join(home, "Library", "Application Support")
  return platform === "win32"
    ? (env["APPDATA"] ?? join(home, "AppData", "Roaming"))
    : (env["XDG_CONFIG_HOME"] ?? join(home, ".config"))
}

const unlessEmpty = (key: string, values: { readonly [name: string]: string }): JsonObject =>
  Object.keys(values).length === 0 ? {} : { [key]: values }

/** How a host writes an entry: the type that it wants to see, the key of the URL, whether it knows the folder of a process. */
interface Words {
  readonly typed?: boolean
  readonly url?: string
  readonly headers?: string
  readonly cwd?: boolean
}

const writer =
  (title: string, { cwd: hasCwd = false, headers: headersKey = "headers", typed = false, url: urlKey }: Words) =>
  (entry: ServerEntry): Result.Result<JsonObject, string> => {
    if (entry._tag === "Reached") {
      if (urlKey === undefined) {
        const advice = `put this after --: effect-mcp proxy -- ${entry.url}`
        return Result.fail(
          `${title} starts its servers and takes no URL in its file. For a process that passes all on, ${advice}`
        )
      }
      const type = typed ? { type: entry.transport === "sse" ? "sse" : "http" } : {}
      return Result.succeed({ ...type, [urlKey]: entry.url, ...unlessEmpty(headersKey, entry.headers) })
    }
    const { args, command, cwd, env } = entry
    if (cwd !== undefined && !hasCwd) {
      return Result.fail(
        `${title} does not know in which folder to start a server: leave out --cwd, and name files by absolute paths`
      )
    }
    const type = typed ? { type: "stdio" } : {}
    return Result.succeed({
      ...type,
      command,
      args: [...args],
      ...unlessEmpty("env", env),
      ...(cwd === undefined ? {} : { cwd })
    })
  }

export const hosts: ReadonlyArray<Host> = [
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    format: "json",
    section: "mcpServers",
    user: (place) => join(applications(place), "Claude", "claude_desktop_config.json"),
    write: writer("Claude Desktop", {})
  },
  {
    id: "claude-code",
    title: "Claude Code",
    format: "json",
    section: "mcpServers",
    user: ({ home }) => join(home, ".claude.json"),
    project: ".mcp.json",
    write: writer("Claude Code", { typed: true, url: "url" })
  },
  {
    id: "cursor",
    title: "Cursor",
    format: "json",
    section: "mcpServers",
    user: ({ home }) => join(home, ".cursor", "mcp.json"),
    project: join(".cursor", "mcp.json"),
    write: writer("Cursor", { url: "url" })
  },
  {
    id: "vscode",
    title: "VS Code",
    format: "json",
    section: "servers",
    user: (place) => join(applications(place), "Code", "User", "mcp.json"),
    project: join(".vscode", "mcp.json"),
    write: writer("VS Code", { typed: true, url: "url", cwd: true })
  },
  {
    id: "codex",
    title: "Codex",
    format: "toml",
    section: "mcp_servers",
    user: ({ env, home }) => join(env["CODEX_HOME"] ?? join(home, ".codex"), "config.toml"),
    project: join(".codex", "config.toml"),
    write: writer("Codex", { url: "url", headers: "http_headers", cwd: true })
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    format: "json",
    section: "mcpServers",
    user: ({ home }) => join(home, ".gemini", "settings.json"),
    project: join(".gemini", "settings.json"),
    write: writer("Gemini CLI", { url: "httpUrl", cwd: true })
  }
]

/** The file of a host: that of the user, or of the project in this folder. */
export const fileOf = (host: Host, place: Place, isProject: boolean): string | undefined => {
  if (!isProject) return host.user(place)
  return host.project === undefined ? undefined : join(place.cwd, host.project)
}
