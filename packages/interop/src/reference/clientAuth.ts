/**
 * Authorization scenarios of the official conformance suite: how each scenario's client logs in, and its next steps.
 *
 * The suite's user consents to everything without a browser. Input from the scenario arrives in `MCP_CONFORMANCE_CONTEXT`.
 */
import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import { type Authorizer, layerScripted } from "@effect-mcp/auth/client/Authorizer"
import * as ClientCredentials from "@effect-mcp/auth/client/ClientCredentials"
import * as EnterpriseManaged from "@effect-mcp/auth/client/EnterpriseManaged"
import type { Grant } from "@effect-mcp/auth/client/Grant"
import * as OAuth from "@effect-mcp/auth/client/OAuth"
import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import * as WorkloadIdentity from "@effect-mcp/auth/client/WorkloadIdentity"
import * as McpClient from "@effect-mcp/client/McpClient"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { Effect, Layer, Redacted, Stream } from "effect"
import { FetchHttpClient } from "effect/http"

/** Input from a scenario to its client. */
export interface Context {
  readonly [field: string]: unknown
}

type Setup = Pick<OAuth.Options, "dpop"> & { readonly grant: Grant<Authorizer> }

const setup = (scenario: string, context: Context): Setup => {
  const text = (field: string) => (typeof context[field] === "string" ? context[field] : "")
  const secret = (field: string) => Redacted.make(text(field))
  switch (scenario) {
    case "auth/client-credentials-basic":
      return {
        grant: ClientCredentials.make({ clientId: text("client_id"), clientSecret: secret("client_secret") })
      }
    case "auth/client-credentials-jwt": {
      const signingKey = { key: secret("private_key_pem"), algorithm: text("signing_algorithm") }
      return { grant: ClientCredentials.make({ clientId: text("client_id"), signingKey }) }
    }
    // Suite 0.1 uses the first name.
    case "auth/cross-app-access-complete-flow":
    case "auth/enterprise-managed-authorization":
      return {
        grant: EnterpriseManaged.make({
          clientId: text("client_id"),
          clientSecret: secret("client_secret"),
          identityProvider: {
            issuer: text("idp_issuer"),
            tokenEndpoint: text("idp_token_endpoint"),
            client: { clientId: text("idp_client_id") },
            assertion: Effect.succeed(secret("idp_id_token"))
          }
        })
      }
    case "auth/wif-jwt-bearer":
      return {
        grant: WorkloadIdentity.make({
          clientId: text("client_id"),
          assertion: () => Effect.succeed(secret("valid_jwt"))
        })
      }
    case "auth/pre-registration": {
      const credentials = { clientId: text("client_id"), clientSecret: secret("client_secret") }
      const issuer = text("issuer")
      return {
        grant: AuthorizationCode.make({
          clientName: "effect-mcp",
          // Suite 0.1 does not name the client's issuer. A user would confirm it when asked.
          ...(issuer === ""
            ? { ask: () => Effect.succeed(credentials) }
            : { preRegistered: [{ issuer, ...credentials }] })
        })
      }
    }
    case "auth/dpop":
    case "auth/dpop-nonce":
      return { dpop: "prefer", grant: AuthorizationCode.make({ clientName: "effect-mcp" }) }
    default:
      return {
        grant: AuthorizationCode.make({
          clientName: "effect-mcp",
          metadataUrl: "https://conformance-test.local/client-metadata.json"
        })
      }
  }
}

/** Connects, lists the tools, and calls the fixture's tool. */
export const run = (scenario: string, url: string, version: Revision.Version, context: Context) => {
  const http = OAuth.layer({ ...setup(scenario, context), protocolVersion: version }).pipe(
    Layer.provide([TokenStore.layerMemory, layerScripted()]),
    Layer.provide(FetchHttpClient.layer)
  )
  return Effect.gen(function* () {
    const client = yield* McpClient.McpClient
    yield* Stream.runDrain(client.listTools)
    yield* client.callToolByName("test-tool", {})
  }).pipe(Effect.provide(Layer.provide(McpClient.layerHttp({ url, revisions: [version] }), http)))
}
