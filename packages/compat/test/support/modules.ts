/** Modules of the official SDKs and of the shim, behind the shim's types. */
import type * as Client from "@effect-mcp/compat/client"
import type * as ClientStdio from "@effect-mcp/compat/client/stdio"
import type * as Server from "@effect-mcp/compat/server"
import type * as ServerStdio from "@effect-mcp/compat/server/stdio"
import type * as V1ClientAuth from "@effect-mcp/compat/v1/client/auth.js"
import type * as V1ClientExtensions from "@effect-mcp/compat/v1/client/auth-extensions.js"
import type * as V1Client from "@effect-mcp/compat/v1/client/index.js"
import type * as V1ClientSse from "@effect-mcp/compat/v1/client/sse.js"
import type * as V1ClientHttp from "@effect-mcp/compat/v1/client/streamableHttp.js"
import type * as V1ClientStdio from "@effect-mcp/compat/v1/client/stdio.js"
import type * as V1Memory from "@effect-mcp/compat/v1/inMemory.js"
import type * as V1Server from "@effect-mcp/compat/v1/server/mcp.js"
import type * as V1LowLevel from "@effect-mcp/compat/v1/server/index.js"
import type * as V1Completable from "@effect-mcp/compat/v1/server/completable.js"
import type * as V1ServerHttp from "@effect-mcp/compat/v1/server/streamableHttp.js"
import type * as V1ServerSse from "@effect-mcp/compat/v1/server/sse.js"
import type * as V1ServerStdio from "@effect-mcp/compat/v1/server/stdio.js"
import type * as V1Types from "@effect-mcp/compat/v1/types.js"

/** The official SDK and its replacement. */
export const kinds = ["official", "shim"] as const
export type Kind = (typeof kinds)[number]

/** Returns the module path for a kind. Reverses the replacement that the documentation describes. */
export const moduleOf = (kind: Kind, path: string): string =>
  kind === "shim" ? `@effect-mcp/compat/${path}` : `@modelcontextprotocol/${path.replace(/^v1\//, "sdk/")}`

/** Loads a module with the shim's type. The official module must fit that type wherever programs use it. */
const load = (kind: Kind, path: string): Promise<any> => import(moduleOf(kind, path))

export type V2 = typeof Server & typeof ServerStdio
export type V2Client = typeof Client & typeof ClientStdio
export type V1 = typeof V1Server &
  typeof V1LowLevel &
  typeof V1Completable &
  typeof V1Types &
  typeof V1ServerStdio &
  typeof V1ServerHttp &
  typeof V1ServerSse &
  typeof V1Memory
export type V1ClientModule = typeof V1Client &
  typeof V1ClientStdio &
  typeof V1ClientHttp &
  typeof V1ClientSse &
  typeof V1ClientAuth &
  typeof V1ClientExtensions &
  typeof V1Types

const merged = async (kind: Kind, paths: ReadonlyArray<string>): Promise<any> =>
  Object.assign({}, ...(await Promise.all(paths.map((path) => load(kind, path)))))

export const serverV2 = (kind: Kind): Promise<V2> => merged(kind, ["server", "server/stdio"])
export const clientV2 = (kind: Kind): Promise<V2Client> => merged(kind, ["client", "client/stdio"])
export const serverV1 = (kind: Kind): Promise<V1> =>
  merged(kind, [
    "v1/server/mcp.js",
    "v1/server/index.js",
    "v1/server/completable.js",
    "v1/types.js",
    "v1/server/stdio.js",
    "v1/server/streamableHttp.js",
    "v1/server/sse.js",
    "v1/inMemory.js"
  ])
export const clientV1 = (kind: Kind): Promise<V1ClientModule> =>
  merged(kind, [
    "v1/client/index.js",
    "v1/client/stdio.js",
    "v1/client/streamableHttp.js",
    "v1/client/sse.js",
    "v1/client/auth.js",
    "v1/client/auth-extensions.js",
    "v1/types.js"
  ])
