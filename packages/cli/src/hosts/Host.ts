/**
 * The hosts whose configuration files this command reads and writes: their locations and formats.
 *
 * To add a host, add a row to the table.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Result from "effect/Result"
import { homedir } from "node:os"
import { join } from "node:path"
import type { EnvironmentVariables, ServerEntry } from "@effect-mcp/client/ServerEntry"

interface Place {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: EnvironmentVariables
  readonly cwd: string
}

/** The machine, and the folder in which the command was started. */
export class Machine extends Context.Reference<Place>("@effect-mcp/cli/Machine", {
  defaultValue: () => ({ platform: process.platform, home: homedir(), env: process.env, cwd: process.cwd() })
}) {}

export interface Host {
  readonly id: string
  readonly title: string
  readonly format: "json" | "toml"
  /** Key of the object that contains the servers by name. */
  readonly section: string
  /** Returns the path of the user's file. */
  readonly user: (place: Place) => string
  /** Path of the file in a project folder, or `undefined` if the host has no such file. */
  readonly project?: string
  /** Returns the entry in the host's format, or the reason why the host can't have it. */
  readonly write: (entry: ServerEntry) => Result.Result<JsonObject, string>
}

/** Returns the folder in which applications keep their settings. An empty variable counts as unset, as in the XDG specification. */
const applications = ({ env, home, platform }: Place): string => {
  if (platform === "darwin") return join(home, "Library", "Application Support")
  const [variable, otherwise] =
    platform === "win32" ? ["APPDATA", join(home, "AppData", "Roaming")] : ["XDG_CONFIG_HOME", join(home, ".config")]
  return env[variable] || otherwise
}

const unlessEmpty = (key: string, values: { readonly [name: string]: string }): JsonObject =>
  Object.keys(values).length === 0 ? {} : { [key]: values }

/** Format of a host's entries: their `type`, the key of the URL, and whether a process may have a folder. */
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
          `${title} starts its servers and accepts no URL. To use a process that forwards everything, ${advice}`
        )
      }
      const type = typed ? { type: entry.transport === "sse" ? "sse" : "http" } : {}
      return Result.succeed({ ...type, [urlKey]: entry.url, ...unlessEmpty(headersKey, entry.headers) })
    }
    const { args, command, cwd, env } = entry
    if (cwd !== undefined && !hasCwd) {
      return Result.fail(`${title} cannot set a server's folder. Leave out --cwd, and use absolute paths`)
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

/** Returns the path of a host's file, for the user or for the project in this folder. */
export const fileOf = (host: Host, place: Place, isProject: boolean): string | undefined => {
  if (!isProject) return host.user(place)
  return host.project === undefined ? undefined : join(place.cwd, host.project)
}
