/**
 * Logins to HTTP servers: stores tokens, and sends the user to the login page.
 *
 * A separate module, so that it is only loaded for HTTP servers.
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
import { stateFolder } from "./stateFolder.ts"

export interface Options {
  /** Shows instructions to the user. Without a terminal it is `undefined`, and every login fails. */
  readonly tell: ((text: string) => Effect.Effect<void>) | undefined
  /** URL of the server, if there is a single one. All requests to its origin belong to it. */
  readonly server?: string | URL | undefined
  /** Whether to let the user paste the redirect URL into the terminal, for a browser on another machine. Default false. */
  readonly paste?: boolean | undefined
  /** Port for the redirect, for authorization servers that only accept a registered one. Default: any free port. */
  readonly port?: number | undefined
  /** A client that was registered manually. Default: the client registers itself. */
  readonly client?: { readonly id: string; readonly secret: Redacted.Redacted<string> | undefined } | undefined
}

/** Returns the folder for tokens: `EFFECT_MCP_TOKENS`, or else a folder in the user's state. */
export const directory = (env: NodeJS.ProcessEnv = process.env): string =>
  env["EFFECT_MCP_TOKENS"] ?? stateFolder("tokens", env)

/** Stores tokens in the user's files, encrypted if `EFFECT_MCP_TOKEN_KEY` is set to 32 bytes in base64. */
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
            // Always show the URL, because there may be no browser.
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

/** Provides an HTTP client that logs in if necessary, and functions to log in and out. */
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

/** Runs `body` with the user's logins. */
export const use = <A>(options: Options, body: (oauth: OAuth.OAuth["Service"]) => Effect.Effect<A, OAuthError>) =>
  Effect.provide(
    Effect.flatMap(OAuth.OAuth, (oauth) => body(oauth)),
    layer(options)
  )
