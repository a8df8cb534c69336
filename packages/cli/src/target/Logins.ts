/**
 * Logins at servers behind HTTP: where the command keeps tokens, and how it brings its user to a login page.
 *
 * A module of its own, loaded with HTTP only: a server that is a process needs none of it.
 */
import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import * as Authorizer from "@effect-mcp/auth/client/Authorizer"
import * as Loopback from "@effect-mcp/auth/client/Loopback"
import * as OAuth from "@effect-mcp/auth/client/OAuth"
import type { OAuthError } from "@effect-mcp/auth/OAuthError"
import * as TokenFiles from "@effect-mcp/auth/client/TokenFiles"
import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { createServer } from "node:http"
import { homedir } from "node:os"
import { join } from "node:path"

export interface Options {
  /** Tells the user what to do; undefined without a terminal, and every login fails. */
  readonly tell: ((text: string) => Effect.Effect<void>) | undefined
  /** The server, if it is one: all requests to its origin are for it. */
  readonly server?: string | URL | undefined
  /** Takes the answer from the terminal instead of a browser on this machine. Default false. */
  readonly paste?: boolean | undefined
  /** The port for the way back; some authorization servers know only one. Default any that is free. */
  readonly port?: number | undefined
  /** The client as it was registered by hand. Default: it registers itself. */
  readonly client?: { readonly id: string; readonly secret: Redacted.Redacted<string> | undefined } | undefined
}

/** Where tokens are: `EFFECT_MCP_TOKENS`, or a folder of the user's state. */
export const directory = (env: NodeJS.ProcessEnv = process.env): string =>
  env["EFFECT_MCP_TOKENS"] ??
  join(env["XDG_STATE_HOME"] ?? env["LOCALAPPDATA"] ?? join(homedir(), ".local", "state"), "effect-mcp", "tokens")

/** In files of the user's; encrypted, if `EFFECT_MCP_TOKEN_KEY` is 32 bytes in base64. */
const store: Layer.Layer<TokenStore.TokenStore, OAuthError> = Layer.suspend(() => {
  const files = Layer.provide(TokenFiles.layer({ directory: directory() }), NodeServices.layer)
  const key = process.env["EFFECT_MCP_TOKEN_KEY"]
  if (key === undefined || key === "") return files
  const bytes = Result.getOrElse(Base64.decode(key), () => new Uint8Array())
  return Layer.provide(TokenStore.layerEncrypted(Redacted.make(bytes)), files)
})

const authorizer = ({ paste, port, tell }: Options): Layer.Layer<Authorizer.Authorizer> => {
  if (tell === undefined) return Authorizer.layerNone
  if (paste === true) {
    const redirectUri = port === undefined ? undefined : `http://127.0.0.1:${port}/callback`
    return Layer.provide(Authorizer.layerTerminal({ redirectUri }), NodeServices.layer)
  }
  return Layer.provide(
    Layer.unwrap(
      Effect.map(ChildProcessSpawner, (spawner) =>
        Loopback.layer({
          server: NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: port ?? 0 }),
          open: (url) =>
            // A browser may be there or not: the address is shown in any case.
            Effect.andThen(
              tell(`To log in, open this page if your browser does not: ${url.href}`),
              Effect.ignore(Loopback.browse(spawner)(url))
            )
        })
      )
    ),
    NodeServices.layer
  )
}

/** A client of HTTP that logs in where it must, and logging in and out by itself. */
export const layer = (options: Options): Layer.Layer<HttpClient.HttpClient | OAuth.OAuth, OAuthError> => {
  const { client } = options
  const grant = AuthorizationCode.make({
    clientName: "effect-mcp",
    ...(client === undefined
      ? undefined
      : {
          registration: false,
          ask: () => Effect.succeed({ clientId: client.id, clientSecret: client.secret })
        })
  })
  return OAuth.layer({ grant, server: options.server }).pipe(
    Layer.provide([store, authorizer(options)]),
    Layer.provide(FetchHttpClient.layer)
  )
}

/** Runs `body` with the logins of this user. */
export const use = <A>(options: Options, body: (oauth: OAuth.OAuth["Service"]) => Effect.Effect<A, OAuthError>) =>
  Effect.provide(
    Effect.flatMap(OAuth.OAuth, (oauth) => body(oauth)),
    layer(options)
  )
