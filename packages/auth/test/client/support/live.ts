/** Our client and our protected server over real HTTP on loopback, with the test authorization server. */
import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import * as Authorizer from "@effect-mcp/auth/client/Authorizer"
import * as OAuth from "@effect-mcp/auth/client/OAuth"
import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { Context, Effect, Layer, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Protected from "../../server/support/protected.ts"

const says = Effect.map(Auth.caller, ({ scopes, subject }) => `${subject} ${[...scopes].toSorted().join(" ")}`.trim())

/** Two tools that name their caller; the second needs `write`. */
export const features = Layer.mergeAll(
  Tools.layer(Tool.make("whoami", { description: "Says who calls." }), () => says),
  Tools.layer(Tool.make("write", { description: "Needs more." }), () => says).pipe(Auth.requires("write"))
)

export const open = (options: Pick<Protected.Options<never, never>, "guard" | "issuer"> = {}) =>
  Protected.open({ features, ...options })

export type Options = Partial<OAuth.Options<Authorizer.Authorizer>> & { readonly version?: Revision.Version }

/** Connects a client to the server at `url`. */
export const connect = Effect.fnUntraced(function* (
  url: string,
  { version = "2026-07-28", ...options }: Options = {}
): Effect.fn.Return<
  { readonly client: McpClient.McpClient["Service"]; readonly oauth: OAuth.OAuth["Service"] },
  McpClient.ConnectError,
  Scope.Scope
> {
  const http = OAuth.layer({ grant: AuthorizationCode.make({ clientName: "test" }), ...options }).pipe(
    Layer.provide([TokenStore.layerMemory, Authorizer.layerScripted()]),
    Layer.provide(FetchHttpClient.layer)
  )
  const context = yield* Layer.build(
    Layer.fresh(Layer.provideMerge(McpClient.layerHttp({ url, revisions: [version] }), http))
  )
  return { client: Context.get(context, McpClient.McpClient), oauth: Context.get(context, OAuth.OAuth) }
})

/** Returns the text of a tool's result. */
export const call = (client: McpClient.McpClient["Service"], tool: string) =>
  Effect.map(client.callToolByName(tool, {}), ({ content: [first] }) => (first?.type === "text" ? first.text : ""))
