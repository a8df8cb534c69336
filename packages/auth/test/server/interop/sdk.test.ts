/** The official clients, with their OAuth, log in to a protected server and step up if they need more scopes. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import { assert, describe, it } from "@effect/vitest"
import * as V2 from "@modelcontextprotocol/client"
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect, Layer } from "effect"
import { open } from "../support/protected.ts"

const who = Effect.map(Auth.caller, ({ scopes, subject }) => `${subject}: ${scopes.join(" ")}`)
const features = Layer.mergeAll(
  Tools.layer(Tool.make("whoami", { description: "Who calls." }), () => who),
  Tools.layer(Tool.make("write", { description: "Writes." }), () => who).pipe(Auth.requires("files:write"))
)

/** Storage for the official clients, and the pages that they open in the browser. */
const provider = () => {
  let client: V2.StoredOAuthClientInformation | undefined
  let tokens: V2.StoredOAuthTokens | undefined
  let verifier = ""
  let visited: URL | undefined
  let discovered: V2.OAuthDiscoveryState | undefined
  const methods = {
    redirectUrl: "http://127.0.0.1:9/callback",
    clientMetadata: { client_name: "interop", redirect_uris: ["http://127.0.0.1:9/callback"] },
    state: () => "state",
    clientInformation: () => client,
    saveClientInformation: (information: V2.StoredOAuthClientInformation) => void (client = information),
    tokens: () => tokens,
    saveTokens: (saved: V2.StoredOAuthTokens) => void (tokens = saved),
    redirectToAuthorization: (url: URL) => void (visited = url),
    saveCodeVerifier: (code: string) => void (verifier = code),
    codeVerifier: () => verifier,
    discoveryState: () => discovered,
    saveDiscoveryState: (state: V2.OAuthDiscoveryState) => void (discovered = state)
  }
  return { methods, visited: () => visited ?? assert.fail("The client never went to the authorization server") }
}

interface Attempt {
  readonly finish: (code: URLSearchParams) => Promise<void>
  readonly call: (name: string) => Promise<string>
  readonly close: () => Promise<void>
}
type Connect = (
  url: URL,
  methods: ReturnType<typeof provider>["methods"]
) => { readonly open: () => Promise<void> } & Attempt

const textOf = (result: unknown): string => {
  const { content } = result as { readonly content: ReadonlyArray<{ readonly text: string }> }
  return content[0]?.text ?? ""
}

const v2 =
  (mode: "legacy" | "auto"): Connect =>
  (url, authProvider) => {
    const client = new V2.Client({ name: "interop", version: "1" }, { versionNegotiation: { mode } })
    const transport = new V2.StreamableHTTPClientTransport(url, { authProvider })
    return {
      open: () => client.connect(transport),
      finish: (parameters) => transport.finishAuth(parameters),
      call: async (name) => textOf(await client.callTool({ name, arguments: {} })),
      close: () => client.close()
    }
  }
const v1: Connect = (url, authProvider) => {
  const client = new ClientV1({ name: "interop", version: "1" })
  const transport = new TransportV1(url, { authProvider: authProvider })
  return {
    open: () => client.connect(transport),
    finish: (parameters) => transport.finishAuth(parameters.get("code") ?? ""),
    call: async (name) => textOf(await client.callTool({ name, arguments: {} })),
    close: () => client.close()
  }
}

const isUnauthorized = (error: unknown): boolean =>
  error instanceof UnauthorizedV1 || error instanceof V2.UnauthorizedError || String(error).includes("Unauthorized")

/** Runs `attempt`. If the client sends its user to the authorization server, plays the user and runs `again`. */
const authorizing = <A>(
  server: AuthServer.AuthServer["Service"],
  visited: () => URL,
  finish: Attempt["finish"],
  attempt: () => Promise<A>,
  again: () => Promise<A>
) =>
  Effect.promise(() =>
    attempt().then(
      (value) => ({ value }),
      (error: unknown) => ({ error })
    )
  ).pipe(
    Effect.flatMap((outcome) => {
      if ("value" in outcome) return Effect.succeed(outcome.value)
      assert.isTrue(isUnauthorized(outcome.error), String(outcome.error))
      return Effect.flatMap(server.visit(visited()), (back) =>
        Effect.promise(async () => {
          await finish(back.searchParams)
          return again()
        })
      )
    })
  )

describe.each<readonly [name: string, connect: Connect]>([
  ["SDK v2, 2026-07-28", v2("auto")],
  ["SDK v2, in a session", v2("legacy")],
  ["SDK v1", v1]
])("%s", (_, connect) => {
  it.live("The SDK client authorizes, calls a tool and steps up to a required scope", () =>
    Effect.gen(function* () {
      const { server, url } = yield* open({
        features,
        guard: { scopes: ["use"], scopesSupported: ["use"] },
        issuer: { scopes: ["use", "files:write"] }
      })
      const { methods, visited } = provider()
      const first = connect(new URL(url), methods)
      const second = connect(new URL(url), methods)
      yield* authorizing(server, visited, first.finish, first.open, second.open)
      const asked = visited().searchParams
      assert.deepInclude(Object.fromEntries(asked), { scope: "use", resource: url, code_challenge_method: "S256" })
      assert.strictEqual(yield* Effect.promise(() => second.call("whoami")), "alice: use")
      const call = () => second.call("write")
      const text = yield* authorizing(server, visited, second.finish, call, call)
      assert.match(text, /files:write/)
      assert.strictEqual(yield* server.count("register"), 1)
      assert.strictEqual(yield* server.count("authorization_code"), 2)
      yield* Effect.promise(async () => {
        await first.close()
        await second.close()
      })
    })
  )
})

describe("SDK v2 with DPoP", () => {
  it.live("The SDK client proves its key to both servers, with both nonces", () =>
    Effect.gen(function* () {
      const { server, url } = yield* open({
        features,
        guard: { dpop: { required: true, nonces: "5 minutes" } },
        issuer: { dpop: "required", script: { dpopNonce: "nonce-of-the-issuer" } }
      })
      const { methods, visited } = provider()
      const session = V2.DpopSession.create()
      const proving = { ...methods, dpop: () => session }
      const first = v2("legacy")(new URL(url), proving)
      const second = v2("legacy")(new URL(url), proving)
      yield* authorizing(server, visited, first.finish, first.open, second.open)
      assert.strictEqual(yield* Effect.promise(() => second.call("whoami")), "alice: ")
      yield* Effect.promise(async () => {
        await first.close()
        await second.close()
      })
    })
  )
})
